// Images: other sizes, parts, blocks, and normalization over neighbouring channels. [batch, height, width, channels]
#include <ATen/Functions.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cmath>

#include "berth/error.h"
#include "berth/support/text.h"
#include "runtime/empty.h"
#include "runtime/integers.h"
#include "runtime/tf/scaling.h"

namespace berth::runtime::tf {
namespace {

// --- sizes ---------------------------------------------------------------------------------------

/// The two pixels that each pixel of an axis is made from, and the share of the second.
struct Neighbours {
  Tensor lower, upper, share;
};

Neighbours neighbours(const Scaling& scaling, std::int64_t from, std::int64_t to) {
  const float scale = scaling.scale(from, to);
  Neighbours made{at::empty({to}, at::kLong), at::empty({to}, at::kLong),
                  at::empty({to}, at::kFloat)};
  for (std::int64_t i = 0; i < to; ++i) {
    const auto at_pixel = static_cast<float>(i);
    const float place = scaling.centers ? (at_pixel + 0.5F) * scale - 0.5F : at_pixel * scale;
    const float below = std::floor(place);
    const auto lower = static_cast<std::int64_t>(below);
    made.lower.data_ptr<std::int64_t>()[i] = std::clamp<std::int64_t>(lower, 0, from - 1);
    made.upper.data_ptr<std::int64_t>()[i] =
        std::min(static_cast<std::int64_t>(std::ceil(place)), from - 1);
    made.share.data_ptr<float>()[i] = place - below;
  }
  return made;
}

/// Linear between neighbours along `axis`.
Tensor interpolated(const Tensor& x, std::int64_t axis, const Neighbours& given) {
  Ints shape(static_cast<std::size_t>(x.dim()), 1);
  shape[static_cast<std::size_t>(axis)] = -1;
  const Tensor low = at::index_select(x, axis, given.lower.to(x.device()));
  const Tensor high = at::index_select(x, axis, given.upper.to(x.device()));
  return at::add(low, at::mul(at::sub(high, low), given.share.to(x.options()).reshape(shape)));
}

/// The transpose of `interpolated`, to an axis of `size` pixels.
Tensor gathered_back(const Tensor& gradient, std::int64_t axis, std::int64_t size,
                     const Neighbours& given) {
  Ints shape = gradient.sizes().vec();
  shape[static_cast<std::size_t>(axis)] = size;
  Ints row(static_cast<std::size_t>(gradient.dim()), 1);
  row[static_cast<std::size_t>(axis)] = -1;
  const Tensor share = given.share.to(gradient.options()).reshape(row);
  const Tensor back = at::zeros(shape, gradient.options());
  back.index_add_(axis, given.lower.to(gradient.device()), at::mul(gradient, at::rsub(share, 1)));
  back.index_add_(axis, given.upper.to(gradient.device()), at::mul(gradient, share));
  return back;
}

/// (images, height and width)
Kernel make_bilinear(const KernelRequest& request) {
  return [scaling = Scaling(request.instruction), sizes = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    const Tensor x = tensor_at(in, 0).to(at::kFloat);
    const Ints size = sizes.get(in);
    const Tensor rows = interpolated(x, 1, neighbours(scaling, x.size(1), size.at(0)));
    out[0].tensor = interpolated(rows, 2, neighbours(scaling, x.size(2), size.at(1)));
  };
}

/// (gradient, the images as they were)
Kernel make_bilinear_gradient(const KernelRequest& request) {
  return [scaling = Scaling(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &gradient = tensor_at(in, 0), &x = tensor_at(in, 1);
    const Tensor columns =
        gathered_back(gradient, 2, x.size(2), neighbours(scaling, x.size(2), gradient.size(2)));
    out[0].tensor =
        gathered_back(columns, 1, x.size(1), neighbours(scaling, x.size(1), gradient.size(1)))
            .to(x.scalar_type());
  };
}

/// The pixel that each pixel of an axis is.
Tensor nearest(const Scaling& scaling, std::int64_t from, std::int64_t to) {
  const float scale = scaling.scale(from, to);
  Tensor made = at::empty({to}, at::kLong);
  for (std::int64_t i = 0; i < to; ++i) {
    const float place = (static_cast<float>(i) + (scaling.centers ? 0.5F : 0.0F)) * scale;
    const float pixel = scaling.corners ? std::round(place) : std::floor(place);
    made.data_ptr<std::int64_t>()[i] =
        std::clamp<std::int64_t>(static_cast<std::int64_t>(pixel), 0, from - 1);
  }
  return made;
}

/// (images, height and width)
Kernel make_nearest(const KernelRequest& request) {
  return [scaling = Scaling(request.instruction), sizes = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    Tensor x = tensor_at(in, 0);
    const Ints size = sizes.get(in);
    for (const std::int64_t axis : {1, 2}) {
      const Tensor pixels =
          nearest(scaling, x.size(axis), size.at(static_cast<std::size_t>(axis) - 1));
      x = at::index_select(x, axis, pixels.to(x.device()));
    }
    out[0].tensor = x;
  };
}

/// (gradient, height and width of the images)
Kernel make_nearest_gradient(const KernelRequest& request) {
  return [scaling = Scaling(request.instruction), sizes = IntsInput(request, 1)](
             KernelContext&, Inputs in, Outputs out) {
    Tensor gradient = tensor_at(in, 0);
    const Ints size = sizes.get(in);
    for (const std::int64_t axis : {1, 2}) {
      Ints shape = gradient.sizes().vec();
      std::int64_t& length = shape[static_cast<std::size_t>(axis)];
      const std::int64_t to = length;
      length = size.at(static_cast<std::size_t>(axis) - 1);
      const Tensor pixels = nearest(scaling, length, to).to(gradient.device());
      gradient = at::zeros(shape, gradient.options()).index_add_(axis, pixels, gradient);
    }
    out[0].tensor = gradient;
  };
}

/// (images, boxes as shares of them, the image of each box, height and width)
Kernel make_crop(const KernelRequest& request) {
  const bool is_nearest = text_attribute(request.instruction, "method", "bilinear") == "nearest";
  const double outside = float_attribute(request.instruction, "extrapolation_value", 0);
  return [is_nearest, outside, sizes = IntsInput(request, 3)](KernelContext&, Inputs in,
                                                              Outputs out) {
    const Tensor images = tensor_at(in, 0).to(at::kFloat);
    const Tensor boxes = tensor_at(in, 1).to(images.options());
    check_within(tensor_at(in, 2), 0, images.size(0) - 1, "image");
    const Tensor image = tensor_at(in, 2).to(images.device(), at::kLong);
    const Ints size = sizes.get(in);
    // Places along an axis, by box: from the box's first to its last pixel, or its middle.
    const auto places = [&](std::int64_t axis) {
      const std::int64_t count = size.at(static_cast<std::size_t>(axis));
      const auto last = static_cast<double>(images.size(axis + 1) - 1);
      const Tensor low = boxes.select(1, axis), high = boxes.select(1, axis + 2);
      if (count <= 1) return at::mul(at::add(low, high), 0.5 * last).unsqueeze(1);
      const Tensor step =
          at::div(at::mul(at::sub(high, low), last), static_cast<double>(count - 1));
      return at::add(at::mul(low, last).unsqueeze(1),
                     at::mul(step.unsqueeze(1), at::arange(count, images.options()).unsqueeze(0)));
    };
    const Tensor rows = places(0), columns = places(1);
    const auto inside = [&](const Tensor& place, std::int64_t axis) {
      return at::logical_and(at::ge(place, 0), at::le(place, images.size(axis) - 1));
    };
    const Tensor valid =
        at::logical_and(inside(rows, 1).unsqueeze(2), inside(columns, 2).unsqueeze(1));
    const auto pixels = [&](const Tensor& row, const Tensor& column) {
      const auto bounded = [&](const Tensor& place, std::int64_t axis) {
        return at::clamp(place, 0, images.size(axis) - 1).to(at::kLong);
      };
      return at::index(images, {image.reshape({-1, 1, 1}), bounded(row, 1).unsqueeze(2),
                                bounded(column, 2).unsqueeze(1)});
    };
    Tensor crops;
    if (is_nearest) {
      crops = pixels(at::floor(at::add(rows, 0.5)), at::floor(at::add(columns, 0.5)));
    } else {
      const Tensor top = at::floor(rows), left = at::floor(columns);
      const Tensor down = at::sub(rows, top).reshape({rows.size(0), rows.size(1), 1, 1});
      const Tensor right = at::sub(columns, left).reshape({columns.size(0), 1, columns.size(1), 1});
      const Tensor below = at::ceil(rows), beside = at::ceil(columns);
      const auto mixed = [&](const Tensor& row) {
        const Tensor a = pixels(row, left);
        return at::add(a, at::mul(at::sub(pixels(row, beside), a), right));
      };
      const Tensor above = mixed(top);
      crops = at::add(above, at::mul(at::sub(mixed(below), above), down));
    }
    out[0].tensor = at::where(valid.unsqueeze(3), crops, at::full({}, outside, crops.options()));
  };
}

// --- blocks --------------------------------------------------------------------------------------

/// (x, sizes of a block, margins): blocks of the dimensions behind the first become batches.
Kernel make_space_to_batch(const KernelRequest& request) {
  return [blocks = IntsInput(request, 1), margins = IntsInput(request, 2)](KernelContext&,
                                                                           Inputs in, Outputs out) {
    const Ints block = blocks.get(in), margin = margins.get(in);
    const Tensor& x = tensor_at(in, 0);
    const std::size_t rank = block.size();
    if (x.dim() <= static_cast<std::int64_t>(rank)) {
      throw Error(ErrorCode::invalid_argument,
                  cat("blocks of ", rank, " dimensions are of ", x.dim(),
                      " dimensions, one of which counts images"));
    }
    Ints pads(2 * static_cast<std::size_t>(x.dim()), 0);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t last = 2 * (static_cast<std::size_t>(x.dim()) - 2 - i);
      pads[last] = margin.at(2 * i);
      pads[last + 1] = margin.at(2 * i + 1);
    }
    const Tensor padded = runtime::padded(x, pads);
    Ints shape = {x.size(0)}, order, rest = {0}, merged = {x.size(0)};
    for (std::size_t i = 0; i < rank; ++i) {
      const std::int64_t size = shared_out(padded.size(static_cast<std::int64_t>(i) + 1),
                                           "elements", block[i], "elements of a block");
      shape.insert(shape.end(), {size, block[i]});
      order.push_back(static_cast<std::int64_t>(2 * i + 2));
      rest.push_back(static_cast<std::int64_t>(2 * i + 1));
      merged[0] *= block[i];
      merged.push_back(size);
    }
    for (auto i = static_cast<std::int64_t>(rank) + 1; i < x.dim(); ++i) {
      rest.push_back(static_cast<std::int64_t>(shape.size()));
      shape.push_back(x.size(i));
      merged.push_back(x.size(i));
    }
    order.insert(order.end(), rest.begin(), rest.end());
    out[0].tensor = padded.reshape(shape).permute(order).reshape(merged);
  };
}

/// (x, sizes of a block, what to cut): the other way round.
Kernel make_batch_to_space(const KernelRequest& request) {
  return [blocks = IntsInput(request, 1), cuts = IntsInput(request, 2)](KernelContext&, Inputs in,
                                                                        Outputs out) {
    const Ints block = blocks.get(in), cut = cuts.get(in);
    const Tensor& x = tensor_at(in, 0);
    const auto rank = static_cast<std::int64_t>(block.size());
    std::int64_t batch = x.size(0);
    for (const std::int64_t size : block) batch = shared_out(batch, "images", size, "of a block");
    Ints shape = block, order = {rank}, merged = {batch};
    shape.push_back(batch);
    for (std::int64_t i = 0; i < rank; ++i) {
      order.insert(order.end(), {rank + 1 + i, i});
      merged.push_back(x.size(i + 1) * block[static_cast<std::size_t>(i)]);
    }
    for (std::int64_t i = 1; i < x.dim(); ++i) {
      shape.push_back(x.size(i));
      if (i <= rank) continue;
      order.push_back(rank + i);
      merged.push_back(x.size(i));
    }
    Tensor y = x.reshape(shape).permute(order).reshape(merged);
    for (std::int64_t i = 0; i < rank; ++i) {
      const auto at_cut = static_cast<std::size_t>(2 * i);
      const std::int64_t first = cut.at(at_cut), last = cut.at(at_cut + 1);
      y = y.narrow(i + 1, first, y.size(i + 1) - first - last);
    }
    out[0].tensor = y;
  };
}

/// (images): what lies under each window, side by side in the last dimension.
Kernel make_patches(const KernelRequest& request) {
  Instruction op = request.instruction;
  const Ints sizes = ints_attribute(op, "ksizes").value_or(Ints{});
  op.attributes.emplace_back("dilations", ints_attribute(op, "rates").value_or(Ints{1, 1, 1, 1}));
  const Sliding sliding(op);
  std::int64_t window[2];
  sliding.read_spatial(sizes, "ksizes", window);
  return [=](KernelContext&, Inputs in, Outputs out) {
    const Tensor planes = sliding.to_planes(tensor_at(in, 0));
    const Margins margins(sliding, planes.size(2), planes.size(3), window[0], window[1]);
    const Tensor padded = runtime::padded(
        planes, {margins.before[1], margins.after[1], margins.before[0], margins.after[0]});
    const auto count = [&](int axis) {
      const std::int64_t reach = sliding.dilation[axis] * (window[axis] - 1) + 1;
      const std::int64_t room = padded.size(2 + axis) - reach + sliding.stride[axis];
      return std::max<std::int64_t>(room, 0) / sliding.stride[axis];
    };
    const std::int64_t channels = planes.size(1), area = window[0] * window[1];
    const Ints shape = {planes.size(0), count(0), count(1), area * channels};
    if (c10::multiply_integers(shape) == 0) {  // which at::im2col refuses
      out[0].tensor = at::empty(shape, planes.options());
      return;
    }
    const Tensor columns =
        at::im2col(padded, {window[0], window[1]}, {sliding.dilation[0], sliding.dilation[1]},
                   {0, 0}, {sliding.stride[0], sliding.stride[1]});
    out[0].tensor =
        columns.reshape({planes.size(0), channels, area, -1}).permute({0, 3, 2, 1}).reshape(shape);
  };
}

// --- neighbouring channels -----------------------------------------------------------------------

struct Neighbourhood {
  explicit Neighbourhood(const Instruction& op)
      : radius(int_attribute(op, "depth_radius", 5)),
        bias(float_attribute(op, "bias", 1)),
        alpha(float_attribute(op, "alpha", 1)),
        beta(float_attribute(op, "beta", 0.5)) {}

  /// Sums of the channels that are at most `radius` away.
  [[nodiscard]] Tensor sums(const Tensor& x) const {
    const Tensor padded = runtime::padded(x, {radius + 1, radius});
    const Tensor running = at::cumsum(padded, -1);
    const std::int64_t channels = x.size(-1);
    return at::sub(running.narrow(-1, 2 * radius + 1, channels), running.narrow(-1, 0, channels));
  }
  [[nodiscard]] Tensor scale(const Tensor& x) const {
    return at::add(at::mul(sums(at::square(x)), alpha), bias);
  }

  std::int64_t radius;
  double bias, alpha, beta;
};

Kernel make_local_response(const KernelRequest& request) {
  return [near = Neighbourhood(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    out[0].tensor = at::mul(x, at::pow(near.scale(x), -near.beta));
  };
}

/// (gradient, images, result)
Kernel make_local_response_gradient(const KernelRequest& request) {
  return [near = Neighbourhood(request.instruction)](KernelContext&, Inputs in, Outputs out) {
    const Tensor &gradient = tensor_at(in, 0), &x = tensor_at(in, 1), &y = tensor_at(in, 2);
    const Tensor scale = near.scale(x);
    const Tensor by_others = near.sums(at::div(at::mul(gradient, y), scale));
    out[0].tensor = at::sub(at::mul(gradient, at::pow(scale, -near.beta)),
                            at::mul(at::mul(x, by_others), 2 * near.alpha * near.beta));
  };
}

constexpr KernelRow kRows[] = {
    {"BatchToSpaceND", make_batch_to_space},
    {"CropAndResize", make_crop},
    {"ExtractImagePatches", make_patches},
    {"LRN", make_local_response},
    {"LRNGrad", make_local_response_gradient},
    {"ResizeBilinear", make_bilinear},
    {"ResizeBilinearGrad", make_bilinear_gradient},
    {"ResizeNearestNeighbor", make_nearest},
    {"ResizeNearestNeighborGrad", make_nearest_gradient},
    {"SpaceToBatchND", make_space_to_batch},
};

}  // namespace

std::span<const KernelRow> image_kernels() {
  return kRows;
}

}  // namespace berth::runtime::tf
