#include "support/weight_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace berth::frontend {
namespace {

constexpr std::array<std::string_view, 16> kEndings = {
    "weight",          "weights",      "bias",        "biases",
    "kernel",          "gamma",        "beta",        "embedding",
    "embeddings",      "running_mean", "running_var", "moving_mean",
    "moving_variance", "lora_a",       "lora_b",      "accumulation.buffer"};

/// "weight_ih_l0", "bias_hh_l1_reverse": those of recurrent layers.
constexpr std::array<std::string_view, 4> kBeginnings = {"weight_ih_l", "weight_hh_l", "bias_ih_l",
                                                         "bias_hh_l"};

bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_numbered(std::string_view name) {
  for (const std::string_view stem : {"primals_", "onnx::"}) {
    if (!name.starts_with(stem)) continue;
    return digits(name.substr(name.rfind('_') + 1));
  }
  // "arg0_1", of traced graphs.
  return name.starts_with("arg") && name.size() > 5 && name.ends_with("_1") &&
         digits(name.substr(3, name.size() - 5));
}

}  // namespace

InputName input_name(std::string_view name) {
  if (name.ends_with(":0")) name.remove_suffix(2);
  if (is_numbered(name)) return InputName::numbered;
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string_view all = lower;
  const std::size_t separator = all.find_last_of("./");
  const std::string_view last = separator == all.npos ? all : all.substr(separator + 1);
  const auto begins = [&](std::string_view with) { return last.starts_with(with); };
  if (std::any_of(kBeginnings.begin(), kBeginnings.end(), begins)) return InputName::weight;
  for (const std::string_view ending : kEndings) {
    if (!all.ends_with(ending)) continue;
    const std::size_t before = all.size() - ending.size();
    if (before == 0) return InputName::likely;
    if (all[before - 1] == '.' || all[before - 1] == '/') return InputName::weight;
    if (all[before - 1] == '_') {
      return separator != all.npos ? InputName::weight : InputName::likely;
    }
  }
  return InputName::data;
}

}  // namespace berth::frontend
