// Work of MLIR's ops, from shapes and from what an importer reads of their attributes.
#include <doctest/doctest.h>

#include <string>

#include "mlir_op.h"

namespace berth::test {
namespace {

TEST_CASE("work rules of MLIR's ops") {
  const std::vector<Case> cases = {
      {"mhlo.dot_general",
       {{8, 16, 32}, {8, 32, 64}},
       {8, 16, 64},
       {{"contracting", {2}}},
       2.0 * 8 * 16 * 32 * 64,
       OpClass::matmul},
      {"stablehlo.einsum", {{16, 32}, {32, 64}}, {16, 64}, {}, 2.0 * 16 * 32 * 64, OpClass::matmul},
      {"linalg.mmt4d",
       {{2, 4, 8, 16}, {3, 4, 5, 16}},
       {2, 3, 8, 5},
       {},
       2.0 * (2 * 8) * (3 * 5) * (4 * 16),
       OpClass::matmul},
      {"linalg.batch_reduce_matmul",
       {{4, 8, 16}, {4, 16, 32}},
       {8, 32},
       {},
       2.0 * 4 * 8 * 16 * 32,
       OpClass::matmul},
      {"linalg.quantized_matmul",
       {{4, 8}, {8, 16}},
       {4, 16},
       {},
       2.0 * 4 * 8 * 16,
       OpClass::matmul},
      {"stablehlo.triangular_solve", {{8, 8}, {8, 4}}, {8, 4}, {}, 8.0 * 8 * 4, OpClass::matmul},
      {"stablehlo.fft", {{4, 16}}, {4, 16}, {}, 5.0 * 4 * 16 * 4, OpClass::other},
      {"chlo.erf", {{4, 16}}, {4, 16}, {}, 4.0 * 16 * 10, OpClass::elementwise},
      {"chlo.broadcast_add", {{4, 16}, {16}}, {4, 16}, {}, 4.0 * 16, OpClass::elementwise},
      {"mhlo.broadcast_in_dim", {{16}}, {4, 16}, {}, 0, OpClass::data_movement},
      {"tensor.pad", {{4, 16}}, {6, 18}, {}, 0, OpClass::data_movement},
      {"tensor.reshape", {{4, 16}}, {64}, {}, 0, OpClass::none},
      {"tosa.max_pool2d", {{1, 8, 8, 4}}, {1, 4, 4, 4}, {}, 8.0 * 8 * 4, OpClass::pooling},
      {"tosa.rescale", {{4, 16}}, {4, 16}, {}, 4.0 * 16, OpClass::elementwise},
      {"stablehlo.dot_general",
       {{8, 16, 32}, {8, 32, 64}},
       {8, 16, 64},
       {{"contracting", {2}}},
       2.0 * 8 * 16 * 32 * 64,
       OpClass::matmul},
      // Without its attribute: exact where there are no batch dimensions.
      {"stablehlo.dot_general",
       {{16, 32}, {32, 64}},
       {16, 64},
       {},
       2.0 * 16 * 32 * 64,
       OpClass::matmul},
      {"linalg.matmul",
       {{16, 32}, {32, 64}, {16, 64}},
       {16, 64},
       {},
       2.0 * 16 * 32 * 64,
       OpClass::matmul},
      {"linalg.matmul_transpose_a",
       {{32, 16}, {32, 64}},
       {16, 64},
       {},
       2.0 * 16 * 32 * 64,
       OpClass::matmul},
      {"tosa.matmul",
       {{2, 16, 32}, {2, 32, 64}},
       {2, 16, 64},
       {},
       2.0 * 2 * 16 * 32 * 64,
       OpClass::matmul},
      {"linalg.conv_2d_nchw_fchw",
       {{1, 3, 10, 10}, {8, 3, 3, 3}},
       {1, 8, 8, 8},
       {},
       2.0 * 8 * 8 * 8 * 27,
       OpClass::convolution},
      {"tosa.conv2d",
       {{1, 10, 10, 3}, {8, 3, 3, 3}, {8}},
       {1, 8, 8, 8},
       {},
       2.0 * 8 * 8 * 8 * 27,
       OpClass::convolution},
      {"stablehlo.convolution",
       {{1, 10, 10, 3}, {3, 3, 3, 8}},
       {1, 8, 8, 8},
       {{"output_features", {3}}},
       2.0 * 8 * 8 * 8 * 27,
       OpClass::convolution},
      // A gradient's: of four taps three meet zeros between what it spreads.
      {"stablehlo.convolution",
       {{1, 5, 5, 3}, {3, 3, 3, 8}},
       {1, 10, 10, 8},
       {{"output_features", {3}}, {"lhs_dilation", {2, 2}}},
       2.0 * 10 * 10 * 8 * 27 / 4,
       OpClass::convolution},
      {"stablehlo.add", {{4, 5}, {4, 5}}, {4, 5}, {}, 20, OpClass::elementwise},
      {"stablehlo.tanh", {{4, 5}}, {4, 5}, {}, 200, OpClass::elementwise},
      {"math.exp", {{4, 5}}, {4, 5}, {}, 200, OpClass::elementwise},
      {"arith.mulf", {{4, 5}, {4, 5}}, {4, 5}, {}, 20, OpClass::elementwise},
      {"stablehlo.reduce",
       {{4, 5}},
       {4},
       {{"points", {20}}, {"body", {1}}},
       20,
       OpClass::reduction},
      {"linalg.generic",
       {{4, 6}, {6, 5}},
       {4, 5},
       {{"points", {120}}, {"body", {2}}},
       240,
       OpClass::elementwise},
      {"stablehlo.reshape", {{4, 5}}, {20}, {}, 0, OpClass::none},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    const Work work = work_of(each);
    CHECK(work.flops == doctest::Approx(each.flops));
    CHECK(work.op_class == each.op_class);
  }
}

TEST_CASE("ops of imported models cost in MLIR what they cost in their own formats") {
  const auto same = [](const std::string& dialect, const std::string& type, const Case& in_mlir) {
    GraphBuilder builder("g", dialect);
    const OpId op = builder.add_op("op", type);
    for (const Shape& input : in_mlir.inputs) {
      builder.add_input(op, builder.add_parameter(f32(input)));
    }
    builder.add_output(op, f32(in_mlir.output));
    for (const auto& [name, numbers] : in_mlir.attributes) builder.set_attribute(op, name, numbers);
    const Work own = op_work(*builder.build(), op), work = work_of(in_mlir);
    CHECK(work.flops == own.flops);
    CHECK(work.bytes == own.bytes);
    CHECK(work.op_class == own.op_class);
    CHECK(work.flops == doctest::Approx(in_mlir.flops));
  };
  const Case conv = {"onnx.Conv",          {{1, 3, 10, 10}, {8, 3, 3, 3}},
                     {1, 8, 8, 8},         {{"group", {1}}, {"kernel_shape", {3, 3}}},
                     2.0 * 8 * 8 * 8 * 27, OpClass::convolution};
  same("onnx", "Conv", conv);
  same("onnx", "Gemm",
       {"onnx.Gemm",
        {{32, 16}, {32, 64}},
        {16, 64},
        {{"transA", {1}}},
        2.0 * 16 * 32 * 64,
        OpClass::matmul});
  same("onnx", "MaxPool",
       {"onnx.MaxPoolSingleOut",
        {{1, 4, 8, 8}},
        {1, 4, 4, 4},
        {{"kernel_shape", {2, 2}}},
        4.0 * 4 * 4 * 4,
        OpClass::pooling});
  same("onnx", "Squeeze", {"onnx.SqueezeV11", {{4, 1}}, {4}, {}, 0, OpClass::none});
  same("tf", "MatMul",
       {"tf.MatMul",
        {{32, 16}, {32, 64}},
        {16, 64},
        {{"transpose_a", {1}}},
        2.0 * 16 * 32 * 64,
        OpClass::matmul});
}

TEST_CASE("torch-mlir's ops cost what linalg's do, whatever their overload") {
  const Case cases[] = {
      {"torch.aten.mm", {{16, 32}, {32, 64}}, {16, 64}, {}, 2.0 * 16 * 32 * 64, OpClass::matmul},
      {"torch.aten.addmm",
       {{64}, {16, 32}, {32, 64}},
       {16, 64},
       {},
       2.0 * 16 * 32 * 64,
       OpClass::matmul},
      {"torch.aten.linear",
       {{2, 16, 32}, {64, 32}, {64}},
       {2, 16, 64},
       {},
       2.0 * 2 * 16 * 32 * 64,
       OpClass::matmul},
      {"torch.aten.convolution",
       {{1, 3, 10, 10}, {8, 3, 3, 3}},
       {1, 8, 8, 8},
       {},
       2.0 * 8 * 8 * 8 * 27,
       OpClass::convolution},
      {"torch.aten.conv_transpose2d.input",
       {{1, 3, 4, 4}, {3, 8, 2, 2}},
       {1, 8, 8, 8},
       {},
       2.0 * 3 * 4 * 4 * 8 * 2 * 2,
       OpClass::convolution},
      {"torch.aten.scaled_dot_product_attention",
       {{2, 4, 16, 8}, {2, 4, 32, 8}, {2, 4, 32, 8}},
       {2, 4, 16, 8},
       {},
       (2.0 * (8 + 8) + 15) * 2 * 4 * 16 * 32,
       OpClass::attention},
      {"torch.aten.add_.Tensor", {{4, 5}, {4, 5}}, {4, 5}, {}, 20, OpClass::elementwise},
      {"torch.aten.mul.Scalar", {{4, 5}}, {4, 5}, {}, 20, OpClass::elementwise},
      {"torch.aten.gelu", {{4, 5}}, {4, 5}, {}, 200, OpClass::elementwise},
      {"torch.aten.mean.dim", {{4, 5}}, {4}, {}, 20, OpClass::reduction},
      {"torch.aten.view", {{4, 5}}, {20}, {}, 0, OpClass::none},
      {"torch.constant.int", {}, {}, {}, 0, OpClass::none},
      {"torch.prim.ListConstruct", {{}}, {}, {}, 0, OpClass::none},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    const Work work = work_of(each);
    CHECK(work.flops == doctest::Approx(each.flops));
    CHECK(work.op_class == each.op_class);
  }
}

TEST_CASE("an update moves what it changes, and all of a tensor that it copies first") {
  const double all = 4.0 * 64 * 16, part = 4.0 * 2 * 16, index = 4;
  const struct {
    Case op;
    double moved;
  } cases[] = {
      {{"stablehlo.dynamic_update_slice", {{64, 16}, {2, 16}, {}, {}}, {64, 16}, {}, 0, {}},
       2 * part + 2 * index},
      {{"tensor.insert_slice", {{2, 16}, {64, 16}}, {64, 16}, {}, 0, {}}, 2 * part},
      {{"tensor.insert", {{}, {64, 16}, {}, {}}, {64, 16}, {}, 0, {}}, 2 * 4 + 2 * index},
      {{"tensor.scatter", {{2, 16}, {64, 16}, {2, 1}}, {64, 16}, {}, 0, {}}, 2 * part + 2 * index},
      {{"tosa.scatter", {{1, 64, 16}, {1, 2}, {1, 2, 16}}, {1, 64, 16}, {}, 0, {}},
       2 * part + 2 * index},
      // Two tensors at the same indices: what is there is read too.
      {{"stablehlo.scatter", {{64, 16}, {64, 16}, {2, 1}, {2, 16}, {2, 16}}, {64, 16}, {}, 0, {}},
       2 * 3 * part + 2 * index},
  };
  for (const auto& each : cases) {
    CAPTURE(each.op.type);
    CHECK(work_of(each.op).bytes == doctest::Approx(each.moved));
    Case copies = each.op;
    copies.attributes = {{"copies", {1}}};
    const int tensors = each.op.type == "stablehlo.scatter" ? 2 : 1;
    CHECK(work_of(copies).bytes == doctest::Approx(each.moved + 2 * all * tensors));
  }
}

TEST_CASE("an attention of torch-mlir's holds its scores while it runs") {
  const Case attention = {"torch.aten.scaled_dot_product_attention",
                          {{2, 4, 16, 8}, {2, 4, 32, 8}, {2, 4, 32, 8}},
                          {2, 4, 16, 8},
                          {},
                          0,
                          OpClass::attention};
  Case fused = attention;
  fused.type = "iree_linalg_ext.attention";  // with a scale, and where the result goes
  fused.inputs.insert(fused.inputs.end(), {{}, {2, 4, 16, 8}});
  CHECK(work_of(fused).flops == work_of(attention).flops);
  CHECK(work_of(fused).op_class == OpClass::attention);
  CHECK(work_of(fused).workspace_bytes == 0);
  CHECK(work_of(attention).workspace_bytes == 2 * 4 * 16 * 32 * 4);
  CHECK(work_of(attention, false, DType::f16).workspace_bytes == 2 * 4 * 16 * 32 * 2);
}

TEST_CASE("IREE's own ops have the work that they stand for") {
  // A convolution of 3 x 3 in tiles of 8 x 8, of which 6 x 6 are results.
  const Shape image = {2, 24, 24, 4}, tiles = {8, 8, 2, 4, 4, 4};
  const double tile_count = 2 * 4 * 4 * 4;
  const std::pair<std::string, Numbers> side = {"kernel_size", {3}};
  const Case cases[] = {
      {"iree_linalg_ext.attention",
       {{2, 4, 16, 8}, {2, 32, 8}, {2, 6, 32}, {}, {2, 4, 16, 6}},
       {2, 4, 16, 6},
       {{"attention", {2 * 4 * 16, 32, 8, 6}}},
       (2.0 * (8 + 6) + 15) * 2 * 4 * 16 * 32,
       OpClass::attention},
      {"iree_linalg_ext.winograd.input_transform",
       {image, tiles},
       tiles,
       {side},
       tile_count * 2 * (2 * 8 * 8 * 8),
       OpClass::elementwise},
      {"iree_linalg_ext.winograd.filter_transform",
       {{3, 3, 4, 5}, {8, 8, 4, 5}},
       {8, 8, 4, 5},
       {side},
       4 * 5 * 2.0 * (8 * 3 * 3 + 8 * 3 * 8),
       OpClass::elementwise},
      {"iree_linalg_ext.winograd.output_transform",
       {tiles, image},
       image,
       {side},
       tile_count * 2 * (6 * 8 * 8 + 6 * 8 * 6),
       OpClass::elementwise},
      {"iree_linalg_ext.scan",
       {{4, 16}, {4, 16}, {4}},
       {4, 16},
       {{"points", {64}}, {"body", {1}}},
       64,
       OpClass::reduction},
      {"iree_linalg_ext.exp_reduction",
       {{4, 16}, {4}, {4}},
       {4},
       {{"points", {64}}, {"body", {1}}},
       64.0 * (1 + 2 * 10),
       OpClass::reduction},
      {"iree_linalg_ext.fft", {{}, {4, 16}, {4, 16}}, {4, 16}, {}, 5.0 * 64, OpClass::other},
      {"iree_linalg_ext.im2col", {{1, 6, 6, 4}, {16, 36}}, {16, 36}, {}, 0, OpClass::data_movement},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    const Work work = work_of(each);
    CHECK(work.flops == doctest::Approx(each.flops));
    CHECK(work.op_class == each.op_class);
  }
  // Of 1000 numbers in each line 4 are kept, whichever axis a line is along.
  Case selection = {"iree_linalg_ext.topk", {{1000, 8}, {4, 8}, {4, 8}}, {4, 8}, {}, 0, {}};
  selection.attributes = {{"dimension", {0}}};
  const double along_first = work_of(selection).flops;
  selection.inputs = {{8, 1000}, {8, 4}, {8, 4}};
  selection.output = {8, 4};
  selection.attributes = {{"dimension", {1}}};
  CHECK(work_of(selection).flops == along_first);
  CHECK(along_first > 8 * 1000);
}

TEST_CASE("what is gathered and scattered by IREE's ops is a part of a table") {
  const double table = 4.0 * 5000 * 16, part = 4.0 * 3 * 16, indices = 4 * 3;
  Case scatter = {"iree_linalg_ext.scatter", {{3, 16}, {3, 1}, {5000, 16}}, {5000, 16}, {}, 0, {}};
  CHECK(work_of(scatter).bytes == doctest::Approx(2 * part + indices));
  scatter.attributes = {{"copies", {1}}};
  CHECK(work_of(scatter).bytes == doctest::Approx(2 * part + indices + 2 * table));
  const Case gather = {"iree_linalg_ext.gather", {{5000, 16}, {3}, {3, 16}}, {3, 16}, {}, 0, {}};
  CHECK(work_of(gather).bytes == doctest::Approx(2 * part + indices));
}

TEST_CASE("collectives move what they take and give, and add up what they reduce") {
  const double shard = 4.0 * 8 * 16;
  Case each = {"stablehlo.all_gather", {{8, 16}}, {32, 16}, {}, 0, OpClass::data_movement};
  CHECK(work_of(each).bytes == 5 * shard);
  CHECK(work_of(each).flops == 0);
  for (const char* type : {"stablehlo.all_to_all", "mhlo.collective_permute"}) {
    each = {type, {{8, 16}}, {8, 16}, {}, 0, OpClass::data_movement};
    CHECK(work_of(each).bytes == 2 * shard);
    CHECK(work_of(each).op_class == OpClass::data_movement);
  }
  each = {"stablehlo.reduce_scatter", {{8, 16}}, {2, 16}, {{"body", {1}}}, 0, {}};
  CHECK(work_of(each).bytes == 1.25 * shard);
  CHECK(work_of(each).flops == 8 * 16);
}

TEST_CASE("a body that picks elements of a table reads those alone") {
  // An id for each of 3 rows of 16; the body picks two elements of a table at every point.
  Case lookup = {"linalg.generic", {{3}, {3, 16}, {5000, 16}},
                 {3, 16},          {{"points", {48}}, {"body", {4}}, {"picked", {2, 2}}},
                 4 * 48,           OpClass::elementwise};
  const double others = 4 * (3 + 2 * 48);
  CHECK(work_of(lookup).flops == 4 * 48);
  CHECK(work_of(lookup).bytes == others + 2 * 48 * 4);
  lookup.inputs[2] = {5, 16};  // all of it, once
  CHECK(work_of(lookup).bytes == others + 5 * 16 * 4);
}

}  // namespace
}  // namespace berth::test
