#include "tf/handles.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "berth/support/text.h"
#include "support/wire.h"

namespace berth::tf_frontend {
namespace {

bool starts_with(std::string_view text, std::string_view front) {
  return text.substr(0, front.size()) == front;
}
bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// --- Variables ----------------------------------------------------------------------------------

/// Generators of random numbers keep their state in a variable.
bool draws_with_variable(std::string_view op) {
  static constexpr std::array<std::string_view, 8> kOps = {
      "RngReadAndSkip",          "RngSkip",
      "StatefulRandomBinomial",  "StatefulStandardNormalV2",
      "StatefulTruncatedNormal", "StatefulUniform",
      "StatefulUniformFullInt",  "StatefulUniformInt"};
  return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

/// Whether ops of this type take the handles of variables and of nothing else.
bool uses_variables(std::string_view op) {
  return op == "ReadVariableOp" || op == "VariableShape" || op == "VarIsInitializedOp" ||
         (starts_with(op, "Assign") && ends_with(op, "VariableOp")) ||
         starts_with(op, "ResourceApply") || starts_with(op, "ResourceSparseApply") ||
         starts_with(op, "ResourceGather") || starts_with(op, "ResourceScatter") ||
         op == "ResourceStridedSliceAssign" || op == "ResourceCountUpTo" || draws_with_variable(op);
}

Value shape_behind(const Handle& handle) {
  Value shape;
  shape.ranked = handle.ranked;
  shape.dims = handle.dims;
  return shape;
}

/// The variable behind `value` holds elements of `type` in a shape of which `seen` is known.
void learn_variable(const Value& value, int type, const Value& seen) {
  if (value.handle == nullptr) return;
  Handle& handle = *value.handle;
  handle.variable = true;
  if (handle.type == kUnknownType) handle.type = type;
  Value shape = shape_behind(handle);
  if (!merge_shape(shape, seen)) return;
  handle.ranked = shape.ranked;
  handle.dims = std::move(shape.dims);
}

/// The shape of a table whose rows follow the first `axes` dimensions of `tensor`.
Value table_of(const Value& tensor, int axes) {
  Value table;
  if (!tensor.ranked || axes < 0 || axes > tensor.rank()) return table;
  Dims dims(tensor.dims.begin() + axes, tensor.dims.end());
  dims.insert(dims.begin(), kUnknownDim);
  table.set_shape(std::move(dims));
  return table;
}

/// An optimizer's gradient: beside it and the handles it takes scalars. Not known while the shape
/// of an input is not.
Value gradient_of(const Use& op) {
  Value found;
  found.set_shape({});
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.in(i).handle != nullptr) continue;
    if (!op.in(i).ranked) return Value();
    if (!op.in(i).dims.empty()) return op.in(i);
  }
  return found;
}

/// The shape of an op's first variable, as the op shows it.
Value seen_by(const Use& op) {
  const std::string_view type = op.type;
  const Value output = op.outputs.empty() ? Value() : op.outputs[0];
  if (type == "ReadVariableOp") return output;
  if (starts_with(type, "Assign")) return op.in(1);
  if (starts_with(type, "ResourceApply")) return gradient_of(op);
  if (starts_with(type, "ResourceSparseApply")) return table_of(gradient_of(op), 1);
  if (type == "ResourceGather") return table_of(output, op.in(1).rank());
  const bool scatters =
      starts_with(type, "ResourceScatter") && !starts_with(type, "ResourceScatterNd");
  if (scatters && op.in(2).rank() > 0) return table_of(op.in(2), op.in(1).rank());
  return {};
}

/// A counter of 128 bits and a key.
Value generator_state() {
  Value state;
  state.set_shape({3});
  return state;
}

void learn_variables(const Use& op) {
  const bool draws = draws_with_variable(op.type);
  const int element =
      draws ? kInt64 : op.attributes.type("dtype", op.attributes.type("T", kUnknownType));
  learn_variable(op.in(0), element, draws ? generator_state() : seen_by(op));
  if (op.in(0).handle == nullptr) return;
  // A variable that is trained and its slots are shaped alike.
  if (op.type.find("Apply") != std::string_view::npos) {
    for (std::size_t i = 1; op.in(i).handle != nullptr; ++i) {
      learn_variable(op.in(0), element, shape_behind(*op.in(i).handle));
    }
    for (std::size_t i = 1; op.in(i).handle != nullptr; ++i) {
      learn_variable(op.in(i), element, shape_behind(*op.in(0).handle));
    }
    // A later fact about one of them holds for all.
    for (std::size_t i = 0; op.in(i).handle != nullptr; ++i) {
      op.in(i).handle->read_too_early |=
          product(op.in(i).handle->dims) == kUnknownDim || !op.in(i).handle->ranked;
    }
  }
  op.in(0).handle->read_too_early |= !op.outputs.empty() && !op.outputs[0].fully_known();
}

// --- Lists --------------------------------------------------------------------------------------

/// Elements of the list that an op of this type gives.
std::int64_t length_after(const Use& op, const Handle& given) {
  const std::string_view type = op.type;
  const std::int64_t before = op.in(0).length;
  if (type == "EmptyTensorList") return 0;
  if (type == "TensorListPushBack")
    return before == kUnknownDim ? before : ops::valid_dim(before + 1);
  if (type == "TensorListPopBack") return before > 0 ? before - 1 : before;
  if (type == "TensorListResize") {
    const std::int64_t size = op.in(1).element(0).value_or(kUnknownDim);
    return size < 0 || size > kMaxDim ? kUnknownDim : size;
  }
  if (type == "TensorListSetItem" || type == "TensorListScatterIntoExistingList") return before;
  return starts_with(type, "TensorList") ? given.size : before;
}

/// How many of them are tensors that it holds already. Which one is taken from the list is not known, but
/// for those of the end: at most one of them goes.
std::int64_t repeats_after(const Use& op) {
  if (op.type == "TensorListPopBack") return std::max<std::int64_t>(0, op.in(0).repeats - 1);
  const bool keeps = op.type == "TensorListPushBack" || !starts_with(op.type, "TensorList");
  return keeps ? op.in(0).repeats : 0;
}

}  // namespace

bool is_variable(std::string_view op) noexcept {
  return op == "VariableV2" || op == "Variable" || op == kVariableOp;
}

std::string shared_name(const Node& node) {
  // Under this name TensorFlow makes a new one each time.
  constexpr std::string_view kAnonymous = "cd2c89b7-88b7-44c8-ad83-06c2a9158347";
  if (!is_variable(node.op)) return {};
  const std::string_view name = node.attributes.text("shared_name");
  if (name.empty() || name == kAnonymous) return {};
  return cat(node.attributes.text("container"), "/", name);
}

bool makes_content(std::string_view op) {
  return starts_with(op, "TensorArray") || op == "Stack" || op == "StackV2";
}

const Value& Use::in(std::size_t i) const noexcept {
  static const Value nothing;
  return i < inputs.size() ? *inputs[i] : nothing;
}

void learn_from_use(const Use& op) {
  if (uses_variables(op.type)) learn_variables(op);
  if (op.outputs.empty()) return;
  Value& out = op.outputs[0];
  if (op.type == kVariableOp && out.handle != nullptr) out.handle->variable = true;
  if (out.type != kVariant) return;
  const bool alike = op.type == "AddN" || op.type == "ZerosLike";
  if (alike && out.handle == nullptr) out.handle = op.in(0).handle;
  if (out.handle == nullptr) return;
  out.length = length_after(op, *out.handle);
  out.repeats = repeats_after(op);
}

std::shared_ptr<Handle> captured_handle(const Attributes& attributes) {
  auto handle = std::make_shared<Handle>();
  const std::vector<int> types = attributes.types("_handle_dtypes");
  const std::vector<Value> shapes = attributes.shapes("_handle_shapes");
  if (types.size() != 1 || types[0] == kUnknownType) return handle;
  Value captured;
  captured.handle = handle;
  learn_variable(captured, types[0], shapes.size() == 1 ? shapes[0] : Value());
  return handle;
}

// --- Captured variables -------------------------------------------------------------------------

namespace {

// Fields of AttrValue, TensorShapeProto and its Dim, as in proto/graph.proto.
constexpr std::uint32_t kType = 6, kShape = 7, kDim = 2, kUnknownRank = 3, kSize = 1;

std::string shape_value(const Handle& handle) {
  std::string shape;
  if (!handle.ranked) frontend::append_varint_field(shape, kUnknownRank, 1);
  for (const std::int64_t size : handle.dims) {
    std::string dim;
    frontend::append_varint_field(dim, kSize, static_cast<std::uint64_t>(size));
    frontend::append_bytes_field(shape, kDim, dim);
  }
  std::string value;
  frontend::append_bytes_field(value, kShape, shape);
  return value;
}

}  // namespace

void make_variable(Program& program, Node& node) {
  const Handle& handle = *node.outputs.at(0).handle;
  std::string type;
  frontend::append_varint_field(type, kType, static_cast<std::uint64_t>(handle.type));
  const std::string& bytes = program.names.emplace_back(type + shape_value(handle));
  const std::string_view view = bytes;
  const WireSource& source =
      program.sources.emplace_back(WireSource{node.attributes.source().file, bytes.data()});
  std::vector<AttrEntry>& entries = program.attrs.emplace_back();
  entries.push_back({"dtype", view.substr(0, type.size())});
  entries.push_back({"shape", view.substr(type.size())});
  node.attributes = Attributes(entries, nullptr, source);
  node.op = kVariableOp;
}

}  // namespace berth::tf_frontend
