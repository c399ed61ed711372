// Largest and mean elements under a sliding window, and their gradients.
#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <limits>

#include "berth/error.h"
#include "runtime/empty.h"
#include "runtime/tf/support.h"

namespace berth::runtime::tf {
namespace {

struct Pooling {
  explicit Pooling(const Instruction& op) : sliding(op) {
    // The second versions take it as an input.
    if (op.type.ends_with("V2")) return;
    sliding.read_spatial(ints_attribute(op, "ksize").value_or(Ints{}), "ksize", window);
  }

  [[nodiscard]] Ints size() const { return {window[0], window[1]}; }
  [[nodiscard]] Ints stride() const { return {sliding.stride[0], sliding.stride[1]}; }
  [[nodiscard]] Margins margins(const Ints& planes) const {
    return {sliding, planes[2], planes[3], window[0], window[1]};
  }

  Sliding sliding;
  std::int64_t window[2] = {1, 1};
};

/// A pooling whose window and strides are inputs from `first` on in the second versions.
class PoolingInput {
 public:
  PoolingInput(const KernelRequest& request, std::size_t first) : pooling_(request.instruction) {
    if (!request.instruction.type.ends_with("V2")) return;
    window_.emplace(request, first);
    stride_.emplace(request, first + 1);
  }
  [[nodiscard]] Pooling get(Inputs in) const {
    Pooling made = pooling_;
    if (window_) made.sliding.read_spatial(window_->get(in), "ksize", made.window);
    if (stride_) made.sliding.read_spatial(stride_->get(in), "strides", made.sliding.stride);
    return made;
  }

 private:
  Pooling pooling_;
  std::optional<IntsInput> window_, stride_;
};

constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// (images; of the second version also window and strides)
Kernel make_max_pool(const KernelRequest& request) {
  return [input = PoolingInput(request, 1)](KernelContext&, Inputs in, Outputs out) {
    const Pooling pooling = input.get(in);
    const Tensor planes = pooling.sliding.to_planes(tensor_at(in, 0));
    const Margins margins = pooling.margins(planes.sizes().vec());
    out[0].tensor = pooling.sliding.from_planes(std::get<0>(
        at::max_pool2d_with_indices(margins.pad(planes, kLowest), pooling.size(), pooling.stride(),
                                    margins.both_sides(), {1, 1}, false)));
  };
}

/// (input, output, gradient; of the second version also window and strides). Of equal largest elements the first gets
/// the gradient.
Kernel make_max_pool_gradient(const KernelRequest& request) {
  return [input = PoolingInput(request, 3)](KernelContext&, Inputs in, Outputs out) {
    const Pooling pooling = input.get(in);
    const Tensor planes = pooling.sliding.to_planes(tensor_at(in, 0));
    const Margins margins = pooling.margins(planes.sizes().vec());
    const Tensor padded = margins.pad(planes, kLowest);
    const Ints both = margins.both_sides();
    const Tensor indices = std::get<1>(
        at::max_pool2d_with_indices(padded, pooling.size(), pooling.stride(), both, {1, 1}, false));
    const Tensor gradient = pooling.sliding.to_planes(tensor_at(in, 2));
    out[0].tensor = pooling.sliding.from_planes(margins.crop(at::max_pool2d_with_indices_backward(
        gradient, padded, pooling.size(), pooling.stride(), both, {1, 1}, false, indices)));
  };
}

/// Positions of images' elements in the images laid out in one row; each image may begin at 0.
Tensor beginnings(const Tensor& images, bool counts_batches) {
  const auto whole = images.options().dtype(at::kLong);
  const std::int64_t size = c10::multiply_integers(images.sizes().slice(1));
  const Tensor batch = at::arange(images.size(0), whole).reshape({-1, 1, 1, 1});
  return at::mul(batch, counts_batches ? size : 0);
}

/// (images): the largest elements and where they are.
Kernel make_max_pool_with_places(const KernelRequest& request) {
  const bool batches = int_attribute(request.instruction, "include_batch_in_index", 0) != 0;
  const at::ScalarType wanted = type(request.instruction, "Targmax", at::kLong);
  const Pooling pooling(request.instruction);
  if (!pooling.sliding.channels_last) refuse_attribute("data_format", "not NHWC");
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& images = tensor_at(in, 0);
    const Tensor planes = pooling.sliding.to_planes(images);
    const Margins margins = pooling.margins(planes.sizes().vec());
    const Tensor padded = margins.pad(planes, kLowest);
    const auto [largest, indices] = at::max_pool2d_with_indices(
        padded, pooling.size(), pooling.stride(), margins.both_sides(), {1, 1}, false);
    out[0].tensor = pooling.sliding.from_planes(largest);
    // ATen counts the margins that were copied, and no channels.
    const std::int64_t width = padded.size(3);
    const bool copied = !margins.symmetric();
    const Tensor index = pooling.sliding.from_planes(indices);
    const Tensor row = at::sub(at::div(index, width, "floor"), copied ? margins.before[0] : 0);
    const Tensor column = at::sub(at::remainder(index, width), copied ? margins.before[1] : 0);
    const Tensor pixel = at::add(at::mul(row, images.size(2)), column);
    const Tensor channel = at::arange(images.size(3), index.options());
    out[1].tensor =
        at::add(at::add(at::mul(pixel, images.size(3)), channel), beginnings(images, batches))
            .to(wanted);
  };
}

/// (images, gradient, where the largest elements are)
Kernel make_gradient_by_places(const KernelRequest& request) {
  const bool batches = int_attribute(request.instruction, "include_batch_in_index", 0) != 0;
  return [batches](KernelContext&, Inputs in, Outputs out) {
    const Tensor &images = tensor_at(in, 0), &gradient = tensor_at(in, 1);
    const Tensor places = tensor_at(in, 2).to(images.device(), at::kLong);
    const Tensor index = at::add(places, beginnings(images, !batches)).reshape({-1});
    out[0].tensor = at::zeros({images.numel()}, gradient.options())
                        .index_add_(0, index, gradient.reshape({-1}))
                        .reshape(images.sizes());
  };
}

/// (images, filter [height, width, channels]): the largest sum of a pixel and its part of the filter.
Kernel make_dilation(const KernelRequest& request) {
  Instruction op = request.instruction;
  op.attributes.emplace_back("dilations", ints_attribute(op, "rates").value_or(Ints{1, 1, 1, 1}));
  return [sliding = Sliding(op)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &images = tensor_at(in, 0), &filter = tensor_at(in, 1);
    if (images.dim() != 4 || filter.dim() != 3 || filter.size(2) != images.size(3)) {
      throw Error(ErrorCode::invalid_argument,
                  "images have 4 dimensions, and a filter 3 with as many channels");
    }
    const bool real = images.is_floating_point();  // ATen unfolds no others
    const Tensor planes = sliding.to_planes(real ? images : images.to(at::kDouble));
    const Ints window = {filter.size(0), filter.size(1)};
    const Margins margins(sliding, planes.size(2), planes.size(3), window[0], window[1]);
    const Tensor padded = runtime::padded(
        planes, {margins.before[1], margins.after[1], margins.before[0], margins.after[0]},
        kLowest);
    const auto count = [&](int axis) {
      const std::int64_t reach =
          sliding.dilation[axis] * (window[static_cast<std::size_t>(axis)] - 1) + 1;
      return (padded.size(2 + axis) - reach) / sliding.stride[axis] + 1;
    };
    const Ints shape = {planes.size(0), planes.size(1), count(0), count(1)};
    if (planes.size(0) == 0) {  // which at::im2col refuses
      out[0].tensor = sliding.from_planes(at::empty(shape, images.options()));
      return;
    }
    const Tensor columns =
        at::im2col(padded, window, {sliding.dilation[0], sliding.dilation[1]}, {0, 0},
                   {sliding.stride[0], sliding.stride[1]})
            .reshape({planes.size(0), planes.size(1), window[0] * window[1], -1});
    const Tensor weight = filter.permute({2, 0, 1}).reshape({1, planes.size(1), -1, 1});
    out[0].tensor = sliding.from_planes(at::add(columns, weight).amax(2).reshape(shape))
                        .to(images.scalar_type());
  };
}

/// How many elements of an image lie under each window, margins not counted. [1, 1, rows, columns]
Tensor coverage(const Pooling& pooling, const Ints& planes, const Margins& margins,
                std::int64_t rows, std::int64_t columns, const at::TensorOptions& options) {
  const auto covered = [&](int axis, std::int64_t position) {
    const std::int64_t begin = position * pooling.sliding.stride[axis] - margins.before[axis];
    const std::int64_t end =
        std::min(begin + pooling.window[axis], planes[static_cast<std::size_t>(2 + axis)]);
    return end - std::max<std::int64_t>(begin, 0);
  };
  Tensor counts = at::empty({1, 1, rows, columns}, at::kFloat);
  float* const out = counts.data_ptr<float>();
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      out[row * columns + column] = static_cast<float>(covered(0, row) * covered(1, column));
    }
  }
  return counts.to(options);
}

Kernel make_mean_pool(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = pooling.sliding.to_planes(tensor_at(in, 0));
    const Ints shape = planes.sizes().vec();
    const Margins margins = pooling.margins(shape);
    const Tensor padded = margins.pad(planes, 0);
    if (margins.symmetric()) {
      out[0].tensor = pooling.sliding.from_planes(at::avg_pool2d(
          padded, pooling.size(), pooling.stride(), margins.both_sides(), false, false));
      return;
    }
    const Tensor sums =
        at::avg_pool2d(padded, pooling.size(), pooling.stride(), {0, 0}, false, true, 1);
    const Tensor counts =
        coverage(pooling, shape, margins, sums.size(2), sums.size(3), planes.options());
    out[0].tensor = pooling.sliding.from_planes(sums / counts);
  };
}

/// (shape of the input, gradient)
Kernel make_mean_pool_gradient(const KernelRequest& request) {
  return [pooling = Pooling(request.instruction), images = IntsInput(request, 0)](
             KernelContext&, Inputs in, Outputs out) {
    Tensor gradient = pooling.sliding.to_planes(tensor_at(in, 1));
    const Ints shape = pooling.sliding.plane_shape(images.get(in));
    const Margins margins = pooling.margins(shape);
    c10::optional<std::int64_t> divisor;
    if (!margins.symmetric()) {
      gradient = gradient / coverage(pooling, shape, margins, gradient.size(2), gradient.size(3),
                                     gradient.options());
      divisor = 1;
    }
    // Only its shape and layout are looked at. CUDA's kernel for channels innermost ignores padding before LibTorch
    // 2.14 (PyTorch's issue 188344).
    const bool innermost = pooling.sliding.channels_last && gradient.is_cpu();
    const Tensor padded =
        at::empty(margins.padded(shape), gradient.options(),
                  innermost ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
    out[0].tensor = pooling.sliding.from_planes(
        margins.crop(at::avg_pool2d_backward(gradient, padded, pooling.size(), pooling.stride(),
                                             margins.both_sides(), false, false, divisor)));
  };
}

constexpr KernelRow kRows[] = {
    {"AvgPool", make_mean_pool},
    {"AvgPoolGrad", make_mean_pool_gradient},
    {"Dilation2D", make_dilation},
    {"MaxPool", make_max_pool},
    {"MaxPoolGrad", make_max_pool_gradient},
    {"MaxPoolGradV2", make_max_pool_gradient},
    {"MaxPoolGradWithArgmax", make_gradient_by_places},
    {"MaxPoolV2", make_max_pool},
    {"MaxPoolWithArgmax", make_max_pool_with_places},
};

}  // namespace

std::span<const KernelRow> pooling_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
