// Values that cross a C boundary (berth/c.h): texts, arrays, structs by their size, and statuses. Both
// libraries compile it, because libberth exports nothing of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <string_view>

#include "berth/c.h"
#include "berth/error.h"
#include "berth/support/text.h"

namespace berth::c {

/// Throws Error(invalid_argument) for null. `what` names the argument.
template <typename T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) {
    throw Error(ErrorCode::invalid_argument, cat(what, " is null; give an address"));
  }
  return *pointer;
}
/// `count` entries; null only where there are none. Throws Error(invalid_argument) for more than a memory
/// holds, as -1 is.
template <typename T>
std::span<T> array(T* entries, std::size_t count, const char* what) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  if (count > kMost) {
    throw Error(ErrorCode::invalid_argument,
                cat(what, " has ", count, " entries; give the number that there are"));
  }
  if (count > 0) static_cast<void>(required(entries, what));
  return {entries, count};
}

/// Throws Error(invalid_argument) for a length without a pointer.
[[nodiscard]] inline std::string_view view(berth_text text) {
  if (text.size == 0) return {};
  if (text.data == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                cat("a text of ", text.size, " bytes without a pointer; give its first byte"));
  }
  return {text.data, text.size};
}
/// The first byte that is no UTF-8 (RFC 3629), or is NUL; the length where there is none.
[[nodiscard]] inline std::size_t valid_length(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    const auto byte = [&](std::size_t k) {
      return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U;
    };
    const unsigned first = byte(0);
    const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
    bool valid = first != 0 && (length > 1 ? first <= 0xF4 : first < 0x80);
    for (std::size_t k = 1; k < length; ++k) valid = valid && (byte(k) & 0xC0U) == 0x80U;
    // Longer than need be, halves of pairs, beyond U+10FFFF.
    valid = valid && !(first == 0xE0 && byte(1) < 0xA0) && !(first == 0xED && byte(1) > 0x9F) &&
            !(first == 0xF0 && byte(1) < 0x90) && !(first == 0xF4 && byte(1) > 0x8F);
    if (!valid) return i;
    i += length;
  }
  return text.size();
}

/// Throws Error(invalid_argument) for a text that is not UTF-8 or holds NUL: written to a file, two of
/// them could become one.
[[nodiscard]] inline std::string string(berth_text text) {
  const std::string_view given = view(text);
  if (const std::size_t valid = valid_length(given); valid < given.size()) {
    throw Error(ErrorCode::invalid_argument,
                cat("the text '", given.substr(0, valid), "...' has byte ",
                    static_cast<int>(static_cast<unsigned char>(given[valid])), " at ", valid,
                    "; give UTF-8 without NUL"));
  }
  return std::string(given);
}

/// The size that a struct begins with. Throws Error for one that no version had: `first_size` is
/// that of the first.
[[nodiscard]] inline std::size_t struct_size(const void* given, std::size_t known_size,
                                             std::size_t first_size, const char* what) {
  constexpr std::size_t kMost = std::size_t{1} << 16;
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size >= first_size && size <= kMost) return size;
  throw Error(ErrorCode::invalid_argument,
              cat(what, " has a size of ", size, " bytes, and this library knows ", known_size,
                  "; set `size` with sizeof, or with its initialiser"));
}

/// A struct of the caller's, whose version may be another: `known` with as much of it as both know.
/// Throws Error for a size that no version had, and for a later version that asks for what is not
/// known here.
inline void take_struct(const void* given, void* known, std::size_t known_size,
                        std::size_t first_size, const char* what) {
  const std::size_t size = struct_size(given, known_size, first_size, what);
  const auto* const bytes = static_cast<const unsigned char*>(given);
  if (size > known_size &&
      std::any_of(bytes + known_size, bytes + size, [](unsigned char byte) { return byte != 0; })) {
    throw Error(ErrorCode::unsupported,
                cat(what, " is of a later version (", size, " bytes; this library knows ",
                    known_size, ") and asks for something that is new in it; upgrade Berth"));
  }
  std::memcpy(known, given, std::min(size, known_size));
}
/// `first_size` of a struct that was appended to: where the first field that was new begins.
template <typename T>
T take(const T* given, const T& defaults, const char* what, std::size_t first_size = sizeof(T)) {
  T known = defaults;
  if (given != nullptr) take_struct(given, &known, sizeof(T), first_size, what);
  return known;
}

[[nodiscard]] inline berth_status status_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return BERTH_INVALID_ARGUMENT;
    case ErrorCode::invalid_graph:
      return BERTH_INVALID_GRAPH;
    case ErrorCode::invalid_file:
      return BERTH_INVALID_FILE;
    case ErrorCode::not_found:
      return BERTH_NOT_FOUND;
    case ErrorCode::io:
      return BERTH_IO;
    case ErrorCode::unsupported:
      return BERTH_UNSUPPORTED;
    case ErrorCode::incompatible:
      return BERTH_INCOMPATIBLE;
    case ErrorCode::infeasible:
      return BERTH_INFEASIBLE;
    case ErrorCode::cancelled:
      return BERTH_CANCELLED;
    case ErrorCode::out_of_memory:
      return BERTH_OUT_OF_MEMORY;
    case ErrorCode::execution:
      return BERTH_EXECUTION;
  }
  return BERTH_INTERNAL;
}

/// The status of the exception that is being handled, after `tell(status, message)`.
template <typename Tell>
berth_status status_of_current(const Tell& tell) noexcept {
  const auto told = [&](berth_status status, std::string_view message) {
    tell(status, message);
    return status;
  };
  try {
    throw;
  } catch (const Error& error) {
    return told(status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return told(BERTH_NO_HOST_MEMORY, "out of memory; use a smaller graph, or fewer results");
  } catch (const std::exception& error) {
    return told(BERTH_INTERNAL, error.what());
  } catch (...) {
    return told(BERTH_INTERNAL, "an error that says nothing; please report it");
  }
}

}  // namespace berth::c
