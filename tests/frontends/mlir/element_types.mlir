// Element types that Berth has no name for have bits: a tensor is 1024 x 1024 of them.
func.func @of_48_bits(%x: tensor<1024x1024xi48>) -> tensor<1024x1024xi48> {
  %0 = "stablehlo.negate"(%x) : (tensor<1024x1024xi48>) -> tensor<1024x1024xi48>
  return %0 : tensor<1024x1024xi48>
}
func.func @of_2_bits(%x: tensor<1024x1024xi2>) -> tensor<1024x1024xi2> {
  %0 = "stablehlo.not"(%x) : (tensor<1024x1024xi2>) -> tensor<1024x1024xi2>
  return %0 : tensor<1024x1024xi2>
}
func.func @of_half_complex(%x: tensor<1024x1024xcomplex<f16>>) -> tensor<1024x1024xcomplex<f16>> {
  %0 = "stablehlo.negate"(%x) : (tensor<1024x1024xcomplex<f16>>) -> tensor<1024x1024xcomplex<f16>>
  return %0 : tensor<1024x1024xcomplex<f16>>
}
func.func @of_vectors(%x: tensor<1024x1024xvector<4xf32>>) -> tensor<1024x1024xvector<4xf32>> {
  %0 = "test.same"(%x) : (tensor<1024x1024xvector<4xf32>>) -> tensor<1024x1024xvector<4xf32>>
  return %0 : tensor<1024x1024xvector<4xf32>>
}
