// The rules by which one pass chooses devices: what is learned.
#pragma once

#include <array>
#include <filesystem>
#include <string_view>
#include <vector>

#include "berth/sdk/random.h"

namespace berth::policies::instant {

/// The weights of a choice: a group, or a cluster of them, goes to the device with the least sum, in microseconds, of
/// when it would be done there and of these.
struct Rule {
  enum Weight : std::size_t {
    kArrive,  ///< of the transfers of its inputs that are not there yet
    kSend,    ///< of the transfers between it and groups that have a device, inputs apart
    kJoin,  ///< of the shortest transfers that bring its outputs together with what its consumers read too
    kLoad,       ///< of what the device has to do already
    kWait,       ///< of the device's idle time before it
    kSlow,       ///< of how much longer it takes than on the fastest device
    kFuture,     ///< of the transfers to where its consumers were before
    kStay,       ///< of its own time, where it was not there before
    kTransfers,  ///< of transfers in the priorities of ops: longest paths
    kShare,  ///< clusters are placed as wholes: how much each may hold; 0 = none. See clustered().
    kBind,   ///< and what has to bind them
    kWeights,
  };
  std::array<double, kWeights> weights{};

  [[nodiscard]] double operator[](Weight weight) const { return weights[weight]; }
};

/// The rules that come with Berth; the first few serve best together.
[[nodiscard]] const std::vector<Rule>& shipped_rules();

/// A rule drawn without anything learned: every weight, or none, at random.
[[nodiscard]] Rule random_rule(Random& random);

/// `rule` with the same clusters and every other weight multiplied by a factor drawn from [1 / e^spread, e^spread], most
/// near 1.
[[nodiscard]] Rule varied(const Rule& rule, double spread, Random& random);

/// Reads rules: a line "berth.instant/2", then a line of Rule::kWeights numbers >= 0 for each. Throws Error(not_found)
/// where the file cannot be read and Error(invalid_file) that names the line for what is no such file.
[[nodiscard]] std::vector<Rule> read_rules(const std::filesystem::path& path);

}  // namespace berth::policies::instant
