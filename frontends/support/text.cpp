#include "support/text.h"

#include <cstdint>

namespace berth::frontend {
namespace {

constexpr std::size_t kLongestName = 4096;

// Length of the well-formed UTF-8 sequence at the start of `text` (not empty); 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and code points past U+10FFFF.
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

}  // namespace

std::string readable(std::string_view name) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  out.reserve(name.size());
  while (!name.empty()) {
    if (out.size() >= kLongestName) return out + "...";
    const std::size_t length = sequence_length(name);
    if (length > 0 && name.front() != '\0') {
      out.append(name.substr(0, length));
      name.remove_prefix(length);
    } else {
      const auto byte = static_cast<std::uint8_t>(name.front());
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      name.remove_prefix(1);
    }
  }
  return out;
}

std::string list_names(const std::vector<std::string>& names, std::size_t shown) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < shown; ++i) {
    if (i > 0) out += ", ";
    out += "'" + names[i] + "'";
  }
  if (names.size() > shown) out += cat(" and ", names.size() - shown, " more");
  return out;
}

std::string largest_step_note(std::int64_t tensors, const std::set<std::string>& choosers) {
  return cat("the size of ", tensors, tensors == 1 ? " tensor" : " tensors",
             " depends on what a step computes, and is counted for the largest step, in which all "
             "is chosen by: ",
             list_names({choosers.begin(), choosers.end()}));
}

std::string guessed_parameters_note(const std::vector<std::string>& inputs) {
  return cat(
      inputs.size(),
      inputs.size() == 1 ? " input is taken for a parameter" : " inputs are taken for parameters",
      ", by names and uses that weights have: ", list_names(inputs, 4),
      "; --arguments inputs says otherwise");
}

std::string no_parameters_note() {
  return "--arguments parameters changes nothing: the shapes of all inputs or of none are fixed, "
         "and no "
         "input is used or named as a weight";
}

}  // namespace berth::frontend
