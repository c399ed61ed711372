#include "runtime/values.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "berth/error.h"
#include "berth/sdk/ops/constants.h"
#include "berth/sdk/random.h"
#include "runtime/tensors.h"

namespace berth::runtime {
namespace {

DType dtype_of(at::ScalarType type) noexcept {
  switch (type) {
    case at::kDouble:
      return DType::f64;
    case at::kFloat:
      return DType::f32;
    case at::kHalf:
      return DType::f16;
    case at::kBFloat16:
      return DType::bf16;
    case at::kComplexDouble:
      return DType::c128;
    case at::kComplexFloat:
      return DType::c64;
    case at::kLong:
      return DType::i64;
    case at::kInt:
      return DType::i32;
    case at::kShort:
      return DType::i16;
    case at::kChar:
      return DType::i8;
    case at::kByte:
      return DType::u8;
    case at::kBool:
      return DType::boolean;
    default:
      return DType::opaque;
  }
}

std::string label(const Graph& graph, TensorId tensor) {
  const std::string& name = graph.tensor_name(tensor);
  if (!name.empty()) return "'" + name + "'";
  const OpId producer = graph.maker(tensor);
  return producer == kNoOp ? "#" + std::to_string(tensor) : "'" + graph.op_name(producer) + "'";
}

/// Throws if it is not known.
std::vector<std::int64_t> shape_of(const Graph& graph, TensorId tensor) {
  const auto shape = graph.shape(tensor);
  const bool known =
      graph.has_shape(tensor) && std::find(shape.begin(), shape.end(), kUnknownDim) == shape.end();
  if (!known) {
    throw Error(ErrorCode::unsupported,
                "tensor " + label(graph, tensor) +
                    " has no fixed shape, so that no values can be drawn for it; give its "
                    "dimensions or its shape when loading the model, or feed it");
  }
  return {shape.begin(), shape.end()};
}

/// Uniform in [low, high) for real types, 0 or 1 for others. The same on any number of threads:
/// one generator draws in order.
Value draw(const Graph& graph, TensorId tensor, std::uint64_t seed, double low, double high) {
  const std::vector<std::int64_t> shape = shape_of(graph, tensor);
  const DType dtype = graph.dtype(tensor);
  if (dtype == DType::string) {
    return text_value(std::vector<std::string>(static_cast<std::size_t>(element_count(shape))),
                      shape);
  }
  const at::ScalarType type = scalar_type(dtype == DType::unknown ? DType::f32 : dtype);
  const at::Generator generator = at::detail::createCPUGenerator(seed);
  if (at::isFloatingType(type) || at::isComplexType(type)) {
    const at::Tensor uniform = at::rand(shape, generator, at::TensorOptions(at::kFloat));
    return {uniform.mul(high - low).add_(low).to(type), nullptr};
  }
  return {at::randint(2, shape, generator, at::TensorOptions(at::kByte)).to(type), nullptr};
}

}  // namespace

std::uint64_t mixed_seed(std::uint64_t seed, std::uint64_t which) noexcept {
  constexpr std::uint64_t kApart = 0xD1342543DE82EF95ULL;  // odd: no two of `which` collide
  return Random(seed + kApart * (which + 1)).next();
}

Value draw_input(const Graph& graph, TensorId tensor, std::uint64_t seed) {
  const OpId op = graph.producer(tensor);
  const AttributeValue* const known =
      op == kNoOp ? nullptr : graph.attribute(op, ops::kKnownNumber);
  const double* const number = known == nullptr ? nullptr : std::get_if<double>(known);
  if (number != nullptr && element_count(shape_of(graph, tensor)) == 1) {
    const DType dtype = graph.dtype(tensor);
    return {at::full(shape_of(graph, tensor), *number,
                     scalar_type(dtype == DType::unknown ? DType::f32 : dtype)),
            nullptr};
  }
  return draw(graph, tensor, seed, 0, 1);
}

Value sized_value(const Graph& graph, TensorId tensor) {
  return {at::zeros({}, at::kByte).expand(shape_of(graph, tensor)), nullptr};
}

Value draw_parameter(const Graph& graph, TensorId tensor, std::uint64_t seed) {
  const auto shape = graph.shape(tensor);
  if (shape.size() < 2) return draw(graph, tensor, seed, 0.5, 1.5);
  // A kernel's outputs are its first dimension; a matrix may be either way round.
  const std::int64_t count = element_count(shape);
  const std::int64_t outputs =
      shape.size() == 2 ? std::min(shape[0], shape[1]) : std::max<std::int64_t>(1, shape[0]);
  const double inputs = std::max(
      1.0, static_cast<double>(count) / static_cast<double>(std::max<std::int64_t>(1, outputs)));
  const double reach = std::sqrt(3 / inputs);  // a uniform distribution's deviation is reach/sqrt 3
  return draw(graph, tensor, seed, -reach, reach);
}

Value text_value(std::vector<std::string> texts, std::vector<std::int64_t> dims) {
  auto text = std::make_shared<Structure>();
  text->kind = Structure::Kind::text;
  text->texts = std::move(texts);
  text->dims = std::move(dims);
  return {{}, std::move(text)};
}

Value value_of(const TensorContent& content) {
  if (content.dtype == DType::string) return text_value(content.texts, content.shape);
  return {make_tensor(content), nullptr};
}

std::int64_t value_bytes(const Value& value) {
  std::int64_t bytes = 0;
  if (value.tensor.defined()) bytes += static_cast<std::int64_t>(value.tensor.nbytes());
  if (value.structure != nullptr) {
    for (const Value& part : value.structure->sequence) bytes += value_bytes(part);
    for (const std::string& text : value.structure->texts) {
      bytes += static_cast<std::int64_t>(text.size());
    }
  }
  return bytes;
}

namespace {

/// Small copies go around ATen's dispatcher, which takes longer than they do.
at::Tensor copy_of(const at::Tensor& tensor) {
  constexpr std::size_t kSmall = std::size_t{16} << 10;
  const bool is_plain = tensor.device().is_cpu() && tensor.layout() == at::kStrided &&
                        tensor.nbytes() <= kSmall && tensor.is_non_overlapping_and_dense() &&
                        !tensor.is_conj() && !tensor.is_neg();
  if (!is_plain) return tensor.clone();
  at::Tensor copy =
      at::detail::empty_strided_cpu(tensor.sizes(), tensor.strides(), tensor.scalar_type());
  if (tensor.nbytes() != 0) std::memcpy(copy.data_ptr(), tensor.data_ptr(), tensor.nbytes());
  return copy;
}

}  // namespace

Value deep_copy(const Value& value) {
  if (value.structure == nullptr && value.tensor.defined()) return {copy_of(value.tensor), nullptr};
  return transformed(value, copy_of);
}

TensorContent to_content(const Value& value, DType stated) {
  TensorContent content;
  content.dtype = DType::opaque;
  if (!value.tensor.defined()) return content;
  at::Tensor tensor = value.tensor;
  const bool is_unsigned = stated == DType::u16 || stated == DType::u32 || stated == DType::u64;
  const bool is_held_wider = is_unsigned && tensor.scalar_type() == scalar_type(stated);
  if (is_held_wider && stated != DType::u64) {
    tensor = tensor.to(stated == DType::u16 ? at::kShort : at::kInt);
  }
  auto owner = std::make_shared<at::Tensor>(tensor.contiguous());
  content.dtype = is_held_wider ? stated : dtype_of(owner->scalar_type());
  content.shape = owner->sizes().vec();
  content.bytes = {static_cast<const std::byte*>(owner->data_ptr()), owner->nbytes()};
  content.owner = std::move(owner);
  return content;
}

namespace {

std::string describe(const Value& value) {
  if (value.tensor.defined()) {
    std::string text(dtype_name(dtype_of(value.tensor.scalar_type())));
    text += "[";
    for (std::int64_t d = 0; d < value.tensor.dim(); ++d) {
      text += (d == 0 ? "" : "x") + std::to_string(value.tensor.size(d));
    }
    return text + "]";
  }
  if (value.structure == nullptr) return "absent";
  switch (value.structure->kind) {
    case Structure::Kind::sequence:
      return "a sequence of " + std::to_string(value.structure->sequence.size());
    case Structure::Kind::text:
      return "text";
    case Structure::Kind::nothing:
      break;
  }
  return "nothing";
}

}  // namespace

std::string describe(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) text += (text.empty() ? "" : ", ") + describe(value);
  return text.empty() ? "none" : text;
}

}  // namespace berth::runtime
