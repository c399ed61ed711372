#include "cluster/slots.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "berth/support/index.h"
#include "cluster/estimates.h"

namespace berth {
namespace {

struct NamedSlot {
  std::string_view name;
  Slot slot;
};
// Thunderbolt carries PCIe packets at 22 of 32 Gbit/s (Intel's Thunderbolt 3 brief), version 5 at twice
// that; USB4 has version 3's tunnel. NVLink-C2C: 450 GB/s in one direction (NVIDIA's Grace Hopper white paper).
constexpr NamedSlot kSlots[] = {{"tb3", {2.75e9, 25}},
                                {"tb4", {2.75e9, 25}},
                                {"tb5", {5.5e9, 25}},
                                {"usb4", {2.75e9, 25}},
                                {kC2c, {kNvlinkReached * 450e9, 5}}};

std::optional<double> number_at(std::string_view text, std::string_view& rest) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  rest = text.substr(at(end - text.data()));
  return value;
}

std::optional<Slot> pcie_of(std::string_view text) {
  if (text == "oculink") return pcie(4, 4);
  if (!text.starts_with("pcie")) return std::nullopt;
  text.remove_prefix(4);
  const std::size_t x = text.find('x');
  const auto generation = count_of(text.substr(0, x));
  const auto lanes = x == std::string_view::npos ? std::optional(16) : count_of(text.substr(x + 1));
  if (!generation || !lanes || *generation > 5 || *lanes > 16) return std::nullopt;
  return pcie(*generation, *lanes);
}

}  // namespace

std::optional<int> count_of(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && count > 0 ? std::optional(count) : std::nullopt;
}

Slot pcie(int generation, int lanes) {
  return {pcie_bandwidth(generation, lanes), pcie_latency_us(generation), generation, lanes};
}

Slot joined(const Slot& card, const Slot& slot) {
  if (card.generation == 0 || slot.generation == 0) return slot;
  return pcie(std::min(card.generation, slot.generation), std::min(card.lanes, slot.lanes));
}

std::optional<Slot> slot_of(std::string_view text) {
  for (const NamedSlot& named : kSlots) {
    if (named.name == text) return named.slot;
  }
  if (const auto pcie = pcie_of(text)) return pcie;
  std::string_view unit;
  const std::optional<double> rate = number_at(text, unit);
  if (rate && *rate > 0 && unit == kRateUnit) return Slot{*rate * 1e9, 12};
  return std::nullopt;
}

}  // namespace berth
