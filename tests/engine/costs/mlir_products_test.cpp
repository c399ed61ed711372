// Products, transforms and ops on buffers of MLIR's dialects.
#include "mlir_op.h"

namespace berth::test {
namespace {

TEST_CASE("every contraction is as many products as its shapes say") {
  const struct {
    std::string type;
    std::vector<Shape> inputs;
    Shape output;
    Products products;
    std::vector<std::pair<std::string, Numbers>> attributes = {};
  } cases[] = {
      {"linalg.dot", {{32}, {32}}, {}, {1, 1, 32, 1}},
      {"linalg.matvec", {{16, 32}, {32}}, {16}, {16, 1, 32, 1}},
      {"linalg.vecmat", {{32}, {32, 64}}, {64}, {1, 64, 32, 1}},
      {"linalg.batch_matvec", {{8, 16, 32}, {8, 32}}, {8, 16}, {16, 1, 32, 8}},
      {"linalg.batch_vecmat", {{8, 32}, {8, 32, 64}}, {8, 64}, {1, 64, 32, 8}},
      {"linalg.matmul", {{16, 32}, {32, 64}}, {16, 64}, {16, 64, 32, 1}},
      {"linalg.matmul_transpose_a", {{32, 16}, {32, 64}}, {16, 64}, {16, 64, 32, 1}},
      {"linalg.matmul_transpose_b", {{16, 32}, {64, 32}}, {16, 64}, {16, 64, 32, 1}},
      {"linalg.batch_matmul", {{8, 16, 32}, {8, 32, 64}}, {8, 16, 64}, {16, 64, 32, 8}},
      {"linalg.batch_matmul_transpose_a", {{8, 32, 16}, {8, 32, 64}}, {8, 16, 64}, {16, 64, 32, 8}},
      {"linalg.batch_matmul_transpose_b", {{8, 16, 32}, {8, 64, 32}}, {8, 16, 64}, {16, 64, 32, 8}},
      {"linalg.batch_reduce_matmul", {{8, 16, 32}, {8, 32, 64}}, {16, 64}, {16, 64, 256, 1}},
      {"linalg.quantized_matmul", {{16, 32}, {32, 64}, {}, {}}, {16, 64}, {16, 64, 32, 1}},
      {"linalg.quantized_batch_matmul",
       {{8, 16, 32}, {8, 32, 64}, {}, {}},
       {8, 16, 64},
       {16, 64, 32, 8}},
      {"linalg.mmt4d", {{2, 4, 8, 16}, {3, 4, 5, 16}}, {2, 3, 8, 5}, {16, 15, 64, 1}},
      {"linalg.batch_mmt4d",
       {{7, 2, 4, 8, 16}, {7, 3, 4, 5, 16}},
       {7, 2, 3, 8, 5},
       {16, 15, 64, 7}},
      // A general product: groups, columns, channels, window.
      {"linalg.generic",
       {{8, 16, 32}, {8, 32, 64}, {8, 16, 64}},
       {8, 16, 64},
       {16, 64, 32, 8},
       {{"product", {8, 64, 32, 1}}}},
      // Maps that transpose the left.
      {"linalg.matmul", {{32, 16}, {32, 64}}, {16, 64}, {16, 64, 32, 1}, {{"inner", {32}}}},
      {"torch.aten.addbmm", {{16, 64}, {8, 16, 32}, {8, 32, 64}}, {16, 64}, {16, 64, 256, 1}},
      {"torch.aten.baddbmm", {{8, 16, 64}, {8, 16, 32}, {8, 32, 64}}, {8, 16, 64}, {16, 64, 32, 8}},
      {"torch.aten.addmv", {{16}, {16, 32}, {32}}, {16}, {16, 1, 32, 1}},
      {"stablehlo.dot", {{32}, {32, 64}}, {64}, {1, 64, 32, 1}},
      {"stablehlo.dot_general",
       {{8, 16, 32}, {8, 32, 64}},
       {8, 16, 64},
       {16, 64, 32, 8},
       {{"contracting", {2}}, {"batching", {0}}}},
      // Nothing is summed up: outer products, of each batch.
      {"stablehlo.dot_general",
       {{8, 16}, {8, 64}},
       {8, 16, 64},
       {16, 64, 1, 8},
       {{"batching", {0}}}},
      {"stablehlo.dot_general", {{16}, {64}}, {16, 64}, {16, 64, 1, 1}},
  };
  for (const auto& each : cases) {
    CAPTURE(each.type);
    check_products(work_of({each.type, each.inputs, each.output, each.attributes, 0, {}}),
                   each.products);
  }
}

TEST_CASE("groups of rows meet a matrix each, and groups of what is summed up give one each") {
  check_products(work_of({"chlo.ragged_dot",
                          {{64, 16}, {8, 16, 32}, {8}},
                          {64, 32},
                          {{"contracting", {1}}},
                          0,
                          {}}),
                 {64.0 / 8, 32, 16, 8});
  check_products(work_of({"chlo.ragged_dot",
                          {{64, 16}, {64, 32}, {8}},
                          {8, 16, 32},
                          {{"contracting", {0}}, {"ragged_inner", {1}}},
                          0,
                          {}}),
                 {16, 32, 64.0 / 8, 8});
}

TEST_CASE("an einsum is counted by its equation") {
  GraphBuilder builder("g", "mlir");
  const OpId op = builder.add_op("op", "stablehlo.einsum");
  for (const Shape& input : {Shape{8, 16, 32}, Shape{8, 32, 64}}) {
    builder.add_input(op, builder.add_parameter(f32(input)));
  }
  builder.add_output(op, f32({8, 16, 64}));
  builder.set_attribute(op, "equation", std::string("bmk,bkn->bmn"));
  check_products(op_work(*builder.build(), op), {16, 64, 32, 8});
}

TEST_CASE("an op of linalg costs on buffers what it costs on tensors") {
  const Case cases[] = {
      {"linalg.matmul", {{16, 32}, {32, 64}, {16, 64}}, {16, 64}, {}, 0, {}},
      {"linalg.vecmat", {{32}, {32, 64}, {64}}, {64}, {}, 0, {}},
      {"linalg.mmt4d", {{2, 4, 8, 16}, {3, 4, 5, 16}, {2, 3, 8, 5}}, {2, 3, 8, 5}, {}, 0, {}},
      {"linalg.batch_reduce_matmul", {{4, 8, 16}, {4, 16, 32}, {8, 32}}, {8, 32}, {}, 0, {}},
      {"linalg.conv_2d_nhwc_hwcf",
       {{1, 10, 10, 3}, {3, 3, 3, 8}, {1, 8, 8, 8}},
       {1, 8, 8, 8},
       {},
       0,
       {}},
      {"linalg.depthwise_conv_2d_nhwc_hwc",
       {{1, 10, 10, 8}, {3, 3, 8}, {1, 8, 8, 8}},
       {1, 8, 8, 8},
       {},
       0,
       {}},
      {"linalg.pooling_nhwc_max", {{1, 8, 8, 4}, {2, 2}, {1, 4, 4, 4}}, {1, 4, 4, 4}, {}, 0, {}},
      {"linalg.add", {{4, 5}, {4, 5}, {4, 5}}, {4, 5}, {}, 0, {}},
      {"linalg.exp", {{4, 5}, {4, 5}}, {4, 5}, {}, 0, {}},
      {"linalg.softmax", {{4, 5}, {4, 5}}, {4, 5}, {}, 0, {}},
      {"linalg.transpose", {{4, 5}, {5, 4}}, {5, 4}, {}, 0, {}},
      {"linalg.fill", {{}, {4, 5}}, {4, 5}, {}, 0, {}},
      {"linalg.generic", {{4, 5}, {4, 5}}, {4, 5}, {{"points", {20}}, {"body", {2}}}, 0, {}},
      {"linalg.map", {{4, 5}, {4, 5}}, {4, 5}, {}, 0, {}},
      {"linalg.reduce", {{4, 5}, {4}}, {4}, {{"points", {20}}, {"body", {1}}}, 0, {}},
  };
  for (const Case& each : cases) {
    CAPTURE(each.type);
    const Work on_tensors = work_of(each), on_buffers = work_of(each, true);
    CHECK(on_tensors.bytes > 0);
    CHECK(on_buffers.flops == on_tensors.flops);
    CHECK(on_buffers.bytes == on_tensors.bytes);
    CHECK(on_buffers.op_class == on_tensors.op_class);
    CHECK(on_buffers.products.columns == on_tensors.products.columns);
  }
}

TEST_CASE("transforms count the points of all their dimensions, of real numbers half") {
  const Case complex = {
      "stablehlo.fft", {{64, 64, 64}}, {64, 64, 64}, {{"fft_length", {64, 64}}}, 0, {}};
  const double whole = 5.0 * 64 * 4096 * 12;
  CHECK(work_of(complex).flops == doctest::Approx(whole));
  const Case real = {
      "stablehlo.fft", {{64, 64, 64}}, {64, 64, 33}, {{"fft_length", {64, 64}}}, 0, {}};
  CHECK(work_of(real, false, DType::c64).flops == doctest::Approx(whole / 2));
  const Case image = {"tosa.fft2d", {{64, 64, 64}, {64, 64, 64}}, {64, 64, 64}, {}, 0, {}};
  CHECK(work_of(image).flops == doctest::Approx(whole));
  const Case real_image = {"tosa.rfft2d", {{64, 64, 64}}, {64, 64, 33}, {}, 0, {}};
  CHECK(work_of(real_image).flops == doctest::Approx(whole / 2));
}

TEST_CASE("CHLO's ops cost what the same arithmetic costs elsewhere") {
  const auto flops = [](const std::string& type) {
    return work_of({type, {{4, 5}}, {4, 5}, {}, 0, {}}).flops;
  };
  CHECK(flops("chlo.square") == flops("linalg.square"));
  CHECK(flops("chlo.broadcast_next_after") == flops("chlo.next_after"));
  CHECK(flops("chlo.broadcast_zeta") == flops("chlo.zeta"));
  CHECK(flops("mhlo.erf") == flops("chlo.erf"));
}

}  // namespace
}  // namespace berth::test
