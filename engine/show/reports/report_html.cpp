#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "berth/error.h"
#include "berth/report.h"
#include "reports/drawable.h"
#include "reports/page.h"
#include "reports/report_data.h"

namespace berth {
namespace {

void check(const Report& report) {
  const std::size_t count = report.placements.size();
  if (count == 0 || count > 2) {
    throw Error(ErrorCode::invalid_argument,
                "a report shows one placement or two; it was given " + std::to_string(count));
  }
  for (const ReportedPlacement& each : report.placements) {
    check_drawable(*each.outcome.problem, each.outcome.placement, each.outcome.trace);
  }
  const Problem& first = *report.placements.front().outcome.problem;
  const Problem& last = *report.placements.back().outcome.problem;
  if (first.shared_graph() != last.shared_graph() ||
      first.shared_cluster() != last.shared_cluster()) {
    throw Error(
        ErrorCode::invalid_argument,
        "a report compares placements of one graph on one machine; write a report for each");
  }
}

/// JSON that can stand in a script element: nothing in it ends the element or begins a comment,
/// whatever names contain.
std::string embedded(const nlohmann::ordered_json& data) {
  const std::string text =
      data.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "\\u003c";
        break;
      case '>':
        safe += "\\u003e";
        break;
      case '&':
        safe += "\\u0026";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string report_html(const Report& report, const std::function<bool()>& should_stop) {
  check(report);
  constexpr std::string_view kMark = "BERTH_DATA";
  const std::string_view page = reports::kPage;
  const std::size_t mark = page.find(kMark);
  std::string html(page.substr(0, mark));
  html += embedded(reports::report_data(report, should_stop));
  html += page.substr(mark + kMark.size());
  return html;
}

}  // namespace berth
