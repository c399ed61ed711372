// The table of `berth compare`, for a terminal, as JSON and as CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "berth/run.h"
#include "outcome.h"

namespace berth::command {

/// Best first: what fits by its objective, then what does not fit, then the failures.
void sort_rows(std::vector<ComparedPolicy>& rows);

/// Whether Ctrl-C ended the comparison, so that its policies had unequal times.
[[nodiscard]] bool interrupted(std::span<const ComparedPolicy> rows);

/// `rows` sorted and not empty.
[[nodiscard]] std::string compare_text(const std::vector<ComparedPolicy>& rows);
/// The best row's outcome_json with "policies": one object per row.
[[nodiscard]] nlohmann::ordered_json compare_json(const std::vector<ComparedPolicy>& rows);
/// One object of the above "policies".
[[nodiscard]] nlohmann::ordered_json row_json(const ComparedPolicy& row);
/// RFC 4180, with a header line.
[[nodiscard]] std::string compare_csv(const std::vector<ComparedPolicy>& rows);

/// The same of objects that have the keys of row_json, and these before them.
[[nodiscard]] std::string csv_text(const std::vector<nlohmann::ordered_json>& objects,
                                   std::vector<std::string> columns = {});

}  // namespace berth::command
