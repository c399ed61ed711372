// The page of --report and of `berth report`.
#pragma once

#include <filesystem>
#include <vector>

#include "berth/report.h"
#include "compare_report.h"

namespace berth::command {

/// Adds the table of policies; its best placement too where the report has none yet. The rows must
/// outlive the report.
void add_rows(Report& report, const std::vector<ComparedPolicy>& rows);

/// Writes the page, after check_targets.
void write_report(const std::filesystem::path& path, const Report& report);
/// Writes the page of one placement.
void write_report(const std::filesystem::path& path, const Outcome& outcome);

}  // namespace berth::command
