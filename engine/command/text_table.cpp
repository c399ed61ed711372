#include "text_table.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace berth::command {
namespace {

/// Columns a terminal gives to UTF-8 text, one per code point.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void append_row(std::string& out, const std::vector<std::string>& cells,
                const std::vector<TextTable::Column>& columns,
                const std::vector<std::size_t>& widths, int indent) {
  std::string line(static_cast<std::size_t>(indent), ' ');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t used = width(cells[i]);
    const std::string padding(used < widths[i] ? widths[i] - used : 0, ' ');
    const bool right = columns[i].align == TextTable::Align::right && used <= widths[i];
    line += right ? padding + cells[i] : cells[i] + padding;
    if (i + 1 < cells.size()) line += "  ";
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + '\n';
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe(text);
  std::replace_if(
      safe.begin(), safe.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '\x7F'; }, '?');
  return safe;
}

std::string bar(double fraction, std::size_t width) {
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const auto full = static_cast<std::size_t>(std::lround(clamped * static_cast<double>(width)));
  return std::string(full, '#') + std::string(width - full, '.');
}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() <= columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(int indent) const {
  std::vector<std::size_t> widths;
  std::vector<std::string> titles;
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    widths.push_back(width(column.title));
  }
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool runs_over = i + 1 == row.size() && row.size() < columns_.size();
      if (!runs_over) widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string out;
  append_row(out, titles, columns_, widths, indent);
  for (const auto& row : rows_) append_row(out, row, columns_, widths, indent);
  return out;
}

}  // namespace berth::command
