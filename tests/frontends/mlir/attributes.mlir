// One op a function, whose work is in its attributes, in the constants that it reads or in its buffers.
func.func @product_on_buffers(%a: memref<512x512xf32>, %b: memref<512x512xf32>, %c: memref<512x512xf32>) {
  linalg.matmul ins(%a, %b : memref<512x512xf32>, memref<512x512xf32>) outs(%c : memref<512x512xf32>)
  return
}
func.func @outer_products(%a: tensor<65536x64xf32>, %b: tensor<65536x64xf32>) -> tensor<65536x64x64xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0]>} : (tensor<65536x64xf32>, tensor<65536x64xf32>) -> tensor<65536x64x64xf32>
  return %0 : tensor<65536x64x64xf32>
}
func.func @einsum(%a: tensor<16x64x32xf32>, %b: tensor<16x32x64xf32>) -> tensor<16x64x64xf32> {
  %0 = "stablehlo.einsum"(%a, %b) {einsum_config = "bmk,bkn->bmn"} : (tensor<16x64x32xf32>, tensor<16x32x64xf32>) -> tensor<16x64x64xf32>
  return %0 : tensor<16x64x64xf32>
}
func.func @transposed(%x: !torch.vtensor<[1,64,32,32],f32>, %w: !torch.vtensor<[64,32,4,4],f32>) -> !torch.vtensor<[1,32,66,66],f32> {
  %n = "torch.constant.none"() : () -> !torch.none
  %t = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %g = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %two = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %z = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %s = "torch.prim.ListConstruct"(%two, %two) : (!torch.int, !torch.int) -> !torch.list<int>
  %p = "torch.prim.ListConstruct"(%z, %z) : (!torch.int, !torch.int) -> !torch.list<int>
  %d = "torch.prim.ListConstruct"(%g, %g) : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = "torch.aten.convolution"(%x, %w, %n, %s, %p, %d, %t, %p, %g) : (!torch.vtensor<[1,64,32,32],f32>, !torch.vtensor<[64,32,4,4],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int) -> !torch.vtensor<[1,32,66,66],f32>
  return %0 : !torch.vtensor<[1,32,66,66],f32>
}
func.func @depthwise(%x: tensor<8x30x30x64xf32>, %w: tensor<3x3x64xf32>, %o: tensor<8x28x28x64xf32>) -> tensor<8x28x28x64xf32> {
  %0 = linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>} ins(%x, %w : tensor<8x30x30x64xf32>, tensor<3x3x64xf32>) outs(%o : tensor<8x28x28x64xf32>) -> tensor<8x28x28x64xf32>
  return %0 : tensor<8x28x28x64xf32>
}
func.func @depthwise_by_groups(%x: tensor<8x30x30x64xf32>, %w: tensor<3x3x1x64xf32>) -> tensor<8x28x28x64xf32> {
  %0 = "stablehlo.convolution"(%x, %w) {window_strides = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 64 : i64, batch_group_count = 1 : i64} : (tensor<8x30x30x64xf32>, tensor<3x3x1x64xf32>) -> tensor<8x28x28x64xf32>
  return %0 : tensor<8x28x28x64xf32>
}
func.func @depthwise_gradient(%x: tensor<64x30x30x8xf32>, %g: tensor<28x28x8x64xf32>) -> tensor<3x3x1x64xf32> {
  %0 = "stablehlo.convolution"(%x, %g) {window_strides = array<i64: 1, 1>, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[0, 1, b, f]>, feature_group_count = 1 : i64, batch_group_count = 64 : i64} : (tensor<64x30x30x8xf32>, tensor<28x28x8x64xf32>) -> tensor<3x3x1x64xf32>
  return %0 : tensor<3x3x1x64xf32>
}
func.func @transform(%x: tensor<64x64x64xcomplex<f32>>) -> tensor<64x64x64xcomplex<f32>> {
  %0 = "stablehlo.fft"(%x) {fft_type = "FFT", fft_length = array<i64: 64, 64>} : (tensor<64x64x64xcomplex<f32>>) -> tensor<64x64x64xcomplex<f32>>
  return %0 : tensor<64x64x64xcomplex<f32>>
}
func.func @transform_in_mhlo(%x: tensor<64x64x64xcomplex<f32>>) -> tensor<64x64x64xcomplex<f32>> {
  %0 = "mhlo.fft"(%x) {fft_type = "FFT", fft_length = dense<64> : tensor<2xi64>} : (tensor<64x64x64xcomplex<f32>>) -> tensor<64x64x64xcomplex<f32>>
  return %0 : tensor<64x64x64xcomplex<f32>>
}
func.func @pool(%x: tensor<8x64x64x64xf32>) -> tensor<8x64x64x64xf32> {
  %0 = "tosa.max_pool2d"(%x) {kernel = array<i64: 7, 7>, pad = array<i64: 3, 3, 3, 3>, stride = array<i64: 1, 1>} : (tensor<8x64x64x64xf32>) -> tensor<8x64x64x64xf32>
  return %0 : tensor<8x64x64x64xf32>
}
func.func @pool_in_torch(%x: !torch.vtensor<[8,64,64,64],f32>) -> !torch.vtensor<[8,64,64,64],f32> {
  %f = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %seven = "torch.constant.int"() {value = 7 : i64} : () -> !torch.int
  %window = "torch.prim.ListConstruct"(%seven) : (!torch.int) -> !torch.list<int>
  %ones = "torch.prim.ListConstruct"(%one, %one) : (!torch.int, !torch.int) -> !torch.list<int>
  %0 = "torch.aten.max_pool2d"(%x, %window, %ones, %ones, %ones, %f) : (!torch.vtensor<[8,64,64,64],f32>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool) -> !torch.vtensor<[8,64,64,64],f32>
  return %0 : !torch.vtensor<[8,64,64,64],f32>
}
func.func @pool_gradient(%x: tensor<8x64x64x64xf32>, %g: tensor<8x32x32x64xf32>, %i: tensor<f32>) -> tensor<8x64x64x64xf32> {
  %0 = "stablehlo.select_and_scatter"(%x, %g, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.compare"(%a, %b) {comparison_direction = "GE"} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    "stablehlo.return"(%1) : (tensor<i1>) -> ()
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%1) : (tensor<f32>) -> ()
  }) {window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>} : (tensor<8x64x64x64xf32>, tensor<8x32x32x64xf32>, tensor<f32>) -> tensor<8x64x64x64xf32>
  return %0 : tensor<8x64x64x64xf32>
}
func.func @running_sum(%x: tensor<256x1024xf32>, %i: tensor<f32>) -> tensor<256x1024xf32> {
  %0 = "stablehlo.reduce_window"(%x, %i) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {padding = dense<[[0, 0], [1023, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 1024>, window_strides = array<i64: 1, 1>} : (tensor<256x1024xf32>, tensor<f32>) -> tensor<256x1024xf32>
  return %0 : tensor<256x1024xf32>
}
func.func @scatter(%x: tensor<50000x256xf32>, %i: tensor<4096x1xi32>, %u: tensor<4096x256xf32>) -> tensor<50000x256xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<50000x256xf32>, tensor<4096x1xi32>, tensor<4096x256xf32>) -> tensor<50000x256xf32>
  return %0 : tensor<50000x256xf32>
}
func.func @scatter_in_mhlo(%x: tensor<50000x256xf32>, %i: tensor<4096x1xi32>, %u: tensor<4096x256xf32>) -> tensor<50000x256xf32> {
  %0 = "mhlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "mhlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "mhlo.return"(%s) : (tensor<f32>) -> ()
  }) {scatter_dimension_numbers = #mhlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<50000x256xf32>, tensor<4096x1xi32>, tensor<4096x256xf32>) -> tensor<50000x256xf32>
  return %0 : tensor<50000x256xf32>
}
func.func @general_product(%a: tensor<512x512xf16>, %b: tensor<512x512xf16>, %c: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<512x512xf16>, tensor<512x512xf16>) outs(%c : tensor<512x512xf32>) {
  ^bb0(%x: f16, %y: f16, %z: f32):
    %1 = arith.extf %x : f16 to f32
    %2 = arith.extf %y : f16 to f32
    %3 = arith.mulf %1, %2 : f32
    %4 = arith.addf %z, %3 : f32
    linalg.yield %4 : f32
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
func.func @general_depthwise(%x: tensor<8x30x30x64xf32>, %w: tensor<3x3x64xf32>, %o: tensor<8x28x28x64xf32>) -> tensor<8x28x28x64xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, h, w, c, p, q) -> (b, h + p, w + q, c)>, affine_map<(b, h, w, c, p, q) -> (p, q, c)>, affine_map<(b, h, w, c, p, q) -> (b, h, w, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%x, %w : tensor<8x30x30x64xf32>, tensor<3x3x64xf32>) outs(%o : tensor<8x28x28x64xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %c, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<8x28x28x64xf32>
  return %0 : tensor<8x28x28x64xf32>
}
func.func @general_convolution(%x: tensor<1x16x16x64xf16>, %w: tensor<3x3x64x32xf16>, %o: tensor<1x7x7x32xf16>) -> tensor<1x7x7x32xf16> {
  %0 = linalg.generic {indexing_maps = [affine_map<(b, h, w, f, p, q, c) -> (b, h * 2 + p, w * 2 + q, c)>, affine_map<(b, h, w, f, p, q, c) -> (p, q, c, f)>, affine_map<(b, h, w, f, p, q, c) -> (b, h, w, f)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]} ins(%x, %w : tensor<1x16x16x64xf16>, tensor<3x3x64x32xf16>) outs(%o : tensor<1x7x7x32xf16>) {
  ^bb0(%a: f16, %b: f16, %d: f16):
    %1 = arith.mulf %a, %b : f16
    %2 = arith.addf %1, %d : f16
    linalg.yield %2 : f16
  } -> tensor<1x7x7x32xf16>
  return %0 : tensor<1x7x7x32xf16>
}
// No product: the sum of greatest numbers.
func.func @general_sum(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>, %c: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b : tensor<512x512xf32>, tensor<512x512xf32>) outs(%c : tensor<512x512xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %1 = arith.maximumf %x, %y : f32
    %2 = arith.addf %z, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
// As iree-import-onnx writes it: a product of 512 x 1024 with the transpose of 256 x 1024, within a range that has no least.
func.func @onnx_in_torch(%x: !torch.vtensor<[512,1024],f32>) -> !torch.vtensor<[512,256],f32> {
  %w = "torch.operator"() <{name = "onnx.Constant"}> {torch.onnx.value = dense<1.0> : tensor<256x1024xf32>} : () -> !torch.vtensor<[256,1024],f32>
  %six = "torch.operator"() <{name = "onnx.Constant"}> {torch.onnx.value = dense<6.0> : tensor<f32>} : () -> !torch.vtensor<[],f32>
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.operator"(%x, %w) <{name = "onnx.Gemm"}> {torch.onnx.transB = 1 : si64} : (!torch.vtensor<[512,1024],f32>, !torch.vtensor<[256,1024],f32>) -> !torch.vtensor<[512,256],f32>
  %1 = "torch.operator"(%0, %none, %six) <{name = "onnx.Clip"}> : (!torch.vtensor<[512,256],f32>, !torch.none, !torch.vtensor<[],f32>) -> !torch.vtensor<[512,256],f32>
  return %1 : !torch.vtensor<[512,256],f32>
}
// Weights in 4 bits with a scale for each column, as they are stored.
func.func @dequantised_product(%a: tensor<512x512xf16>, %b: tensor<512x512xi4>, %s: tensor<512xf16>, %c: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%a, %b, %s : tensor<512x512xf16>, tensor<512x512xi4>, tensor<512xf16>) outs(%c : tensor<512x512xf32>) {
  ^bb0(%x: f16, %y: i4, %scale: f16, %z: f32):
    %1 = arith.sitofp %y : i4 to f16
    %2 = arith.mulf %1, %scale : f16
    %3 = arith.extf %x : f16 to f32
    %4 = arith.extf %2 : f16 to f32
    %5 = arith.mulf %3, %4 : f32
    %6 = arith.addf %z, %5 : f32
    linalg.yield %6 : f32
  } -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}
// 2 x 4096 x 256 x 64 in eight groups, and the gradient of the matrices.
func.func @ragged(%x: tensor<4096x256xf32>, %w: tensor<8x256x64xf32>, %g: tensor<8xi32>) -> tensor<4096x64xf32> {
  %0 = "chlo.ragged_dot"(%x, %w, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4096x256xf32>, tensor<8x256x64xf32>, tensor<8xi32>) -> tensor<4096x64xf32>
  return %0 : tensor<4096x64xf32>
}
func.func @ragged_gradient(%x: tensor<4096x256xf32>, %y: tensor<4096x64xf32>, %g: tensor<8xi32>) -> tensor<8x256x64xf32> {
  %0 = "chlo.ragged_dot"(%x, %y, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [0]>}> : (tensor<4096x256xf32>, tensor<4096x64xf32>, tensor<8xi32>) -> tensor<8x256x64xf32>
  return %0 : tensor<8x256x64xf32>
}
