// Annotations in both forms that JAX writes, around one product.
func.func @main(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0 = "stablehlo.custom_call"(%x) {call_target_name = "Sharding", mhlo.sharding = "{replicated}"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.dot_general"(%0, %w) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %2 = "sdy.sharding_constraint"(%1) {sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  "sdy.sharding_group"(%2) {group_id = 0 : i64} : (tensor<1024x1024xf32>) -> ()
  return %2 : tensor<1024x1024xf32>
}
