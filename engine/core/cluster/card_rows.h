// The cards that machines in words can name.
#pragma once

#include <span>

namespace berth {

/// Whether copies between two devices go directly, and over what.
enum class Peers {
  host,    ///< through the host's memory: the driver of consumer cards allows nothing else
  bridge,  ///< the same, but a bridge can be bought
  pcie,    ///< directly, over PCIe
  pcie_or_bridge,
  linked,  ///< over links that are always there
};

/// A card. The head of known_devices.cpp says what the figures are.
struct CardRow {
  const char* word;
  const char* description;
  const char* source;
  int capability;
  double mib;
  double flops, flops_16, flops_8, flops_64;  // in TFLOP/s
  double bandwidth;                           // in GB/s
  double multiprocessors;
  double overhead_us;
  const char* slot;
  Peers peers;
  double bridge = 0;  // in GB/s, one direction, of the data sheet
  int linked_in = 0;  // as in KnownDevice; 2 for what is no `linked`
  double beyond = 0;  // as bridge
};

struct DriverName {
  const char* word;
  const char* name;
};

/// In the order in which they are listed to people.
[[nodiscard]] std::span<const CardRow> card_rows();
/// Names that do not follow from the description.
[[nodiscard]] std::span<const DriverName> driver_names();

}  // namespace berth
