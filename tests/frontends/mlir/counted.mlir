// Ten times a hundred products; each takes some tens of microseconds.
func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %x) -> tensor<256x256xf32> {
    %n = affine.for %j = 0 to 300 step 3 iter_args(%b = %a) -> tensor<256x256xf32> {
      %m = linalg.matmul ins(%b, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%b : tensor<256x256xf32>) -> tensor<256x256xf32>
      affine.yield %m : tensor<256x256xf32>
    }
    scf.yield %n : tensor<256x256xf32>
  }
  return %r : tensor<256x256xf32>
}
