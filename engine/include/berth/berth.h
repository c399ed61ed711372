/// @file
/// Includes everything an embedder needs. Authors of plugins find the rest in berth/sdk/. The
/// conventions of all headers are in types.h.
#pragma once

#include "berth/backend.h"       // IWYU pragma: export
#include "berth/bound_effort.h"  // IWYU pragma: export
#include "berth/bounds.h"        // IWYU pragma: export
#include "berth/cluster.h"       // IWYU pragma: export
#include "berth/colocation.h"    // IWYU pragma: export
#include "berth/constraints.h"   // IWYU pragma: export
#include "berth/costs.h"         // IWYU pragma: export
#include "berth/dtype.h"         // IWYU pragma: export
#include "berth/engine.h"        // IWYU pragma: export
#include "berth/error.h"         // IWYU pragma: export
#include "berth/evaluator.h"     // IWYU pragma: export
#include "berth/explanation.h"   // IWYU pragma: export
#include "berth/files.h"         // IWYU pragma: export
#include "berth/frontend.h"      // IWYU pragma: export
#include "berth/graph.h"         // IWYU pragma: export
#include "berth/groups.h"        // IWYU pragma: export
#include "berth/options.h"       // IWYU pragma: export
#include "berth/outcome.h"       // IWYU pragma: export
#include "berth/placement.h"     // IWYU pragma: export
#include "berth/plan_writers.h"  // IWYU pragma: export
#include "berth/plugin.h"        // IWYU pragma: export
#include "berth/policy.h"        // IWYU pragma: export
#include "berth/problem.h"       // IWYU pragma: export
#include "berth/replicas.h"      // IWYU pragma: export
#include "berth/report.h"        // IWYU pragma: export
#include "berth/run.h"           // IWYU pragma: export
#include "berth/settings.h"      // IWYU pragma: export
#include "berth/simulator.h"     // IWYU pragma: export
#include "berth/types.h"         // IWYU pragma: export
#include "berth/version.h"       // IWYU pragma: export
