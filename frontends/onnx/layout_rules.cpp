// Shapes of the operators that move data: reshape, slice, concatenate, reduce.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "onnx/op_context.h"

namespace berth::onnx_frontend {
namespace {

using onnx::TensorProto;
using Ints = std::optional<std::vector<std::int64_t>>;

// Since some opset an attribute became input `i`; whichever is there counts.
Ints attribute_or_input(const OpContext& op, std::string_view name, std::size_t i) {
  if (op.input(i) != nullptr) return op.integers(i);
  return op.ints_attribute(name);
}

void shape_of(OpContext& op) {
  std::int64_t count = kUnknownDim;
  if (const Dims* const x = op.shape(0)) {
    const auto rank = static_cast<std::int64_t>(x->size());
    const auto clamp = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t start = clamp(op.int_attribute("start", 0));
    const std::int64_t end = clamp(op.int_attribute("end", rank));
    count = std::max<std::int64_t>(0, end - start);
  }
  op.set(0, TensorProto::INT64, {count});
}

void size_of(OpContext& op) {
  op.set(0, TensorProto::INT64, {});
}

// The dimension marked -1 (or not known) follows from the number of elements where all else is
// known.
void solve_one_dim(Dims& dims, const Dims& from) {
  const std::int64_t total = product(from, 0, from.size());
  const auto missing = std::count(dims.begin(), dims.end(), kUnknownDim);
  if (missing != 1 || total == kUnknownDim) return;
  std::int64_t rest = 1;
  for (const std::int64_t dim : dims) {
    if (dim != kUnknownDim && __builtin_mul_overflow(rest, dim, &rest)) return;
  }
  if (rest > 0 && total % rest == 0) {
    *std::find(dims.begin(), dims.end(), kUnknownDim) = valid_dim(total / rest);
  }
}

void reshape(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  std::vector<std::int64_t> wanted;
  if (op.input(1) == nullptr) {
    const Ints attribute = op.ints_attribute("shape");
    if (!attribute) return;
    wanted = *attribute;
  } else if (const Data* const data = op.data(1)) {
    for (std::size_t i = 0; i < data->size(); ++i) {
      wanted.push_back(data->integer(i).value_or(Data::kUnknown));
    }
  } else {
    const Dims* const rank = op.shape(1);
    if (rank == nullptr || rank->size() != 1 || rank->front() < 0 || rank->front() > kMaxRank) {
      return;
    }
    wanted.assign(static_cast<std::size_t>(rank->front()), Data::kUnknown);
  }
  if (wanted.size() > static_cast<std::size_t>(kMaxRank)) return;
  const bool zero_is_copy = op.int_attribute("allowzero", 0) == 0;
  Dims dims;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && zero_is_copy) {
      dims.push_back(from != nullptr && i < from->size() ? (*from)[i] : kUnknownDim);
    } else {
      dims.push_back(valid_dim(wanted[i]));
    }
  }
  if (from != nullptr) solve_one_dim(dims, *from);
  op.set(0, op.elem(0), std::move(dims));
}

void expand(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  const Data* const data = op.data(1);
  if (from == nullptr || data == nullptr || data->size() > static_cast<std::size_t>(kMaxRank)) {
    return;
  }
  Dims wanted, dims;
  for (std::size_t i = 0; i < data->size(); ++i) {
    wanted.push_back(valid_dim(data->integer(i).value_or(kUnknownDim)));
  }
  if (broadcast(*from, wanted, dims)) op.set(0, op.elem(0), std::move(dims));
}

void tile(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  const Ints repeats = op.integers(1);
  if (from == nullptr) return;
  Dims dims(from->size(), kUnknownDim);
  if (repeats && repeats->size() == from->size()) {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      std::int64_t dim = 0;
      if ((*from)[i] == kUnknownDim || (*repeats)[i] < 0) continue;
      if (!__builtin_mul_overflow((*from)[i], (*repeats)[i], &dim)) dims[i] = valid_dim(dim);
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

void transpose(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Dims dims(from->rbegin(), from->rend());
  if (const Ints perm = op.ints_attribute("perm")) {
    if (perm->size() != from->size()) return;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const auto axis = normal_axis((*perm)[i], dims.size());
      if (!axis) return;
      dims[i] = (*from)[*axis];
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

void concat(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  // Folded shapes of some exporters hold scalars among their lists of one.
  static const Dims kOne = {1};
  const auto part = [&](std::size_t i) {
    const Dims* const dims = op.shape(i);
    return dims != nullptr && dims->empty() ? &kOne : dims;
  };
  const Dims* const first = part(0);
  if (first == nullptr) return;
  const auto axis = normal_axis(op.int_attribute("axis", 1), first->size());
  if (!axis) return;
  Dims dims = *first;
  for (std::size_t i = 1; i < op.input_count(); ++i) {
    const Dims* const next = part(i);
    if (next == nullptr) {
      dims[*axis] = kUnknownDim;
      continue;
    }
    if (next->size() != dims.size()) return;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      if (d == *axis) {
        const bool known = dims[d] != kUnknownDim && (*next)[d] != kUnknownDim;
        dims[d] = known ? valid_dim(dims[d] + (*next)[d]) : kUnknownDim;
      } else if (dims[d] == kUnknownDim) {
        dims[d] = (*next)[d];
      }
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

void gather(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  const Dims* const indices = op.shape(1);
  if (from == nullptr || indices == nullptr) return;
  const auto axis = normal_axis(op.int_attribute("axis", 0), from->size());
  if (!axis) return;
  Dims dims(from->begin(), from->begin() + static_cast<std::ptrdiff_t>(*axis));
  dims.insert(dims.end(), indices->begin(), indices->end());
  dims.insert(dims.end(), from->begin() + static_cast<std::ptrdiff_t>(*axis) + 1, from->end());
  op.set(0, op.elem(0), std::move(dims));
}

void gather_nd(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  const Dims* const indices = op.shape(1);
  if (from == nullptr || indices == nullptr || indices->empty()) return;
  const std::int64_t batch = op.int_attribute("batch_dims", 0);
  const std::int64_t depth = indices->back();  // dimensions that one index names
  const auto rank = static_cast<std::int64_t>(from->size());
  if (batch < 0 || batch >= rank || depth < 0 || depth > rank - batch) return;
  Dims dims(indices->begin(), indices->end() - 1);
  dims.insert(dims.end(), from->begin() + batch + depth, from->end());
  op.set(0, op.elem(0), std::move(dims));
}

std::int64_t sliced(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (dim == kUnknownDim || step == 0 || step == std::numeric_limits<std::int64_t>::min()) {
    return kUnknownDim;
  }
  const auto clamp = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
    if (at < 0) at = at < -dim ? low : at + dim;
    return std::clamp(at, low, high);
  };
  if (step > 0) {
    const std::int64_t length = clamp(end, 0, dim) - clamp(start, 0, dim);
    return length <= 0 ? 0 : (length - 1) / step + 1;
  }
  const std::int64_t length = clamp(start, -1, dim - 1) - clamp(end, -1, dim - 1);
  return length <= 0 ? 0 : (length - 1) / -step + 1;
}

void slice(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const bool by_inputs = op.input_count() > 1;
  const Ints starts = by_inputs ? op.integers(1) : op.ints_attribute("starts");
  const Ints ends = by_inputs ? op.integers(2) : op.ints_attribute("ends");
  const bool has_axes = by_inputs ? op.input(3) != nullptr : op.node.attribute("axes") != nullptr;
  Ints axes = by_inputs ? op.integers(3) : op.ints_attribute("axes");
  Ints steps = op.integers(4);
  Dims dims = *from;
  if (has_axes && !axes) {  // which dimensions are cut is not known
    op.set(0, op.elem(0), Dims(dims.size(), kUnknownDim));
    return;
  }
  const std::size_t cuts = starts ? starts->size() : ends ? ends->size() : dims.size();
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < std::min(cuts, dims.size()); ++i) {
      axes->push_back(static_cast<std::int64_t>(i));
    }
  }
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], dims.size());
    if (!axis) return;
    const bool known = starts && ends && i < starts->size() && i < ends->size() &&
                       (op.input(4) == nullptr || (steps && i < steps->size()));
    dims[*axis] = known ? sliced(dims[*axis], (*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1)
                        : kUnknownDim;
  }
  op.set(0, op.elem(0), std::move(dims));
}

void squeeze(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const bool given = op.input(1) != nullptr || op.node.attribute("axes") != nullptr;
  const Ints axes = attribute_or_input(op, "axes", 1);
  std::vector<bool> removed(from->size(), false);
  if (given && !axes) return;
  if (axes) {
    for (const std::int64_t at : *axes) {
      const auto axis = normal_axis(at, from->size());
      if (!axis) return;
      removed[*axis] = true;
    }
  } else {
    for (std::size_t i = 0; i < from->size(); ++i) {
      if ((*from)[i] == kUnknownDim) return;  // it may be 1
      removed[i] = (*from)[i] == 1;
    }
  }
  Dims dims;
  for (std::size_t i = 0; i < from->size(); ++i) {
    if (!removed[i]) dims.push_back((*from)[i]);
  }
  op.set(0, op.elem(0), std::move(dims));
}

void unsqueeze(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  const Ints axes = attribute_or_input(op, "axes", 1);
  if (from == nullptr || !axes || from->size() + axes->size() > kMaxRank) return;
  const std::size_t rank = from->size() + axes->size();
  std::vector<bool> added(rank, false);
  for (const std::int64_t at : *axes) {
    const auto axis = normal_axis(at, rank);
    if (!axis || added[*axis]) return;
    added[*axis] = true;
  }
  Dims dims;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(added[i] ? 1 : (*from)[next++]);
  op.set(0, op.elem(0), std::move(dims));
}

void reduce(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  const bool keep = op.int_attribute("keepdims", 1) != 0;
  const Ints axes = attribute_or_input(op, "axes", 1);
  if (op.input(1) != nullptr && !axes) {
    if (keep) op.set(0, op.elem(0), Dims(from->size(), kUnknownDim));
    return;
  }
  const bool none = !axes || axes->empty();
  if (none && op.int_attribute("noop_with_empty_axes", 0) != 0) return op.set_like(0, 0);
  std::vector<bool> reduced(from->size(), none);
  if (!none) {
    for (const std::int64_t at : *axes) {
      const auto axis = normal_axis(at, from->size());
      if (!axis) return;
      reduced[*axis] = true;
    }
  }
  Dims dims;
  for (std::size_t i = 0; i < from->size(); ++i) {
    if (!reduced[i]) {
      dims.push_back((*from)[i]);
    } else if (keep) {
      dims.push_back(1);
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

void split(OpContext& op) {
  for (std::size_t i = 0; i < op.out.size(); ++i) op.set(i, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr || op.out.empty()) return;
  const auto axis = normal_axis(op.int_attribute("axis", 0), from->size());
  if (!axis) return;
  const bool given = op.input(1) != nullptr || op.node.attribute("split") != nullptr;
  const Ints parts = attribute_or_input(op, "split", 1);
  const auto count = static_cast<std::int64_t>(op.out.size());
  const std::int64_t dim = (*from)[*axis];
  const std::int64_t chunk = dim == kUnknownDim ? kUnknownDim : (dim + count - 1) / count;
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    Dims dims = *from;
    if (given) {
      dims[*axis] = parts && i < parts->size() ? valid_dim((*parts)[i]) : kUnknownDim;
    } else if (chunk != kUnknownDim) {
      const std::int64_t left = dim - chunk * static_cast<std::int64_t>(i);
      dims[*axis] = std::clamp<std::int64_t>(left, 0, chunk);
    }
    op.set(i, op.elem(0), std::move(dims));
  }
}

void pad(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Ints pads = attribute_or_input(op, "pads", 1);
  if (!pads && op.input(1) == nullptr) pads = op.ints_attribute("paddings");
  Ints axes = op.integers(3);
  Dims dims(from->size(), kUnknownDim);
  if (op.input(3) == nullptr) {
    axes.emplace();
    for (std::size_t i = 0; i < from->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  if (pads && axes && pads->size() == 2 * axes->size()) {
    dims = *from;
    for (std::size_t i = 0; i < axes->size(); ++i) {
      const auto axis = normal_axis((*axes)[i], from->size());
      if (!axis) return;
      const std::int64_t before = (*pads)[i];
      const std::int64_t after = (*pads)[i + axes->size()];
      const bool sane = std::max(before, after) <= kMaxDim && std::min(before, after) >= -kMaxDim;
      dims[*axis] = sane && dims[*axis] != kUnknownDim ? valid_dim(dims[*axis] + before + after)
                                                       : kUnknownDim;
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

// Upsample and Resize: scales are an attribute (Upsample 7), input 1 (Upsample 9, Resize 10) or
// input 2 (Resize 11), sizes input 3.
void resize(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  if (from == nullptr) return;
  Dims dims(from->size(), kUnknownDim);
  std::vector<std::size_t> axes;
  if (const Ints chosen = op.ints_attribute("axes")) {
    dims = *from;
    for (const std::int64_t at : *chosen) {
      const auto axis = normal_axis(at, from->size());
      if (!axis) return;
      axes.push_back(*axis);
    }
  } else {
    for (std::size_t i = 0; i < from->size(); ++i) axes.push_back(i);
  }
  std::vector<double> scales;
  if (const auto* const attribute = op.node.attribute("scales")) {
    scales.assign(attribute->floats().begin(), attribute->floats().end());
  } else if (const Data* const data = op.data(op.input_count() > 2 ? 2 : 1)) {
    for (std::size_t i = 0; i < data->size(); ++i) {
      scales.push_back(data->number(i).value_or(std::nan("")));
    }
  }
  const Data* const sizes = op.data(3);
  const bool by_size = sizes != nullptr && sizes->size() == axes.size();
  const bool by_scale = !by_size && scales.size() == axes.size();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::int64_t& dim = dims[axes[i]];
    const std::int64_t old = (*from)[axes[i]];
    dim = kUnknownDim;
    if (by_size) dim = valid_dim(sizes->integer(i).value_or(kUnknownDim));
    if (by_scale && old != kUnknownDim) {
      const double scaled = std::floor(static_cast<double>(old) * scales[i]);
      if (scaled >= 0 && scaled < static_cast<double>(kMaxDim)) {
        dim = static_cast<std::int64_t>(scaled);
      }
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

void constant_of_shape(OpContext& op) {
  int elem = TensorProto::FLOAT;
  if (const auto* const value = op.node.attribute("value")) elem = value->t().data_type();
  op.set(0, tensor_type(elem));
  const Data* const data = op.data(0);
  if (data != nullptr && data->size() <= static_cast<std::size_t>(kMaxRank)) {
    Dims dims;
    for (std::size_t i = 0; i < data->size(); ++i) {
      dims.push_back(valid_dim(data->integer(i).value_or(kUnknownDim)));
    }
    op.set(0, elem, std::move(dims));
  }
}

void range(OpContext& op) {
  std::int64_t count = kUnknownDim;
  const Data* const start = op.data(0);
  const Data* const limit = op.data(1);
  const Data* const step = op.data(2);
  if (start && limit && step && start->size() == 1 && limit->size() == 1 && step->size() == 1) {
    const auto a = start->number(0), b = limit->number(0), d = step->number(0);
    if (a && b && d && *d != 0) {
      const double steps = std::ceil((*b - *a) / *d);
      if (steps < static_cast<double>(kMaxDim)) {
        count = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::max(steps, 0.0)));
      }
    }
  }
  op.set(0, op.elem(0), {count});
}

void cast(OpContext& op) {
  op.set_like(0, 0);
  if (op.out.empty()) return;
  const int to = op.node.type() == "CastLike" || op.node.type() == "BitCast"
                     ? op.elem(1)
                     : static_cast<int>(op.int_attribute("to", 0));
  // Cast 1 names the type.
  const auto* const attribute = op.node.attribute("to");
  TensorProto::DataType named = TensorProto::UNDEFINED;
  if (to == 0 && attribute != nullptr && TensorProto::DataType_Parse(attribute->s(), &named)) {
    op.out[0].elem = named;
  } else {
    op.out[0].elem = to;
  }
}

void non_zero(OpContext& op) {
  const Dims* const from = op.shape(0);
  op.set(0, TensorProto::INT64,
         {from != nullptr ? static_cast<std::int64_t>(from->size()) : kUnknownDim, kUnknownDim});
}

// Of the first opset: border = left, top, right, bottom.
void crop(OpContext& op) {
  op.set(0, tensor_type(op.elem(0)));
  const Dims* const from = op.shape(0);
  const Ints border = op.ints_attribute("border");
  const Ints scale = op.ints_attribute("scale");
  if (from == nullptr || from->size() != 4) return;
  Dims dims = *from;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {  // height, width
    std::int64_t& dim = dims[2 + i];
    if (scale && scale->size() == 2) {
      dim = valid_dim((*scale)[i]);
    } else if (border && border->size() == 4 && dim != kUnknownDim) {
      const std::int64_t before = valid_dim((*border)[1 - i]), after = valid_dim((*border)[3 - i]);
      dim = before == kUnknownDim || after == kUnknownDim ? kUnknownDim
                                                          : valid_dim(dim - before - after);
    } else {
      dim = kUnknownDim;
    }
  }
  op.set(0, op.elem(0), std::move(dims));
}

void center_crop_pad(OpContext& op) {
  op.set_like(0, 0);
  const Dims* const from = op.shape(0);
  const Ints sizes = op.integers(1);
  if (from == nullptr || op.out.empty()) return;
  Ints axes = op.ints_attribute("axes");
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < from->size(); ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto axis = normal_axis((*axes)[i], from->size());
    if (!axis) return;
    op.out[0].dims[*axis] = sizes && i < sizes->size() ? valid_dim((*sizes)[i]) : kUnknownDim;
  }
}

}  // namespace

Rule find_layout_rule(std::string_view type) {
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"Shape", shape_of},
      {"Size", size_of},
      {"Reshape", reshape},
      {"Expand", expand},
      {"Tile", tile},
      {"Transpose", transpose},
      {"Concat", concat},
      {"Gather", gather},
      {"GatherND", gather_nd},
      {"Slice", slice},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Split", split},
      {"Pad", pad},
      {"Resize", resize},
      {"Upsample", resize},
      {"ConstantOfShape", constant_of_shape},
      {"Range", range},
      {"Cast", cast},
      {"CastLike", cast},
      {"BitCast", cast},
      {"NonZero", non_zero},
      {"Crop", crop},
      {"CenterCropPad", center_crop_pad},
      {"ReduceL1", reduce},
      {"ReduceL2", reduce},
      {"ReduceLogSum", reduce},
      {"ReduceLogSumExp", reduce},
      {"ReduceMax", reduce},
      {"ReduceMean", reduce},
      {"ReduceMin", reduce},
      {"ReduceProd", reduce},
      {"ReduceSum", reduce},
      {"ReduceSumSquare", reduce},
  };
  const auto found = kRules.find(type);
  return found == kRules.end() ? nullptr : found->second;
}

}  // namespace berth::onnx_frontend
