// The table of `berth compare`, for a terminal, as JSON and as CSV.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "outcome.h"

namespace berth::command {

/// One policy: what it found, or why it found nothing.
struct CompareRow {
  std::string policy;
  std::optional<Outcome> outcome;
  std::string failure;

  [[nodiscard]] bool fits() const { return outcome && outcome->evaluation.feasible; }
};

/// Best first: what fits by its objective, then what does not fit, then the failures.
void sort_rows(std::vector<CompareRow>& rows);

/// `rows` sorted and not empty.
[[nodiscard]] std::string compare_text(const std::string& model, const Problem& problem,
                                       const std::vector<CompareRow>& rows);
/// The best row's outcome_json with "policies": one object per row.
[[nodiscard]] nlohmann::ordered_json compare_json(const std::vector<CompareRow>& rows);
/// One object of the above "policies".
[[nodiscard]] nlohmann::ordered_json row_json(const CompareRow& row);
/// RFC 4180, with a header line.
[[nodiscard]] std::string compare_csv(const std::vector<CompareRow>& rows);

/// The keys of row_json in the order of the CSV's columns.
[[nodiscard]] std::vector<std::string> row_columns();
/// `object`'s values of these keys as a line of CSV.
[[nodiscard]] std::string csv_line(const nlohmann::ordered_json& object,
                                   const std::vector<std::string>& columns);

}  // namespace berth::command
