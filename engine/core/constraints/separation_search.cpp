#include "constraints/separation_search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "berth/support/index.h"

namespace berth {
namespace {

/// Whether every row can have a column of its own (augmenting paths, Kuhn 1955).
class Matching {
 public:
  explicit Matching(const std::vector<std::vector<bool>>& can) : can_(can) {}

  bool covers_rows() {
    if (can_.empty()) return true;
    row_of_.assign(can_.front().size(), kNone);
    for (std::size_t row = 0; row < can_.size(); ++row) {
      tried_.assign(row_of_.size(), false);
      if (!augment(row)) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // At most as deep as there are devices.
  bool augment(std::size_t row) {
    for (std::size_t column = 0; column < row_of_.size(); ++column) {
      if (!can_[row][column] || tried_[column]) continue;
      tried_[column] = true;
      if (row_of_[column] == kNone || augment(row_of_[column])) {
        row_of_[column] = row;
        return true;
      }
    }
    return false;
  }

  const std::vector<std::vector<bool>>& can_;
  std::vector<std::size_t> row_of_;
  std::vector<bool> tried_;
};

}  // namespace

SeparationSearch::SeparationSearch(DeviceId device_count, const std::vector<Parts>& separations,
                                   const std::function<bool(Item, DeviceId)>& can_be_on)
    : devices_(at(device_count)),
      owners_(separations.size() * devices_),
      uses_(devices_, 0),
      column_of_(devices_, 0) {
  using Labels = std::vector<std::pair<std::int32_t, std::int32_t>>;
  std::map<Item, Labels> labels;
  for (std::size_t s = 0; s < separations.size(); ++s) {
    nodes_of_part_.emplace_back(separations[s].size());
    for (std::size_t part = 0; part < separations[s].size(); ++part) {
      const std::pair label(static_cast<std::int32_t>(s), static_cast<std::int32_t>(part));
      for (const Item item : separations[s][part]) {
        Labels& list = labels[item];
        if (list.empty() || list.back() != label) list.push_back(label);
      }
    }
  }
  std::map<std::pair<Labels, std::vector<bool>>, std::size_t> index;
  for (auto& [item, list] : labels) {
    std::vector<bool> allowed;
    for (DeviceId d = 0; d < device_count; ++d) allowed.push_back(can_be_on(item, d));
    const auto [entry, is_new] = index.try_emplace({list, allowed}, nodes_.size());
    if (is_new) {
      nodes_.push_back({{}, allowed, list, std::vector<std::int32_t>(devices_, 0), kNoDevice});
      for (const auto& [s, part] : list) nodes_of_part_[at(s)][at(part)].push_back(entry->second);
    }
    nodes_[entry->second].items.push_back(item);
  }
  std::map<std::vector<bool>, std::int32_t> columns;
  for (std::size_t d = 0; d < devices_; ++d) {
    std::vector<bool> column;
    for (const Node& node : nodes_) column.push_back(node.allowed[d]);
    column_of_[d] =
        columns.try_emplace(std::move(column), static_cast<std::int32_t>(columns.size()))
            .first->second;
  }
}

std::optional<std::size_t> SeparationSearch::crowded() const {
  for (std::size_t s = 0; s < nodes_of_part_.size(); ++s) {
    std::vector<std::vector<bool>> can;
    for (const std::vector<std::size_t>& nodes : nodes_of_part_[s]) {
      can.emplace_back(devices_, false);
      for (const std::size_t node : nodes) {
        for (std::size_t d = 0; d < devices_; ++d) {
          can.back()[d] = can.back()[d] || nodes_[node].allowed[d];
        }
      }
    }
    if (!Matching(can).covers_rows()) return s;
  }
  return std::nullopt;
}

void SeparationSearch::prefer(Item item, DeviceId device) {
  for (Node& node : nodes_) {
    if (std::binary_search(node.items.begin(), node.items.end(), item)) ++node.votes[at(device)];
  }
}

bool SeparationSearch::free_for(const Node& node, DeviceId device) const {
  return node.allowed[at(device)] &&
         std::all_of(node.labels.begin(), node.labels.end(), [&](const auto& label) {
           const Owner& there = owner(label.first, device);
           return there.count == 0 || there.part == label.second;
         });
}

bool SeparationSearch::unused(DeviceId device) const {
  return uses_[at(device)] == 0;
}

SeparationSearch::Node* SeparationSearch::most_restricted() {
  Node* found = nullptr;
  std::ptrdiff_t fewest = 0;
  for (Node& node : nodes_) {
    if (node.device != kNoDevice) continue;
    std::ptrdiff_t count = 0;
    for (DeviceId d = 0; at(d) < devices_; ++d) count += free_for(node, d) ? 1 : 0;
    work_left_ -= static_cast<double>(devices_ * node.labels.size());
    if (found != nullptr && count >= fewest) continue;
    found = &node;
    fewest = count;
    if (count == 0) break;
  }
  return found;
}

/// The wanted devices first; of unused ones that no node tells apart, one.
std::vector<DeviceId> SeparationSearch::candidates(const Node& node) const {
  std::vector<DeviceId> order;
  for (DeviceId d = 0; at(d) < devices_; ++d) {
    if (free_for(node, d)) order.push_back(d);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](DeviceId a, DeviceId b) { return node.votes[at(a)] > node.votes[at(b)]; });
  std::vector<bool> tried(devices_, false);  // by column
  std::erase_if(order, [&](DeviceId d) {
    if (!unused(d)) return false;
    const bool again = tried[at(column_of_[at(d)])];
    tried[at(column_of_[at(d)])] = true;
    return again;
  });
  return order;
}

void SeparationSearch::assign(Node& node, DeviceId device) {
  node.device = device;
  ++uses_[at(device)];
  for (const auto& [s, part] : node.labels) {
    owner(s, device).part = part;
    ++owner(s, device).count;
  }
}

void SeparationSearch::release(Node& node) {
  --uses_[at(node.device)];
  for (const auto& [s, part] : node.labels) --owner(s, node.device).count;
  node.device = kNoDevice;
}

// As deep as there are nodes, which the work limit keeps to some thousands.
SeparationSearch::Result SeparationSearch::search() {
  Node* const node = most_restricted();
  if (node == nullptr) return Result::found;
  if (work_left_ < 0) return Result::unknown;
  for (const DeviceId device : candidates(*node)) {
    assign(*node, device);
    if (const Result result = search(); result != Result::impossible) return result;
    release(*node);
  }
  return Result::impossible;
}

SeparationSearch::Result SeparationSearch::run() {
  return search();
}

std::vector<std::pair<SeparationSearch::Item, DeviceId>> SeparationSearch::devices() const {
  std::vector<std::pair<Item, DeviceId>> result;
  for (const Node& node : nodes_) {
    for (const Item item : node.items) result.emplace_back(item, node.device);
  }
  return result;
}

}  // namespace berth
