// Normalizations, softmax among them.
#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <numeric>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/onnx/packed.h"
#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

// Softmax and its relatives work along one axis since opset 13; before, along all dimensions from
// the axis on, taken as one.
template <auto function>
Kernel make_softmax(const KernelRequest& request) {
  const bool is_old = request.instruction.version < 13;
  const std::int64_t axis = int_attribute(request.instruction, "axis", is_old ? 1 : -1);
  return widened([is_old, axis](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (!is_old) {
      out[0].tensor = function(x, normal_axis(axis, x.dim()));
      return;
    }
    std::int64_t rows = 1;
    const std::int64_t from = axis < 0 ? axis + x.dim() : axis;
    for (std::int64_t i = 0; i < from; ++i) rows *= x.size(i);
    const std::int64_t columns = rows == 0 ? 0 : x.numel() / rows;
    out[0].tensor = function(x.reshape({rows, columns}), 1).reshape(x.sizes());
  });
}

Tensor softmax(const Tensor& x, std::int64_t axis) {
  return at::softmax(x, axis);
}

Tensor log_softmax(const Tensor& x, std::int64_t axis) {
  return at::log_softmax(x, axis);
}

// 1 at the first of the largest.
Tensor hardmax(const Tensor& x, std::int64_t axis) {
  return at::scatter(at::zeros_like(x), axis, at::argmax(x, axis, /*keepdim=*/true), 1);
}

// --- over batches and images ---------------------------------------------------------------------

Tensor per_channel(const Tensor& values, const Tensor& x) {
  Ints shape(static_cast<std::size_t>(x.dim()), 1);
  shape.at(1) = values.numel();
  return values.reshape(shape);
}

// A vector is a batch of one channel.
Tensor with_channels(const Tensor& x) {
  return x.dim() == 1 ? x.unsqueeze(1) : x;
}

// Mean and variance of the batch, and running ones moved towards them.
void batch_norm_training(Inputs in, double epsilon, double momentum, Outputs out) {
  const Tensor x = with_channels(tensor_at(in, 0));
  Ints axes;
  for (std::int64_t i = 0; i < x.dim(); ++i) {
    if (i != 1) axes.push_back(i);
  }
  const auto [variance, mean] = at::var_mean(x, axes, /*unbiased=*/false);
  const Tensor scaled = at::mul(at::rsqrt(at::add(per_channel(variance, x), epsilon)),
                                per_channel(tensor_at(in, 1), x));
  out[0].tensor =
      at::add(at::mul(at::sub(x, per_channel(mean, x)), scaled), per_channel(tensor_at(in, 2), x))
          .reshape(tensor_at(in, 0).sizes());
  const auto moved = [momentum](const Tensor& running, const Tensor& now) {
    return at::add(at::mul(running, momentum), now, 1 - momentum);
  };
  if (out.size() > 1) out[1].tensor = moved(tensor_at(in, 3), mean);
  if (out.size() > 2) out[2].tensor = moved(tensor_at(in, 4), variance);
  if (out.size() > 3) out[3].tensor = mean;
  if (out.size() > 4) out[4].tensor = variance;
}

Kernel make_batch_norm(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const double epsilon = float_attribute(op, "epsilon", 1e-5);
  const double momentum = float_attribute(op, "momentum", 0.9);
  if (int_attribute(op, "spatial", 1) == 0) refuse_attribute("spatial", "0");
  if (normalizes_by_batch(op)) {
    return widened(
        [epsilon, momentum](KernelContext&, Inputs in, Outputs out) {
          batch_norm_training(in, epsilon, momentum, out);
        },
        /*like=*/{0, 3, 4, 3, 4});
  }
  return widened([epsilon](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = at::batch_norm(with_channels(x), tensor_at(in, 1), tensor_at(in, 2),
                                   tensor_at(in, 3), tensor_at(in, 4), /*training=*/false,
                                   /*momentum=*/0, epsilon, /*cudnn_enabled=*/true)
                        .reshape(x.sizes());
  });
}

Kernel make_instance_norm(const KernelRequest& request) {
  const double epsilon = float_attribute(request.instruction, "epsilon", 1e-5);
  return widened([epsilon](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    if (x.numel() == 0) {  // which ATen refuses
      out[0].tensor = x;
      return;
    }
    // at::instance_norm repeats what it is given.
    out[0].tensor = at::group_norm(x, x.size(1), tensor_at(in, 1), tensor_at(in, 2), epsilon);
  });
}

// Scale and bias are per group before opset 21.
Kernel make_group_norm(const KernelRequest& request) {
  const std::int64_t groups = count_attribute(request.instruction, "num_groups", 1);
  const double epsilon = float_attribute(request.instruction, "epsilon", 1e-5);
  return widened([groups, epsilon](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto to_channels = [&](const Tensor& values) {
      if (values.size(0) == x.size(1)) return values;
      return at::repeat_interleave(
          values, shared_out(x.size(1), "channels", values.size(0), "factors or summands"), 0);
    };
    out[0].tensor = at::group_norm(x, groups, to_channels(tensor_at(in, 1)),
                                   to_channels(tensor_at(in, 2)), epsilon);
  });
}

Kernel make_layer_norm(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  const double epsilon = float_attribute(request.instruction, "epsilon", 1e-5);
  return widened(
      [axis, epsilon](KernelContext&, Inputs in, Outputs out) {
        const Tensor& x = tensor_at(in, 0);
        const at::IntArrayRef shape =
            x.sizes().slice(static_cast<std::size_t>(normal_axis(axis, x.dim())));
        const auto whole = [&](const Tensor& t) { return t.defined() ? t.expand(shape) : t; };
        const auto [y, mean, inverse] = at::native_layer_norm(x, shape, whole(tensor_at(in, 1)),
                                                              whole(optional_at(in, 2)), epsilon);
        out[0].tensor = y;
        if (out.size() > 1) out[1].tensor = mean;
        if (out.size() > 2) out[2].tensor = inverse;
      },
      /*like=*/{0, kInF32, kInF32});
}

Kernel make_rms_norm(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  const double epsilon = float_attribute(request.instruction, "epsilon", 1e-5);
  return [axis, epsilon](KernelContext&, Inputs in, Outputs out) {
    const Tensor& given = tensor_at(in, 0);
    const Tensor& scale = tensor_at(in, 1);
    // Squares leave 16 bits, and the statistics have more on every device.
    const Tensor x = is_half(given) ? given.to(at::kFloat) : given;
    Ints axes(static_cast<std::size_t>(x.dim() - normal_axis(axis, x.dim())));
    std::iota(axes.begin(), axes.end(), normal_axis(axis, x.dim()));
    const Tensor inverse = at::rsqrt(at::add(at::mean(at::square(x), axes, true), epsilon));
    out[0].tensor = at::mul(at::mul(x, inverse), scale).to(scale.scalar_type());
    if (out.size() > 1) out[1].tensor = inverse;
  };
}

Kernel make_lp_norm(const KernelRequest& request) {
  const std::int64_t axis = int_attribute(request.instruction, "axis", -1);
  const double p = static_cast<double>(int_attribute(request.instruction, "p", 2));
  return widened([axis, p](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const Tensor norm = at::norm(x, p, {normal_axis(axis, x.dim())}, /*keepdim=*/true);
    // A row of zeros stays 0.
    out[0].tensor = at::div(x, at::where(at::eq(norm, 0), at::ones_like(norm), norm));
  });
}

Kernel make_mean_variance_norm(const KernelRequest& request) {
  const Ints axes = ints_attribute(request.instruction, "axes").value_or(Ints{0, 2, 3});
  return widened([axes](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const auto [variance, mean] = at::var_mean(x, axes, /*unbiased=*/false, /*keepdim=*/true);
    out[0].tensor = at::div(at::sub(x, mean), at::add(at::sqrt(variance), 1e-9));
  });
}

// Across `size` channels, those before the ends counted as 0.
Kernel make_lrn(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const double alpha = float_attribute(op, "alpha", 1e-4);
  const double beta = float_attribute(op, "beta", 0.75);
  const double bias = float_attribute(op, "bias", 1);
  const std::int64_t size = count_attribute(op, "size", 1);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t channels = x.size(1);
    const Tensor squares =
        at::square(x).reshape({x.size(0), channels, c10::multiply_integers(x.sizes().slice(2))});
    const Tensor padded = runtime::padded(squares, {0, 0, (size - 1) / 2, size / 2});
    // Sums of slices are vectorised, poolings of one column are not.
    Tensor sums = padded.narrow(1, 0, channels);
    for (std::int64_t i = 1; i < size; ++i) sums = at::add(sums, padded.narrow(1, i, channels));
    const Tensor scale = at::add(at::mul(sums, alpha / static_cast<double>(size)), bias);
    out[0].tensor = at::div(x, at::pow(scale, beta).reshape(x.sizes()));
  });
}

constexpr KernelRow kRows[] = {
    {"BatchNormalization", make_batch_norm},
    {"GroupNormalization", make_group_norm},
    {"Hardmax", make_softmax<hardmax>},
    {"InstanceNormalization", make_instance_norm},
    {"LRN", make_lrn},
    {"LayerNormalization", make_layer_norm},
    {"LogSoftmax", make_softmax<log_softmax>},
    {"LpNormalization", make_lp_norm},
    {"MeanVarianceNormalization", make_mean_variance_norm},
    {"RMSNormalization", make_rms_norm},
    {"SimplifiedLayerNormalization", make_rms_norm},
    {"Softmax", make_softmax<softmax>},
};

}  // namespace

std::span<const KernelRow> normalization_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
