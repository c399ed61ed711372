#include "text_table.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>

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

namespace {

/// Bytes of the UTF-8 letter at the start of `text` that a terminal may be shown; 0 where there is
/// none: a control character (also those above 0x7F) or no UTF-8.
std::size_t letter_size(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  constexpr std::uint32_t kLeast[] = {0, 0, 0xA0, 0x800, 0x10000};
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return 0;
  std::uint32_t letter = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    letter = letter << 6 | (byte(i) & 0x3FU);
  }
  const bool surrogate = letter >= 0xD800 && letter <= 0xDFFF;
  // Letters that turn the direction of what follows, or have no picture: a name could look like another.
  const bool turns = (letter >= 0x200B && letter <= 0x200F) ||
                     (letter >= 0x2028 && letter <= 0x202E) ||
                     (letter >= 0x2060 && letter <= 0x206F) || letter == 0x061C || letter == 0xFEFF;
  return letter >= kLeast[size] && letter <= 0x10FFFF && !surrogate && !turns ? size : 0;
}

std::string replaced(std::string_view text, bool keep_newlines) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const bool newline = keep_newlines && text.front() == '\n';
    const std::size_t size = newline ? 1 : letter_size(text);
    if (size == 0) {
      safe += '?';
    } else {
      safe += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return safe;
}

}  // namespace

std::string printable(std::string_view text) {
  return replaced(text, /*keep_newlines=*/false);
}

std::string printable_lines(std::string_view text) {
  return replaced(text, /*keep_newlines=*/true);
}

std::string first_columns(std::string_view text, std::size_t columns) {
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end) {
    const bool letter = (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
    if (letter && seen++ == columns) break;
  }
  return std::string(text.substr(0, end));
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
