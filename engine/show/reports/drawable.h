// Checks that reports make before they draw.
#pragma once

#include "berth/placement.h"
#include "berth/problem.h"
#include "berth/simulator.h"

namespace berth {

/// Throws Error(invalid_argument) unless placement and trace are of the problem's graph and cluster.
void check_drawable(const Problem& problem, const Placement& placement, const StepTrace& trace);

}  // namespace berth
