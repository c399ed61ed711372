#include "common/timeline.h"

#include <algorithm>
#include <limits>

#include "berth/random.h"

namespace berth::policies {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

}  // namespace

Timeline::Timeline() : root_(0) {
  gaps_.push_back({0, kForever, kForever, Random(0).next()});
}

double Timeline::earliest(double from_us, double duration_us) const {
  if (from_us >= end_us_) return from_us;
  const Gap* before = nullptr;
  for (Index index = root_; index != kNone;) {
    const Gap& here = gap(index);
    if (here.start_us <= from_us) before = &here;
    index = here.start_us <= from_us ? here.right : here.left;
  }
  if (before != nullptr && before->end_us - from_us >= duration_us) return from_us;
  // The last gap never ends, so there is one.
  return gap(first_fitting(root_, from_us, duration_us)).start_us;
}

Timeline::Index Timeline::first_fitting(Index root, double from_us, double duration_us) const {
  if (longest_us(root) < duration_us) return kNone;
  const Gap& here = gap(root);
  if (here.start_us > from_us) {
    const Index earlier = first_fitting(here.left, from_us, duration_us);
    if (earlier != kNone) return earlier;
    if (here.end_us - here.start_us >= duration_us) return root;
  }
  return first_fitting(here.right, from_us, duration_us);
}

void Timeline::occupy(double start_us, double duration_us) {
  if (duration_us <= 0) return;
  path_.clear();
  std::size_t found = 0;  // length of the path down to the last gap that starts by then
  for (Index index = root_; index != kNone;) {
    path_.push_back(index);
    const bool by_then = gap(index).start_us <= start_us;
    if (by_then) found = path_.size();
    index = by_then ? gap(index).right : gap(index).left;
  }
  path_.resize(found);
  Gap& taken = gap(path_.back());
  const Gap rest{start_us + duration_us, taken.end_us, 0, 0};
  const bool splits = start_us > taken.start_us && rest.end_us > rest.start_us;
  if (start_us > taken.start_us) {
    taken.end_us = start_us;
  } else {
    // Its place among its neighbours stays, also where nothing is left of it.
    taken.start_us = std::min(rest.start_us, taken.end_us);
  }
  end_us_ = std::max(end_us_, rest.start_us);
  for (auto index = path_.rbegin(); index != path_.rend(); ++index) refresh(*index);
  if (!splits) return;
  gaps_.push_back(rest);
  const auto added = static_cast<Index>(gaps_.size()) - 1;
  gap(added).priority = Random(static_cast<std::uint64_t>(added)).next();
  refresh(added);
  root_ = insert(root_, added);
}

void Timeline::refresh(Index index) {
  Gap& here = gap(index);
  here.longest_us =
      std::max({here.end_us - here.start_us, longest_us(here.left), longest_us(here.right)});
}

Timeline::Index Timeline::insert(Index root, Index added) {
  if (root == kNone) return added;
  if (gap(added).start_us < gap(root).start_us) {
    const Index below = insert(gap(root).left, added);
    gap(root).left = below;
    refresh(root);
    return gap(below).priority > gap(root).priority ? rotate_right(root) : root;
  }
  const Index below = insert(gap(root).right, added);
  gap(root).right = below;
  refresh(root);
  return gap(below).priority > gap(root).priority ? rotate_left(root) : root;
}

Timeline::Index Timeline::rotate_right(Index root) {
  const Index top = gap(root).left;
  gap(root).left = gap(top).right;
  gap(top).right = root;
  refresh(root);
  refresh(top);
  return top;
}

Timeline::Index Timeline::rotate_left(Index root) {
  const Index top = gap(root).right;
  gap(root).right = gap(top).left;
  gap(top).left = root;
  refresh(root);
  refresh(top);
  return top;
}

}  // namespace berth::policies
