#include "runtime/distinct.h"

#include <ATen/Functions.h>

#include <tuple>

namespace berth::runtime {

Distinct distinct(const Tensor& x, bool ascending) {
  const Tensor order = at::argsort(x, /*stable=*/true, 0, false);
  const Tensor sorted = at::index_select(x, 0, order);
  Distinct found;
  Tensor group;
  std::tie(found.values, group, found.counts) = at::unique_consecutive(sorted, true, true);
  // Equals have kept their order.
  const Tensor begins = at::sub(at::cumsum(found.counts, 0), found.counts);
  found.firsts = at::index_select(order, 0, begins);
  if (!ascending) {
    const Tensor by_first = at::argsort(found.firsts, 0, false);
    const Tensor rank = at::empty_like(by_first).index_copy_(
        0, by_first, at::arange(by_first.numel(), by_first.options()));
    group = at::index_select(rank, 0, group);
    for (Tensor* const each : {&found.values, &found.firsts, &found.counts}) {
      *each = at::index_select(*each, 0, by_first);
    }
  }
  found.places = at::empty_like(order).index_copy_(0, order, group);
  return found;
}

}  // namespace berth::runtime
