// Gradients of a training graph, found by its sizes at two batches.
//
// A tensor scales where its size differs. What is computed from inputs that scale and does not scale
// itself is a sum over the batch: a gradient, if an update of state is made of it. Gradients are reduced
// as late as they are still sums over the samples, and before anything else is made of them (clipping,
// moments), and only for ops from which no way leads back to ops on tensors that scale: statistics of batch
// normalisation are used by the layer, too, and stay each replica's own there.
#include <algorithm>
#include <map>
#include <set>

#include "berth/error.h"
#include "berth/replicas.h"
#include "berth/support/index.h"
#include "berth/support/text.h"
#include "ops/updates.h"
#include "replicas/body_updates.h"
#include "replicas/growth.h"
#include "replicas/meetings.h"

namespace berth {
namespace {

/// Ops that give a sum's terms: with one operand that depends on the samples.
bool is_linear(std::string_view type) {
  static const std::set<std::string_view> kLinear = {
      "Identity", "Reshape",      "Transpose", "Squeeze",   "ExpandDims", "Neg",      "Cast",
      "AddN",     "Add",          "AddV2",     "Sub",       "Sum",        "ConcatV2", "Concat",
      "Pack",     "Split",        "Slice",     "Snapshot",  "Mul",        "RealDiv",  "Div",
      "Unpack",   "StopGradient", "Unsqueeze", "IdentityN", "Tile"};
  return kLinear.contains(type);
}
/// Terms of a sum: a constant beside them counts once, and not once for every replica.
bool is_addition(std::string_view type) {
  return type.starts_with("Add") || type == "Sub" || type.starts_with("Concat") || type == "Pack";
}
/// Linear in one operand only: the other must not depend on the samples.
bool is_product(std::string_view type) {
  return type == "Mul" || type == "RealDiv" || type == "Div";
}

/// A tensor of as many bytes is a number.
constexpr std::int64_t kNumber = 8;

class Study {
 public:
  Study(const Graph& whole, const Graph& smaller, std::int64_t batch)
      : graph_(whole), smaller_(smaller), count_(at(whole.op_count())) {
    training_.batch = batch;
    training_.reads_reduced.assign(count_, false);
    training_.whole.assign(count_, false);
  }

  Training run() {
    check_alike();
    find_scaled();
    find_tainted();
    find_of_samples();
    find_updates();
    reaches_update_ = reaching(is_end_);
    find_sparse();
    spread_whole();
    std::vector<bool> scales(count_, false);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const auto inputs = graph_.inputs(op);
      const bool reads = std::any_of(inputs.begin(), inputs.end(),
                                     [&](TensorId tensor) { return scaled(tensor); });
      // A gradient's own shape may lead to how it is summed: that is before the sum, too.
      scales[at(op)] = (gives_scaled_[at(op)] || reads) && !whole(at(op));
    }
    reaches_scaled_ = reaching(scales);
    find_growths();
    find_dense();
    check_bodies();
    note_meetings();
    finish();
    training_.updates = std::move(is_update_);
    return std::move(training_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorCode::unsupported, cat("graph '", graph_.name(), "' has no replicas: ", why));
  }
  bool whole(std::size_t op) const { return training_.whole[op]; }
  bool scaled(TensorId tensor) const { return tensor != kNoTensor && scaled_[at(tensor)]; }

  void check_alike() const {
    bool same = graph_.op_count() == smaller_.op_count() &&
                graph_.tensor_count() == smaller_.tensor_count();
    for (OpId op = 0; same && op < graph_.op_count(); ++op) {
      same = graph_.op_name(op) == smaller_.op_name(op) &&
             graph_.inputs(op).size() == smaller_.inputs(op).size() &&
             graph_.outputs(op).size() == smaller_.outputs(op).size();
    }
    if (!same) refuse("its ops depend on the size of the batch, not only their tensors");
  }

  void find_scaled() {
    scaled_.assign(at(graph_.tensor_count()), false);
    bool any = false;
    for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      scaled_[at(tensor)] = graph_.bytes(tensor) != smaller_.bytes(tensor);
      any = any || scaled_[at(tensor)];
    }
    if (!any) refuse("no tensor depends on the batch");
    gives_scaled_.assign(count_, false);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      const auto outputs = graph_.outputs(op);
      if (graph_.is_input(op) && !outputs.empty() && scaled(outputs[0])) {
        batch_times_ = std::max(batch_times_, times_larger(outputs[0]));
      }
      gives_scaled_[at(op)] = std::any_of(outputs.begin(), outputs.end(),
                                          [&](TensorId tensor) { return scaled(tensor); });
    }
  }

  bool tainted(TensorId tensor) const {
    const OpId producer = tensor == kNoTensor ? kNoOp : graph_.producer(tensor);
    return producer != kNoOp && tainted_[at(producer)];
  }
  void find_tainted() {
    tainted_.assign(count_, false);
    for (const OpId op : graph_.topological_order()) {
      if (graph_.is_constant(op)) continue;
      const auto inputs = graph_.inputs(op);
      tainted_[at(op)] =
          gives_scaled_[at(op)] || std::any_of(inputs.begin(), inputs.end(),
                                               [&](TensorId tensor) { return tainted(tensor); });
    }
  }

  /// Whether it depends on the batch by its size alone, as the divisor of a mean does.
  bool of_size_alone(TensorId tensor) const {
    return tainted(tensor) && !of_samples_[at(graph_.producer(tensor))];
  }
  void find_of_samples() {
    static const std::set<std::string_view> kSizes = {"Shape", "Size", "Rank", "ShapeN"};
    of_samples_.assign(count_, false);
    for (const OpId op : graph_.topological_order()) {
      if (!tainted_[at(op)] || kSizes.contains(graph_.op_type(op))) continue;
      const auto inputs = graph_.inputs(op);
      const auto reads = [&](TensorId tensor) { return tainted(tensor); };
      of_samples_[at(op)] = std::none_of(inputs.begin(), inputs.end(), reads) ||
                            std::any_of(inputs.begin(), inputs.end(), [&](TensorId tensor) {
                              return tainted(tensor) && of_samples_[at(graph_.producer(tensor))];
                            });
    }
  }

  /// A parameter of the model, or an input that the step hands on to the next one, as weights are in files that return
  /// them.
  bool is_parameter(TensorId tensor) const {
    if (tensor == kNoTensor) return false;
    const OpId maker = graph_.maker(tensor);
    if (maker == kNoOp) return true;
    const auto states = graph_.states();
    return !scaled(tensor) &&
           std::any_of(states.begin(), states.end(),
                       [&](const Graph::State& state) { return state.input == maker; });
  }
  /// Ops that change state, and of formats whose state is a result: ops that give a parameter anew, of
  /// what is no more of the batch's size, or of rows.
  bool changes_state(OpId op) const {
    if (graph_.dialect() == "tf") {
      return ops::changes_variable(graph_.op_type(op)) || updates_in_body(graph_, op, scaled_);
    }
    if (ops::is_onnx_update(graph_.op_type(op))) return true;
    const auto inputs = graph_.inputs(op), outputs = graph_.outputs(op);
    if (std::any_of(inputs.begin(), inputs.end(), [&](TensorId t) { return scaled(t); }) &&
        !(graph_.op_type(op).starts_with("Scatter") && is_parameter(inputs[0]))) {
      return false;
    }
    return std::any_of(outputs.begin(), outputs.end(), [&](TensorId output) {
      return graph_.is_result(output) && !scaled(output) &&
             std::any_of(inputs.begin(), inputs.end(), [&](TensorId input) {
               return is_parameter(input) && graph_.bytes(input) == graph_.bytes(output);
             });
    });
  }
  /// A step that leaves its updates to others returns the gradients: sums over the samples with the shape of a
  /// parameter.
  void find_returned() {
    returned_.assign(scaled_.size(), false);
    if (graph_.dialect() == "tf" || !graph_.names_results()) return;
    std::set<std::vector<std::int64_t>> parameters;
    for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      if (!is_parameter(tensor) || !graph_.has_shape(tensor)) continue;
      const auto shape = graph_.shape(tensor);
      parameters.emplace(shape.begin(), shape.end());
    }
    for (TensorId tensor = 0; tensor < graph_.tensor_count(); ++tensor) {
      const OpId op = graph_.producer(tensor);
      if (op == kNoOp || !graph_.is_result(tensor) || is_update_[at(op)] || !tainted_[at(op)] ||
          scaled(tensor) || !is_float(graph_.dtype(tensor)) || !graph_.has_shape(tensor)) {
        continue;
      }
      const auto shape = graph_.shape(tensor);
      // A number is the loss.
      returned_[at(tensor)] =
          graph_.bytes(tensor) > kNumber && parameters.contains({shape.begin(), shape.end()});
    }
  }
  bool returns_gradient(OpId op) const {
    const auto outputs = graph_.outputs(op);
    return std::any_of(outputs.begin(), outputs.end(),
                       [&](TensorId tensor) { return returned_[at(tensor)]; });
  }
  void find_updates() {
    is_update_.assign(count_, false);
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      is_update_[at(op)] = tainted_[at(op)] && changes_state(op);
    }
    find_returned();
    is_end_ = is_update_;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (returns_gradient(op)) is_end_[at(op)] = true;
    }
    if (std::find(is_end_.begin(), is_end_.end(), true) != is_end_.end()) return;
    if (const std::string why = updates_with_samples(graph_, scaled_); !why.empty()) refuse(why);
    refuse(
        "no update of a parameter depends on its inputs, and it returns no gradient, so that it is "
        "no training step; replicas of a forward pass are steps in flight (objective throughput)");
  }

  /// Ops from which data flow to one of `ends`, these included.
  std::vector<bool> reaching(const std::vector<bool>& ends) const {
    std::vector<bool> reach = ends;
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      if (reach[at(*op)]) continue;
      for (const Edge& edge : graph_.out_edges(*op)) {
        if (edge.tensor != kNoTensor && reach[at(edge.dst)]) reach[at(*op)] = true;
      }
    }
    return reach;
  }

  /// The tensor before scaling by a learning rate or a limit on the norm. A replica divides by the size of
  /// its own share, which its weight stands for: that is before the sum.
  TensorId before_scaling(TensorId tensor) const {
    for (;;) {
      const OpId op = graph_.producer(tensor);
      const std::string_view type = op == kNoOp ? std::string_view() : graph_.op_type(op);
      if (type != "Identity" && type != "Neg" && !is_product(type)) return tensor;
      std::set<TensorId> from;
      for (const TensorId input : graph_.inputs(op)) {
        if (scaled(input)) from.insert(input);
        if (of_size_alone(input)) return tensor;
      }
      if (from.size() != 1 || graph_.bytes(*from.begin()) != graph_.bytes(tensor)) return tensor;
      tensor = *from.begin();
    }
  }

  void find_sparse() {
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (!is_update_[at(op)] && !sums_clipped_rows(op)) continue;
      bool any = false;
      for (const TensorId input : graph_.inputs(op)) {
        if (!scaled(input) || graph_.producer(input) == kNoOp) continue;
        any = true;
        if (is_float(graph_.dtype(input))) {
          const TensorId values = before_merging(before_scaling(input));
          gather(values, op);
          for (const Edge& edge : graph_.out_edges(graph_.producer(values))) {
            if (edge.tensor == values && reaches_update_[at(edge.dst)]) read_whole(edge.dst);
          }
        } else if (const OpId unique = graph_.producer(input); is_unique(unique)) {
          gather(graph_.inputs(unique)[0], op);
          read_whole(unique);
        } else {
          gather(input, op);
        }
      }
      if (any) read_whole(op);
    }
  }
  bool is_unique(OpId op) const {
    return op != kNoOp && graph_.op_type(op).starts_with("Unique") &&
           scaled(graph_.inputs(op)[0]) && graph_.producer(graph_.inputs(op)[0]) != kNoOp;
  }
  /// The rows before those of one number are added up, as optimizers with moments do: replicas that have the
  /// same number add up theirs together.
  TensorId before_merging(TensorId rows) const {
    const OpId op = graph_.producer(rows);
    if (op == kNoOp || !graph_.op_type(op).ends_with("SegmentSum")) return rows;
    const auto inputs = graph_.inputs(op);
    if (inputs.size() < 2 || !scaled(inputs[0]) || graph_.producer(inputs[0]) == kNoOp ||
        !is_unique(graph_.producer(inputs[1]))) {
      return rows;
    }
    return before_scaling(inputs[0]);
  }
  /// Rows that were clipped by a norm of all gradients are those of the whole batch, even where a table's
  /// gradient is then made of them.
  bool sums_clipped_rows(OpId op) const {
    if (graph_.op_type(op) != "UnsortedSegmentSum" || !reaches_update_[at(op)]) return false;
    if (scaled(graph_.outputs(op)[0])) return false;
    const TensorId rows = graph_.inputs(op)[0];
    if (!scaled(rows)) return false;
    const TensorId before = before_scaling(rows);
    for (TensorId tensor = rows; tensor != before;) {
      TensorId from = kNoTensor;
      for (const TensorId input : graph_.inputs(graph_.producer(tensor))) {
        if (scaled(input)) {
          from = input;
        } else if (tainted(input)) {
          return true;
        }
      }
      tensor = from;
    }
    return false;
  }
  void gather(TensorId tensor, OpId update) { sparse_.try_emplace(tensor, update); }
  void read_whole(OpId op) {
    training_.whole[at(op)] = true;
    training_.reads_reduced[at(op)] = true;
  }
  void spread_whole() {
    for (const OpId op : graph_.topological_order()) {
      if (!training_.whole[at(op)]) continue;
      for (const Edge& edge : graph_.out_edges(op)) {
        if (edge.tensor != kNoTensor) training_.whole[at(edge.dst)] = true;
      }
    }
  }

  /// TensorFlow's graphs alone name their sizes, and are written with their reduction.
  void find_growths() {
    growth_.assign(scaled_.size(), std::nullopt);
    if (graph_.dialect() != "tf") return;
    growth_ = find_growth(graph_, smaller_);
    int sums = 0;
    for (OpId op = 0; op < graph_.op_count(); ++op) {
      if (!tainted_[at(op)] || !after_batch(op)) continue;
      const auto inputs = graph_.inputs(op);
      if (std::none_of(inputs.begin(), inputs.end(), [&](TensorId t) { return scaled(t); }))
        continue;
      for (const TensorId output : graph_.outputs(op)) {
        const auto growth = growth_[at(output)];
        if (scaled(output) || !growth || !is_float(graph_.dtype(output))) continue;
        sums += *growth == 1 ? 1 : *growth == 0 ? -1 : 0;
      }
    }
    mostly_sums_ = sums > 0;
  }
  /// Whether it is a sum over the samples, and no mean; one of which that is not known is as most are.
  bool is_sum(TensorId tensor) const {
    const auto growth = growth_[at(tensor)];
    return growth == 1 || (growth != 0 && mostly_sums_);
  }
  bool has_sum_of_rows(TensorId rows) const {
    const auto growth = growth_[at(rows)];
    return growth == 0 || (growth != -1 && mostly_sums_);
  }

  /// A replica's own part of a sum over the batch.
  bool is_part(OpId op, TensorId output) const {
    if (whole(at(op)) || !tainted_[at(op)] || scaled(output)) return false;
    // Numbers of samples have no mean by shares, and what does not grow with them is the same everywhere.
    const bool counts = growth_[at(output)] == 1 && dtype_bits(graph_.dtype(output)) >= 32;
    if (!of_samples_[at(op)]) return counts;
    if (!counts && !is_float(graph_.dtype(output))) return false;
    if (!after_batch(op)) return true;
    std::set<TensorId> parts;
    bool any_sum = false, any_mean = false, other = false;
    for (const TensorId input : graph_.inputs(op)) {
      if (scaled(input)) return true;  // the sum itself
      other = other || !tainted(input);
      if (!tainted(input)) continue;
      if (!part_[at(input)]) return false;
      (is_sum(input) ? any_sum : any_mean) = true;
      parts.insert(input);
    }
    if (parts.empty() || !is_linear(graph_.op_type(op))) return false;
    if (is_addition(graph_.op_type(op)) && any_sum && (any_mean || other)) return false;
    if (!is_product(graph_.op_type(op)) || graph_.inputs(op).size() != 2) return true;
    if (!tainted(graph_.inputs(op)[0]) || !tainted(graph_.inputs(op)[1])) return true;
    // Two factors are of a gradient behind normalisation; a square, or a number for all, is of a norm.
    return parts.size() == 2 && std::all_of(parts.begin(), parts.end(), [&](TensorId part) {
             return graph_.bytes(part) > kNumber;
           });
  }

  void find_dense() {
    part_.assign(scaled_.size(), false);
    for (const OpId op : graph_.topological_order()) {
      if (graph_.is_constant(op)) continue;
      for (const TensorId output : graph_.outputs(op)) part_[at(output)] = is_part(op, output);
    }
    // Reduced where an op needs the sum itself; what is made of it from there on is everybody's.
    std::vector<bool> own(scaled_.size(), false);
    for (const OpId op : graph_.topological_order()) {
      if (!tainted_[at(op)] || graph_.is_constant(op)) continue;
      bool reads_own = !after_batch(op) || !of_samples_[at(op)], first = false;
      for (const TensorId input : graph_.inputs(op)) {
        first = first || scaled(input);
        reads_own = reads_own || (input != kNoTensor && own[at(input)] && !dense_.contains(input));
      }
      for (const TensorId output : graph_.outputs(op)) {
        if (!part_[at(output)] || !(first || reads_own)) continue;
        own[at(output)] = true;
        if (needed_whole(op, output)) dense_.emplace(output, update_of(op, output));
      }
    }
    for (const auto& [tensor, update] : dense_) {
      for (const Edge& edge : graph_.out_edges(graph_.producer(tensor))) {
        if (edge.tensor == tensor && after_batch(edge.dst)) {
          training_.reads_reduced[at(edge.dst)] = true;
        }
      }
    }
  }
  void check_bodies() const {
    const std::string why = own_to_body_update({graph_, scaled_, of_samples_, is_update_,
                                                training_.whole, training_.reads_reduced, dense_});
    if (!why.empty()) refuse(why);
  }
  bool after_batch(OpId op) const {
    return reaches_update_[at(op)] && (whole(at(op)) || !reaches_scaled_[at(op)]);
  }
  /// Whether the caller or a reader needs the tensor to be of the whole batch.
  bool needed_whole(OpId op, TensorId tensor) const {
    if (returned_[at(tensor)]) return true;
    for (const Edge& edge : graph_.out_edges(op)) {
      if (edge.tensor != tensor || !after_batch(edge.dst)) continue;
      const auto outputs = graph_.outputs(edge.dst);
      const bool linear =
          !is_update_[at(edge.dst)] && !outputs.empty() &&
          std::all_of(outputs.begin(), outputs.end(), [&](TensorId t) { return part_[at(t)]; });
      if (!linear) return true;
    }
    return false;
  }
  /// The update nearest behind any reader of the tensor, by tensors of its size where there is such a way:
  /// behind a norm, all updates are.
  OpId update_of(OpId op, TensorId tensor) const {
    const OpId own = nearest_update(op, tensor, /*of_size=*/true);
    if (own != kNoOp) return own;
    const OpId any = nearest_update(op, tensor, /*of_size=*/false);
    return any != kNoOp ? any : op;
  }
  OpId nearest_update(OpId op, TensorId tensor, bool of_size) const {
    std::vector<OpId> queue = {op};
    std::set<OpId> seen;
    const auto passes = [&](OpId to) {
      const auto outputs = graph_.outputs(to);
      return !of_size || is_update_[at(to)] ||
             std::any_of(outputs.begin(), outputs.end(), [&](TensorId output) {
               return graph_.bytes(output) == graph_.bytes(tensor);
             });
    };
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const OpId from = queue[next];
      if (is_update_[at(from)]) return from;
      for (const Edge& edge : graph_.out_edges(from)) {
        const bool follows = from == op ? edge.tensor == tensor : edge.tensor != kNoTensor;
        if (follows && reaches_update_[at(edge.dst)] && passes(edge.dst) &&
            seen.insert(edge.dst).second) {
          queue.push_back(edge.dst);
        }
      }
    }
    return kNoOp;
  }

  double times_larger(TensorId tensor) const {
    return static_cast<double>(graph_.bytes(tensor)) / static_cast<double>(smaller_.bytes(tensor));
  }
  void note_meetings() {
    Meetings meetings = find_meetings({graph_, smaller_, training_.batch, batch_times_, scaled_,
                                       training_.whole, of_samples_, reaches_update_});
    training_.meetings = std::move(meetings.sure);
    training_.possible_meetings = std::move(meetings.possible);
  }

  void finish() {
    for (const OpId op : graph_.topological_order()) {
      for (const TensorId tensor : graph_.outputs(op)) {
        const auto dense = dense_.find(tensor);
        const auto sparse = sparse_.find(tensor);
        if (sparse != sparse_.end()) {
          training_.gradients.push_back({tensor, true, has_sum_of_rows(tensor), sparse->second});
          training_.gathered_bytes += graph_.bytes(tensor);
        } else if (dense != dense_.end()) {
          training_.gradients.push_back({tensor, false, is_sum(tensor), dense->second});
          training_.gradient_bytes += graph_.bytes(tensor);
        }
      }
    }
    if (training_.gradients.empty()) refuse("no gradient reaches an update of a parameter");
  }

  const Graph& graph_;
  const Graph& smaller_;
  std::size_t count_;
  Training training_;
  std::vector<bool> scaled_;        // by tensor
  std::vector<bool> gives_scaled_;  // by op
  std::vector<bool> tainted_;       // by op: depends on the samples
  std::vector<bool> of_samples_;    // depends on what the samples are, not only on how many
  std::vector<bool> is_update_, reaches_update_, reaches_scaled_;  // by op
  std::vector<bool> is_end_;                                       // or returns a gradient
  std::vector<bool> returned_;              // by tensor: a gradient that the step returns
  std::vector<bool> part_;                  // by tensor
  std::vector<std::optional<int>> growth_;  // by tensor
  bool mostly_sums_ = false;
  double batch_times_ = 0;                   // by which the batch is larger
  std::map<TensorId, OpId> sparse_, dense_;  // their updates
};

}  // namespace

Training study_training(const Graph& whole, const Graph& smaller, std::int64_t batch) {
  return Study(whole, smaller, batch).run();
}

}  // namespace berth
