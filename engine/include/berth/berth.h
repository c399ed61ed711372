/// @file
/// Includes everything an embedder needs. The conventions of all headers are in types.h.
#pragma once

#include "berth/backend.h"                // IWYU pragma: export
#include "berth/bound_effort.h"           // IWYU pragma: export
#include "berth/cluster.h"                // IWYU pragma: export
#include "berth/compare.h"                // IWYU pragma: export
#include "berth/constraints.h"            // IWYU pragma: export
#include "berth/costs.h"                  // IWYU pragma: export
#include "berth/engine.h"                 // IWYU pragma: export
#include "berth/environment.h"            // IWYU pragma: export
#include "berth/error.h"                  // IWYU pragma: export
#include "berth/evaluator.h"              // IWYU pragma: export
#include "berth/explanation.h"            // IWYU pragma: export
#include "berth/files.h"                  // IWYU pragma: export
#include "berth/footprint.h"              // IWYU pragma: export
#include "berth/frontend.h"               // IWYU pragma: export
#include "berth/graph.h"                  // IWYU pragma: export
#include "berth/groups.h"                 // IWYU pragma: export
#include "berth/learning.h"               // IWYU pragma: export
#include "berth/moves.h"                  // IWYU pragma: export
#include "berth/one_device.h"             // IWYU pragma: export
#include "berth/outcome.h"                // IWYU pragma: export
#include "berth/placement.h"              // IWYU pragma: export
#include "berth/policy.h"                 // IWYU pragma: export
#include "berth/problem.h"                // IWYU pragma: export
#include "berth/problem_choices.h"        // IWYU pragma: export
#include "berth/program.h"                // IWYU pragma: export
#include "berth/random.h"                 // IWYU pragma: export
#include "berth/repair.h"                 // IWYU pragma: export
#include "berth/separation.h"             // IWYU pragma: export
#include "berth/settings.h"               // IWYU pragma: export
#include "berth/simulator.h"              // IWYU pragma: export
#include "berth/support/disjoint_sets.h"  // IWYU pragma: export
#include "berth/support/index.h"          // IWYU pragma: export
#include "berth/support/rows.h"           // IWYU pragma: export
#include "berth/support/score.h"          // IWYU pragma: export
#include "berth/support/sums.h"           // IWYU pragma: export
#include "berth/support/text.h"           // IWYU pragma: export
#include "berth/types.h"                  // IWYU pragma: export
#include "berth/version.h"                // IWYU pragma: export
