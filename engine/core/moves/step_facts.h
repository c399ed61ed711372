#pragma once

#include <vector>

#include "simulator/footprints.h"
#include "simulator/plan.h"

namespace berth::moves {

/// Data of a plan that incremental steps read beside the plan itself. Immutable.
struct StepFacts {
  explicit StepFacts(const simulator::Plan& plan);

  std::vector<double> busy_us;                   ///< kind-major, by Index: pauses included
  std::vector<const double*> busy_rows;          ///< by device
  std::vector<simulator::Index> end_of_readers;  ///< by Index: one past the op's last consumer
  simulator::Footprints footprints;
  bool always_fits;  ///< whatever the placement
};

}  // namespace berth::moves
