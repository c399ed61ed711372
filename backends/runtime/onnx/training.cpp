// Gradients of exported training graphs (com.microsoft).
#include <ATen/Functions.h>

#include <algorithm>

#include "berth/error.h"
#include "runtime/onnx/slices.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

// Inputs: dY, X, bias?.
template <bool fast>
Kernel make_gelu_grad(const KernelRequest& /*request*/) {
  return widened([](KernelContext&, Inputs in, Outputs out) {
    const Tensor bias = optional_at(in, 2);
    const Tensor& x = tensor_at(in, 1);
    out[0].tensor = at::gelu_backward(tensor_at(in, 0), bias.defined() ? at::add(x, bias) : x,
                                      fast ? "tanh" : "none");
  });
}

// Inputs: dY, Y.
template <bool logarithm>
Kernel make_softmax_grad(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  return widened([axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& dy = tensor_at(in, 0);
    const Tensor& y = tensor_at(in, 1);
    const std::int64_t at_axis = normal_axis(axis, y.dim());
    out[0].tensor = logarithm ? at::_log_softmax_backward_data(dy, y, at_axis, dy.scalar_type())
                              : at::_softmax_backward_data(dy, y, at_axis, dy.scalar_type());
  });
}

// Inputs: dY, X, scale, mean, inverse deviation.
Kernel make_layer_norm_grad(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  return widened([axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 1);
    const Tensor& scale = tensor_at(in, 2);
    const at::IntArrayRef shape =
        x.sizes().slice(static_cast<std::size_t>(normal_axis(axis, x.dim())));
    const auto [dx, dscale, dshift] = at::native_layer_norm_backward(
        tensor_at(in, 0), x, shape, tensor_at(in, 3), tensor_at(in, 4), scale,
        at::zeros_like(scale), {true, true, true});
    out[0].tensor = dx;
    if (out.size() > 1) out[1].tensor = dscale;
    if (out.size() > 2) out[2].tensor = dshift;
  });
}

// Inputs: dY, Y (of ReLU, sigmoid, tanh).
Tensor relu_grad(const Tensor& dy, const Tensor& y) {
  return at::threshold_backward(dy, y, 0);
}
Tensor sigmoid_grad(const Tensor& dy, const Tensor& y) {
  return at::sigmoid_backward(dy, y);
}
Tensor tanh_grad(const Tensor& dy, const Tensor& y) {
  return at::tanh_backward(dy, y);
}

// The axes over which each of two operands was repeated, last first.
Kernel make_broadcast_gradient_args(const KernelRequest& /*request*/) {
  return [](KernelContext& context, Inputs in, Outputs out) {
    const Ints shapes[] = {ints_of(tensor_at(in, 0)), ints_of(tensor_at(in, 1))};
    const std::size_t rank = std::max(shapes[0].size(), shapes[1].size());
    const auto dim = [&](const Ints& shape, std::size_t axis) {  // of the padded shape
      const std::size_t ahead = rank - shape.size();
      return axis < ahead ? std::int64_t{1} : shape[axis - ahead];
    };
    for (std::size_t k = 0; k < 2 && k < out.size(); ++k) {
      const Ints& own = shapes[k];
      Ints axes;
      for (std::size_t axis = rank; axis > 0; --axis) {
        const bool is_added = axis - 1 < rank - own.size();
        const bool is_repeated = dim(own, axis - 1) == 1 && dim(shapes[1 - k], axis - 1) > 1;
        if (is_added || is_repeated) axes.push_back(static_cast<std::int64_t>(axis - 1));
      }
      out[k].tensor = at::tensor(axes, at::kLong).to(context.device);
    }
  };
}

// Inputs: dY, shape of X, starts, ends, axes?, steps?.
Kernel make_slice_grad(const KernelRequest& request) {
  const IntsOperand shape_operand(request, "", 1);
  const IntsOperand starts_operand(request, "", 2);
  const IntsOperand ends_operand(request, "", 3);
  const IntsOperand axes_operand(request, "", 4);
  const IntsOperand steps_operand(request, "", 5);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& dy = tensor_at(in, 0);
    const Ints starts = starts_operand.need(in);
    const Ints ends = ends_operand.need(in);
    const auto axes = axes_operand.get(in);
    const auto steps = steps_operand.get(in);
    const Tensor dx = at::zeros(shape_operand.need(in), dy.options());
    // The source of each element of dY: the same slices of a tensor of flat indices.
    Tensor index = at::arange(dx.numel(), dy.options().dtype(at::kLong)).reshape(dx.sizes());
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::int64_t axis =
          normal_axis(axes ? axes->at(i) : static_cast<std::int64_t>(i), index.dim());
      index = slice_axis(index, axis, starts[i], ends.at(i), steps ? steps->at(i) : 1);
    }
    out[0].tensor =
        at::scatter(dx.reshape({-1}), 0, index.reshape({-1}), dy.reshape({-1})).reshape(dx.sizes());
  };
}

// Inputs: shape of X, indices, dY.
Kernel make_gather_grad(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", 0);
  const IntsOperand shape_operand(request, "", 0);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& dy = tensor_at(in, 2);
    const Ints shape = shape_operand.need(in);
    const std::int64_t at_axis = normal_axis(axis, static_cast<std::int64_t>(shape.size()));
    const std::int64_t length = shape[static_cast<std::size_t>(at_axis)];
    const Tensor index = from_front(tensor_at(in, 1).reshape({-1}), length);
    Ints flat = shape;
    flat[static_cast<std::size_t>(at_axis)] = index.numel();
    out[0].tensor = at::index_add(at::zeros(shape, dy.options()), at_axis, index, dy.reshape(flat));
  });
}

// Inputs: dY, mask, ratio?.
Kernel make_dropout_grad(const KernelRequest& /*request*/) {
  return widened([](KernelContext&, Inputs in, Outputs out) {
    const double ratio = has(in, 2) ? tensor_at(in, 2).item().toDouble() : 0.5;
    const Tensor& dy = tensor_at(in, 0);
    out[0].tensor = at::mul(at::mul(dy, tensor_at(in, 1).to(dy.scalar_type())), 1 / (1 - ratio));
  });
}

// Inputs: buffer, gradient, whether it replaces what is in the buffer?. The next step finds the buffer as this one did:
// steps are alike.
Kernel make_accumulator(const KernelRequest& request) {
  const IntsOperand reset_operand(request, "", 2);
  return widened([=](KernelContext& context, Inputs in, Outputs out) {
    const auto reset = reset_operand.get(in);
    const Tensor& gradient = tensor_at(in, 1);
    const bool replaces = reset && reset->at(0) != 0;
    const Tensor sum = replaces ? gradient.clone() : at::add(tensor_at(in, 0), gradient);
    out[0].tensor = at::ones({1}, at::TensorOptions(at::kBool).device(context.device));
    if (out.size() > 1) out[1].tensor = sum;
  });
}

// Inputs: X, one number.
Kernel make_scale(const KernelRequest& request) {
  const bool divides = int_attribute(request.instruction, "scale_down", 0) != 0;
  return widened([divides](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor number = tensor_at(in, 1).to(x.scalar_type());
    out[0].tensor = divides ? at::div(x, number) : at::mul(x, number);
  });
}

// Hands outputs to whoever runs the graph and takes gradients from them: here, what it was given.
Kernel make_yield(const KernelRequest& /*request*/) {
  return [](KernelContext&, Inputs in, Outputs out) {
    for (std::size_t i = 0; i < out.size() && i < in.size(); ++i) out[i] = in[i];
  };
}

constexpr KernelRow kRows[] = {
    {"com.microsoft.BiasFastGeluGrad_dX", make_gelu_grad<true>},
    {"com.microsoft.BiasGeluGrad_dX", make_gelu_grad<false>},
    {"com.microsoft.BroadcastGradientArgs", make_broadcast_gradient_args},
    {"com.microsoft.DropoutGrad", make_dropout_grad},
    {"com.microsoft.FastGeluGrad", make_gelu_grad<true>},
    {"com.microsoft.GatherGrad", make_gather_grad},
    {"com.microsoft.GeluGrad", make_gelu_grad<false>},
    {"com.microsoft.InPlaceAccumulatorV2", make_accumulator},
    {"com.microsoft.LayerNormalizationGrad", make_layer_norm_grad},
    {"com.microsoft.LogSoftmaxGrad_13", make_softmax_grad<true>},
    {"com.microsoft.ReluGrad", make_binary<relu_grad>},
    {"com.microsoft.Scale", make_scale},
    {"com.microsoft.SigmoidGrad", make_binary<sigmoid_grad>},
    {"com.microsoft.SliceGrad", make_slice_grad},
    {"com.microsoft.SoftmaxGrad_13", make_softmax_grad<false>},
    {"com.microsoft.TanhGrad", make_binary<tanh_grad>},
    {"com.microsoft.YieldOp", make_yield},
};

}  // namespace

std::span<const KernelRow> training_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
