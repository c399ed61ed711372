#include "berth/sdk/observation.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "berth/error.h"
#include "berth/support/index.h"
#include "berth/support/text.h"

namespace berth {
/// Named, since Observer::Parts holds what it declares.
namespace observation {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

float bounded(double value) {
  return static_cast<float>(std::clamp(value, -4.0, 4.0));
}

struct Constants {
  explicit Constants(const Problem& of) : problem(of), groups(of) {}
  const Problem& problem;
  GroupFacts groups;
};

/// A state, with the sums that several features share.
struct State {
  State(const Constants& constants, const Environment::Episode& of)
      : fixed(constants.groups),
        problem(constants.problem),
        episode(of),
        current(of.current()),
        loads(problem, of),
        placed(at(problem.groups().count())) {
    for (std::size_t i = 0; i < episode.step; ++i) placed[at(episode.order[i])] = 1;
    busiest_us = *std::max_element(loads.us.begin(), loads.us.end());
    for (const double start : episode.start_us) {
      largest_start_us =
          std::max(largest_start_us, std::abs(start - episode.start_us[at(current)]));
    }
    least_us = kCannotRun;
    for (const Score& to : episode.alternatives) least_us = std::min(least_us, to.objective_us);
  }

  [[nodiscard]] double mean_load_us() const {
    return std::max(loads.total_us / static_cast<double>(loads.us.size()), 1e-9);
  }
  /// Made where a feature asks.
  const PartialSchedule& visited() const {
    if (!schedule) schedule.emplace(visited_schedule(problem, episode));
    return *schedule;
  }

  const GroupFacts& fixed;
  const Problem& problem;
  const Environment::Episode& episode;
  GroupId current;
  DeviceLoads loads;
  std::vector<std::uint8_t> placed;  ///< by group: it has been visited
  double busiest_us = 0, largest_start_us = 0, least_us = 0;
  mutable std::optional<PartialSchedule> schedule;
};

/// The share of the bytes on `edges` to and from groups for which `is(group)` holds.
template <typename Edges, typename End, typename Is>
double share(Edges edges, End end, Is is) {
  double all = 0, those = 0;
  for (const Groups::Edge& edge : edges) {
    const auto bytes = static_cast<double>(edge.bytes);
    all += bytes;
    if (is(end(edge))) those += bytes;
  }
  return ratio(those, all);
}
GroupId source(const Groups::Edge& edge) {
  return edge.src;
}
GroupId target(const Groups::Edge& edge) {
  return edge.dst;
}

struct OfGroup {
  ObservationFeature feature;
  float (*value)(const State& state, GroupId group);  ///< null: one per device, 1 where it is
};

constexpr OfGroup kOfGroups[] = {
    {{"cost", "its least compute time, of the largest among groups"},
     [](const State& s, GroupId g) {
       return static_cast<float>(ratio(s.fixed.cost_us[at(g)], s.fixed.largest_cost_us));
     }},
    {{"output_bytes", "the size of its outputs, of the largest among groups"},
     [](const State& s, GroupId g) {
       return static_cast<float>(ratio(s.fixed.output_bytes[at(g)], s.fixed.largest_output));
     }},
    {{"param_bytes",
      "what stays through the step: parameters, inputs and results; of the largest among groups"},
     [](const State& s, GroupId g) {
       return static_cast<float>(
           ratio(static_cast<double>(s.problem.group_param_bytes(g)), s.fixed.largest_parameters));
     }},
    {{"placed", "1: it has been visited"},
     [](const State& s, GroupId g) { return s.placed[at(g)] != 0 ? 1.0F : 0.0F; }},
    {{"current", "1: it is the one to place now"},
     [](const State& s, GroupId g) { return g == s.current ? 1.0F : 0.0F; }},
    {{"start", "its simulated start after that of the current one, of the largest difference"},
     [](const State& s, GroupId g) {
       return static_cast<float>(ratio(
           s.episode.start_us[at(g)] - s.episode.start_us[at(s.current)], s.largest_start_us));
     }},
    {{"device", "the device it is on: one number per device, 1 for that one"}, nullptr},
    {{"speed", "of its device for it: 1 for the fastest there is"},
     [](const State& s, GroupId g) {
       const double cost = s.problem.group_cost_us(g, s.episode.placement[g]);
       return static_cast<float>(cost > 0 ? s.fixed.cost_us[at(g)] / cost : 1);
     }},
    {{"remote_in", "of the bytes it receives, those from other devices"},
     [](const State& s, GroupId g) {
       return static_cast<float>(share(s.problem.groups().in_edges(g), source, [&](GroupId other) {
         return s.episode.placement[other] != s.episode.placement[g];
       }));
     }},
    {{"remote_out", "of the bytes it sends, those to other devices"},
     [](const State& s, GroupId g) {
       return static_cast<float>(share(s.problem.groups().out_edges(g), target, [&](GroupId other) {
         return s.episode.placement[other] != s.episode.placement[g];
       }));
     }},
    {{"load", "compute time on its device, of the busiest device's"},
     [](const State& s, GroupId g) {
       return static_cast<float>(ratio(s.loads.us[at(s.episode.placement[g])], s.busiest_us));
     }},
    {{"same_device", "1: it is on the device of the current one"},
     [](const State& s, GroupId g) {
       return s.episode.placement[g] == s.episode.placement[s.current] ? 1.0F : 0.0F;
     }},
    {{"tail", "the longest path from it to a sink, of the longest of all"},
     [](const State& s, GroupId g) { return static_cast<float>(s.fixed.tail[at(g)]); }},
};

struct OfDevice {
  ObservationFeature feature;
  float (*value)(const State& state, DeviceId device);  ///< of one that can run the current group
  bool looks_ahead = false;
};

double transfer_us(const State& s, DeviceId from, DeviceId to, std::int64_t bytes) {
  return from == to ? 0 : s.problem.cluster().route(from, to).transfer_us(bytes);
}

constexpr OfDevice kOfDevices[] = {
    {{"cost", "how much longer the current group takes than where it is fastest, as log2"},
     [](const State& s, DeviceId d) {
       return bounded(std::log2(std::max(s.problem.group_cost_us(s.current, d), 1e-9) /
                                std::max(s.fixed.cost_us[at(s.current)], 1e-9)));
     }},
    {{"load", "compute time of the other groups there, of the mean device's"},
     [](const State& s, DeviceId d) { return bounded(s.loads.us[at(d)] / s.mean_load_us()); }},
    {{"near_in", "of the bytes the current group receives, those from there"},
     [](const State& s, DeviceId d) {
       return bounded(share(s.problem.groups().in_edges(s.current), source,
                            [&](GroupId other) { return s.episode.placement[other] == d; }));
     }},
    {{"near_out", "of the bytes the current group sends, those to there"},
     [](const State& s, DeviceId d) {
       return bounded(share(s.problem.groups().out_edges(s.current), target,
                            [&](GroupId other) { return s.episode.placement[other] == d; }));
     }},
    {{"transfer_in", "time to bring the inputs there, of the mean device's load, as log1p"},
     [](const State& s, DeviceId d) {
       double us = 0;
       for (const Groups::Edge& edge : s.problem.groups().in_edges(s.current)) {
         us += transfer_us(s, s.episode.placement[edge.src], d, edge.bytes);
       }
       return bounded(std::log1p(us / s.mean_load_us()));
     }},
    {{"transfer_out", "time to bring the outputs from there, likewise"},
     [](const State& s, DeviceId d) {
       double us = 0;
       for (const Groups::Edge& edge : s.problem.groups().out_edges(s.current)) {
         us += transfer_us(s, d, s.episode.placement[edge.dst], edge.bytes);
       }
       return bounded(std::log1p(us / s.mean_load_us()));
     }},
    {{"memory", "parameters there, with the current group's, of its memory; 0 without a limit"},
     [](const State& s, DeviceId d) {
       const std::int64_t memory = s.problem.memory_bytes(d);
       if (memory == kNoLimit) return 0.0F;
       const double held = s.loads.parameter_bytes[at(d)] +
                           static_cast<double>(s.problem.group_param_bytes(s.current));
       return bounded(ratio(held, static_cast<double>(memory)));
     }},
    {{"host", "1: it is a host"},
     [](const State& s, DeviceId d) { return s.problem.cluster().device(d).host ? 1.0F : 0.0F; }},
    {{"same_device", "1: the current group is there now"},
     [](const State& s, DeviceId d) { return s.episode.placement[s.current] == d ? 1.0F : 0.0F; }},
    {{"ends_later",
      "end of the current group there after the earliest end, given the visited groups, of the "
      "mean "
      "device's load, times 4"},
     [](const State& s, DeviceId d) {
       double first = kCannotRun;
       for (DeviceId other = 0; other < s.problem.cluster().device_count(); ++other) {
         first = std::min(first, s.visited().end_us(s.current, other));
       }
       return bounded(4 * (s.visited().end_us(s.current, d) - first) / s.mean_load_us());
     }},
    {{"worse",
      "looking ahead: runtime with the current group there above the least, in mean groups' "
      "shares; "
      "4 where hopeless"},
     [](const State& s, DeviceId d) {
       const Score& to = s.episode.alternatives[at(d)];
       if (to.objective_us >= kCannotRun) return 4.0F;
       return bounded(ratio(to.objective_us - s.least_us, s.least_us) *
                      static_cast<double>(s.problem.groups().count()));
     },
     /*looks_ahead=*/true},
    {{"excess", "looking ahead: bytes that would lack, of its memory"},
     [](const State& s, DeviceId d) {
       const Score& to = s.episode.alternatives[at(d)];
       return bounded(ratio(static_cast<double>(to.excess_bytes),
                            static_cast<double>(s.problem.memory_bytes(d))));
     },
     /*looks_ahead=*/true},
};

template <typename Row, std::size_t N>
std::vector<const Row*> chosen(const Row (&rows)[N], std::span<const std::string> names,
                               const char* of) {
  std::vector<const Row*> result;
  for (const std::string& name : names) {
    const auto* const found =
        std::find_if(rows, rows + N, [&](const Row& row) { return row.feature.name == name; });
    if (found == rows + N) {
      std::string known;
      for (const Row& row : rows) known += cat(known.empty() ? "" : ", ", row.feature.name);
      throw Error(ErrorCode::invalid_argument,
                  cat("'", name, "' is no feature of ", of, "; known: ", known));
    }
    result.push_back(found);
  }
  return result;
}

template <typename Row, std::size_t N>
std::vector<ObservationFeature> features_of(const Row (&rows)[N]) {
  std::vector<ObservationFeature> features;
  for (const Row& row : rows) features.push_back(row.feature);
  return features;
}

}  // namespace observation

using namespace observation;  // NOLINT: of this file

std::vector<ObservationFeature> group_features() {
  return features_of(kOfGroups);
}
std::vector<ObservationFeature> device_features() {
  return features_of(kOfDevices);
}

struct Observer::Parts {
  Constants constants;
  std::vector<const OfGroup*> of_groups;
  std::vector<const OfDevice*> of_devices;
  std::size_t group_width;
};

Observer::Observer(const Problem& problem, std::span<const std::string> of_groups,
                   std::span<const std::string> of_devices) {
  auto parts = std::make_unique<Parts>(Parts{Constants(problem), {}, {}, 0});
  parts->of_groups = chosen(kOfGroups, of_groups, "groups");
  parts->of_devices = chosen(kOfDevices, of_devices, "devices");
  for (const OfGroup* each : parts->of_groups) {
    parts->group_width += each->value != nullptr ? 1 : at(problem.cluster().device_count());
  }
  parts_ = std::move(parts);
}
Observer::~Observer() = default;
Observer::Observer(Observer&&) noexcept = default;
Observer& Observer::operator=(Observer&&) noexcept = default;

std::size_t Observer::group_width() const noexcept {
  return parts_->group_width;
}
std::size_t Observer::device_width() const noexcept {
  return parts_->of_devices.size();
}
bool Observer::looks_ahead() const noexcept {
  return std::any_of(parts_->of_devices.begin(), parts_->of_devices.end(),
                     [](const OfDevice* each) { return each->looks_ahead; });
}

void Observer::observe(const Environment::Episode& episode, float* groups, float* devices,
                       std::uint8_t* allowed) const {
  const Problem& problem = parts_->constants.problem;
  const DeviceId device_count = problem.cluster().device_count();
  const GroupId current = episode.current();
  for (DeviceId device = 0; device < device_count; ++device) {
    allowed[device] = problem.can_run(current, device) ? 1 : 0;
  }
  if (parts_->of_groups.empty() && parts_->of_devices.empty()) return;
  const State state(parts_->constants, episode);
  const std::size_t width = parts_->group_width;
  std::size_t column = 0;
  for (const OfGroup* each : parts_->of_groups) {
    float* const first = groups + column;
    for (GroupId group = 0; group < problem.groups().count(); ++group) {
      float* const to = first + at(group) * width;
      if (each->value != nullptr) {
        *to = each->value(state, group);
      } else {
        std::fill_n(to, device_count, 0.0F);
        to[episode.placement[group]] = 1;
      }
    }
    column += each->value != nullptr ? 1 : at(device_count);
  }
  for (DeviceId device = 0; device < device_count; ++device) {
    float* const row = devices + at(device) * parts_->of_devices.size();
    for (std::size_t f = 0; f < parts_->of_devices.size(); ++f) {
      row[f] = allowed[device] != 0 ? parts_->of_devices[f]->value(state, device) : 0.0F;
    }
  }
}

}  // namespace berth
