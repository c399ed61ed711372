// How many readers a tensor has on each device.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth::moves {

/// A small table (device -> count > 0) per row. A row has room for as many devices as it can have
/// readers. So all rows together are no larger than the number of edges, whatever the number of
/// devices.
class DeviceCounts {
 public:
  struct Entry {
    std::uint32_t device;
    std::uint32_t count;
  };

  /// Appends an empty row.
  void add_row(std::size_t readers, std::uint32_t devices) {
    rows_.push_back({static_cast<std::uint32_t>(room_), 0});
    room_ += std::min<std::size_t>(readers, devices);
    entries_.resize(room_);
  }
  void clear() {
    for (Row& row : rows_) row.size = 0;
  }

  [[nodiscard]] std::span<const Entry> row(std::uint32_t number) const noexcept {
    return {entries_.data() + rows_[number].begin, rows_[number].size};
  }
  /// True where the device is new in the row.
  bool add(std::uint32_t number, std::uint32_t device) noexcept {
    Row& row = rows_[number];
    Entry* const begin = entries_.data() + row.begin;
    for (Entry* entry = begin; entry != begin + row.size; ++entry) {
      if (entry->device != device) continue;
      ++entry->count;
      return false;
    }
    begin[row.size++] = {device, 1};
    return true;
  }
  /// The device must be in the row. True if it is gone from it.
  bool remove(std::uint32_t number, std::uint32_t device) noexcept {
    Row& row = rows_[number];
    Entry* entry = entries_.data() + row.begin;
    while (entry->device != device) ++entry;
    if (--entry->count != 0) return false;
    *entry = entries_[row.begin + --row.size];
    return true;
  }

 private:
  struct Row {
    std::uint32_t begin;
    std::uint32_t size;
  };
  std::vector<Row> rows_;
  std::vector<Entry> entries_;
  std::size_t room_ = 0;
};

}  // namespace berth::moves
