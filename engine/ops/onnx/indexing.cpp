// Slices, gathers and scatters: what picks and places elements.
#include <algorithm>

#include "ops/onnx/rules.h"

namespace berth::ops::onnx {
namespace {

void gather(OpContext& op) {
  const Dims* const from = op.shape(0);
  const Dims* const indices = op.shape(1);
  give(op, op.type_of(0),
       from != nullptr && indices != nullptr
           ? gathered(*from, *indices, op.attributes.integer("axis", 0), 0)
           : std::nullopt);
}
void fold_gather(OpContext& op) {
  fold::gather(op, op.attributes.integer("axis", 0));
}

void gather_nd(OpContext& op) {
  const Dims* const from = op.shape(0);
  const Dims* const indices = op.shape(1);
  give(op, op.type_of(0),
       from != nullptr && indices != nullptr
           ? gathered_nd(*from, *indices, op.attributes.integer("batch_dims", 0))
           : std::nullopt);
}

/// Where a slice is said: attributes once, inputs since opset 10.
struct Cuts {
  explicit Cuts(const OpContext& op)
      : by_inputs(op.input_count() > 1),
        starts(by_inputs ? op.integers(1) : op.listed("starts")),
        ends(by_inputs ? op.integers(2) : op.listed("ends")),
        axes(by_inputs ? op.integers(3) : op.listed("axes")),
        steps(op.integers(4)),
        has_axes(by_inputs ? op.has(3) : op.attributes.has("axes")),
        has_steps(op.has(4)) {}

  /// What the cut number `i` takes of a dimension.
  [[nodiscard]] std::optional<Span> of(std::size_t i, std::int64_t dim) const {
    const bool known = starts && ends && i < starts->size() && i < ends->size() &&
                       (!has_steps || (steps && i < steps->size()));
    return known ? span_of(dim, (*starts)[i], (*ends)[i], step(i)) : std::nullopt;
  }
  [[nodiscard]] std::int64_t step(std::size_t i) const {
    return steps && i < steps->size() ? (*steps)[i] : 1;
  }

  bool by_inputs;
  Ints starts, ends, axes, steps;
  bool has_axes, has_steps;
};

void slice(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Cuts cuts(op);
  Dims dims = *from;
  // Which dimensions are cut may not be known.
  if (cuts.has_axes && !cuts.axes) return op.set(0, Dims(dims.size(), kUnknownDim));
  if (!cuts.axes) {
    const std::size_t count = cuts.starts ? cuts.starts->size()
                              : cuts.ends ? cuts.ends->size()
                                          : dims.size();
    cuts.axes.emplace();
    for (std::size_t i = 0; i < std::min(count, dims.size()); ++i) {
      cuts.axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  for (std::size_t i = 0; i < cuts.axes->size(); ++i) {
    const auto axis = normal_axis((*cuts.axes)[i], dims.size());
    if (!axis) return;
    const auto span = cuts.of(i, dims[*axis]);
    dims[*axis] = span ? span->count : kUnknownDim;
  }
  op.set(0, std::move(dims));
}
void fold_slice(OpContext& op) {
  const Cuts cuts(op);
  if (op.in(0).rank() != 1 || !cuts.starts || cuts.starts->size() != 1) return;
  if (const auto span = cuts.of(0, op.in(0).dim(0))) fold::slice(op, span->first, cuts.step(0));
}

void torch_embedding(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const ids = op.shape(1);
  if (ids == nullptr) return;
  Dims result = *ids;
  result.push_back(dim_of(op.shape(0), 1, 2));
  op.set(0, op.type_of(0), std::move(result));
}

void gather_gradient(OpContext& op) {
  shaped_by(op, 0, op.type_of(2));
}
void slice_gradient(OpContext& op) {
  shaped_by(op, 1, op.type_of(0));
}

constexpr Row kOps[] = {
    {"Compress", nullptr, copies()},
    {"DynamicSlice", nullptr, gathers()},
    {"Gather", gather, gathers(), fold_gather},
    {"GatherElements", nullptr, gathers()},
    {"GatherND", gather_nd, gathers()},
    {"GridSample", nullptr, gathers(8)},
    {"OneHot", nullptr, writes()},
    {"Scatter", rule::like_first, copies()},
    {"ScatterElements", rule::like_first, copies()},
    {"ScatterND", rule::like_first, copies()},
    {"Slice", slice, gathers(), fold_slice},
    {"TensorScatter", rule::like_first, copies()},
    {"ai.onnx.ml.ArrayFeatureExtractor", nullptr, gathers()},
    {"com.microsoft.GatherElementsGrad", slice_gradient, copies()},
    {"com.microsoft.GatherGrad", gather_gradient, copies()},
    {"com.microsoft.GatherND", gather_nd, gathers()},
    {"com.microsoft.GatherNDGrad", nullptr, copies()},
    {"com.microsoft.GridSample", nullptr, gathers(8)},
    {"com.microsoft.SliceGrad", slice_gradient, copies()},
    {"com.microsoft.TorchEmbedding", torch_embedding, gathers()},
};

}  // namespace

std::span<const Row> indexing_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
