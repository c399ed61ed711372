#include "common/timeline.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace berth::policies {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr std::size_t kLargestBlock = 128;

std::ptrdiff_t offset(std::size_t index) {
  return static_cast<std::ptrdiff_t>(index);
}

}  // namespace

Timeline::Timeline()
    : blocks_(1, Block{{0, kForever}}), starts_us_(1, 0), longest_us_(1, kForever) {}

std::size_t Timeline::block_at(double us) const {
  const auto after = std::upper_bound(starts_us_.begin(), starts_us_.end(), us);
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(after - starts_us_.begin() - 1, 0));
}

std::size_t Timeline::started(const Block& block, double us) {
  const auto after = std::upper_bound(block.begin(), block.end(), us,
                                      [](double a, const Gap& gap) { return a < gap.start_us; });
  return static_cast<std::size_t>(after - block.begin());
}

double Timeline::earliest(double from_us, double duration_us) const {
  if (from_us >= end_us_) return from_us;
  std::size_t b = block_at(from_us);
  std::size_t next = started(blocks_[b], from_us);
  if (next > 0 && blocks_[b][next - 1].end_us - from_us >= duration_us) return from_us;
  for (;; ++b, next = 0) {
    if (longest_us_[b] < duration_us) continue;
    for (; next < blocks_[b].size(); ++next) {
      const Gap& gap = blocks_[b][next];
      if (gap.end_us - gap.start_us >= duration_us) return gap.start_us;
    }
  }
}

void Timeline::occupy(double start_us, double duration_us) {
  if (duration_us <= 0) return;
  const std::size_t b = block_at(start_us);
  Block& block = blocks_[b];
  const std::size_t index = started(block, start_us) - 1;
  const Gap rest{start_us + duration_us, block[index].end_us};
  const bool before = start_us > block[index].start_us;
  const bool after = rest.end_us > rest.start_us;
  end_us_ = std::max(end_us_, rest.start_us);
  if (before) block[index].end_us = start_us;
  if (before && after) {
    block.insert(block.begin() + offset(index) + 1, rest);
  } else if (after) {
    block[index] = rest;
  } else if (!before) {
    block.erase(block.begin() + offset(index));
  }
  if (block.empty()) {
    blocks_.erase(blocks_.begin() + offset(b));
    starts_us_.erase(starts_us_.begin() + offset(b));
    longest_us_.erase(longest_us_.begin() + offset(b));
    return;
  }
  if (block.size() > kLargestBlock) split(b);
  refresh(b);
}

void Timeline::refresh(std::size_t block) {
  starts_us_[block] = blocks_[block].front().start_us;
  double longest_us = 0;
  for (const Gap& gap : blocks_[block])
    longest_us = std::max(longest_us, gap.end_us - gap.start_us);
  longest_us_[block] = longest_us;
}

void Timeline::split(std::size_t block) {
  const auto middle = blocks_[block].begin() + offset(blocks_[block].size() / 2);
  Block second(middle, blocks_[block].end());
  blocks_[block].erase(middle, blocks_[block].end());
  blocks_.insert(blocks_.begin() + offset(block) + 1, std::move(second));
  starts_us_.insert(starts_us_.begin() + offset(block) + 1, 0);
  longest_us_.insert(longest_us_.begin() + offset(block) + 1, 0);
  refresh(block + 1);
}

}  // namespace berth::policies
