func.func @kept(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "stablehlo.exponential"(%x) {d = 1 : i64} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.tanh"(%0) {d = 2 : i64} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
}
func.func @unknown(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "stablehlo.tanh"(%x) {d = 3 : i64} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
