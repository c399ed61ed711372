#include "object.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_set>

#include "berth/version.h"

namespace berth::c {
namespace {

thread_local std::string given_text;
thread_local std::string last_message;

#ifndef NDEBUG
/// Living objects. Never destroyed: objects may be released while the process ends.
struct Living {
  std::mutex mutex;
  std::unordered_set<const void*> objects;
};
Living& living() {
  static auto* all = new Living();
  return *all;
}
#endif

void check_alive([[maybe_unused]] const void* handle, [[maybe_unused]] const char* what) {
#ifndef NDEBUG
  const std::lock_guard lock(living().mutex);
  if (living().objects.count(handle) > 0) return;
  throw Error(ErrorCode::invalid_argument,
              cat("the ", what, " is none, or was released; use one that is still owned"));
#endif
}

}  // namespace

Object::Object(Kind kind) : kind_(kind) {
#ifndef NDEBUG
  const std::lock_guard lock(living().mutex);
  living().objects.insert(this);
#endif
}

Object::~Object() {
#ifndef NDEBUG
  const std::lock_guard lock(living().mutex);
  living().objects.erase(this);
#endif
}

void Object::check(const void* handle, Kind kind, const char* what) {
  if (handle == nullptr) {
    throw Error(ErrorCode::invalid_argument,
                cat("the ", what, " is null; give one that a call gave out"));
  }
  check_alive(handle, what);
  if (static_cast<const Object*>(handle)->kind_ != kind) {
    throw Error(ErrorCode::invalid_argument,
                cat("the ", what, " is an object of another type; give one of its own"));
  }
}

void Object::release(void* handle) {
  if (handle == nullptr) return;
  check_alive(handle, "object");
  delete static_cast<Object*>(handle);
}

berth_text give(std::string text) {
  given_text = std::move(text);
  return {given_text.c_str(), given_text.size()};
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char each) { return each == '\n' || each == '\r'; }, ' ');
  return text;
}

void give_options(const void* known, std::size_t known_size, void* out, std::size_t first_size,
                  const char* what) {
  if (out == nullptr) {
    throw Error(ErrorCode::invalid_argument, cat(what, " is null; give an address"));
  }
  const std::size_t size = struct_size(out, known_size, first_size, what);
  auto* const bytes = static_cast<unsigned char*>(out);
  const auto* const from = static_cast<const unsigned char*>(known);
  const std::size_t both = std::min(size, known_size);
  std::memcpy(bytes + sizeof size, from + sizeof size, both - sizeof size);
  std::fill(bytes + both, bytes + size, static_cast<unsigned char>(0));
}

void give_array(NamedArrays all, berth_text name, berth_array* out) {
  const std::string_view wanted = view(name);
  std::vector<std::string> known;
  for (const auto& [each, array] : all) {
    if (each == wanted) {
      const berth_array given = {sizeof(berth_array),
                                 array.data,
                                 borrow(array.dtype),
                                 array.rank,
                                 {array.shape[0], array.shape[1], array.shape[2]}};
      give_options(&given, sizeof given, out, sizeof given, "berth_array");
      return;
    }
    known.emplace_back(each);
  }
  throw Error(ErrorCode::invalid_argument,
              cat("no array '", wanted, "'", known_names(wanted, known)));
}

berth_status failed(berth_status status, std::string_view message) noexcept {
  try {
    last_message = message;
  } catch (...) {
    last_message.clear();  // there is no memory to say anything
  }
  return status;
}

berth_status failed_with_current() noexcept {
  try {
    throw;
  } catch (const CallbackFailed& failure) {
    return failed(BERTH_CALLBACK, failure.message);
  } catch (...) {
    return status_of_current(failed);
  }
}

}  // namespace berth::c

uint32_t berth_abi(void) {
  return BERTH_C_ABI;
}

berth_text berth_version(void) {
  return berth::c::borrow(berth::version());
}

berth_text berth_message(void) {
  return {berth::c::last_message.c_str(), berth::c::last_message.size()};
}

void berth_release(void* object) {
  // There is no status to report it with: the message stays.
  static_cast<void>(berth::c::guarded([&] { berth::c::Object::release(object); }));
}
