#include "message_passing.h"

#include <utility>

namespace berth::placeto {

MessagePassing::MessagePassing(const EmbeddingShape& shape, const Perceptron& message,
                               const Perceptron& update, const Neighbours& sources,
                               const Neighbours& receivers, bool top_down, std::size_t groups,
                               Arena& arena)
    : shape_(shape),
      message_(message),
      update_(update),
      sources_(sources),
      receivers_(receivers),
      top_down_(top_down),
      groups_(groups),
      width_(padded(shape.features)),
      rounds_(shape.rounds == 0 ? 0
              : shape.sweep     ? 1
                                : shape.rounds),
      values_(arena.rows(rounds_ * (2 * shape.layers + 2) * groups, width_)) {}

MessagePassing::Round MessagePassing::round(std::size_t r) const {
  const std::size_t layers = shape_.layers;
  const std::size_t first = r * (2 * layers + 2) * groups_;
  const std::size_t stride = groups_ * width_;
  const auto block = [&](std::size_t i) { return values_.part(first + i * groups_, groups_); };
  return {{block(0), stride}, block(layers), {block(layers + 1), stride}, block(2 * layers + 1)};
}

void MessagePassing::forward(const Perceptrons& run, ConstRows h) {
  if (rounds_ == 0) return;
  if (shape_.sweep) {
    sweep(run, h);
  } else {
    rounds(run, h);
  }
}

void MessagePassing::backward(const Perceptrons& run, ConstRows h, MessageGradients d) const {
  if (rounds_ == 0) {
    run.kernel().add(d.x.data, d.x.size(), d.h.data);
  } else if (shape_.sweep) {
    sweep_back(run, h, d);
  } else {
    rounds_back(run, h, d);
  }
}

// --- all groups at once
// ----------------------------------------------------------------------------

void MessagePassing::rounds(const Perceptrons& run, ConstRows h) {
  const std::size_t last = shape_.layers - 1;
  ConstRows now = h;
  for (std::size_t r = 0; r < rounds_; ++r) {
    const Round at = round(r);
    run.forward(message_, now, at.heard);
    run.kernel().gather_sum(sources_.begin.data(), sources_.to.data(),
                            shape_.mean_messages ? sources_.share.data() : nullptr, groups_,
                            at.heard.layer(last).data, width_, at.sums.data);
    run.forward(update_, at.sums, at.change);
    const Rows change = at.change.layer(last);
    for (std::size_t v = 0; v < groups_; ++v) {
      if (sources_.begin[v] == sources_.begin[v + 1]) clear(change.part(v, 1));
    }
    add_self_term(run.kernel(), now, h, change, at.x);
    now = at.x;
  }
}

void MessagePassing::rounds_back(const Perceptrons& run, ConstRows h, MessageGradients d) const {
  const Kernels& kernels = run.kernel();
  for (std::size_t r = rounds_; r-- > 0;) {
    const Round at = round(r);
    const ConstRows before = r > 0 ? ConstRows(round(r - 1).x) : h;
    const Rows d_change = d.messages;
    copy(d.x, d_change);
    run.backward(update_, at.sums, at.change, d_change.data, d.input.data);
    const Rows d_sums = d.input;
    divide_by_degree(d_sums);
    kernels.gather_sum(receivers_.begin.data(), receivers_.to.data(), nullptr, groups_, d_sums.data,
                       width_, d.messages.data);
    if (shape_.self_term == SelfTerm::transform) kernels.add(d.x.data, d.x.size(), d.h.data);
    run.backward(message_, before, at.heard, d.messages.data, d.input.data);
    if (shape_.self_term == SelfTerm::previous) {
      kernels.add(d.input.data, d.x.size(), d.x.data);
    } else {
      std::swap(d.input, d.x);
    }
  }
  kernels.add(d.x.data, d.x.size(), d.h.data);  // the first round starts from h
}

// --- one pass from end to end
// ----------------------------------------------------------------------

template <typename Visit>
void MessagePassing::each_heard(std::size_t v, Visit&& visit) const {
  for (auto e = static_cast<std::size_t>(sources_.begin[v]);
       e < static_cast<std::size_t>(sources_.begin[v + 1]); ++e) {
    const auto u = static_cast<std::size_t>(sources_.to[e]);
    if (top_down_ ? u < v : u > v) visit(u);
  }
}

std::size_t MessagePassing::heard_count(std::size_t v) const {
  std::size_t count = 0;
  each_heard(v, [&](std::size_t) { ++count; });
  return count;
}

void MessagePassing::sweep(const Perceptrons& run, ConstRows h) {
  const std::size_t last = shape_.layers - 1;
  const Round at = round(0);
  for (std::size_t i = 0; i < groups_; ++i) {
    const std::size_t v = swept(i);
    const Rows sum = at.sums.part(v, 1);
    clear(sum);
    each_heard(
        v, [&](std::size_t u) { run.kernel().add(at.heard.layer(last).row(u), width_, sum.data); });
    const std::size_t terms = heard_count(v);
    if (shape_.mean_messages) divide(sum, terms);
    const Activations change = at.change.part(v, 1);
    run.forward(update_, sum, change);
    if (terms == 0) clear(change.layer(last));
    const Rows x = at.x.part(v, 1);
    add_self_term(run.kernel(), h.part(v, 1), h.part(v, 1), change.layer(last), x);
    run.forward(message_, x, at.heard.part(v, 1));
  }
}

void MessagePassing::sweep_back(const Perceptrons& run, ConstRows, MessageGradients d) const {
  const Kernels& kernels = run.kernel();
  const Round at = round(0);
  clear(d.messages);
  for (std::size_t i = groups_; i-- > 0;) {
    const std::size_t v = swept(i);
    float* const d_x = d.x.row(v);
    run.backward(message_, at.x.part(v, 1), at.heard.part(v, 1), d.messages.row(v), d.input.data);
    kernels.add(d.input.data, width_, d_x);
    if (shape_.self_term != SelfTerm::none) kernels.add(d_x, width_, d.h.row(v));
    copy(d.x.part(v, 1), d.row);
    run.backward(update_, at.sums.part(v, 1), at.change.part(v, 1), d.row.data, d.input.data);
    const Rows d_sum = d.input.part(0, 1);
    if (shape_.mean_messages) divide(d_sum, heard_count(v));
    each_heard(v, [&](std::size_t u) { kernels.add(d_sum.data, width_, d.messages.row(u)); });
  }
}

void MessagePassing::add_self_term(const Kernels& kernels, ConstRows now, ConstRows h,
                                   ConstRows change, Rows out) const {
  if (shape_.self_term == SelfTerm::none) {
    copy(change, out);
    return;
  }
  const ConstRows own = shape_.self_term == SelfTerm::previous ? now : h;
  kernels.sum(own.data, change.data, change.size(), out.data);
}

void MessagePassing::divide_by_degree(Rows rows) const {
  if (!shape_.mean_messages) return;
  for (std::size_t v = 0; v < groups_; ++v) {
    for (std::size_t i = 0; i < width_; ++i) rows.row(v)[i] *= sources_.share[v];
  }
}

}  // namespace berth::placeto
