// Bytes that ops move.
// Their regions say what happens at every element.
func.func @pad(%x: tensor<4096x1022xf32>) -> tensor<4096x1024xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4096x1022xf32> to tensor<4096x1024xf32>
  return %p : tensor<4096x1024xf32>
}
func.func @generate() -> tensor<4096x1024xf32> {
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c = arith.index_cast %i : index to i32
    %f = arith.sitofp %c : i32 to f32
    tensor.yield %f : f32
  } : tensor<4096x1024xf32>
  return %g : tensor<4096x1024xf32>
}
