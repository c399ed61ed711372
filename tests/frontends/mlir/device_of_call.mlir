// A device that a call asks for holds for the ops that it leads to and that ask for nothing.
func.func @main(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = call @outer(%x) {berth.device = "gpu:1"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
func.func private @outer(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = call @inner(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = math.tanh %0 {berth.device = "gpu:0"} : tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
}
func.func private @inner(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = math.exp %x : tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
