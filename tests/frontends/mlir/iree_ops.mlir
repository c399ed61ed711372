// IREE's own ops.
// Four heads of queries for each of two of keys and values; the values lie across.
func.func @attention(%q: tensor<2x4x128x64xf16>, %k: tensor<2x256x64xf16>, %v: tensor<2x32x256xf16>, %s: f16, %o: tensor<2x4x128x32xf16>) -> tensor<2x4x128x32xf16> {
  %0 = "iree_linalg_ext.attention"(%q, %k, %v, %s, %o) <{indexing_maps = [affine_map<(b, g, m, n, k1, k2) -> (b, g, m, k1)>, affine_map<(b, g, m, n, k1, k2) -> (b, k2, k1)>, affine_map<(b, g, m, n, k1, k2) -> (b, n, k2)>, affine_map<(b, g, m, n, k1, k2) -> ()>, affine_map<(b, g, m, n, k1, k2) -> (b, g, m, n)>]}> ({
  ^bb0(%score: f32):
    "iree_linalg_ext.yield"(%score) : (f32) -> ()
  }) : (tensor<2x4x128x64xf16>, tensor<2x256x64xf16>, tensor<2x32x256xf16>, f16, tensor<2x4x128x32xf16>) -> tensor<2x4x128x32xf16>
  return %0 : tensor<2x4x128x32xf16>
}
// 4096 filters of 3 x 3 in tiles of 8 x 8: 2.2 MFLOP.
func.func @winograd(%f: tensor<3x3x64x64xf32>, %o: tensor<8x8x64x64xf32>) -> tensor<8x8x64x64xf32> {
  %0 = "iree_linalg_ext.winograd.filter_transform"(%f, %o) <{output_tile_size = 6 : i64, kernel_size = 3 : i64, kernel_dimensions = array<i64: 0, 1>}> : (tensor<3x3x64x64xf32>, tensor<8x8x64x64xf32>) -> tensor<8x8x64x64xf32>
  return %0 : tensor<8x8x64x64xf32>
}
// An exponential, its norm and a sum at each of 1024 x 1024 points.
func.func @exponentials(%x: tensor<1024x1024xf32>, %m: tensor<1024xf32>, %s: tensor<1024xf32>) -> tensor<1024xf32> {
  %0:2 = "iree_linalg_ext.exp_reduction"(%x, %m, %s) <{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>], operandSegmentSizes = array<i32: 1, 2>}> ({
  ^bb0(%e: f32, %max: f32, %sum: f32):
    %1 = arith.addf %e, %sum : f32
    "iree_linalg_ext.yield"(%max, %1) : (f32, f32) -> ()
  }) : (tensor<1024x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>)
  return %0#1 : tensor<1024xf32>
}
// Three rows of a table that a step fills: it has that memory.
func.func @scatter(%rows: tensor<3x1024xf32>, %at: tensor<3x1xi32>, %zero: f32) -> tensor<4096x1024xf32> {
  %e = tensor.empty() : tensor<4096x1024xf32>
  %t = linalg.fill ins(%zero : f32) outs(%e : tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %0 = "iree_linalg_ext.scatter"(%rows, %at, %t) <{dimension_map = array<i64: 0>, unique_indices = true}> ({
  ^bb0(%new: f32, %old: f32):
    "iree_linalg_ext.yield"(%new) : (f32) -> ()
  }) : (tensor<3x1024xf32>, tensor<3x1xi32>, tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
