// Two products in a function that a composite stands for.
func.func private @twice(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = "stablehlo.dot_general"(%x, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = "stablehlo.dot_general"(%0, %x) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1 : tensor<256x256xf32>
}
func.func @at_top(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %0 = "stablehlo.composite"(%x) {composite_attributes = {}, decomposition = @twice, name = "my.twice"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
  return %0 : tensor<256x256xf32>
}
func.func @within(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ten = arith.constant 10 : index
  %0 = scf.for %i = %zero to %ten step %one iter_args(%y = %x) -> (tensor<256x256xf32>) {
    %1 = "stablehlo.composite"(%y) {composite_attributes = {}, decomposition = @twice, name = "my.twice"} : (tensor<256x256xf32>) -> tensor<256x256xf32>
    scf.yield %1 : tensor<256x256xf32>
  }
  return %0 : tensor<256x256xf32>
}
