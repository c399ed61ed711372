// A network as a chain of blocks, and plans that give each device a run of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "berth/evaluator.h"
#include "berth/options.h"
#include "berth/placement.h"
#include "berth/policy.h"
#include "berth/problem.h"

namespace berth::policies::stages {

/// One link of the chain.
struct Unit {
  std::vector<OpId> ops;
  /// Experts of a mixture, which may be on a host while the rest is elsewhere; not in `ops`. Empty
  /// where there are none, or constraints keep them with the rest.
  std::vector<OpId> experts;
  std::int64_t param_bytes = 0;   ///< of both
  std::int64_t expert_bytes = 0;  ///< of `experts`
};

/// Devices in an order, each with a run of units: device i has the units [ends[i - 1], ends[i]).
struct Plan {
  std::vector<DeviceId> devices;
  std::vector<int> ends;    ///< ascending; the last one is the number of units
  std::vector<int> hosted;  ///< by device: of how many of its first units the experts are on a host
};

/// The units of a problem: the network's blocks (blocks.h), joined where constraints co-locate them. Where
/// the graph names no modules, the layers that a step comes back to (weight_layers.h), or else the
/// problem's groups.
class Chain {
 public:
  explicit Chain(const Problem& problem);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(units_.size()); }
  [[nodiscard]] const Unit& operator[](int unit) const noexcept {
    return units_[static_cast<std::size_t>(unit)];
  }
  /// Whether there are experts that can be on a host.
  [[nodiscard]] bool has_experts() const noexcept { return has_experts_; }
  /// The units that hosts in front have at least, as the last of them runs on hosts alone. 0 = only the first
  /// units do, which may be on a host beside any plan.
  [[nodiscard]] int hosts_end() const;
  /// All ops that their device cannot run, or must not, go to the device that runs them fastest.
  [[nodiscard]] Placement placement(const Plan& plan) const;
  /// Whether nothing but hosts runs any op of the unit.
  [[nodiscard]] bool on_hosts_alone(int unit) const;
  /// Ops of the plan that are not on the device of their run, nor experts on a host. Those that hosts alone
  /// run, as tools have them look up words, are where they are beside any run.
  [[nodiscard]] std::vector<OpId> displaced(const Plan& plan) const;
  /// Devices that may have a run, the fastest for the whole network first and hosts last.
  [[nodiscard]] std::vector<DeviceId> by_speed() const;

 private:
  void join_classes();
  void put(const std::vector<OpId>& ops, DeviceId device, Placement& placement) const;
  /// Whether a device that is no host runs the op.
  [[nodiscard]] bool is_accelerated(OpId op) const;

  const Problem& problem_;
  std::shared_ptr<const Groups> classes_;
  std::vector<DeviceId> elsewhere_;      // by class: where it runs fastest
  std::vector<std::vector<bool>> runs_;  // by device, then class
  std::vector<Unit> units_;
  DeviceId host_ = kNoDevice;
  bool has_experts_ = false;
};

/// Units in order, as many on each device as its room allows, the rest on the next one. `room` [plan
/// devices]: bytes; kNoLimit = all. `hosted`: with all experts on a host.
[[nodiscard]] Plan filled(const Chain& chain, const std::vector<DeviceId>& devices,
                          const std::vector<std::int64_t>& room, bool hosted = false);

/// `filled` again with less room wherever an evaluation exceeds the memory, until it fits or nothing
/// is left to try.
[[nodiscard]] Plan filled_to_fit(const Chain& chain, const std::vector<DeviceId>& devices,
                                 std::vector<std::int64_t> room, Evaluator& evaluator,
                                 const PlaceContext& context, bool hosted = false);

/// How a plan becomes an answer.
struct Answering {
  bool repair;  ///< one that is invalid or does not fit is repaired by groups
  bool alone;   ///< devices have their runs and nothing else; then nothing is repaired
  explicit Answering(const Options& options)
      : repair(options.boolean("repair")), alone(options.boolean("alone")) {}
};
inline constexpr OptionSpec kAloneOption = {"alone", OptionType::boolean, "false",
                                            "devices have their runs and nothing else, as tools "
                                            "with stages have it: no op is elsewhere because a "
                                            "constraint keeps it off, and nothing is repaired"};

/// The plan as an answer. Throws Error(infeasible) naming an op outside of its run where runs are alone.
[[nodiscard]] PolicyAnswer answer_of(const Chain& chain, const Plan& plan, Evaluator& evaluator,
                                     Answering answering, const PlaceContext& context);

}  // namespace berth::policies::stages
