#include "runtime/tf/support.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "berth/graph.h"
#include "runtime/empty.h"
#include "runtime/tensors.h"

namespace berth::runtime::tf {

at::ScalarType type(const Instruction& op, std::string_view name, at::ScalarType fallback) {
  const auto* value = op.attribute<DType>(name);
  return value == nullptr ? fallback : scalar_type(*value);
}

std::optional<Tensor> constant_at(const KernelRequest& request, std::size_t i) {
  if (i >= request.instruction.inputs.size()) return std::nullopt;
  const ValueId id = request.instruction.inputs[i];
  const Program& program = request.program;
  if (id < 0 || id >= program.graph->tensor_count()) return std::nullopt;
  const TensorContent* content = nullptr;
  if (const OpId producer = program.graph->maker(id); producer == kNoOp) {
    const auto& parameter = program.parameters[static_cast<std::size_t>(id)];
    if (parameter) content = &*parameter;
  } else {
    const Instruction& from = program.instructions[static_cast<std::size_t>(producer)];
    if (from.type == "Const") content = from.attribute<TensorContent>("value");
  }
  if (content == nullptr || content->dtype == DType::string) return std::nullopt;
  return make_tensor(*content);
}

Tensor on_device(const KernelContext& context, const Tensor& tensor) {
  return tensor.device() == context.device ? tensor : tensor.to(context.device);
}

IntsInput::IntsInput(const KernelRequest& request, std::size_t i) : input_(i) {
  if (const auto constant = constant_at(request, i)) known_ = ints_of(*constant);
}

Ints IntsInput::get(Inputs inputs) const {
  return known_ ? *known_ : ints_of(tensor_at(inputs, input_));
}

std::int64_t IntsInput::one(Inputs inputs) const {
  const Ints numbers = get(inputs);
  if (numbers.empty()) {
    throw Error(ErrorCode::invalid_argument,
                "its input " + std::to_string(input_) + " is empty and should be a number");
  }
  return numbers[0];
}

Ints normal_axes(const Ints& axes, std::int64_t rank) {
  Ints normal;
  for (const std::int64_t axis : axes) normal.push_back(normal_axis(axis, rank));
  std::sort(normal.begin(), normal.end());
  normal.erase(std::unique(normal.begin(), normal.end()), normal.end());
  return normal;
}

Operands::Operands(const KernelContext& context, const Tensor& a, const Tensor& b)
    : left(a), right(b) {
  if (a.device() == b.device()) return;
  if (left.dim() > 0) left = on_device(context, left);
  if (right.dim() > 0) right = on_device(context, right);
}

// --- images --------------------------------------------------------------------------------------

Sliding::Sliding(const Instruction& op) {
  const std::string format = text_attribute(op, "data_format", "NHWC");
  if (format != "NHWC" && format != "NCHW") refuse_attribute("data_format", format);
  channels_last = format == "NHWC";
  if (const Ints strides = ints_attribute(op, "strides").value_or(Ints{}); !strides.empty()) {
    read_spatial(strides, "strides", stride);
  }
  if (const Ints dilations = ints_attribute(op, "dilations").value_or(Ints{}); !dilations.empty()) {
    read_spatial(dilations, "dilations", dilation);
  }
  const std::string how = text_attribute(op, "padding", "VALID");
  padding = how == "SAME" ? Padding::same : how == "VALID" ? Padding::valid : Padding::given;
  if (padding != Padding::given) return;
  const Ints margins = ints_attribute(op, "explicit_paddings").value_or(Ints{});
  if (how != "EXPLICIT" || margins.size() != 8) refuse_attribute("padding", how);
  const std::size_t height = channels_last ? 2 : 4;
  for (std::size_t i = 0; i < 4; ++i) given[i / 2][i % 2] = margins[height + i];
}

void Sliding::read_spatial(const Ints& four, std::string_view what, std::int64_t (&out)[2]) const {
  const std::size_t height = channels_last ? 1 : 2;
  const std::size_t channels = channels_last ? 3 : 1;
  if (four.size() != 4 || four[0] != 1 || four[channels] != 1) {
    refuse_attribute(what, "not 1 for batches and channels");
  }
  out[0] = four[height];
  out[1] = four[height + 1];
  if (out[0] < 1 || out[1] < 1) refuse_attribute(what, "below 1");
}

Tensor Sliding::to_planes(const Tensor& images) const {
  return channels_last ? images.permute({0, 3, 1, 2}) : images;
}

Tensor Sliding::from_planes(const Tensor& planes) const {
  return channels_last ? planes.permute({0, 2, 3, 1}) : planes;
}

Ints Sliding::plane_shape(const Ints& shape) const {
  if (shape.size() != 4) {
    throw Error(
        ErrorCode::invalid_argument,
        "a shape of images has " + std::to_string(shape.size()) + " dimensions and should have 4");
  }
  return channels_last ? Ints{shape[0], shape[3], shape[1], shape[2]} : shape;
}

Margins::Margins(const Sliding& sliding, std::int64_t height, std::int64_t width,
                 std::int64_t window_height, std::int64_t window_width) {
  const std::int64_t size[] = {height, width};
  const std::int64_t window[] = {window_height, window_width};
  for (int i = 0; i < 2; ++i) {
    before[i] = after[i] = 0;
    if (sliding.padding == Sliding::Padding::given) {
      before[i] = sliding.given[i][0];
      after[i] = sliding.given[i][1];
    } else if (sliding.padding == Sliding::Padding::same) {
      const std::int64_t stride = sliding.stride[i];
      const std::int64_t steps = (size[i] + stride - 1) / stride;
      const std::int64_t reach = (window[i] - 1) * sliding.dilation[i] + 1;
      const std::int64_t all = std::max<std::int64_t>(0, (steps - 1) * stride + reach - size[i]);
      before[i] = all / 2;
      after[i] = all - before[i];
    }
  }
}

bool Margins::symmetric() const noexcept {
  return before[0] == after[0] && before[1] == after[1];
}

Ints Margins::both_sides() const {
  return symmetric() ? Ints{before[0], before[1]} : Ints{0, 0};
}

Tensor Margins::pad(const Tensor& planes, double value) const {
  if (symmetric()) return planes;
  return runtime::padded(planes, {before[1], after[1], before[0], after[0]}, value);
}

Ints Margins::padded(const Ints& shape) const {
  if (symmetric()) return shape;
  return {shape[0], shape[1], shape[2] + before[0] + after[0], shape[3] + before[1] + after[1]};
}

Tensor Margins::crop(const Tensor& planes) const {
  if (symmetric()) return planes;
  return planes.narrow(2, before[0], planes.size(2) - before[0] - after[0])
      .narrow(3, before[1], planes.size(3) - before[1] - after[1]);
}

}  // namespace berth::runtime::tf
