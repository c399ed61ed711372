// Products of 64 x 256 x 256, 8.4 MFLOP, whose first size the types leave open.
func.func @argument(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %0 = "stablehlo.dot"(%x, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @listed(%x: !torch.vtensor<[?,256],f32>, %w: !torch.vtensor<[256,256],f32>) -> !torch.vtensor<[?,256],f32> {
  %0 = "torch.aten.mm"(%x, %w) : (!torch.vtensor<[?,256],f32>, !torch.vtensor<[256,256],f32>) -> !torch.vtensor<[?,256],f32>
  return %0 : !torch.vtensor<[?,256],f32>
}
// The type has a bound.
func.func @bounded(%x: tensor<?x256xf32, #stablehlo.bounds<64, ?>>, %w: tensor<256x256xf32>) -> tensor<?x256xf32, #stablehlo.bounds<64, ?>> {
  %0 = "stablehlo.dot"(%x, %w) : (tensor<?x256xf32, #stablehlo.bounds<64, ?>>, tensor<256x256xf32>) -> tensor<?x256xf32, #stablehlo.bounds<64, ?>>
  return %0 : tensor<?x256xf32, #stablehlo.bounds<64, ?>>
}
