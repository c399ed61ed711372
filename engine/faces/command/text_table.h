#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace berth::command {

/// `text` safe to show on a terminal: control characters, and what is no UTF-8, become '?'. Names
/// come from model files.
[[nodiscard]] std::string printable(std::string_view text);
/// The same, but newlines stay.
[[nodiscard]] std::string printable_lines(std::string_view text);
/// As much of `text`, which is printable, as `columns` columns hold.
[[nodiscard]] std::string first_columns(std::string_view text, std::size_t columns);

/// A share in [0, 1] as `width` characters: bar(0.5, 8) = "####....".
[[nodiscard]] std::string bar(double fraction, std::size_t width);

/// A table of aligned columns, two spaces apart, no trailing blanks.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// At most as many cells as there are columns. The last cell given may run over the columns that
  /// are left, and does not widen its own: a row that ends in a sentence.
  void add_row(std::vector<std::string> cells);

  /// Every line indented by `indent` and ended by a newline.
  [[nodiscard]] std::string text(int indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace berth::command
