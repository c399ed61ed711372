// A module that does not say how many partitions it has.
func.func @manual(%x: tensor<1024x256xf32>, %w: tensor<256x512xf32>) -> tensor<1024x512xf32> {
  %0 = "stablehlo.custom_call"(%x) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %1 = "stablehlo.custom_call"(%0) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<1024x256xf32>) -> tensor<128x256xf32>
  %2 = "stablehlo.custom_call"(%w) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{replicated}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %3 = "stablehlo.custom_call"(%2) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %4 = func.call @shmap_body(%1, %3) : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  %5 = "stablehlo.custom_call"(%4) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<128x512xf32>) -> tensor<128x512xf32>
  %6 = "stablehlo.custom_call"(%5) {api_version = 1 : i32, call_target_name = "SPMDShardToFullShape", has_side_effect = false, mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<128x512xf32>) -> tensor<1024x512xf32>
  return %6 : tensor<1024x512xf32>
}
func.func private @shmap_body(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>) -> tensor<128x512xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  return %0 : tensor<128x512xf32>
}
