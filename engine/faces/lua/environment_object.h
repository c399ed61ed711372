// Episodes that Lua steps, and what it sees of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/sdk/environment.h"
#include "berth/sdk/learning.h"
#include "berth/sdk/observation.h"
#include "objects.h"

namespace berth::lua {

/// Observations of the episodes of one problem, written anew at every step. Lua reads it through
/// pointers, so that the arrays neither move nor go as long as it has this object.
struct Observation {
  Observation(const Problem& problem, const Observer& observer, std::size_t episodes);

  std::int64_t episodes, groups, devices, group_width, device_width;
  std::vector<float> group_values;      ///< [episodes, groups, group_width]
  std::vector<float> device_values;     ///< [episodes, devices, device_width]
  std::vector<std::uint8_t> able;       ///< [groups, devices]: which device can run which group
  std::vector<std::uint8_t> allowed;    ///< [episodes, devices]
  std::vector<std::int64_t> current;    ///< [episodes], from 1; the last one where it is done
  std::vector<std::int64_t> placement;  ///< [episodes, groups], from 1
  std::vector<double> objective_us;     ///< [episodes]
  std::vector<double> excess_bytes;     ///< [episodes]
  std::vector<double> alternatives;     ///< [episodes, devices]; infinite without looking ahead
};

/// Which features are seen, by name.
struct Seen {
  std::vector<std::string> groups, devices;
  bool look_ahead = false;  ///< even if no feature needs it
};
[[nodiscard]] Seen read_seen(Fields& fields);

/// Several episodes of each of several problems, stepped together.
class EnvironmentObject {
 public:
  /// `evaluators` are those of the problems, in order.
  EnvironmentObject(std::vector<std::shared_ptr<ProblemObject>> problems,
                    std::vector<Evaluator*> evaluators, const Seen& seen);

  void reset(const RolloutOptions& options);
  /// As many of each problem.
  void begin(const std::vector<EpisodeStart>& starts);
  /// One device per episode; those that are done are not looked at.
  void step(std::span<const DeviceId> devices);
  /// The episode `index`; throws Error where there was no reset.
  [[nodiscard]] const Environment& running() const;

  [[nodiscard]] const std::vector<std::shared_ptr<ProblemObject>>& problems() const {
    return problems_;
  }
  [[nodiscard]] const std::vector<std::shared_ptr<Observation>>& observations() const {
    return observations_;
  }
  std::vector<std::shared_ptr<EvaluatorObject>> measuring;  ///< kept alive
  /// Those lent for one call have ended.
  void end();

 private:
  void observe();

  std::vector<std::shared_ptr<ProblemObject>> problems_;
  std::vector<Observer> observers_;
  std::unique_ptr<Environment> environment_;
  std::size_t samples_ = 0;
  bool begun_ = false;
  std::vector<std::shared_ptr<Observation>> observations_;
};

template <>
const Type& type_of<EnvironmentObject>();
template <>
const Type& type_of<Observation>();

}  // namespace berth::lua
