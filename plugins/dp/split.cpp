#include "dp/split.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "berth/support/index.h"

namespace berth::policies::dp {
namespace {

constexpr std::int64_t kPairsBetweenPolls = 1 << 14;
/// Sums in different orders differ by this much at most; windows are opened by it.
constexpr double kRounding = 1e-12;

}  // namespace

SplitSearch::SplitSearch(const SplitGraph& graph, const Ideals& ideals)
    : graph_(graph),
      words_(ideals.words()),
      count_(ideals.size()),
      classes_(graph.classes().size()),
      receive_us_(classes_, 0),
      send_us_(classes_, 0) {
  weigh();
  number_states();
  std::vector<double> weight(count_, 0);
  std::vector<std::uint32_t> size(count_, 0);
  for (std::size_t ideal = 0; ideal < count_; ++ideal) {
    for (Node node = 0; node < graph_.count(); ++node) {
      if (!Ideals::contains(ideals.bits(ideal), node)) continue;
      // Always in the numbering's order: so a larger set never weighs less, rounding or not.
      weight[ideal] += node_weight_[at(node)];
      ++size[ideal];
    }
  }
  std::vector<std::uint32_t> order(count_);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return weight[a] != weight[b] ? weight[a] < weight[b] : size[a] < size[b];
  });
  for (const std::uint32_t ideal : order) {
    bits_.insert(bits_.end(), ideals.bits(ideal), ideals.bits(ideal) + words_);
    weight_.push_back(weight[ideal]);
  }
  sum_ideals();
  find_leaving_tensors();
}

void SplitSearch::weigh() {
  // The speed of a class: how its time for what it can run compares with the fastest's. Any numbers
  // are valid; these make the windows narrow.
  for (std::size_t c = 0; c < classes_; ++c) {
    double fastest_us = 0;
    double here_us = 0;
    for (Node node = 0; node < graph_.count(); ++node) {
      if (graph_.us(c, node) == kCannotRun) continue;
      double least = kCannotRun;
      for (std::size_t other = 0; other < classes_; ++other) {
        least = std::min(least, graph_.us(other, node));
      }
      fastest_us += least;
      here_us += graph_.us(c, node);
    }
    speed_.push_back(here_us > 0 ? fastest_us / here_us : 1);
  }
  for (Node node = 0; node < graph_.count(); ++node) {
    double least = kCannotRun;
    for (std::size_t c = 0; c < classes_; ++c) {
      if (graph_.us(c, node) == kCannotRun) continue;
      least = std::min(least, speed_[c] * graph_.us(c, node));
    }
    node_weight_.push_back(least);
  }
}

void SplitSearch::number_states() {
  for (const SplitClass& of_class : graph_.classes()) {
    stride_.push_back(states_);
    states_ *= of_class.devices.size() + 1;
  }
  for (std::size_t state = 0; state < states_; ++state) {
    double left = 0;
    std::uint32_t used = 0;
    for (std::size_t c = 0; c < classes_; ++c) {
      const std::size_t devices = graph_.classes()[c].devices.size();
      const std::size_t of_class = state / stride_[c] % (devices + 1);
      left += speed_[c] * static_cast<double>(devices - of_class);
      used += static_cast<std::uint32_t>(of_class);
    }
    left_speed_.push_back(left);
    used_.push_back(used);
  }
  const double total = std::accumulate(node_weight_.begin(), node_weight_.end(), 0.0);
  bound_us_ = left_speed_[0] > 0 ? total / left_speed_[0] * (1 - kRounding) : 0;
}

void SplitSearch::sum_ideals() {
  us_.assign(count_ * classes_, 0);
  unable_.assign(count_ * classes_, 0);
  bytes_.assign(count_, 0);
  for (std::size_t rank = 0; rank < count_; ++rank) {
    for (Node node = 0; node < graph_.count(); ++node) {
      if (!Ideals::contains(bits(rank), node)) continue;
      bytes_[rank] += graph_.bytes(node);
      for (std::size_t c = 0; c < classes_; ++c) {
        const double us = graph_.us(c, node);
        if (us == kCannotRun) {
          ++unable_[rank * classes_ + c];
        } else {
          us_[rank * classes_ + c] += us;
        }
      }
    }
  }
}

void SplitSearch::find_leaving_tensors() {
  const auto& tensors = graph_.tensors();
  for (std::size_t rank = 0; rank < count_; ++rank) {
    leaving_begin_.push_back(leaving_.size());
    for (std::size_t tensor = 0; tensor < tensors.size(); ++tensor) {
      if (!Ideals::contains(bits(rank), tensors[tensor].producer)) continue;
      // The last consumer in a topological order is as good a first guess as any.
      const auto& consumers = tensors[tensor].consumers;
      const bool leaves = std::any_of(consumers.rbegin(), consumers.rend(), [&](Node consumer) {
        return !Ideals::contains(bits(rank), consumer);
      });
      if (leaves) leaving_.push_back(static_cast<std::uint32_t>(tensor));
    }
  }
  leaving_begin_.push_back(leaving_.size());
}

SplitSearch::Outcome SplitSearch::below(const Limits& limits, Split& split) {
  table_.assign(count_ * states_, Entry{kCannotRun, 0, 0});
  entry(0, 0).load_us = 0;
  limit_us_ = limits.load_us;
  slack_ = kRounding * weight_.back();
  bool complete = true;
  std::int64_t next_poll = pairs_;
  for (std::size_t from = 0; from + 1 < count_ && complete; ++from) {
    if (!collect_active(from)) continue;
    collect_waiting(from);
    for (std::size_t to = first_reach(from); to < count_; ++to) {
      if (weight_[to] > weight_[from] + reach_) break;
      if (++pairs_ >= next_poll) {
        next_poll = pairs_ + kPairsBetweenPolls;
        complete = pairs_ < limits.pairs && !(limits.should_stop && limits.should_stop());
        if (!complete) break;
      }
      if (is_subset(from, to)) extend(from, to);
    }
  }
  split = trace();
  if (!complete) return Outcome::gave_up;
  return split.load_us < limits.load_us ? Outcome::found : Outcome::none;
}

bool SplitSearch::collect_active(std::size_t rank) {
  active_.clear();
  reach_ = 0;
  need_ = kCannotRun;
  for (std::size_t state = 0; state < states_; ++state) {
    if (entry(rank, state).load_us >= limit_us_) continue;
    if (weight_.back() - weight_[rank] > room(left_speed_[state])) continue;
    bool extends = false;
    for (std::size_t c = 0; c < classes_; ++c) {
      if (used_of(c, state) == graph_.classes()[c].devices.size()) continue;
      extends = true;
      reach_ = std::max(reach_, room(speed_[c]));
      need_ = std::min(need_, weight_.back() - room(left_speed_[state] - speed_[c]));
    }
    if (extends) active_.push_back(state);
  }
  return !active_.empty();
}

std::size_t SplitSearch::first_reach(std::size_t from) const {
  const auto begin = weight_.begin() + static_cast<std::ptrdiff_t>(from) + 1;
  return static_cast<std::size_t>(std::lower_bound(begin, weight_.end(), need_) - weight_.begin());
}

void SplitSearch::collect_waiting(std::size_t rank) {
  waiting_.clear();
  consumers_.clear();
  for (std::size_t i = leaving_begin_[rank]; i < leaving_begin_[rank + 1]; ++i) {
    const std::size_t begin = consumers_.size();
    for (const Node consumer : graph_.tensors()[leaving_[i]].consumers) {
      if (!Ideals::contains(bits(rank), consumer)) consumers_.push_back(consumer);
    }
    waiting_.push_back({leaving_[i], begin, consumers_.size()});
  }
}

bool SplitSearch::is_subset(std::size_t from, std::size_t to) const {
  const std::uint64_t* small = bits(from);
  const std::uint64_t* large = bits(to);
  for (std::size_t word = 0; word < words_; ++word) {
    if ((small[word] & ~large[word]) != 0) return false;
  }
  return true;
}

void SplitSearch::extend(std::size_t from, std::size_t to) {
  bool transfers_known = false;
  const double rest = weight_.back() - weight_[to];
  for (std::size_t c = 0; c < classes_; ++c) {
    const SplitClass& of_class = graph_.classes()[c];
    if (unable_[to * classes_ + c] != unable_[from * classes_ + c]) continue;
    if (bytes_[to] - bytes_[from] > of_class.memory_bytes) continue;
    double load_us = us_[to * classes_ + c] - us_[from * classes_ + c];
    if (load_us >= limit_us_) continue;
    if (!transfers_known) sum_transfers(from, to);
    transfers_known = true;
    load_us += receive_us_[c] + send_us_[c];
    if (load_us >= limit_us_) continue;
    for (const std::size_t state : active_) {
      if (used_of(c, state) == of_class.devices.size()) continue;
      const std::size_t after = state + stride_[c];
      if (rest > room(left_speed_[after])) continue;
      const double largest = std::max(load_us, entry(from, state).load_us);
      Entry& known = entry(to, after);
      if (largest >= known.load_us) continue;
      known = {largest, static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(c)};
    }
  }
}

void SplitSearch::sum_transfers(std::size_t from, std::size_t to) {
  std::fill(receive_us_.begin(), receive_us_.end(), 0);
  std::fill(send_us_.begin(), send_us_.end(), 0);
  for (const Waiting& tensor : waiting_) {
    const auto consumers = consumers_.begin();
    const bool received =
        std::any_of(consumers + static_cast<std::ptrdiff_t>(tensor.first_consumer),
                    consumers + static_cast<std::ptrdiff_t>(tensor.last_consumer),
                    [&](Node consumer) { return Ideals::contains(bits(to), consumer); });
    if (!received) continue;
    for (std::size_t c = 0; c < classes_; ++c) {
      receive_us_[c] += graph_.receive_us(c, tensor.tensor);
    }
  }
  for (std::size_t i = leaving_begin_[to]; i < leaving_begin_[to + 1]; ++i) {
    if (Ideals::contains(bits(from), graph_.tensors()[leaving_[i]].producer)) continue;
    for (std::size_t c = 0; c < classes_; ++c) send_us_[c] += graph_.send_us(c, leaving_[i]);
  }
}

Split SplitSearch::trace() const {
  Split split;
  const std::size_t full = count_ - 1;
  std::size_t state = 0;
  for (std::size_t s = 0; s < states_; ++s) {
    const double load_us = table_[full * states_ + s].load_us;
    // Among equals the fewest devices.
    const bool better =
        load_us < split.load_us ||
        (load_us == split.load_us && load_us < kCannotRun && used_[s] < used_[state]);
    if (!better) continue;
    split.load_us = load_us;
    state = s;
  }
  if (split.load_us == kCannotRun) return split;
  for (std::size_t rank = full; rank != 0;) {
    const Entry& last = table_[rank * states_ + state];
    SplitPart& part = split.parts.emplace_back();
    part.of_class = last.of_class;
    for (Node node = 0; node < graph_.count(); ++node) {
      if (Ideals::contains(bits(rank), node) && !Ideals::contains(bits(last.before), node)) {
        part.nodes.push_back(node);
      }
    }
    rank = last.before;
    state -= stride_[last.of_class];
  }
  std::reverse(split.parts.begin(), split.parts.end());
  return split;
}

}  // namespace berth::policies::dp
