// berth.graph_builder: graphs made in Lua.
#include <cmath>

#include "berth/sdk/ops/constants.h"
#include "berth/sdk/ops/dialects.h"
#include "berth/support/text.h"
#include "call.h"
#include "objects.h"
#include "values.h"

namespace berth::lua {
namespace {

int make(Call& call) {
  const std::string name = call.argument(1, "name").text();
  const Value dialect = call.argument(2, "dialect");
  const std::string vocabulary = dialect.present() ? dialect.text() : "berth";
  check_dialect(vocabulary);
  return call.made(std::make_shared<GraphBuilder>(name, vocabulary));
}

/// { dtype =, shape =, bytes = }
TensorInfo tensor_info(const Call& call, int argument) {
  Fields fields = call.options(argument, "tensor");
  TensorInfo info;
  if (const Value dtype = fields.get("dtype"); dtype.present()) {
    const auto known = dtype_from_name(dtype.text());
    if (!known) dtype.refuse(cat("'", dtype.text(), "' is not an element type; use f32, i64, ..."));
    info.dtype = *known;
  }
  if (const Value shape = fields.get("shape"); shape.present()) {
    info.has_shape = true;
    info.shape = shape.integers(/*least=*/kUnknownDim, kMaxInteger);
  }
  if (const Value bytes = fields.get("bytes"); bytes.present()) info.bytes = bytes.integer(0);
  fields.finish();
  return info;
}

/// Tensors and ops are ids that the builder has given, 1.. in Lua; it checks their range itself.
std::int32_t id_of(const Value& value) {
  return static_cast<std::int32_t>(value.integer(1, std::numeric_limits<std::int32_t>::max())) - 1;
}

std::string optional_text(const Value& value) {
  return value.present() ? value.text() : "";
}

int add_op(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  return call.id(builder->add_op(call.argument(1, "name").text(), call.argument(2, "type").text()));
}

int add_output(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  const OpId op = id_of(call.argument(1, "op"));
  return call.id(
      builder->add_output(op, tensor_info(call, 2), optional_text(call.argument(3, "name"))));
}

int add_parameter(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  return call.id(
      builder->add_parameter(tensor_info(call, 1), optional_text(call.argument(2, "name"))));
}

int add_input(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  const OpId op = id_of(call.argument(1, "op"));
  const Value tensor = call.argument(2, "tensor");
  builder->add_input(op, tensor.present() ? id_of(tensor) : kNoTensor);
  return call.self_again();
}

int add_control_edge(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  builder->add_control_edge(id_of(call.argument(1, "src")), id_of(call.argument(2, "dst")));
  return call.self_again();
}

int set_tensor(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  const TensorId tensor = id_of(call.argument(1, "tensor"));
  builder->set_tensor(tensor, tensor_info(call, 2));
  return call.self_again();
}

int set_param_bytes(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  builder->set_param_bytes(id_of(call.argument(1, "op")), call.argument(2, "bytes").integer(0));
  return call.self_again();
}

int set_colocation(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  builder->set_colocation(id_of(call.argument(1, "op")), call.argument(2, "class").text());
  return call.self_again();
}

int set_requested_device(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  builder->set_requested_device(id_of(call.argument(1, "op")), call.argument(2, "device").text());
  return call.self_again();
}

/// A list is of integers where all its numbers are, else of numbers; or of texts.
AttributeValue attribute_value(const Value& value, lua_State* L) {
  if (!value.is_table()) {
    const OptionValue option = value.option();
    if (const auto* flag = std::get_if<bool>(&option)) return std::int64_t{*flag};
    if (const auto* integer = std::get_if<std::int64_t>(&option)) return *integer;
    if (const auto* real = std::get_if<double>(&option)) return *real;
    return std::get<std::string>(option);
  }
  lua_rawgeti(L, value.index(), 1);
  const bool texts = lua_type(L, -1) == LUA_TSTRING;
  lua_pop(L, 1);
  if (texts) return value.texts();
  std::vector<double> numbers = value.numbers();
  for (const double number : numbers) {
    if (number != std::floor(number) || std::abs(number) > static_cast<double>(kMaxInteger)) {
      return numbers;
    }
  }
  return std::vector<std::int64_t>(numbers.begin(), numbers.end());
}

int set_attribute(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  const OpId op = id_of(call.argument(1, "op"));
  builder->set_attribute(op, call.argument(2, "name").text(),
                         attribute_value(call.argument(3, "value"), call.L));
  return call.self_again();
}

OpClass op_class_from_name(const Value& value) {
  const std::string name = value.text();
  std::vector<std::string> known;
  for (int i = 0; i < kOpClassCount; ++i) {
    const auto op_class = static_cast<OpClass>(i);
    if (op_class_name(op_class) == name) return op_class;
    known.emplace_back(op_class_name(op_class));
  }
  value.refuse(cat("'", name, "' is no class of ops", known_names(name, known)));
}

int set_work(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  const OpId op = id_of(call.argument(1, "op"));
  Fields fields = call.options(2, "work");
  Work work;
  fields.read("flops", work.flops);
  fields.read("bytes", work.bytes);
  if (const Value op_class = fields.get("class"); op_class.present()) {
    work.op_class = op_class_from_name(op_class);
  }
  if (const Value dtype = fields.get("dtype"); dtype.present()) {
    const auto known = dtype_from_name(dtype.text());
    if (!known) dtype.refuse(cat("'", dtype.text(), "' is not an element type; use f32, i64, ..."));
    work.dtype = *known;
  }
  fields.read("launches", work.launches);
  fields.finish();
  builder->set_work(op, work);
  return call.self_again();
}

int set_cost(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  const OpId op = id_of(call.argument(1, "op"));
  const double us = call.argument(2, "us").number();
  builder->set_cost(op, optional_text(call.argument(3, "kind")), us);
  return call.self_again();
}

int add_result(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  builder->add_result(id_of(call.argument(1, "tensor")));
  return call.self_again();
}

int set_pure(Call& call) {
  const auto builder = call.self<GraphBuilder>();
  builder->set_pure(id_of(call.argument(1, "op")));
  return call.self_again();
}

int build(Call& call) {
  Fields fields = call.options(1);
  const Value fold = fields.get("fold");
  const bool folds = !fold.present() || fold.boolean();
  fields.finish();
  auto graph = call.self<GraphBuilder>()->build();
  return call.made(folds ? ops::fold_constants(std::move(graph)) : std::move(graph));
}

constexpr Binding kFunctions[] = {{"berth.graph_builder", &make}};
constexpr Binding kMethods[] = {
    {"graph_builder:add_op", &add_op},
    {"graph_builder:add_output", &add_output},
    {"graph_builder:add_parameter", &add_parameter},
    {"graph_builder:add_input", &add_input},
    {"graph_builder:add_control_edge", &add_control_edge},
    {"graph_builder:add_result", &add_result},
    {"graph_builder:set_tensor", &set_tensor},
    {"graph_builder:set_param_bytes", &set_param_bytes},
    {"graph_builder:set_colocation", &set_colocation},
    {"graph_builder:set_requested_device", &set_requested_device},
    {"graph_builder:set_attribute", &set_attribute},
    {"graph_builder:set_pure", &set_pure},
    {"graph_builder:set_work", &set_work},
    {"graph_builder:set_cost", &set_cost},
    {"graph_builder:op_count", &getter<&GraphBuilder::op_count>},
    {"graph_builder:build", &build},
};

std::string describe(const void* object) {
  return cat("(", static_cast<const GraphBuilder*>(object)->op_count(), " ops)");
}

}  // namespace

template <>
const Type& type_of<GraphBuilder>() {
  static constexpr Type type{"graph_builder", kFunctions, kMethods, &describe};
  return type;
}

}  // namespace berth::lua
