// The data of a report's page, as JSON for its script. reports/page/data.js reads it.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>

#include "berth/report.h"

namespace berth::reports {

/// Upper limit for all placements of a page together.
inline constexpr std::size_t kMostTransfers = 12'000;

/// `should_stop`: see report_html.
[[nodiscard]] nlohmann::ordered_json report_data(const Report& report,
                                                 const std::function<bool()>& should_stop);

}  // namespace berth::reports
