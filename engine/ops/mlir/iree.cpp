// Work of IREE's own ops (dialect iree_linalg_ext). They write their last operands, as linalg's do.
#include "ops/formulas.h"
#include "ops/mlir/rules.h"

namespace berth::ops::mlir {
namespace {

constexpr double kExp = kTranscendentalFlops;

/// The updates come first, what they change last.
Estimate scattered(const OpView& op, const WorkRule& rule) {
  const TensorView updates = op.input(0);
  const std::size_t last = op.input_count() - 1;
  return work::make_estimate(op, rule, updates.elements() * known_or(number(op, "body"), 1),
                             updated_bytes(op, last, 1, updates.bytes()));
}

/// A source, indices, maybe a mask, and what is written.
Estimate gathered(const OpView& op, const WorkRule& rule) {
  double bytes = 2 * result_of(op).bytes();
  for (std::size_t i = 1; i + 1 < op.input_count(); ++i) bytes += op.input(i).bytes();
  return work::make_estimate(op, rule, 0, bytes);
}

/// The largest of each line, of which "dimension" is the axis.
Estimate selected(const OpView& op, const WorkRule& rule) {
  const auto axis = static_cast<int>(op.integer("dimension", -1));
  return work::make_estimate(
      op, rule, selection_flops(op.input(0).elements(), result_of(op).dim(axis)), moved_bytes(op));
}

/// Tiles of an image, t x t of its points each, between two constant matrices of t x t.
Estimate image_tiles(const OpView& op, const WorkRule& rule) {
  const TensorView tiles = result_of(op);
  return work::make_estimate(op, rule, 4 * tiles.dim(0) * tiles.elements(), moved_bytes(op));
}

/// A filter of k x k between matrices of t x k and k x t.
Estimate filter_tiles(const OpView& op, const WorkRule& rule) {
  const TensorView tiles = result_of(op);
  const double side = tiles.dim(0), kernel = number(op, "kernel_size");
  return work::make_estimate(op, rule, 2 * kernel * (kernel + side) / side * tiles.elements(),
                             moved_bytes(op));
}

/// Tiles of t x t between matrices of r x t and t x r.
Estimate result_tiles(const OpView& op, const WorkRule& rule) {
  const TensorView tiles = op.input(0);
  const double side = tiles.dim(0), result = side - number(op, "kernel_size") + 1;
  return work::make_estimate(op, rule, 2 * result * (result + side) / side * tiles.elements(),
                             moved_bytes(op));
}

/// Behind "iree_linalg_ext.". map_scatter and map_gather are what map_store and map_load were called before.
constexpr Family kFamilies[] = {
    {{fused_attention, OpClass::attention}, "attention online_attention"},
    {{with_body, OpClass::reduction}, "arg_compare scan"},
    // Each point of a line is an exponential, and so is the step from one maximum to the next.
    {{with_body, OpClass::reduction, 2 * kExp}, "exp_reduction"},
    // One stage: a butterfly of ten operations for every two numbers.
    {{per_result, OpClass::other, 5}, "fft"},
    {{with_body, OpClass::other}, "sort"},
    {{selected, OpClass::reduction}, "topk topk_v2"},
    {copies(), "im2col map_gather map_load"},
    {{gathered, OpClass::data_movement}, "gather"},
    {{scattered, OpClass::data_movement, 0, {}, /*in_place=*/true},
     "map_scatter map_store scatter"},
    {elementwise(2), "dequantize_affine quantize_affine"},
    {{image_tiles, OpClass::elementwise}, "winograd.input_transform"},
    {{filter_tiles, OpClass::elementwise}, "winograd.filter_transform"},
    {{result_tiles, OpClass::elementwise}, "winograd.output_transform"},
};

}  // namespace

std::vector<NamedWork> iree_ops() {
  std::vector<NamedWork> rows;
  add_rows(rows, kFamilies, "iree_linalg_ext.");
  return rows;
}

}  // namespace berth::ops::mlir
