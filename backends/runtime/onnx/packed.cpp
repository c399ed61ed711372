#include "runtime/onnx/packed.h"

#include <ATen/Functions.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <utility>

#include "runtime/empty.h"
#include "runtime/onnx/windows.h"

namespace berth::runtime::onnx {
namespace {

/// LibTorch offers these by name alone. The optional is of LibTorch 1's own kind, or the standard's.
auto find_operator(const char* name) {
  return c10::Dispatcher::singleton().findSchema({name, ""});
}

c10::IValue call(const c10::OperatorHandle& op, std::vector<c10::IValue> stack) {
  op.callBoxed(&stack);
  return std::move(stack.front());
}

/// The kernel of volumes. LibTorch packs their weights, and not what follows.
Kernel packed_volumes(const ConvolutionConstants& constants, const Windows& windows,
                      const Ints& padding, const Ints& margins,
                      const std::optional<Pointwise>& tail) {
  const Tensor weight =
      at::mkldnn_reorder_conv3d_weight(constants.weight.contiguous().to_mkldnn(), padding,
                                       windows.strides, windows.dilations, /*groups=*/1);
  return [weight, bias = constants.bias, windows, padding, margins, tail](KernelContext&, Inputs in,
                                                                          Outputs out) {
    Tensor x = tensor_at(in, 0);
    if (!margins.empty()) x = runtime::padded(x, margins);
    out[0].tensor = at::mkldnn_convolution(x.contiguous(), weight, bias, padding, windows.strides,
                                           windows.dilations, /*groups=*/1);
    if (tail) tail->overwrite(out[0].tensor);
  };
}

}  // namespace

// An attribute since opset 14, before 7 too (is_test), and in between told by the number of outputs.
bool normalizes_by_batch(const Instruction& normalization) {
  if (normalization.version >= 14) return int_attribute(normalization, "training_mode", 0) != 0;
  const bool returns_statistics = normalization.outputs.size() > 1;
  if (normalization.version >= 7) return returns_statistics;
  return int_attribute(normalization, "is_test", 0) == 0 && returns_statistics;
}

ConvolutionConstants normalized(const ConvolutionConstants& constants, double epsilon,
                                const Tensor& scale, const Tensor& shift, const Tensor& mean,
                                const Tensor& variance) {
  const auto wide = [](const Tensor& tensor) { return tensor.to(at::kDouble); };
  const Tensor factor = at::mul(wide(scale), at::rsqrt(at::add(wide(variance), epsilon)));
  Ints by_filter(static_cast<std::size_t>(constants.weight.dim()), 1);
  by_filter[0] = -1;
  const Tensor weight = at::mul(wide(constants.weight), factor.reshape(by_filter));
  const Tensor from_mean =
      constants.bias.defined() ? at::sub(wide(constants.bias), wide(mean)) : at::neg(wide(mean));
  const Tensor bias = at::add(at::mul(from_mean, factor), wide(shift));
  return {weight.to(at::kFloat), bias.to(at::kFloat)};
}

ConvolutionConstants scaled(const ConvolutionConstants& constants, const Tensor& factor) {
  const Tensor by_channel = factor.to(at::kDouble).reshape({-1});
  const auto times = [&](const Tensor& tensor, at::IntArrayRef shape) {
    return at::mul(tensor.to(at::kDouble), by_channel.reshape(shape)).to(at::kFloat);
  };
  return {times(constants.weight, {-1, 1, 1, 1}),
          constants.bias.defined() ? times(constants.bias, {-1}) : constants.bias};
}

ConvolutionConstants shifted(const ConvolutionConstants& constants, const Tensor& summand) {
  const Tensor by_channel = summand.to(at::kDouble).reshape({-1});
  const Tensor bias =
      constants.bias.defined() ? at::add(constants.bias.to(at::kDouble), by_channel) : by_channel;
  return {constants.weight, bias.to(at::kFloat)};
}

Kernel packed_convolution(const Instruction& convolution, const ConvolutionConstants& constants,
                          at::IntArrayRef images, const std::optional<Pointwise>& tail) {
  const auto pack = find_operator("mkldnn_prepacked::conv2d_prepack");
  const auto run = find_operator("mkldnn_prepacked::conv2d_run");
  if (!pack || !run || !at::hasMKLDNN()) return nullptr;
  const Windows windows = windows_over(window_attributes(convolution),
                                       constants.weight.sizes().slice(2).vec(), images.slice(2));
  const bool rectified = tail && tail->kind == Pointwise::Kind::relu;
  Ints padding = windows.before, sizes = images.vec(), margins;
  if (!windows.symmetric()) {
    margins = as_paddings(windows.before, windows.after);
    for (std::size_t i = 0; i < padding.size(); ++i) {
      sizes[i + 2] += windows.before[i] + windows.after[i];
      padding[i] = 0;
    }
  }
  if (images.size() == 5) return packed_volumes(constants, windows, padding, margins, tail);
  // A clone: contiguous() would leave windows of one element in an order that does not say where channels are.
  const Tensor weight = constants.weight.clone(at::MemoryFormat::ChannelsLast);
  const c10::IValue packed =
      call(*pack, {weight, constants.bias.defined() ? c10::IValue(constants.bias) : c10::IValue(),
                   windows.strides, padding, windows.dilations, groups_of(convolution), sizes,
                   std::string(rectified ? "relu" : "none")});
  // LibTorch keeps what was packed, to save it in a file.
  weight.storage().set_data_ptr_noswap(at::DataPtr());
  const auto behind = rectified ? std::nullopt : tail;
  return [run = *run, packed, margins, behind](KernelContext&, Inputs in, Outputs out) {
    Tensor x = tensor_at(in, 0);
    if (!margins.empty()) x = runtime::padded(x, margins);
    out[0].tensor = call(run, {x.contiguous(at::MemoryFormat::ChannelsLast), packed}).toTensor();
    if (behind) behind->overwrite(out[0].tensor);
  };
}

}  // namespace berth::runtime::onnx
