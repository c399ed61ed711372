/// @file
/// A page that shows a placement: one HTML file that needs no network and no other file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "berth/export.h"
#include "berth/outcome.h"

namespace berth {

/// A placement on the page.
struct ReportedPlacement {
  std::string label;  ///< for people: a policy's name, or a file's
  Outcome outcome;
};

/// A policy in the table of policies.
struct ReportedPolicy {
  std::string name;
  const Outcome* outcome = nullptr;  ///< null = it found nothing
  std::string failure;               ///< why not
};

struct Report {
  std::vector<ReportedPlacement> placements;  ///< one, or two to be compared
  std::vector<ReportedPolicy> policies;       ///< best first; may be empty
};

/// The page: the graph folded by the scopes of its op names, the step on devices and links, memory,
/// transfers, constraints, and for an op where it is, why, and what elsewhere would cost.
///
/// Names are shown as text, whatever they contain: they are data in the page, and its content
/// security policy runs the page's own script alone. Under 3 MB for 20,000 ops; of more than 12,000
/// transfers, those that take longest are shown. "Elsewhere" is computed for as many ops as a fixed
/// number of simulated ops allows, those of the critical path first, until `should_stop` (empty =
/// never) says so. Throws
/// Error(invalid_argument) for no placement, more than two, and placements of different graphs or
/// machines.
[[nodiscard]] BERTH_EXPORT std::string report_html(const Report& report,
                                                   const std::function<bool()>& should_stop = {});

/// The plan of replicas as berth.replicas/1, JSON text: the batch, and of each replica its devices, samples
/// and weight, for programs that share a batch by themselves. Replicas' losses count by their weights: the
/// shares, or 1 where all gradients are of sums. Throws Error(unsupported) for a step that is not replicated.
[[nodiscard]] BERTH_EXPORT std::string replicas_json(const Outcome& outcome);

}  // namespace berth
