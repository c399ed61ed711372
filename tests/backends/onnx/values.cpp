#include "backends/onnx/values.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Functions.h>
#include <onnx/onnx-data_pb.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "backends/test_device.h"
#include "berth/error.h"
#include "onnx/constants.h"
#include "onnx/frontend.h"
#include "onnx/types.h"
#include "runtime/interpreter.h"
#include "runtime/onnx/kernels.h"
#include "runtime/tensors.h"
#include "runtime/values.h"

namespace berth::test {
namespace {

using runtime::Structure;
using runtime::Value;

template <class Proto>
Proto parse(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  Proto proto;
  if (!proto.ParseFromIstream(&in)) {
    throw Error(ErrorCode::invalid_file, file.string() + " holds something else");
  }
  return proto;
}

Value sequence_of(std::vector<Value> elements) {
  auto made = std::make_shared<Structure>();
  made->sequence = std::move(elements);
  return {{}, std::move(made)};
}

Value sequence_value(const onnx::SequenceProto& sequence) {
  std::vector<Value> elements;
  for (const auto& tensor : sequence.tensor_values()) elements.push_back(value_of(tensor));
  for (const auto& inner : sequence.sequence_values()) elements.push_back(sequence_value(inner));
  return sequence_of(std::move(elements));
}

Value optional_value(const onnx::OptionalProto& optional) {
  if (optional.has_tensor_value()) return value_of(optional.tensor_value());
  if (optional.has_sequence_value()) return sequence_value(optional.sequence_value());
  auto nothing = std::make_shared<Structure>();
  nothing->kind = Structure::Kind::nothing;
  return {{}, std::move(nothing)};
}

template <class Entries>
std::string narrowed(const Entries& entries, std::size_t width) {
  std::string bytes;
  for (const auto entry : entries) bytes.append(reinterpret_cast<const char*>(&entry), width);
  return bytes;
}

std::string bytes_of(const onnx::TensorProto& tensor, DType dtype) {
  if (tensor.has_raw_data()) return tensor.raw_data();
  const auto width = static_cast<std::size_t>(std::max(1, dtype_bits(dtype) / 8));
  if (tensor.float_data_size() > 0) return narrowed(tensor.float_data(), 4);
  if (tensor.double_data_size() > 0) return narrowed(tensor.double_data(), 8);
  if (tensor.int64_data_size() > 0) return narrowed(tensor.int64_data(), 8);
  if (tensor.uint64_data_size() > 0) return narrowed(tensor.uint64_data(), width);
  return narrowed(tensor.int32_data(), width);
}

}  // namespace

struct CpuModel::State {
  std::shared_ptr<const Program> program;
  std::unique_ptr<runtime::Sequence> sequence;
  std::vector<Value> parameters;
};

CpuModel::CpuModel(const std::filesystem::path& model,
                   const std::map<std::string, std::int64_t>& dims)
    : state_(std::make_unique<State>()) {
  onnx_frontend::OnnxFrontend frontend{Options{}};
  state_->program =
      frontend.load_program(model, {.dims = dims, .arguments = LoadOptions::Arguments::inputs})
          .program;
  state_->sequence = std::make_unique<runtime::Sequence>(*state_->program, runtime::onnx_kernels());
  for (const auto& content : state_->program->parameters) {
    state_->parameters.push_back(content ? runtime::value_of(*content) : Value());
  }
}

CpuModel::~CpuModel() = default;

const Program& CpuModel::program() const {
  return *state_->program;
}

std::vector<Value> CpuModel::run(std::vector<Value> inputs) const {
  inputs.resize(state_->program->inputs.size());
  runtime::DeviceState device;
  runtime::KernelContext context;
  context.seed = 7;
  context.state = &device;
  context.device = test_device();
  if (context.device.is_cpu()) return state_->sequence->run(context, inputs, state_->parameters);
  std::vector<Value> parameters;
  for (const Value& one : state_->parameters) parameters.push_back(moved(one, context.device));
  for (Value& one : inputs) one = moved(one, context.device);
  std::vector<Value> outputs = state_->sequence->run(context, inputs, parameters);
  for (Value& one : outputs) one = moved(one, at::kCPU);
  return outputs;
}

void CpuModel::draw_weights(std::uint64_t seed) {
  const Graph& graph = *state_->program->graph;
  at::Generator generator = at::detail::createCPUGenerator(seed);
  for (TensorId tensor = 0; tensor < graph.tensor_count(); ++tensor) {
    Value& value = state_->parameters[static_cast<std::size_t>(tensor)];
    if (graph.producer(tensor) != kNoOp || value.present()) continue;
    const auto shape = graph.shape(tensor);
    const at::IntArrayRef sizes(shape.data(), shape.size());
    // Matrices that keep the size of what passes; variances, which are vectors, are positive.
    const at::Tensor drawn =
        sizes.size() < 2 ? at::add(at::rand(sizes, generator), 0.5)
                         : at::div(at::randn(sizes, generator),
                                   std::sqrt(static_cast<double>(element_count(shape) / sizes[0])));
    value.tensor = drawn.to(runtime::scalar_type(graph.dtype(tensor)));
  }
}

Value value_of(const onnx::TensorProto& tensor) {
  const auto info = onnx_frontend::tensor_info(onnx_frontend::type_of_tensor(tensor));
  if (info.dtype == DType::string) {
    return runtime::text_value({tensor.string_data().begin(), tensor.string_data().end()},
                               info.shape);
  }
  TensorContent content;
  content.dtype = info.dtype;
  content.shape = info.shape;
  const auto owner = std::make_shared<const std::string>(bytes_of(tensor, info.dtype));
  content.bytes = std::as_bytes(std::span(*owner));
  content.owner = owner;
  return {runtime::make_tensor(content), nullptr};
}

Value read_value(const std::filesystem::path& file, const onnx::TypeProto& type) {
  if (type.has_sequence_type()) return sequence_value(parse<onnx::SequenceProto>(file));
  if (type.has_optional_type()) return optional_value(parse<onnx::OptionalProto>(file));
  auto tensor = parse<onnx::TensorProto>(file);
  // ONNX's test data keeps bf16 as the u16 of its bits.
  if (type.tensor_type().elem_type() == onnx::TensorProto::BFLOAT16 &&
      tensor.data_type() == onnx::TensorProto::UINT16) {
    tensor.set_data_type(onnx::TensorProto::BFLOAT16);
  }
  return value_of(tensor);
}

std::string difference(const Value& expected, const Value& got, const Tolerance& tolerance,
                       bool only_type) {
  std::ostringstream out;
  if (expected.structure != nullptr || got.structure != nullptr || !expected.tensor.defined() ||
      !got.tensor.defined()) {
    const auto& a = expected.structure;
    const auto& b = got.structure;
    if (a == nullptr || b == nullptr || a->kind != b->kind ||
        a->sequence.size() != b->sequence.size() || a->texts != b->texts || a->dims != b->dims) {
      return "expected another structure";
    }
    for (std::size_t i = 0; i < a->sequence.size(); ++i) {
      const std::string inner = difference(a->sequence[i], b->sequence[i], tolerance, only_type);
      if (!inner.empty()) return "element " + std::to_string(i) + ": " + inner;
    }
    return {};
  }
  if (expected.tensor.scalar_type() != got.tensor.scalar_type() ||
      expected.tensor.sizes() != got.tensor.sizes()) {
    out << "expected " << expected.tensor.toString() << expected.tensor.sizes() << ", got "
        << got.tensor.toString() << got.tensor.sizes();
    return out.str();
  }
  if (only_type || expected.tensor.numel() == 0) return {};
  const bool is_complex = expected.tensor.is_complex();
  const at::Tensor a =
      (is_complex ? at::view_as_real(expected.tensor) : expected.tensor).to(at::kDouble);
  const at::Tensor b = (is_complex ? at::view_as_real(got.tensor) : got.tensor).to(at::kDouble);
  const at::Tensor close =
      at::isclose(b, a, tolerance.relative, tolerance.absolute, /*equal_nan=*/true);
  if (close.all().item<bool>()) return {};
  const std::int64_t wrong = at::logical_not(close).sum().item<std::int64_t>();
  const std::int64_t first =
      at::nonzero(at::logical_not(close).reshape({-1}))[0].item<std::int64_t>();
  out << wrong << " of " << a.numel() << " elements differ, the first at " << first << ": expected "
      << a.reshape({-1})[first].item<double>() << ", got " << b.reshape({-1})[first].item<double>();
  return out.str();
}

}  // namespace berth::test
