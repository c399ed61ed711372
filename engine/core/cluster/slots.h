// How a device is attached, in words: "pcie4x16".
#pragma once

#include <optional>
#include <string_view>

namespace berth {

/// Rates that the forms of a slot carry in one direction, as reached, and an estimate of the latency of a
/// copy: between the bare link (about 1 us) and the 25 us of Placeto's simulator.
struct Slot {
  double bandwidth;
  double latency_us;
  int generation = 0, lanes = 0;  ///< of PCIe
};

/// Those of PCIe have generations from 1 on and up to 16 lanes.
[[nodiscard]] Slot pcie(int generation, int lanes);
/// The bandwidth that a card of the one has to the other.
[[nodiscard]] Slot joined(const Slot& card, const Slot& slot);
/// "pcie4x16", "pcie3", "oculink", "usb4", "tb3", "c2c" or a rate such as "12GBps"; nothing for other texts.
[[nodiscard]] std::optional<Slot> slot_of(std::string_view text);

/// A whole number from 1 on that is all of the text.
[[nodiscard]] std::optional<int> count_of(std::string_view text);

/// NVLink-C2C leads from a GPU to a Grace alone.
inline constexpr std::string_view kC2c = "c2c";
inline constexpr std::string_view kRateUnit = "GBps";

}  // namespace berth
