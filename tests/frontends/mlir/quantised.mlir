// An add of 64 MiB each.
func.func @main(%x: tensor<8192x8192x!quant.uniform<i8:f32, 0.05>>) -> tensor<8192x8192x!quant.uniform<i8:f32, 0.05>> {
  %0 = "stablehlo.add"(%x, %x) : (tensor<8192x8192x!quant.uniform<i8:f32, 0.05>>, tensor<8192x8192x!quant.uniform<i8:f32, 0.05>>) -> tensor<8192x8192x!quant.uniform<i8:f32, 0.05>>
  return %0 : tensor<8192x8192x!quant.uniform<i8:f32, 0.05>>
}
