// Samples meet where one number is made of all of them, where every pair has one, and where an op reads along the
// batch's axis and keeps it: sizes tell of the first two, facts of the op's type of the third.
#include "replicas/meetings.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "berth/sdk/ops/constants.h"
#include "berth/sdk/ops/op.h"
#include "berth/support/index.h"
#include "ops/mixing.h"
#include "replicas/growth.h"

namespace berth {
namespace {

enum class Meeting { none, possible, sure };
using Axes = std::vector<std::int64_t>;

class MeetingStudy {
 public:
  explicit MeetingStudy(const SampleFacts& facts) : facts_(facts), graph_(facts.graph) {}

  Meetings run() {
    leads_ = leading_back();
    Meetings meetings;
    for (const OpId op : graph_.topological_order()) {
      if (graph_.is_constant(op) || !facts_.of_samples[at(op)] || facts_.reads_whole[at(op)] ||
          !facts_.reaches_update[at(op)] || !(leads_back(op) || gives_scaled(op))) {
        continue;
      }
      const Meeting meeting = meeting_in(op);
      if (meeting == Meeting::sure) meetings.sure.push_back(op);
      if (meeting == Meeting::possible) meetings.possible.push_back(op);
    }
    return meetings;
  }

 private:
  bool scaled(TensorId tensor) const { return tensor != kNoTensor && facts_.scaled[at(tensor)]; }
  bool gives_scaled(OpId op) const {
    const auto outputs = graph_.outputs(op);
    return std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) { return scaled(t); });
  }
  double times_larger(TensorId tensor) const {
    return static_cast<double>(graph_.bytes(tensor)) /
           static_cast<double>(facts_.smaller.bytes(tensor));
  }
  bool has_pairs(TensorId tensor) const {
    return facts_.batch_times > 1 &&
           times_larger(tensor) > 0.99 * facts_.batch_times * facts_.batch_times;
  }

  bool leads_back(OpId op) const {
    const auto outputs = graph_.outputs(op);
    return std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) { return leads_[at(t)]; });
  }
  /// Whether what an op makes of all samples leads back to them, by tensor.
  std::vector<bool> leading_back() const {
    std::vector<bool> leads(at(graph_.tensor_count()), false);
    const auto leads_on = [&](OpId op) {
      const auto outputs = graph_.outputs(op);
      return gives_scaled(op) || std::any_of(outputs.begin(), outputs.end(),
                                             [&](TensorId tensor) { return leads[at(tensor)]; });
    };
    const auto order = graph_.topological_order();
    for (auto op = order.rbegin(); op != order.rend(); ++op) {
      for (const Edge& edge : graph_.out_edges(*op)) {
        const std::string_view type = graph_.op_type(edge.dst);
        if (edge.tensor == kNoTensor || scaled(edge.tensor) || facts_.reads_whole[at(edge.dst)] ||
            !facts_.of_samples[at(edge.dst)] || !facts_.reaches_update[at(edge.dst)] ||
            type == "ZerosLike" || type == "OnesLike") {
          continue;
        }
        if (leads_on(edge.dst)) leads[at(edge.tensor)] = true;
      }
    }
    return leads;
  }

  Meeting meeting_in(OpId op) const {
    const std::string_view type = graph_.op_type(op);
    const auto inputs = graph_.inputs(op), outputs = graph_.outputs(op);
    // Drawn anew, and the state of an array.
    if (type.ends_with("CandidateSampler") || is_array(type)) return Meeting::none;
    if (std::none_of(inputs.begin(), inputs.end(), [&](TensorId t) { return scaled(t); })) {
      return Meeting::none;
    }
    const bool keeps_statistics = type.find("BatchNorm") != type.npos;
    bool any = false, one_of_all = false;
    for (const TensorId output : outputs) {
      if (!is_float(graph_.dtype(output))) continue;
      any = true;
      // A total beside what each sample has, as a loss is, may lead nowhere; a layer uses its statistics itself.
      one_of_all = one_of_all ||
                   (scaled(output) ? has_pairs(output) : leads_[at(output)] || keeps_statistics);
    }
    if (!any) return Meeting::none;
    if (one_of_all && !is_loop(type)) return Meeting::sure;
    if (takes_other_places(op)) return Meeting::sure;
    const ops::Mixing* const mixing = ops::find_mixing(graph_.dialect(), type);
    if (mixing != nullptr) return meeting_along(op, *mixing);
    return ops::find_op(graph_.dialect(), type) == nullptr ? Meeting::possible : Meeting::none;
  }

  /// Nothing where the shape is not known.
  std::optional<Axes> scaled_axes(TensorId tensor) const {
    if (!graph_.has_shape(tensor) || !facts_.smaller.has_shape(tensor)) return std::nullopt;
    const auto shape = graph_.shape(tensor), before = facts_.smaller.shape(tensor);
    if (shape.size() != before.size()) return std::nullopt;
    Axes axes;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] != before[axis]) axes.push_back(static_cast<std::int64_t>(axis));
    }
    return axes;
  }

  /// Places by number are others in a share of the batch than in all of it, but where there are as many as samples:
  /// then they are those of one tensor beside another. A new shape that leaves the batch its size and not what is before
  /// it cuts the samples.
  bool takes_other_places(OpId op) const {
    const std::string_view type = graph_.op_type(op);
    const bool reshapes = type == "Reshape";
    if (!reshapes && !ops::takes_places(type)) return false;
    const TensorId from = graph_.inputs(op)[0], to = graph_.outputs(op)[0];
    if (!scaled(from) || !scaled(to)) return false;
    const auto before = scaled_axes(from), after = scaled_axes(to);
    if (!before || !after || before->size() != 1 || after->size() != 1) return false;
    const auto size = [&](TensorId tensor, const Axes& axes) {
      return graph_.shape(tensor)[at(static_cast<std::int32_t>(axes[0]))];
    };
    if (!reshapes)
      return size(to, *after) < size(from, *before) && size(to, *after) % facts_.batch != 0;
    return size(from, *before) == facts_.batch && size(to, *after) == facts_.batch &&
           ahead_of(from, *before) != ahead_of(to, *after);
  }
  std::int64_t ahead_of(TensorId tensor, const Axes& axes) const {
    const auto shape = graph_.shape(tensor);
    return element_count(shape.first(static_cast<std::size_t>(axes[0])));
  }

  Meeting meeting_along(OpId op, const ops::Mixing& mixing) const {
    const auto inputs = graph_.inputs(op);
    if (mixing.axis == ops::Mixing::Axis::every) return Meeting::possible;
    if (mixing.of >= inputs.size() || !scaled(inputs[mixing.of])) return Meeting::none;
    const TensorId tensor = inputs[mixing.of];
    const auto of_batch = scaled_axes(tensor);
    const auto rank =
        static_cast<std::int64_t>(graph_.has_shape(tensor) ? graph_.shape(tensor).size() : 0);
    const std::optional<Axes> axes = rank == 1 ? Axes{0} : axes_of(op, mixing, rank);
    if (!of_batch || !axes) return Meeting::possible;
    const bool meets = std::any_of(axes->begin(), axes->end(), [&](std::int64_t axis) {
      const std::int64_t place = axis < 0 ? axis + rank : axis;
      return std::find(of_batch->begin(), of_batch->end(), place) != of_batch->end();
    });
    if (!meets) return Meeting::none;
    return mixing.by_content ? Meeting::possible : Meeting::sure;
  }

  /// Nothing where the graph does not say.
  std::optional<Axes> axes_of(OpId op, const ops::Mixing& mixing, std::int64_t rank) const {
    using Axis = ops::Mixing::Axis;
    if (mixing.axis == Axis::first) return Axes{0};
    if (mixing.axis == Axis::last) return Axes{rank - 1};
    if (mixing.axis == Axis::of_attribute) {
      const AttributeValue* const value = graph_.attribute(op, mixing.attribute);
      if (value == nullptr) return Axes{mixing.fallback};
      if (const auto* const one = std::get_if<std::int64_t>(value)) return Axes{*one};
      if (const auto* const several = std::get_if<Axes>(value)) return *several;
      return std::nullopt;
    }
    const auto inputs = graph_.inputs(op);
    const OpId maker = mixing.at < inputs.size() && inputs[mixing.at] != kNoTensor
                           ? graph_.maker(inputs[mixing.at])
                           : kNoOp;
    if (maker == kNoOp) return std::nullopt;
    const AttributeValue* const number = graph_.attribute(maker, ops::kKnownNumber);
    if (number == nullptr || !std::holds_alternative<double>(*number)) return std::nullopt;
    return Axes{static_cast<std::int64_t>(std::get<double>(*number))};
  }

  const SampleFacts& facts_;
  const Graph& graph_;
  std::vector<bool> leads_;  // by tensor
};

}  // namespace

Meetings find_meetings(const SampleFacts& facts) {
  return MeetingStudy(facts).run();
}

}  // namespace berth
