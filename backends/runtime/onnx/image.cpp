// Ops on images.
#include <ATen/Functions.h>

#include "runtime/onnx/support.h"
#include "runtime/onnx/tables.h"

namespace berth::runtime::onnx {
namespace {

/// A grid whose points lie on the nearest voxels, ties to even, as ONNX says and as at::grid_sampler rounds
/// in images, but not in volumes.
Tensor rounded_grid(const Tensor& x, const Tensor& grid, bool align) {
  std::vector<double> sizes;
  for (std::int64_t axis = x.dim() - 1; axis >= 2; --axis) {
    sizes.push_back(static_cast<double>(x.size(axis)));
  }
  const Tensor size = at::tensor(sizes, at::kDouble).to(grid.options());
  // In voxels: (p + 1) / 2 * (size - 1), or ((p + 1) * size - 1) / 2.
  const Tensor scale = align ? at::clamp_min(at::sub(size, 1), 1) : size;
  const Tensor shift = align ? at::zeros_like(size) : at::full_like(size, 0.5);
  const Tensor voxel = at::round(at::sub(at::mul(at::add(grid, 1), at::div(scale, 2)), shift));
  return at::sub(at::div(at::mul(at::add(voxel, shift), 2), scale), 1);
}

Kernel make_grid_sample(const KernelRequest& request) {
  const Instruction& op = request.instruction;
  const std::string mode = text_attribute(op, "mode", op.version < 20 ? "bilinear" : "linear");
  const std::string padding = text_attribute(op, "padding_mode", "zeros");
  const bool align = int_attribute(op, "align_corners", 0) != 0;
  const std::int64_t interpolation = mode == "nearest"                        ? 1
                                     : mode == "bicubic" || mode == "cubic"   ? 2
                                     : mode == "bilinear" || mode == "linear" ? 0
                                                                              : -1;
  const std::int64_t outside = padding == "zeros"        ? 0
                               : padding == "border"     ? 1
                               : padding == "reflection" ? 2
                                                         : -1;
  if (interpolation < 0) refuse_attribute("mode", mode);
  if (outside < 0) refuse_attribute("padding_mode", padding);
  return widened([=](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const bool rounds = interpolation == 1 && x.dim() == 5;
    const Tensor grid = rounds ? rounded_grid(x, tensor_at(in, 1), align) : tensor_at(in, 1);
    out[0].tensor = at::grid_sampler(x, grid, interpolation, outside, align);
  });
}

// Opset 1: scales all, and adds a bias to each channel.
Kernel make_image_scaler(const KernelRequest& request) {
  const double scale = float_attribute(request.instruction, "scale", 1);
  const auto* const stated = request.instruction.attribute<std::vector<double>>("bias");
  const Tensor bias = at::tensor(stated != nullptr ? *stated : std::vector<double>{0.0}, at::kFloat)
                          .reshape({1, -1, 1, 1});
  return widened([scale, bias](KernelContext& context, Inputs in, Outputs out) {
    out[0].tensor = at::add(at::mul(tensor_at(in, 0), scale), bias.to(context.device));
  });
}

// Opset 1: takes `border` (left, top, right, bottom) away, or all but `scale` (height, width).
Kernel make_crop(const KernelRequest& request) {
  const Ints border = ints_attribute(request.instruction, "border").value_or(Ints{});
  const Ints scale = ints_attribute(request.instruction, "scale").value_or(Ints{});
  if (border.size() != 4) refuse_attribute("border", "not four numbers");
  return [border, scale](KernelContext&, Inputs in, Outputs out) {
    const Tensor& x = tensor_at(in, 0);
    const std::int64_t height = scale.size() == 2 ? scale[0] : x.size(2) - border[1] - border[3];
    const std::int64_t width = scale.size() == 2 ? scale[1] : x.size(3) - border[0] - border[2];
    out[0].tensor = x.narrow(2, border[1], height).narrow(3, border[0], width);
  };
}

// Inputs: matrices [batch, 2, 3] or [batch, 3, 4], the sizes of the images.
Kernel make_affine_grid(const KernelRequest& request) {
  const bool corners = int_attribute(request.instruction, "align_corners", 0) != 0;
  const IntsOperand size(request, "", 1);
  return widened([corners, size](KernelContext&, Inputs in, Outputs out) {
    out[0].tensor = at::affine_grid_generator(tensor_at(in, 0), size.need(in), corners);
  });
}

constexpr KernelRow kRows[] = {
    {"AffineGrid", make_affine_grid},
    {"Crop", make_crop},
    {"GridSample", make_grid_sample},
    {"ImageScaler", make_image_scaler},
};

}  // namespace

std::span<const KernelRow> image_kernels() {
  return kRows;
}

}  // namespace berth::runtime::onnx
