// Both entries would have what they call beside them.
func.func @first(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %z = "x.pinned"(%x) {berth.device = "gpu:1"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = call @helper(%z) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
func.func @second(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %z = "x.pinned"(%x) {berth.device = "gpu:0"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = call @helper(%z) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
func.func private @helper(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %0 = linalg.matmul ins(%x, %x : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
