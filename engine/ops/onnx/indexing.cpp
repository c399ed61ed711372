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

/// The statement of a slice: attributes once, inputs since opset 10.
struct Cuts {
  explicit Cuts(const OpContext& op)
      : by_inputs(op.input_count() > 1),
        starts(by_inputs ? op.integers(1) : op.listed("starts")),
        ends(by_inputs ? op.integers(2) : op.listed("ends")),
        axes(by_inputs ? op.integers(3) : op.listed("axes")),
        steps(op.integers(4)),
        has_axes(by_inputs ? op.has(3) : op.attributes.has("axes")),
        has_steps(op.has(4)),
        listed(by_inputs ? dim_of(op.shape(1), 0, 1) : kUnknownDim) {}

  /// The part of a dimension that cut number `i` takes.
  [[nodiscard]] std::optional<Span> of(std::size_t i, std::int64_t dim) const {
    const bool known = starts && ends && i < starts->size() && i < ends->size() &&
                       (!has_steps || (steps && i < steps->size()));
    return known ? span_of(dim, (*starts)[i], (*ends)[i], step(i)) : std::nullopt;
  }
  /// The dimensions that are cut, of `rank`; without a list the first ones. Empty where they are not
  /// known.
  [[nodiscard]] Ints all_axes(std::size_t rank) const {
    if (has_axes) return axes;
    const std::size_t count = starts                  ? starts->size()
                              : ends                  ? ends->size()
                              : listed != kUnknownDim ? static_cast<std::size_t>(listed)
                                                      : rank;
    return first_axes(std::min(count, rank));
  }
  [[nodiscard]] std::int64_t step(std::size_t i) const {
    return steps && i < steps->size() ? (*steps)[i] : 1;
  }

  bool by_inputs;
  Ints starts, ends, axes, steps;
  bool has_axes, has_steps;
  std::int64_t listed;  // starts that are not known
};

void slice(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const Cuts cuts(op);
  const Ints axes = cuts.all_axes(from->size());
  Dims dims = *from;
  // Which dimensions are cut may not be known.
  if (!axes) return op.set(0, Dims(dims.size(), kUnknownDim));
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], dims.size());
    if (!axis) return;
    const auto span = cuts.of(i, dims[*axis]);
    dims[*axis] = span ? span->count : op.chosen(dims[*axis]);
  }
  op.set(0, std::move(dims));
}
void fold_slice(OpContext& op) {
  const Cuts cuts(op);
  const Ints axes = cuts.all_axes(op.in(0).dims.size());
  if (!op.in(0).has_content() || !axes) return;
  std::vector<fold::Cut> whole;
  for (const std::int64_t dim : op.in(0).dims) whole.push_back({0, 1, dim});
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], whole.size());
    const auto span = axis ? cuts.of(i, whole[*axis].count) : std::nullopt;
    if (!span) return;
    whole[*axis] = {span->first, cuts.step(i), span->count};
  }
  fold::slice(op, whole);
}

void gather_elements(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  if (const Dims* const indices = op.shape(1)) op.set(0, *indices);
}
void fold_gather_elements(OpContext& op) {
  fold::gather_elements(op, op.attributes.integer("axis", 0));
}
void fold_gather_nd(OpContext& op) {
  fold::gather_nd(op, op.attributes.integer("batch_dims", 0));
}

bool replaces(const OpContext& op) {
  return op.attributes.text("reduction", "none") == "none";
}
void fold_scatter_elements(OpContext& op) {
  if (replaces(op)) fold::scatter_elements(op, op.attributes.integer("axis", 0));
}
void fold_scatter_nd(OpContext& op) {
  if (replaces(op)) fold::scatter_nd(op, op.in(0), op.in(1), op.in(2));
}

/// data, condition: the elements of a vector, or the slices along an axis, where it holds.
void compress(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  auto along = along_axis_or_flat(op);
  if (!along) return;
  const Ints condition = op.integers(1);
  std::int64_t& kept = along->dims[along->axis];
  const std::int64_t most = kept;
  // It may be shorter than the data, and what it does not name is left out.
  const std::int64_t named = op.in(1).dim(0);
  kept = condition ? std::count_if(condition->begin(), condition->end(),
                                   [](std::int64_t held) { return held != 0; })
                   : op.chosen(named == kUnknownDim || most == kUnknownDim ? most
                                                                           : std::min(named, most));
  op.set(0, std::move(along->dims));
}

/// indices, depth, values: a new dimension of that depth.
void one_hot(OpContext& op) {
  op.give(0, tensor_type(op.type_of(2)));
  const Dims* const indices = op.shape(0);
  if (indices == nullptr) return;
  const auto axis = normal_axis(op.attributes.integer("axis", -1), indices->size() + 1);
  if (!axis) return;
  Dims dims = *indices;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*axis), number(op, 1));
  op.set(0, std::move(dims));
}

void torch_embedding(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const ids = op.shape(1);
  if (ids == nullptr) return;
  Dims result = *ids;
  result.push_back(dim_of(op.shape(0), 1, 2));
  op.set(0, op.type_of(0), std::move(result));
}

/// Images, and since opset 20 volumes, give a value per channel at each point of the grid.
void grid_sample(OpContext& op) {
  op.give(0, tensor_type(op.type_of(0)));
  const Dims* const x = op.shape(0);
  const Dims* const grid = op.shape(1);
  if (x == nullptr || grid == nullptr || x->size() < 3 || grid->size() != x->size()) return;
  Dims result(x->begin(), x->begin() + 2);
  result.insert(result.end(), grid->begin() + 1, grid->end() - 1);
  op.set(0, op.type_of(0), std::move(result));
}

void gather_gradient(OpContext& op) {
  shaped_by(op, 0, op.type_of(2));
}
/// shape, indices, update.
void gather_nd_gradient(OpContext& op) {
  shaped_by(op, 0, op.type_of(2));
}
void slice_gradient(OpContext& op) {
  shaped_by(op, 1, op.type_of(0));
}

constexpr Row kOps[] = {
    {"Compress", compress, copies()},
    {"DynamicSlice", nullptr, gathers()},
    {"Gather", gather, gathers(), fold_gather},
    {"GatherElements", gather_elements, gathers(), fold_gather_elements},
    {"GatherND", gather_nd, gathers(), fold_gather_nd},
    {"GridSample", grid_sample, gathers(8)},
    {"OneHot", one_hot, writes()},
    {"Scatter", rule::like_first, scatters<2>(), fold_scatter_elements},
    {"ScatterElements", rule::like_first, scatters<2>(), fold_scatter_elements},
    {"ScatterND", rule::like_first, scatters<2>(), fold_scatter_nd},
    {"Slice", slice, gathers(), fold_slice},
    {"TensorScatter", rule::like_first, scatters<1>()},
    {"com.microsoft.GatherElementsGrad", slice_gradient, copies()},
    {"com.microsoft.GatherGrad", gather_gradient, copies()},
    {"com.microsoft.GatherND", gather_nd, gathers()},
    {"com.microsoft.GatherNDGrad", gather_nd_gradient, copies()},
    {"com.microsoft.SliceGrad", slice_gradient, copies()},
    {"com.microsoft.TorchEmbedding", torch_embedding, gathers()},
};

}  // namespace

std::span<const Row> indexing_ops() {
  return kOps;
}

}  // namespace berth::ops::onnx
