#include "embedding.h"

#include <algorithm>
#include <utility>

namespace berth::placeto {

namespace {

/// A perceptron's activations of `rows` rows: layer l lies at base + l * layer_stride.
struct Activations {
  float* base;
  std::size_t layer_stride;

  [[nodiscard]] float* layer(std::size_t l) const { return base + l * layer_stride; }
  [[nodiscard]] Activations row(std::size_t r, std::size_t width) const {
    return {base + r * width, layer_stride};
  }
};

}  // namespace

Embedding::Embedding(const EmbeddingShape& shape) : shape_(shape), kernels_(kernels()) {
  const std::size_t node = shape_.features;
  const std::size_t both = shape_.node_width();
  self_ = perceptron("self", shape_.layers + 1, node);
  if (shape_.rounds > 0) {
    const char* const names[2] = {"top_down", "bottom_up"};
    for (std::size_t way = 0; way < 2; ++way) {
      message_[way] = perceptron(std::string(names[way]) + ".f", shape_.layers, node);
      update_[way] = perceptron(std::string(names[way]) + ".g", shape_.layers, node);
    }
  }
  const auto add_pool = [&](const std::string& name) {
    pool_in_.push_back(perceptron(name + ".l", shape_.layers, both));
    pool_out_.push_back(perceptron(name + ".h", shape_.layers, both));
  };
  const char* const sets[kRelations] = {"ancestors", "descendants", "parallel"};
  for (std::size_t k = 0; k < shape_.sets(); ++k) {
    add_pool(shape_.pooling == Pooling::one ? "all" : sets[k]);
  }
  if (shape_.by_device) add_pool("device");
}

Perceptron Embedding::perceptron(const std::string& name, std::size_t layers, std::size_t width) {
  Perceptron result;
  for (std::size_t l = 0; l < layers; ++l) {
    result.push_back(layers_.add(name + "." + std::to_string(l), width, width));
  }
  return result;
}

void Embedding::set_parameters(std::span<const float> flat) {
  for (const DenseLayer& layer : layers_.all()) {
    const float* const weight = flat.data() + layer.flat;
    layers_.set(layer, weight, weight + layer.out * layer.in);
  }
}

void Embedding::add_gradient(const float* gradient, std::span<float> flat_gradient) const {
  for (const DenseLayer& layer : layers_.all()) {
    float* const weight = flat_gradient.data() + layer.flat;
    DenseLayers::add_gradient(layer, gradient, weight, weight + layer.out * layer.in);
  }
}

/// One state's way through the network, forward or backward; lays its values out on the tape.
class Pass {
 public:
  Pass(const Embedding& embedding, const StateView& view, Embedding::Tape& tape, float* gradient)
      : e_(embedding),
        shape_(embedding.shape_),
        view_(view),
        tape_(tape),
        gradient_(gradient),
        k_(embedding.kernels_),
        n_(view.graph->count),
        w_(padded(shape_.features)),
        w2_(padded(shape_.node_width())) {
    place_values();
    if (gradient_ != nullptr) place_gradients();
  }

  void forward(float* state, float* by_device) {
    run(e_.self_, view_.features, w_, n_, /*last_relu=*/false, self_);
    for (std::size_t way = 0; way < 2; ++way) {
      if (shape_.rounds == 0) {
        final_[way] = h();
      } else if (shape_.sweep) {
        sweep(way);
      } else {
        rounds(way);
      }
    }
    join_directions();
    pool_sets(state);
    if (shape_.by_device) pool_devices(by_device);
  }

  void backward(const float* d_state, const float* d_by_device) {
    std::fill_n(d_joined_, n_ * w2_, 0.0F);
    std::fill_n(d_h_, n_ * w_, 0.0F);
    find_final();
    unpool_sets(d_state);
    if (shape_.by_device) unpool_devices(d_by_device);
    for (std::size_t way = 0; way < 2; ++way) {
      split_direction(way);
      if (shape_.rounds == 0) {
        k_.add(d_x_, n_ * w_, d_h_);
      } else if (shape_.sweep) {
        sweep_back(way);
      } else {
        rounds_back(way);
      }
    }
    back(e_.self_, view_.features, w_, n_, self_, d_h_, /*last_relu=*/false, nullptr);
  }

 private:
  // --- where things lie ----------------------------------------------------------------------
  void place_values() {
    const std::size_t layers = shape_.layers;
    const std::size_t rounds = shape_.sweep ? 1 : shape_.rounds;
    const std::size_t sets = shape_.sets();
    std::size_t offset = 0;
    const auto take = [&](std::size_t count) { return std::exchange(offset, offset + count); };
    const std::size_t self = take((layers + 1) * n_ * w_);
    round_size_ = (2 * layers + 2) * n_ * w_;
    const std::size_t messages = take(2 * rounds * round_size_);
    const std::size_t joined = take(n_ * w2_);
    const std::size_t set_rows = take(n_ * w2_), set_acts = take(layers * n_ * w2_);
    const std::size_t set_sums = take(sets * w2_), set_outs = take(layers * sets * w2_);
    const std::size_t devices = shape_.by_device ? view_.devices : 0;
    const std::size_t some = shape_.by_device ? n_ : 0;
    const std::size_t device_acts = take(layers * some * w2_);
    const std::size_t device_sums = take(devices * w2_);
    const std::size_t device_outs = take(layers * devices * w2_);
    if (tape_.values.size() < offset) tape_.values.resize(offset);
    float* const base = tape_.values.data();
    self_ = {base + self, n_ * w_};
    messages_ = base + messages;
    way_size_ = rounds * round_size_;
    joined_ = base + joined;
    set_rows_ = base + set_rows;
    set_acts_ = {base + set_acts, n_ * w2_};
    set_sums_ = base + set_sums;
    set_outs_ = {base + set_outs, sets * w2_};
    device_acts_ = {base + device_acts, some * w2_};
    device_sums_ = base + device_sums;
    device_outs_ = {base + device_outs, devices * w2_};
  }

  void place_gradients() {
    const std::size_t pooled = std::max(shape_.sets(), view_.devices);
    const std::size_t wide = std::max(n_, pooled) * w2_;
    const std::size_t total = 2 * n_ * w2_ + 3 * n_ * w_ + 3 * wide;
    if (tape_.gradients.size() < total) tape_.gradients.resize(total);
    float* next = tape_.gradients.data();
    const auto take = [&](std::size_t count) { return std::exchange(next, next + count); };
    d_joined_ = take(n_ * w2_);
    d_rows_ = take(n_ * w2_);
    d_x_ = take(n_ * w_);
    d_h_ = take(n_ * w_);
    d_next_ = take(n_ * w_);
    d_a_ = take(wide);
    d_b_ = take(wide);
    spare_ = take(wide);
  }

  [[nodiscard]] float* h() const { return self_.layer(shape_.layers); }
  [[nodiscard]] const Neighbours& sources(std::size_t way) const {
    return way == 0 ? view_.graph->parents : view_.graph->children;
  }
  [[nodiscard]] const Neighbours& receivers(std::size_t way) const {
    return way == 0 ? view_.graph->children : view_.graph->parents;
  }
  // One round: f's activations, the sums, g's activations, the new x.
  [[nodiscard]] float* round(std::size_t way, std::size_t r) const {
    return messages_ + way * way_size_ + r * round_size_;
  }
  [[nodiscard]] Activations f(float* round) const { return {round, n_ * w_}; }
  [[nodiscard]] float* sums(float* round) const { return round + shape_.layers * n_ * w_; }
  [[nodiscard]] Activations g(float* round) const { return {sums(round) + n_ * w_, n_ * w_}; }
  [[nodiscard]] float* x(float* round) const { return round + (2 * shape_.layers + 1) * n_ * w_; }
  [[nodiscard]] std::size_t last() const { return shape_.layers - 1; }

  // --- perceptrons ---------------------------------------------------------------------------
  void run(const Perceptron& p, const float* in, std::size_t in_stride, std::size_t rows,
           bool last_relu, Activations out) const {
    for (std::size_t l = 0; l < p.size(); ++l) {
      e_.layers_.forward(p[l], in, in_stride, rows, last_relu || l + 1 < p.size(), out.layer(l));
      in = out.layer(l);
      in_stride = padded(p[l].out);
    }
  }

  /// `d` holds the gradient of the last activations and is spent; that of `in` goes to `d_in`
  /// unless null, which overlaps neither `d` nor the spare buffer.
  void back(const Perceptron& p, const float* in, std::size_t in_stride, std::size_t rows,
            Activations acts, float* d, bool last_relu, float* d_in) {
    float* other = spare_;
    for (std::size_t l = p.size(); l-- > 0;) {
      const DenseLayer& layer = p[l];
      const std::size_t width = padded(layer.out);
      if (last_relu || l + 1 < p.size()) k_.mask(acts.layer(l), rows * width, d);
      float* const to = l > 0 ? other : d_in;
      e_.layers_.backward(layer, l > 0 ? acts.layer(l - 1) : in, l > 0 ? width : in_stride, rows, d,
                          gradient_, to);
      if (to == nullptr) return;
      other = std::exchange(d, to);
    }
  }

  // --- message passing, all groups at once -------------------------------------------------------
  void rounds(std::size_t way) {
    const Neighbours& from = sources(way);
    const float* now = h();
    for (std::size_t r = 0; r < shape_.rounds; ++r) {
      float* const at = round(way, r);
      run(e_.message_[way], now, w_, n_, /*last_relu=*/true, f(at));
      k_.gather_sum(from.begin.data(), from.to.data(), shape_.mean ? from.share.data() : nullptr,
                    n_, f(at).layer(last()), w_, sums(at));
      run(e_.update_[way], sums(at), w_, n_, /*last_relu=*/true, g(at));
      float* const change = g(at).layer(last());
      for (std::size_t v = 0; v < n_; ++v) {
        if (from.begin[v] == from.begin[v + 1]) std::fill_n(change + v * w_, w_, 0.0F);
      }
      add_self_term(now, change, n_ * w_, 0, x(at));
      now = x(at);
    }
    final_[way] = now;
  }

  /// The gradients of means over neighbours made those of the sums.
  void divide_by_degree(const Neighbours& from, float* rows) const {
    if (!shape_.mean) return;
    for (std::size_t v = 0; v < n_; ++v) {
      float* const row = rows + v * w_;
      for (std::size_t i = 0; i < w_; ++i) row[i] *= from.share[v];
    }
  }

  void divide(float* row, std::size_t width, std::size_t terms) const {
    if (!shape_.mean || terms < 2) return;
    const float scale = 1.0F / static_cast<float>(terms);
    for (std::size_t i = 0; i < width; ++i) row[i] *= scale;
  }

  /// out = the self term of the rows from `offset` floats on, plus `change`.
  void add_self_term(const float* now, const float* change, std::size_t count, std::size_t offset,
                     float* out) const {
    if (shape_.self_term == SelfTerm::none) {
      std::copy_n(change, count, out);
      return;
    }
    k_.sum((shape_.self_term == SelfTerm::previous ? now : h()) + offset, change, count, out);
  }

  void rounds_back(std::size_t way) {
    const Neighbours& to = receivers(way);
    for (std::size_t r = shape_.rounds; r-- > 0;) {
      float* const at = round(way, r);
      const float* const before = r > 0 ? x(round(way, r - 1)) : h();
      std::copy_n(d_x_, n_ * w_, d_a_);
      back(e_.update_[way], sums(at), w_, n_, g(at), d_a_, /*last_relu=*/true, d_next_);
      divide_by_degree(sources(way), d_next_);
      k_.gather_sum(to.begin.data(), to.to.data(), nullptr, n_, d_next_, w_, d_a_);
      if (shape_.self_term == SelfTerm::transform) k_.add(d_x_, n_ * w_, d_h_);
      back(e_.message_[way], before, w_, n_, f(at), d_a_, /*last_relu=*/true, d_next_);
      if (shape_.self_term == SelfTerm::previous) {
        k_.add(d_next_, n_ * w_, d_x_);
      } else {
        std::swap(d_next_, d_x_);
      }
    }
    k_.add(d_x_, n_ * w_, d_h_);  // the first round starts from h
  }

  // --- message passing, one pass from end to end -----------------------------------------------
  /// The i-th group of a sweep; sources of v that come before it are those it hears from.
  [[nodiscard]] std::size_t swept(std::size_t way, std::size_t i) const {
    return way == 0 ? i : n_ - 1 - i;
  }
  [[nodiscard]] static bool heard(std::size_t way, std::size_t from, std::size_t v) {
    return way == 0 ? from < v : from > v;
  }

  [[nodiscard]] std::size_t heard_count(std::size_t way, std::size_t v) const {
    std::size_t count = 0;
    each_heard(way, v, [&](std::size_t) { ++count; });
    return count;
  }

  template <typename Visit>
  void each_heard(std::size_t way, std::size_t v, Visit&& visit) const {
    const Neighbours& from = sources(way);
    for (auto e = static_cast<std::size_t>(from.begin[v]);
         e < static_cast<std::size_t>(from.begin[v + 1]); ++e) {
      const auto u = static_cast<std::size_t>(from.to[e]);
      if (heard(way, u, v)) visit(u);
    }
  }

  void sweep(std::size_t way) {
    float* const at = round(way, 0);
    for (std::size_t i = 0; i < n_; ++i) {
      const std::size_t v = swept(way, i);
      float* const sum = sums(at) + v * w_;
      std::fill_n(sum, w_, 0.0F);
      each_heard(way, v, [&](std::size_t u) { k_.add(f(at).layer(last()) + u * w_, w_, sum); });
      const std::size_t terms = heard_count(way, v);
      divide(sum, w_, terms);
      const Activations change = g(at).row(v, w_);
      run(e_.update_[way], sum, w_, 1, /*last_relu=*/true, change);
      if (terms == 0) std::fill_n(change.layer(last()), w_, 0.0F);
      add_self_term(h(), change.layer(last()), w_, v * w_, x(at) + v * w_);
      run(e_.message_[way], x(at) + v * w_, w_, 1, /*last_relu=*/true, f(at).row(v, w_));
    }
    final_[way] = x(at);
  }

  void sweep_back(std::size_t way) {
    float* const at = round(way, 0);
    float* const d_messages = d_a_;  // by group: gradient of f's result
    std::fill_n(d_messages, n_ * w_, 0.0F);
    for (std::size_t i = n_; i-- > 0;) {
      const std::size_t v = swept(way, i);
      float* const d = d_x_ + v * w_;
      back(e_.message_[way], x(at) + v * w_, w_, 1, f(at).row(v, w_), d_messages + v * w_,
           /*last_relu=*/true, d_next_);
      k_.add(d_next_, w_, d);
      if (shape_.self_term != SelfTerm::none) k_.add(d, w_, d_h_ + v * w_);
      std::copy_n(d, w_, d_b_);
      back(e_.update_[way], sums(at) + v * w_, w_, 1, g(at).row(v, w_), d_b_, /*last_relu=*/true,
           d_next_);
      divide(d_next_, w_, heard_count(way, v));
      each_heard(way, v, [&](std::size_t u) { k_.add(d_next_, w_, d_messages + u * w_); });
    }
  }

  // --- joining, pooling --------------------------------------------------------------------------
  void find_final() {
    for (std::size_t way = 0; way < 2; ++way) {
      final_[way] = shape_.rounds == 0 ? h() : x(round(way, shape_.sweep ? 0 : shape_.rounds - 1));
    }
  }

  void join_directions() {
    const std::size_t d = shape_.features;
    for (std::size_t v = 0; v < n_; ++v) {
      float* const row = joined_ + v * w2_;
      std::copy_n(final_[0] + v * w_, d, row);
      std::copy_n(final_[1] + v * w_, d, row + d);
      std::fill_n(row + 2 * d, w2_ - 2 * d, 0.0F);
    }
  }

  void split_direction(std::size_t way) {
    const std::size_t d = shape_.features;
    for (std::size_t v = 0; v < n_; ++v) {
      float* const row = d_x_ + v * w_;
      std::copy_n(d_joined_ + v * w2_ + way * d, d, row);
      std::fill_n(row + d, w_ - d, 0.0F);
    }
  }

  /// The groups by set, without the current one; where each set begins in tape_.order.
  void order_by_set(std::size_t (&begin)[kRelations + 1]) {
    tape_.order.clear();
    for (std::size_t set = 0; set < shape_.sets(); ++set) {
      begin[set] = tape_.order.size();
      for (std::size_t u = 0; u < n_; ++u) {
        const Relation relation = view_.graph->relation(view_.current, u);
        const bool in = shape_.pooling == Pooling::one ? relation != Relation::self
                                                       : static_cast<std::size_t>(relation) == set;
        if (in) tape_.order.push_back(static_cast<std::int32_t>(u));
      }
    }
    begin[shape_.sets()] = tape_.order.size();
  }

  void pool_sets(float* state) {
    const std::size_t out = shape_.node_width();
    std::size_t begin[kRelations + 1];
    order_by_set(begin);
    for (std::size_t i = 0; i < tape_.order.size(); ++i) {
      std::copy_n(joined_ + static_cast<std::size_t>(tape_.order[i]) * w2_, w2_,
                  set_rows_ + i * w2_);
    }
    for (std::size_t set = 0; set < shape_.sets(); ++set) {
      const std::size_t rows = begin[set + 1] - begin[set];
      const Activations acts = set_acts_.row(begin[set], w2_);
      run(e_.pool_in_[set], set_rows_ + begin[set] * w2_, w2_, rows, /*last_relu=*/true, acts);
      float* const sum = set_sums_ + set * w2_;
      std::fill_n(sum, w2_, 0.0F);
      for (std::size_t r = 0; r < rows; ++r) k_.add(acts.layer(last()) + r * w2_, w2_, sum);
      divide(sum, w2_, rows);
      const Activations pooled = set_outs_.row(set, w2_);
      run(e_.pool_out_[set], sum, w2_, 1, /*last_relu=*/true, pooled);
      std::copy_n(pooled.layer(last()), out, state + set * out);
    }
    std::copy_n(joined_ + view_.current * w2_, out, state + shape_.sets() * out);
  }

  void unpool_sets(const float* d_state) {
    const std::size_t out = shape_.node_width();
    std::size_t begin[kRelations + 1];
    order_by_set(begin);
    for (std::size_t set = 0; set < shape_.sets(); ++set) {
      const std::size_t rows = begin[set + 1] - begin[set];
      std::copy_n(d_state + set * out, out, d_b_);
      std::fill_n(d_b_ + out, w2_ - out, 0.0F);
      back(e_.pool_out_[set], set_sums_ + set * w2_, w2_, 1, set_outs_.row(set, w2_), d_b_,
           /*last_relu=*/true, d_rows_);
      divide(d_rows_, w2_, rows);
      for (std::size_t r = 0; r < rows; ++r) std::copy_n(d_rows_, w2_, d_a_ + r * w2_);
      back(e_.pool_in_[set], set_rows_ + begin[set] * w2_, w2_, rows,
           set_acts_.row(begin[set], w2_), d_a_, /*last_relu=*/true, d_rows_);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto u = static_cast<std::size_t>(tape_.order[begin[set] + r]);
        k_.add(d_rows_ + r * w2_, w2_, d_joined_ + u * w2_);
      }
    }
    float* const own = d_joined_ + view_.current * w2_;
    for (std::size_t i = 0; i < out; ++i) own[i] += d_state[shape_.sets() * out + i];
  }

  /// The rows of sums over the groups on each device, or of their gradients, made means.
  void divide_by_members(float* rows) const {
    for (std::size_t m = 0; m < view_.devices; ++m) {
      std::size_t members = 0;
      for (std::size_t u = 0; u < n_; ++u) {
        if (u != view_.current && static_cast<std::size_t>(view_.placement[u]) == m) ++members;
      }
      divide(rows + m * w2_, w2_, members);
    }
  }

  void pool_devices(float* by_device) {
    const std::size_t out = shape_.node_width();
    run(e_.pool_in_.back(), joined_, w2_, n_, /*last_relu=*/true, device_acts_);
    std::fill_n(device_sums_, view_.devices * w2_, 0.0F);
    for (std::size_t u = 0; u < n_; ++u) {
      if (u == view_.current) continue;
      k_.add(device_acts_.layer(last()) + u * w2_, w2_,
             device_sums_ + static_cast<std::size_t>(view_.placement[u]) * w2_);
    }
    divide_by_members(device_sums_);
    run(e_.pool_out_.back(), device_sums_, w2_, view_.devices, /*last_relu=*/true, device_outs_);
    for (std::size_t m = 0; m < view_.devices; ++m) {
      std::copy_n(device_outs_.layer(last()) + m * w2_, out, by_device + m * out);
    }
  }

  void unpool_devices(const float* d_by_device) {
    const std::size_t out = shape_.node_width();
    for (std::size_t m = 0; m < view_.devices; ++m) {
      std::copy_n(d_by_device + m * out, out, d_b_ + m * w2_);
      std::fill_n(d_b_ + m * w2_ + out, w2_ - out, 0.0F);
    }
    float* const d_sums = d_a_;
    back(e_.pool_out_.back(), device_sums_, w2_, view_.devices, device_outs_, d_b_,
         /*last_relu=*/true, d_sums);
    divide_by_members(d_sums);
    for (std::size_t u = 0; u < n_; ++u) {
      if (u == view_.current) {
        std::fill_n(d_b_ + u * w2_, w2_, 0.0F);
      } else {
        std::copy_n(d_sums + static_cast<std::size_t>(view_.placement[u]) * w2_, w2_,
                    d_b_ + u * w2_);
      }
    }
    back(e_.pool_in_.back(), joined_, w2_, n_, device_acts_, d_b_, /*last_relu=*/true, d_rows_);
    k_.add(d_rows_, n_ * w2_, d_joined_);
  }

  const Embedding& e_;
  const EmbeddingShape& shape_;
  const StateView& view_;
  Embedding::Tape& tape_;
  float* gradient_;  ///< null: forward only
  const Kernels& k_;
  std::size_t n_, w_, w2_;

  Activations self_{}, set_acts_{}, set_outs_{}, device_acts_{}, device_outs_{};
  float* messages_ = nullptr;
  std::size_t way_size_ = 0, round_size_ = 0;
  float *joined_ = nullptr, *set_rows_ = nullptr, *set_sums_ = nullptr, *device_sums_ = nullptr;
  const float* final_[2] = {nullptr, nullptr};
  // Gradients: of X, of pooled rows, of x, of h, of a perceptron's input; and three to work in.
  float *d_joined_ = nullptr, *d_rows_ = nullptr, *d_x_ = nullptr, *d_h_ = nullptr,
        *d_next_ = nullptr, *d_a_ = nullptr, *d_b_ = nullptr, *spare_ = nullptr;
};

void Embedding::forward(const StateView& view, Tape& tape, float* state, float* by_device) const {
  Pass(*this, view, tape, /*gradient=*/nullptr).forward(state, by_device);
}

void Embedding::backward(const StateView& view, const float* d_state, const float* d_by_device,
                         Tape& tape, float* gradient) const {
  Pass(*this, view, tape, gradient).backward(d_state, d_by_device);
}

}  // namespace berth::placeto
