// Ops about shapes and types, and those that make tensors out of a few numbers.
#include <ATen/Functions.h>

#include <charconv>
#include <cmath>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"
#include "runtime/tensors.h"
#include "runtime/values.h"

namespace berth::runtime::onnx {
namespace {

Kernel make_shape(const KernelRequest& request) {
  const std::int64_t start = int_attribute(request.instruction, "start", 0);
  const auto* const end_stated = request.instruction.attribute<std::int64_t>("end");
  const std::optional<std::int64_t> end =
      end_stated != nullptr ? std::optional(*end_stated) : std::nullopt;
  return [start, end](KernelContext& context, Inputs in, Outputs out) {
    const bool is_text = has(in, 0) && in[0].structure != nullptr;
    const at::IntArrayRef sizes = is_text ? at::IntArrayRef(in[0].structure->dims)
                                          : at::IntArrayRef(tensor_at(in, 0).sizes());
    const auto rank = static_cast<std::int64_t>(sizes.size());
    const auto bound = [rank](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const std::int64_t from = bound(start);
    const std::int64_t to = std::max(from, bound(end.value_or(rank)));
    const Ints part(sizes.begin() + from, sizes.begin() + to);
    out[0].tensor = at::tensor(part, at::kLong).to(context.device);
  };
}

Kernel make_size(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::scalar_tensor(tensor_at(in, 0).numel(), at::kLong).to(context.device);
  };
}

Kernel make_constant(const KernelRequest& request) {
  const auto* const content = request.instruction.attribute<TensorContent>("value");
  if (content == nullptr) throw Error(ErrorCode::unsupported, "it states no value");
  const Value value = value_of(*content);
  return [value](KernelContext& context, Inputs, Outputs out) {
    out[0] = value;
    if (value.tensor.defined()) out[0].tensor = value.tensor.to(context.device);
  };
}

Kernel make_constant_of_shape(const KernelRequest& request) {
  const auto* const content = request.instruction.attribute<TensorContent>("value");
  const Tensor value =
      content != nullptr ? make_tensor(*content).reshape({}) : at::zeros({}, at::kFloat);
  const IntsOperand shape(request, "", 0);
  return [value, number = value.item(), shape](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::full(shape.need(in), number, value.options().device(context.device));
  };
}

Kernel make_range(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Tensor& start = tensor_at(in, 0);
    const at::Scalar step = tensor_at(in, 2).item();
    if (step.toDouble() == 0) throw Error(ErrorCode::invalid_argument, "the step is 0");
    const double length =
        std::ceil((tensor_at(in, 1).item().toDouble() - start.item().toDouble()) / step.toDouble());
    if (!(length < 0x1p63)) {
      throw Error(ErrorCode::invalid_argument, cat("a range cannot have ", length, " elements"));
    }
    const auto count = static_cast<std::int64_t>(std::max(0.0, length));
    const auto options = start.options().device(context.device);
    const Tensor index = at::arange(count, options);
    out[0].tensor = at::add(at::mul(index, step), start.item()).to(start.scalar_type());
  };
}

Kernel make_eye_like(const KernelRequest& request) {
  const std::int64_t diagonal = int_attribute(request.instruction, "k", 0);
  const std::int64_t dtype = int_attribute(request.instruction, "dtype", 0);
  const bool as_input = dtype == 0;
  const at::ScalarType type = as_input ? at::kFloat : scalar_type(dtype_of_number(dtype));
  return [diagonal, as_input, type](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t rows = x.size(0), columns = x.size(1);
    const Tensor row = at::arange(rows, x.options().dtype(at::kLong)).unsqueeze(1);
    const Tensor column = at::arange(columns, x.options().dtype(at::kLong)).unsqueeze(0);
    out[0].tensor = at::eq(at::add(row, diagonal), column).to(as_input ? x.scalar_type() : type);
  };
}

// --- types ---------------------------------------------------------------------------------------

std::string text_of_number(double number, bool is_float) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-INF" : "INF";
  char text[32];
  const auto end = is_float ? std::to_chars(text, text + sizeof text, static_cast<float>(number))
                            : std::to_chars(text, text + sizeof text, number);
  return {text, end.ptr};
}

Value to_text(const Tensor& x) {
  std::vector<std::string> texts;
  const bool is_float = x.scalar_type() != at::kDouble;
  for (const double number : numbers_of(x)) texts.push_back(text_of_number(number, is_float));
  return text_value(std::move(texts), x.sizes().vec());
}

Tensor from_text(const Structure& text, at::ScalarType type, at::Device device) {
  std::vector<double> numbers;
  for (const std::string& t : text.texts) {
    std::size_t read = 0;
    double number = 0;
    try {
      number = std::stod(t, &read);
    } catch (const std::exception&) {
      read = 0;
    }
    if (read == 0 || read != t.size()) {
      throw Error(ErrorCode::invalid_argument, "the text '" + t + "' is no number");
    }
    numbers.push_back(number);
  }
  return at::tensor(numbers, at::kDouble).to(type).reshape(text.dims).to(device);
}

Value converted(const Value& x, DType to, at::Device device) {
  if (to == DType::string) {
    return x.structure != nullptr ? x : to_text(x.tensor);
  }
  Value value;
  if (x.structure != nullptr) {
    value.tensor = from_text(*x.structure, scalar_type(to), device);
    return value;
  }
  value.tensor = x.tensor.to(scalar_type(to));
  // Values that ATen holds in a wider type wrap around as the narrow one does.
  if (to == DType::u16) value.tensor = at::bitwise_and(value.tensor, 0xFFFF);
  if (to == DType::u32) value.tensor = at::bitwise_and(value.tensor, std::int64_t{0xFFFFFFFF});
  return value;
}

// Before opset 6 the type is named, not numbered.
DType named_type(const std::string& name) {
  static constexpr const char* kNames[] = {"UNDEFINED", "FLOAT",  "UINT8",  "INT8",   "UINT16",
                                           "INT16",     "INT32",  "INT64",  "STRING", "BOOL",
                                           "FLOAT16",   "DOUBLE", "UINT32", "UINT64"};
  for (std::size_t i = 1; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return dtype_of_number(static_cast<std::int64_t>(i));
  }
  refuse_attribute("to", name);
}

Kernel make_cast(const KernelRequest& request) {
  const auto* const name = request.instruction.attribute<std::string>("to");
  const DType to = name != nullptr ? named_type(*name)
                                   : dtype_of_number(int_attribute(request.instruction, "to", 0));
  if (to != DType::string) (void)scalar_type(to);  // refuses what ATen does not have
  return [to](KernelContext& context, Inputs in, Outputs out) {
    if (!has(in, 0)) throw Error(ErrorCode::invalid_argument, "input 0 is omitted and needed");
    out[0] = converted(in[0], to, context.device);
  };
}

Kernel make_cast_like(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    if (!has(in, 0) || !has(in, 1)) {
      throw Error(ErrorCode::invalid_argument, "an input is omitted and needed");
    }
    if (in[1].structure != nullptr) {
      out[0] = converted(in[0], DType::string, context.device);
    } else if (in[0].structure != nullptr) {
      out[0].tensor = from_text(*in[0].structure, in[1].tensor.scalar_type(), context.device);
    } else {
      out[0].tensor = in[0].tensor.to(in[1].tensor.scalar_type());
    }
  };
}

constexpr KernelRow kRows[] = {
    {"Cast", make_cast},         {"CastLike", make_cast_like},
    {"Constant", make_constant}, {"ConstantOfShape", make_constant_of_shape},
    {"EyeLike", make_eye_like},  {"Range", make_range},
    {"Shape", make_shape},       {"Size", make_size},
};

}  // namespace

std::span<const KernelRow> shape_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
