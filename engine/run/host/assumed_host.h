// The host of a machine in words that name none.
#pragma once

#include <string>

#include "berth/run.h"

namespace berth {

/// A note of the host that a machine's words left open, with the words that state it; empty where settings name
/// no such machine.
[[nodiscard]] std::string assumed_host_text(const Settings& settings);

/// Whether the placement does not fit, or has work on a host.
[[nodiscard]] bool depends_on_host(const Outcome& outcome);

}  // namespace berth
