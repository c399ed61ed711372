// The page of --report and of `berth report`.
#pragma once

#include <filesystem>
#include <vector>

#include "berth/report.h"
#include "berth/settings.h"
#include "compare_report.h"

namespace berth::command {

/// Adds the table of policies; its best placement too where the report has none yet. The rows must
/// outlive the report.
void add_rows(Report& report, const std::vector<ComparedPolicy>& rows);

/// Writes the page, after check_targets. What ops would cost elsewhere is tried until Ctrl-C, and
/// where the settings have a budget no longer than the bound may take (bound_stop).
void write_report(const std::filesystem::path& path, const Report& report,
                  const Settings& settings);
/// Writes the page of one placement.
void write_report(const std::filesystem::path& path, const Outcome& outcome,
                  const Settings& settings);

}  // namespace berth::command
