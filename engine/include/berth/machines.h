/// @file
/// Machines in a word: "rtx4090+rtx4060+host:64GiB".
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/cluster.h"
#include "berth/export.h"

namespace berth {

/// A device that a machine's words can name.
struct KnownDevice {
  Device device;  ///< with the word as its name and its kind
  std::string description;
  std::string source;  ///< where the figures come from
  std::string slot;    ///< how it is attached where nothing else is said: "pcie4x16"
  /// To each other device of the same word, one direction, as reached. 0 = it has no such link.
  double bridge_bytes_per_s = 0;
  bool bridged = false;  ///< the link is always there; else `@nvlink` adds it
  /// How many of them it joins, all to all: 2 for a bridge. 0 = as many as there are, by switches.
  int linked_in = 0;
  /// To those that it does not join; 0 = over the slots.
  double beyond_bytes_per_s = 0;
  /// Copies to other devices of its maker do not pass through the host's memory.
  bool peer_to_peer = false;
  std::string maker;  ///< "NVIDIA", "Apple"; empty for a host
  /// The compute capability of NVIDIA's, ten times: 86 for 8.6. 0 = another maker's.
  int capability = 0;
  /// As NVIDIA's driver prints it: "NVIDIA A100-SXM4-80GB". Cards that differ in memory alone may have one name.
  std::vector<std::string> driver_names;
  /// The lanes of PCIe that all cards of a host share; 0 = each has those of its slot.
  int card_lanes = 0;
  /// The cores of a chip whose processor and GPU have one memory. Else without a name.
  Device cores;
  /// The neural processor of such a chip. Else without a name.
  Device npu;
};

/// All of them, hosts among them, in the order in which they are listed to people.
[[nodiscard]] BERTH_EXPORT std::span<const KnownDevice> known_devices();
/// Null where no device has this word.
[[nodiscard]] BERTH_EXPORT const KnownDevice* find_known_device(std::string_view word);

/// The same by what people and drivers write: in any case, with or without hyphens and spaces, makers and series
/// ("Tesla T4", "NVIDIA GeForce RTX 4090"), and without "rtx", "gtx" or "rx" before a number. Of cards with one
/// name, the first. Null where no device is named so.
[[nodiscard]] BERTH_EXPORT const KnownDevice* find_named_device(std::string_view name);

/// The machine that `words` describe: devices joined by "+", each "NAME", "4xNAME" or "NAMEx4" with a name as
/// find_named_device takes it; then ":AMOUNT" for its memory, then "@SLOT" for how it is attached: pcie3x16 to
/// pcie5x4, pcie1x1, nvlink, oculink, usb4, tb3, tb4, tb5, or a rate such as 12GBps; on a host the rate is that of its
/// memory.
///
/// An AMOUNT is 64GiB, 64GB, 64Gi or 64G (GiB), in any case. A card's is what a placement may use where it is less than
/// the card has, else the card's size, of which a context takes its part. A chip's is its one memory, of which its GPU
/// has a share.
///
/// A link is as fast and as wide as card and slot both are. Cards share the 16 lanes of a desktop's processor: one has
/// its own slot, two have eight lanes each, more have four; a slot that is named is as the words say. Cards in a slot
/// of PCIe or Thunderbolt that is named have no NVLink unless that is named too. A bridge that is named joins two
/// cards, in the order of the words.
///
/// Its devices are cpu:0, the host, then gpu:0, gpu:1, .. in the order of the words, and npu:0 behind the GPU of a
/// phone's chip. Without a host among the words it has a desktop's of 32 GiB, with a card that only servers have a
/// server's, behind NVLink-C2C a Grace. Throws Error(invalid_argument) naming the word that it does not know and those
/// that it does.
[[nodiscard]] BERTH_EXPORT std::shared_ptr<const Cluster> machine_of_words(std::string_view words);

/// The host that machine_of_words gives a machine whose words name none; null where they name one. Throws as
/// that does.
[[nodiscard]] BERTH_EXPORT const KnownDevice* assumed_host(std::string_view words);

/// A sentence for each thing that such a machine has by a guess that other words replace: its cards' part of a
/// desktop's lanes. Throws as machine_of_words does.
[[nodiscard]] BERTH_EXPORT std::vector<std::string> machine_notes(std::string_view words);

/// Whether load_cluster (files.h) takes the text for a path: it has a '/', or a '.' that is not within
/// a number. Else it is a preset, or words.
[[nodiscard]] BERTH_EXPORT bool names_cluster_file(std::string_view text);

/// The forms of a word, for messages and help.
[[nodiscard]] BERTH_EXPORT std::string machine_words_help();

}  // namespace berth
