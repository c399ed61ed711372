// Lists of tensors: TensorList's, whose handle is the list, and TensorArray's, whose flow is the list: every op that
// changes one gives another, as TensorFlow orders them. The handle of an array is its name, which the flow has too: a
// gradient is an array of its own, empty where it is first reached by the flow of what it is the gradient of, and what
// is written to it twice is added.
#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

using List = std::vector<Value>;

constexpr std::size_t kMostElements = 1 << 24;

/// `array` names the array that it is the flow of.
Value list_value(List elements, std::vector<std::string> array = {}) {
  auto structure = std::make_shared<Structure>();
  structure->sequence = std::move(elements);
  structure->texts = std::move(array);
  Value value;
  value.structure = std::move(structure);
  return value;
}

const List& list_at(Inputs in, std::size_t i) {
  if (!has(in, i) || in[i].structure == nullptr ||
      in[i].structure->kind != Structure::Kind::sequence) {
    throw Error(ErrorCode::invalid_argument, cat("its input ", i, " is no list of tensors"));
  }
  return in[i].structure->sequence;
}

std::size_t index_at(Inputs in, std::size_t i, std::size_t size) {
  const std::int64_t index = ints_of(tensor_at(in, i)).at(0);
  if (index < 0 || static_cast<std::size_t>(index) >= size) {
    throw Error(ErrorCode::invalid_argument,
                cat("it asks for element ", index, " of a list of ", size));
  }
  return static_cast<std::size_t>(index);
}

/// The shape that element shapes as in a list's input leave to those of its elements.
Ints shape_of_elements(const List& list, Inputs in, std::size_t shape_input) {
  for (const Value& element : list) {
    if (element.tensor.defined()) return element.tensor.sizes().vec();
  }
  Ints shape;
  if (shape_input < in.size() && has(in, shape_input) && tensor_at(in, shape_input).dim() == 1) {
    shape = ints_of(tensor_at(in, shape_input));
  }
  for (const std::int64_t size : shape) {
    if (size < 0) {
      throw Error(ErrorCode::invalid_argument,
                  "it reads an element that was not written, of a shape that is not known");
    }
  }
  return shape;
}

/// An element that was not written is 0.
Tensor element(const KernelContext& context, const List& list, std::size_t at, Inputs in,
               std::size_t shape_input, at::ScalarType type) {
  if (list[at].tensor.defined()) return list[at].tensor;
  return at::zeros(shape_of_elements(list, in, shape_input),
                   at::TensorOptions(type).device(context.device));
}

Tensor stacked(const KernelContext& context, const List& list, const Ints& indices, Inputs in,
               std::size_t shape_input, at::ScalarType type) {
  std::vector<Tensor> parts;
  for (const std::int64_t index : indices) {
    if (index < 0 || static_cast<std::size_t>(index) >= list.size()) {
      throw Error(ErrorCode::invalid_argument,
                  cat("it asks for element ", index, " of a list of ", list.size()));
    }
    parts.push_back(element(context, list, static_cast<std::size_t>(index), in, shape_input, type));
  }
  if (!parts.empty()) return at::stack(parts);
  Ints shape =
      list.empty() && shape_input >= in.size() ? Ints{} : shape_of_elements(list, in, shape_input);
  shape.insert(shape.begin(), 0);
  return at::empty(shape, at::TensorOptions(type).device(context.device));
}

Ints all_of(const List& list) {
  Ints all(list.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return all;
}

List rows_of(const Tensor& rows) {
  if (rows.dim() == 0) throw Error(ErrorCode::invalid_argument, "a scalar has no rows");
  List list;
  for (std::int64_t i = 0; i < rows.size(0); ++i) list.push_back({rows.select(0, i), nullptr});
  return list;
}

/// `rows` at the places `indices`; the list grows to hold them.
List scattered(List list, const Ints& indices, const Tensor& rows) {
  List from = rows_of(rows);
  if (from.size() != indices.size()) {
    throw Error(ErrorCode::invalid_argument,
                cat("it has ", indices.size(), " places for ", from.size(), " rows"));
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= static_cast<std::int64_t>(kMostElements)) {
      throw Error(ErrorCode::invalid_argument, cat("a list has no element ", indices[i]));
    }
    const auto at = static_cast<std::size_t>(indices[i]);
    if (at >= list.size()) list.resize(at + 1);
    list[at] = std::move(from[i]);
  }
  return list;
}

List of_size(const Tensor& size) {
  const std::int64_t count = ints_of(size).at(0);
  if (count < 0 || count > static_cast<std::int64_t>(kMostElements)) {
    throw Error(ErrorCode::invalid_argument, cat("a list of ", count, " elements is not made"));
  }
  return List(static_cast<std::size_t>(count));
}

Tensor length_of(const List& list) {
  return at::scalar_tensor(static_cast<std::int64_t>(list.size()), at::kInt);
}

Tensor sum_of(const KernelContext& context, const std::vector<Tensor>& terms) {
  Tensor sum = terms.at(0);
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const Operands operands(context, sum, terms[i]);
    // From the second on the sum is this kernel's own.
    sum = i == 1 ? at::add(operands.left, operands.right) : sum.add_(operands.right);
  }
  return sum;
}

// --- TensorList ----------------------------------------------------------------------------------

Kernel make_empty(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs, Outputs out) { out[0] = list_value({}); };
}

/// (element shape, number of elements)
Kernel make_reserve(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0] = list_value(of_size(tensor_at(in, 1)));
  };
}

Kernel make_from_rows(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0] = list_value(rows_of(tensor_at(in, 0)));
  };
}

/// (list, index, element shape)
Kernel make_get(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "element_dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    const List& list = list_at(in, 0);
    out[0].tensor = element(context, list, index_at(in, 1, list.size()), in, 2, kind);
  };
}

/// (list, index, element)
Kernel make_set(const KernelRequest& request) {
  const bool grows = int_attribute(request.instruction, "resize_if_index_out_of_bounds", 0) != 0;
  return [grows](KernelContext&, Inputs in, Outputs out) {
    List list = list_at(in, 0);
    const std::size_t known = grows ? kMostElements : list.size();
    const std::size_t at = index_at(in, 1, known);
    if (at >= list.size()) list.resize(at + 1);
    list[at] = {tensor_at(in, 2), nullptr};
    out[0] = list_value(std::move(list));
  };
}

/// (list, element shape)
Kernel make_stack(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "element_dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    const List& list = list_at(in, 0);
    out[0].tensor = stacked(context, list, all_of(list), in, 1, kind);
  };
}

/// (list, indices, element shape)
Kernel make_gather(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "element_dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = stacked(context, list_at(in, 0), ints_of(tensor_at(in, 1)), in, 2, kind);
  };
}

/// (rows, indices, ..)
Kernel make_scatter(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0] = list_value(scattered({}, ints_of(tensor_at(in, 1)), tensor_at(in, 0)));
  };
}

/// (list, rows, indices)
Kernel make_scatter_into(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    out[0] = list_value(scattered(list_at(in, 0), ints_of(tensor_at(in, 2)), tensor_at(in, 1)));
  };
}

/// (list, element)
Kernel make_push(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    List list = list_at(in, 0);
    list.push_back({tensor_at(in, 1), nullptr});
    out[0] = list_value(std::move(list));
  };
}

/// (list, element shape)
Kernel make_pop(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "element_dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    List list = list_at(in, 0);
    if (list.empty()) {
      throw Error(ErrorCode::invalid_argument, "it takes an element of an empty list");
    }
    if (out.size() > 1) out[1].tensor = element(context, list, list.size() - 1, in, 1, kind);
    list.pop_back();
    out[0] = list_value(std::move(list));
  };
}

/// (list, size)
Kernel make_resize(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    List list = list_at(in, 0);
    list.resize(of_size(tensor_at(in, 1)).size());
    out[0] = list_value(std::move(list));
  };
}

Kernel make_length(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0].tensor = length_of(list_at(in, 0)); };
}

// --- TensorArray: (handle, .., flow) ---------------------------------------------------------------

using Names = std::vector<std::string>;

constexpr std::string_view kGradient = " gradient ";

const Names& name_of_array(Inputs in) {
  if (!has(in, 0) || in[0].structure == nullptr || in[0].structure->texts.empty()) {
    throw Error(ErrorCode::invalid_argument, "its input 0 is no array of tensors");
  }
  return in[0].structure->texts;
}

/// The elements of the array whose handle is input 0: the flow's, or `none` where that is another array's.
const List& array_at(Inputs in, std::size_t flow, List& none) {
  const List& list = list_at(in, flow);
  if (in[flow].structure->texts == name_of_array(in)) return list;
  none.assign(list.size(), {});
  return none;
}

/// The array that an op changes.
struct Array {
  Array(Inputs in, std::size_t flow) : name(name_of_array(in)) {
    List none;
    list = array_at(in, flow, none);
  }
  void write(const KernelContext& context, std::size_t at, const Tensor& element) {
    if (at >= list.size()) list.resize(at + 1);
    const bool adds = name[0].find(kGradient) != std::string::npos;
    Tensor& place = list[at].tensor;
    place = adds && place.defined() ? sum_of(context, {place, element}) : element;
  }
  [[nodiscard]] Value flow() && { return list_value(std::move(list), std::move(name)); }

  Names name;
  List list;
};

/// (size)
Kernel make_array(const KernelRequest& request) {
  return [name = Names{request.instruction.name}](KernelContext&, Inputs in, Outputs out) {
    out[0] = list_value({}, name);
    if (out.size() > 1) out[1] = list_value(of_size(tensor_at(in, 0)), name);
  };
}

/// (handle, flow)
Kernel make_array_gradient(const KernelRequest& request) {
  const std::string source = text_attribute(request.instruction, "source", "");
  return [source](KernelContext&, Inputs in, Outputs out) {
    const Names name{cat(name_of_array(in)[0], kGradient, source)};
    out[0] = list_value({}, name);
    if (out.size() > 1) out[1] = list_value(List(list_at(in, 1).size()), name);
  };
}

/// (handle, index, flow)
Kernel make_array_read(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    List none;
    const List& list = array_at(in, 2, none);
    out[0].tensor = element(context, list, index_at(in, 1, list.size()), in, in.size(), kind);
  };
}

/// (handle, index, element, flow)
Kernel make_array_write(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    Array array(in, 3);
    array.write(context, index_at(in, 1, kMostElements), tensor_at(in, 2));
    out[0] = std::move(array).flow();
  };
}

/// (handle, indices, rows, flow)
Kernel make_array_scatter(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    Array array(in, 3);
    const List rows = scattered({}, ints_of(tensor_at(in, 1)), tensor_at(in, 2));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].tensor.defined()) array.write(context, i, rows[i].tensor);
    }
    out[0] = std::move(array).flow();
  };
}

/// (handle, indices, flow)
Kernel make_array_gather(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    List none;
    out[0].tensor =
        stacked(context, array_at(in, 2, none), ints_of(tensor_at(in, 1)), in, in.size(), kind);
  };
}

/// (handle, flow)
Kernel make_array_concat(const KernelRequest& request) {
  const at::ScalarType kind = type(request.instruction, "dtype", at::kFloat);
  return [kind](KernelContext& context, Inputs in, Outputs out) {
    List none;
    const List& list = array_at(in, 1, none);
    std::vector<Tensor> parts;
    Ints lengths;
    for (std::size_t i = 0; i < list.size(); ++i) {
      parts.push_back(element(context, list, i, in, in.size(), kind));
      lengths.push_back(parts.back().size(0));
    }
    if (parts.empty()) throw Error(ErrorCode::invalid_argument, "it joins an empty list");
    out[0].tensor = at::cat(parts);
    if (out.size() > 1) out[1].tensor = at::tensor(lengths, at::kLong);
  };
}

/// (handle, rows, lengths, flow)
Kernel make_array_split(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    Array array(in, 3);
    const std::vector<Tensor> parts =
        at::split_with_sizes(tensor_at(in, 1), ints_of(tensor_at(in, 2)));
    for (std::size_t i = 0; i < parts.size(); ++i) array.write(context, i, parts[i]);
    out[0] = std::move(array).flow();
  };
}

/// (handle, flow)
Kernel make_array_size(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) { out[0].tensor = length_of(list_at(in, 1)); };
}

// --- Both ------------------------------------------------------------------------------------------

/// That of its first element, since a list does not keep what was stated of it; -1 where none was written: unknown.
Kernel make_element_shape(const KernelRequest& request) {
  return [wanted = type(request.instruction, "shape_type", at::kInt)](KernelContext&, Inputs in,
                                                                      Outputs out) {
    for (const Value& element : list_at(in, 0)) {
      if (!element.tensor.defined()) continue;
      out[0].tensor = at::tensor(element.tensor.sizes()).to(wanted);
      return;
    }
    out[0].tensor = at::full({}, -1, wanted);
  };
}

/// The sum of tensors, or of lists, whose elements that were not written are 0. A tensor beside lists is what a loop
/// begins to add flows with: nothing.
template <bool two>
Kernel make_sum(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const auto is_list = [](const Value& value) { return value.structure != nullptr; };
    const auto first = std::ranges::find_if(in, is_list);
    if (first == in.end()) {
      if constexpr (two) {
        const Operands operands(context, tensor_at(in, 0), tensor_at(in, 1));
        out[0].tensor = at::add(operands.left, operands.right);
      } else {
        std::vector<Tensor> terms;
        for (std::size_t i = 0; i < in.size(); ++i) terms.push_back(tensor_at(in, i));
        out[0].tensor = sum_of(context, terms);
      }
      return;
    }
    std::vector<std::vector<Tensor>> terms;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!is_list(in[i])) continue;
      const List& list = list_at(in, i);
      if (list.size() > terms.size()) terms.resize(list.size());
      for (std::size_t at = 0; at < list.size(); ++at) {
        if (list[at].tensor.defined()) terms[at].push_back(list[at].tensor);
      }
    }
    List sums(terms.size());
    for (std::size_t at = 0; at < sums.size(); ++at) {
      if (!terms[at].empty()) sums[at].tensor = sum_of(context, terms[at]);
    }
    out[0] = list_value(std::move(sums), first->structure->texts);
  };
}

/// Those of a tensor, or of the elements of a list.
Kernel make_zeros_like(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    if (!has(in, 0) || in[0].structure == nullptr) {
      out[0].tensor = at::zeros_like(tensor_at(in, 0));
      return;
    }
    List zeros(list_at(in, 0).size());
    for (std::size_t i = 0; i < zeros.size(); ++i) {
      const Tensor& element = list_at(in, 0)[i].tensor;
      if (element.defined()) zeros[i].tensor = at::zeros_like(element);
    }
    out[0] = list_value(std::move(zeros), in[0].structure->texts);
  };
}

constexpr KernelRow kRows[] = {
    {"Add", make_sum<true>},
    {"AddN", make_sum<false>},
    {"AddV2", make_sum<true>},
    {"EmptyTensorList", make_empty},
    {"TensorArrayConcatV3", make_array_concat},
    {"TensorArrayGatherV3", make_array_gather},
    {"TensorArrayGradV3", make_array_gradient},
    {"TensorArrayReadV3", make_array_read},
    {"TensorArrayScatterV3", make_array_scatter},
    {"TensorArraySizeV3", make_array_size},
    {"TensorArraySplitV3", make_array_split},
    {"TensorArrayV3", make_array},
    {"TensorArrayWriteV3", make_array_write},
    {"TensorListElementShape", make_element_shape},
    {"TensorListFromTensor", make_from_rows},
    {"TensorListGather", make_gather},
    {"TensorListGetItem", make_get},
    {"TensorListLength", make_length},
    {"TensorListPopBack", make_pop},
    {"TensorListPushBack", make_push},
    {"TensorListReserve", make_reserve},
    {"TensorListResize", make_resize},
    {"TensorListScatter", make_scatter},
    {"TensorListScatterIntoExistingList", make_scatter_into},
    {"TensorListScatterV2", make_scatter},
    {"TensorListSetItem", make_set},
    {"TensorListStack", make_stack},
    {"ZerosLike", make_zeros_like},
};

}  // namespace

std::span<const KernelRow> list_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
