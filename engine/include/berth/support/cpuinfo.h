/// @file
/// The processor as Linux describes it.
#pragma once

#include <fstream>
#include <string>
#include <string_view>
#include <utility>

namespace berth {

/// The first value of `key` in /proc/cpuinfo, such as "model name"; empty if there is none.
[[nodiscard]] inline std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? std::string() : line.substr(value);
  }
  return {};
}

/// Floating-point units of a core.
struct VectorUnits {
  double f32_per_cycle;
  const char* what;
};

/// `field` gives values as cpuinfo does.
template <typename Field>
[[nodiscard]] VectorUnits vector_units(const Field& field) {
  // Padded, so that a word is found whole. Arm calls them so.
  const std::string flags = " " + field("flags") + field("Features") + " ";
  const auto has = [&flags](const char* flag) {
    return flags.find(std::string(" ") + flag + " ") != std::string::npos;
  };
  // Zen 4 runs an operation of 512 bits on both of its units of 256.
  const bool zen_4 = field("vendor_id") == "AuthenticAMD" && field("cpu family") == "25";
  // Neoverse V1, V2 and V3, and Apple's.
  const std::string part = field("CPU part");
  const bool wide_arm =
      field("CPU implementer") == "0x61" || part == "0xd40" || part == "0xd4f" || part == "0xd84";
  // Two units each, four where it says so; an operation of a fused one counts twice.
  if (has("avx512f") && !zen_4) return {64, "2 x 512-bit FMA"};
  if (has("avx2") && has("fma")) return {32, "2 x 256-bit FMA"};
  if (has("avx")) return {16, "256-bit addition and multiplication"};
  if (has("asimd") && wide_arm) return {32, "4 x 128-bit FMA"};
  if (has("asimd")) return {16, "2 x 128-bit FMA"};
  return {8, "128-bit addition and multiplication"};
}

/// The processor's name; of an Arm core, whose name Linux does not tell, implementer and part. Empty if there is none.
template <typename Field>
[[nodiscard]] std::string processor_name(const Field& field) {
  const std::string name = field("model name"), part = field("CPU part");
  if (!name.empty() || part.empty()) return name;
  constexpr std::pair<std::string_view, std::string_view> kArm[] = {
      {"0xd0c", "Neoverse N1"}, {"0xd40", "Neoverse V1"}, {"0xd42", "Cortex-A78AE"},
      {"0xd49", "Neoverse N2"}, {"0xd4f", "Neoverse V2"}, {"0xd84", "Neoverse V3"}};
  const std::string implementer = field("CPU implementer");
  for (const auto& [number, core] : kArm) {
    if (implementer == "0x41" && part == number) return "Arm " + std::string(core);
  }
  return "Arm core of implementer " + implementer + ", part " + part;
}

}  // namespace berth
