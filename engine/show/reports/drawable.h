// What reports ask of a step before they draw it.
#pragma once

#include <vector>

#include "berth/placement.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

/// Throws Error(invalid_argument) unless placement and trace are of the problem's graph and cluster.
void check_drawable(const Problem& problem, const Placement& placement, const StepTrace& trace);

/// Whether the transfer is of weights that a host keeps for the device that works with them
/// (Cluster::works_in): its producer reads them.
inline bool sends_weights(const Cluster& cluster, const Transfer& transfer) {
  return cluster.works_in(transfer.src) != transfer.src;
}

/// Ops and transfers on the critical path of a step: a flag for each, in the order of the trace.
struct CriticalFlags {
  explicit CriticalFlags(const StepTrace& trace);
  std::vector<bool> op;
  std::vector<bool> transfer;
};

}  // namespace berth
