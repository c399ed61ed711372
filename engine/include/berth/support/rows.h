/// @file
/// Rows of different lengths in one array ("compressed sparse rows").
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace berth {

/// Rows are filled one after the other; less than 2^32 items in all. [thread-compatible]
///
///   row      0     1   2
///   begin    0     2   2       5      row r is items[begin[r], begin[r + 1])
///   items    a b       c d e
template <typename Item>
class Rows {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return begin_.size() - 1; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// The items of all rows, one after the other.
  [[nodiscard]] std::span<const Item> items() const noexcept { return items_; }
  [[nodiscard]] std::span<Item> items() noexcept { return items_; }
  /// The index in items() at which each row begins, and the end of the last.
  [[nodiscard]] std::span<const std::uint32_t> begin() const noexcept { return begin_; }

  template <std::integral Row>
  [[nodiscard]] std::span<const Item> operator[](Row row) const noexcept {
    const auto r = static_cast<std::size_t>(row);
    assert(r < size());
    return {items_.data() + begin_[r], items_.data() + begin_[r + 1]};
  }
  template <std::integral Row>
  [[nodiscard]] std::span<Item> operator[](Row row) noexcept {
    const auto r = static_cast<std::size_t>(row);
    assert(r < size());
    return {items_.data() + begin_[r], items_.data() + begin_[r + 1]};
  }

  void reserve(std::size_t rows, std::size_t items) {
    begin_.reserve(rows + 1);
    items_.reserve(items);
  }
  /// Adds to the row that is being filled.
  void push_back(Item item) { items_.push_back(std::move(item)); }
  /// The items in the row that is being filled.
  [[nodiscard]] std::span<Item> open_row() noexcept {
    return {items_.data() + begin_.back(), items_.data() + items_.size()};
  }
  /// The row that is being filled ends here; the next one begins.
  void end_row() {
    assert(items_.size() <= std::numeric_limits<std::uint32_t>::max());
    begin_.push_back(static_cast<std::uint32_t>(items_.size()));
  }
  void clear() {
    begin_.assign(1, 0);
    items_.clear();
  }

  /// `count` rows from items in any order. `visit(report)` calls report(row, item) for each; it is
  /// called twice and must report the same both times. Items keep their order within a row. The
  /// first call only counts, so that visit may report items as rvalues.
  template <typename Visit>
  [[nodiscard]] static Rows collect(std::size_t count, const Visit& visit) {
    Rows rows;
    rows.begin_.assign(count + 1, 0);
    visit([&](auto row, auto&&) { ++rows.begin_[static_cast<std::size_t>(row) + 1]; });
    for (std::size_t row = 0; row < count; ++row) rows.begin_[row + 1] += rows.begin_[row];
    rows.items_.resize(rows.begin_.back());
    std::vector<std::uint32_t> next(rows.begin_.begin(), rows.begin_.end() - 1);
    visit([&](auto row, auto&& item) {
      rows.items_[next[static_cast<std::size_t>(row)]++] = std::forward<decltype(item)>(item);
    });
    return rows;
  }

 private:
  std::vector<std::uint32_t> begin_ = {0};
  std::vector<Item> items_;
};

}  // namespace berth
