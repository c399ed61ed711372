// Dialects that mlir-opt knows, an op with a region, and one whose device is set.
func.func @main(%x: tensor<256x256xf32>, %w: tensor<256x256xf32>, %go: i1) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<256x256xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<256x256xf32>) -> tensor<256x256xf32>
  %y = linalg.matmul {berth.device = "gpu:1"} ins(%x, %w : tensor<256x256xf32>, tensor<256x256xf32>) outs(%init : tensor<256x256xf32>) -> tensor<256x256xf32>
  %z = scf.if %go -> tensor<256x256xf32> {
    %t = math.tanh %y : tensor<256x256xf32>
    scf.yield %t : tensor<256x256xf32>
  } else {
    scf.yield %y : tensor<256x256xf32>
  }
  %sum = arith.addf %z, %x : tensor<256x256xf32>
  return %sum : tensor<256x256xf32>
}
