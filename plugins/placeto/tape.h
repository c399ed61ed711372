// The record of a rollout of Placeto, for learning from it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph_view.h"
#include "network.h"
#include "placeto.h"
#include "state_features.h"

namespace berth::placeto {

/// A problem as the network sees it. Immutable.
struct PlacetoPolicy::ProblemView {
  ProblemView(const Problem& of, const FeatureShape& shape, std::size_t peers)
      : problem(of), graph(problem.groups(), peers), encoder(problem, shape) {}

  Problem problem;
  GraphView graph;
  FeatureEncoder encoder;
};

struct PlacetoPolicy::Tape final : NetworkPolicy::Tape {
  /// The decisions of an episode; those of a step lie in the arrays at the step.
  struct Episode {
    std::shared_ptr<const ProblemView> view;
    std::size_t steps = 0;
    std::size_t devices = 0;
    std::size_t group_floats = 0;      ///< per step
    std::size_t candidate_floats = 0;  ///< per step
    std::vector<float> groups;
    std::vector<float> candidates;
    std::vector<std::uint8_t> allowed;    ///< [step, devices]
    std::vector<std::int32_t> placement;  ///< [step, groups]
    std::vector<std::int32_t> current;    ///< [step]
    std::vector<std::int32_t> action;     ///< [step]

    std::vector<float> log_policy;  ///< of the last decision, by device

    [[nodiscard]] Decision decision(std::size_t step) const {
      return {{&view->graph, groups.data() + step * group_floats,
               static_cast<std::size_t>(current[step]), placement.data() + step * view->graph.count,
               devices},
              candidates.data() + step * candidate_floats,
              allowed.data() + step * devices};
    }
  };
  std::vector<Episode> episodes;
};

}  // namespace berth::placeto
