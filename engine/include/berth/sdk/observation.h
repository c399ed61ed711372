/// @file
/// An episode's state as numbers: features of every group, and of every
/// device that the current group could go to. Which ones is a list of names.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "berth/export.h"
#include "berth/groups.h"
#include "berth/problem.h"
#include "berth/sdk/environment.h"

namespace berth {

/// The edges between groups that a network sees: those that run with the order of the groups, which
/// are all where the quotient graph is acyclic. On the others, which only co-location brings (from a
/// gradient back to its op's group), messages would go round in circles, and every group would be
/// before and after every other. By dst, as Groups::out_edges.
[[nodiscard]] inline std::span<const Groups::Edge> forward_out_edges(const Groups& groups,
                                                                     GroupId group) noexcept {
  const auto all = groups.out_edges(group);
  const auto later = std::partition_point(
      all.begin(), all.end(), [&](const Groups::Edge& edge) { return edge.dst < group; });
  return {later, all.end()};
}
/// Sorted by src, as Groups::in_edges.
[[nodiscard]] inline std::span<const Groups::Edge> forward_in_edges(const Groups& groups,
                                                                    GroupId group) noexcept {
  const auto all = groups.in_edges(group);
  const auto later = std::partition_point(
      all.begin(), all.end(), [&](const Groups::Edge& edge) { return edge.src < group; });
  return {all.begin(), later};
}

/// Facts about the groups of a problem that no state changes.
struct BERTH_EXPORT GroupFacts {
  explicit GroupFacts(const Problem& problem);

  std::vector<double> cost_us;       ///< by group: the least over devices
  std::vector<double> output_bytes;  ///< by group
  /// The longest path to a sink, by group, itself included, each at its least cost; relative to the longest.
  std::vector<double> tail;
  double largest_cost_us = 0, largest_output = 0, largest_parameters = 0;
};

/// Sums over the groups on each device in a state that is not done, without the current group.
struct BERTH_EXPORT DeviceLoads {
  DeviceLoads(const Problem& problem, const Environment::Episode& episode);

  std::vector<double> us;               ///< by device: of compute time
  std::vector<double> parameter_bytes;  ///< by device
  double total_us = 0;                  ///< with the current group
};

/// The groups visited so far as a list schedule: the rest of a placement is undecided, so that it
/// says little about where the current group should go.
[[nodiscard]] BERTH_EXPORT PartialSchedule visited_schedule(const Problem& problem,
                                                            const Environment::Episode& episode);

/// A feature and what it says. One number, but for `device` of groups: one per device.
struct ObservationFeature {
  std::string_view name;
  std::string_view meaning;
};
[[nodiscard]] BERTH_EXPORT std::vector<ObservationFeature> group_features();
[[nodiscard]] BERTH_EXPORT std::vector<ObservationFeature> device_features();

/// The chosen features of the states of one problem. [thread-safe: immutable]
class BERTH_EXPORT Observer {
 public:
  /// Keeps a reference to `problem`, which must outlive it. Throws Error(invalid_argument) that
  /// lists the known features for a name that is none.
  Observer(const Problem& problem, std::span<const std::string> of_groups,
           std::span<const std::string> of_devices);
  ~Observer();
  Observer(Observer&&) noexcept;
  Observer& operator=(Observer&&) noexcept;

  /// Numbers per group, and per device.
  [[nodiscard]] std::size_t group_width() const noexcept;
  [[nodiscard]] std::size_t device_width() const noexcept;
  /// Whether a feature needs StateDetails::alternatives.
  [[nodiscard]] bool looks_ahead() const noexcept;

  /// Writes [groups, group_width()] and [devices, device_width()] values, and 1 for each device
  /// that can run the current group. The episode is not done.
  void observe(const Environment::Episode& episode, float* groups, float* devices,
               std::uint8_t* allowed) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace berth
