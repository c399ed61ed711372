#include "pooling.h"

#include <algorithm>

namespace berth::placeto {
namespace {

/// `from`, rows of `width` floats without padding, as padded rows.
void pad(const float* from, std::size_t width, Rows to) {
  for (std::size_t r = 0; r < to.count; ++r) {
    std::copy_n(from + r * width, width, to.row(r));
    std::fill_n(to.row(r) + width, to.width - width, 0.0F);
  }
}

}  // namespace

SetPools::SetPools(const EmbeddingShape& shape, std::span<const Perceptron> in,
                   std::span<const Perceptron> out, const StateView& view,
                   std::vector<std::int32_t>& order, Arena& arena)
    : shape_(shape), in_(in), out_(out), view_(view), order_(order) {
  const std::size_t groups = view.graph->count;
  const std::size_t width = padded(shape.node_width());
  rows_ = arena.rows(groups, width);
  members_ = arena.activations(shape.layers, groups, width);
  sums_ = arena.rows(shape.sets(), width);
  pooled_ = arena.activations(shape.layers, shape.sets(), width);
}

bool SetPools::holds(std::size_t set, std::size_t group) const {
  const Relation relation = view_.graph->relation(view_.current, group);
  return shape_.pooling == Pooling::one ? relation != Relation::self
                                        : static_cast<std::size_t>(relation) == set;
}

void SetPools::find_members() {
  order_.clear();
  for (std::size_t set = 0; set < shape_.sets(); ++set) {
    begin_[set] = order_.size();
    for (std::size_t u = 0; u < view_.graph->count; ++u) {
      if (holds(set, u)) order_.push_back(static_cast<std::int32_t>(u));
    }
  }
  begin_[shape_.sets()] = order_.size();
}

void SetPools::forward(const Perceptrons& run, ConstRows x, float* pooled) {
  find_members();
  const std::size_t last = shape_.layers - 1;
  const std::size_t out = shape_.node_width();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    copy(x.part(static_cast<std::size_t>(order_[i]), 1), rows_.part(i, 1));
  }
  for (std::size_t set = 0; set < shape_.sets(); ++set) {
    const std::size_t count = begin_[set + 1] - begin_[set];
    const Activations members = members_.part(begin_[set], count);
    run.forward(in_[set], rows_.part(begin_[set], count), members);
    const Rows sum = sums_.part(set, 1);
    clear(sum);
    for (std::size_t r = 0; r < count; ++r) {
      run.kernel().add(members.layer(last).row(r), sum.width, sum.data);
    }
    if (shape_.mean_pools) divide(sum, count);
    const Activations result = pooled_.part(set, 1);
    run.forward(out_[set], sum, result);
    std::copy_n(result.layer(last).data, out, pooled + set * out);
  }
}

void SetPools::backward(const Perceptrons& run, const float* d_pooled, PoolGradients d,
                        Rows d_x) const {
  const std::size_t out = shape_.node_width();
  for (std::size_t set = 0; set < shape_.sets(); ++set) {
    const std::size_t count = begin_[set + 1] - begin_[set];
    const Rows d_result = d.pooled.part(0, 1);
    const Rows d_sum = d.sums.part(0, 1);
    pad(d_pooled + set * out, out, d_result);
    run.backward(out_[set], sums_.part(set, 1), pooled_.part(set, 1), d_result.data, d_sum.data);
    if (shape_.mean_pools) divide(d_sum, count);
    for (std::size_t r = 0; r < count; ++r) copy(d_sum, d.members.part(r, 1));
    run.backward(in_[set], rows_.part(begin_[set], count), members_.part(begin_[set], count),
                 d.members.data, d.rows.data);
    for (std::size_t r = 0; r < count; ++r) {
      const auto u = static_cast<std::size_t>(order_[begin_[set] + r]);
      run.kernel().add(d.rows.row(r), d_x.width, d_x.row(u));
    }
  }
}

DevicePools::DevicePools(const EmbeddingShape& shape, std::span<const Perceptron> in,
                         std::span<const Perceptron> out, const StateView& view, Arena& arena)
    : shape_(shape), in_(in), out_(out), view_(view) {
  const std::size_t groups = shape.by_device ? view.graph->count : 0;
  const std::size_t devices = shape.by_device ? view.devices : 0;
  const std::size_t width = padded(shape.node_width());
  members_ = arena.activations(shape.layers, groups, width);
  sums_ = arena.rows(devices, width);
  pooled_ = arena.activations(shape.layers, devices, width);
}

void DevicePools::divide_by_members(Rows sums) const {
  if (!shape_.mean_pools) return;
  for (std::size_t m = 0; m < view_.devices; ++m) {
    std::size_t members = 0;
    for (std::size_t u = 0; u < view_.graph->count; ++u) {
      if (u != view_.current && device_of(u) == m) ++members;
    }
    divide(sums.part(m, 1), members);
  }
}

void DevicePools::forward(const Perceptrons& run, ConstRows x, float* pooled) {
  const std::size_t last = shape_.layers - 1;
  const std::size_t out = shape_.node_width();
  run.forward(in_.back(), x, members_);
  clear(sums_);
  for (std::size_t u = 0; u < x.count; ++u) {
    if (u == view_.current) continue;
    run.kernel().add(members_.layer(last).row(u), sums_.width, sums_.row(device_of(u)));
  }
  divide_by_members(sums_);
  run.forward(out_.back(), sums_, pooled_);
  for (std::size_t m = 0; m < view_.devices; ++m) {
    std::copy_n(pooled_.layer(last).row(m), out, pooled + m * out);
  }
}

void DevicePools::backward(const Perceptrons& run, ConstRows x, const float* d_pooled,
                           PoolGradients d, Rows d_x) const {
  const Rows d_result = d.pooled.part(0, view_.devices);
  const Rows d_sums = d.sums.part(0, view_.devices);
  pad(d_pooled, shape_.node_width(), d_result);
  run.backward(out_.back(), sums_, pooled_, d_result.data, d_sums.data);
  divide_by_members(d_sums);
  for (std::size_t u = 0; u < x.count; ++u) {
    if (u == view_.current) {
      clear(d.members.part(u, 1));
    } else {
      copy(d_sums.part(device_of(u), 1), d.members.part(u, 1));
    }
  }
  run.backward(in_.back(), x, members_, d.members.data, d.rows.data);
  run.kernel().add(d.rows.data, x.size(), d_x.data);
}

}  // namespace berth::placeto
