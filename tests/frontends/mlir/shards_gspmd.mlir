// The product of shards.mlir in eight shards, as GSPMD has them.
module attributes {mhlo.num_partitions = 8 : i32} {
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
// Eight shards along one axis, and partitions along another that GSPMD finds.
func.func @one_axis(%x: tensor<1024x256xf32>, %w: tensor<256x512xf32>) -> tensor<1024x512xf32> {
  %0 = "stablehlo.custom_call"(%x) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{devices=[8,1,2]<=[16] last_tile_dim_replicate}"} : (tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %1 = "stablehlo.custom_call"(%0) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{devices=[1,1,8,2]<=[16] last_tile_dims={manual, replicated}}"} : (tensor<1024x256xf32>) -> tensor<128x256xf32>
  %2 = "stablehlo.custom_call"(%w) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{replicated}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %3 = "stablehlo.custom_call"(%2) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{devices=[1,1,8,2]<=[16] last_tile_dims={manual, replicated}}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %4 = func.call @shmap_body(%1, %3) : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  %5 = "stablehlo.custom_call"(%4) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{devices=[1,1,8,2]<=[16] last_tile_dims={manual, replicated}}"} : (tensor<128x512xf32>) -> tensor<128x512xf32>
  %6 = "stablehlo.custom_call"(%5) {api_version = 1 : i32, call_target_name = "SPMDShardToFullShape", has_side_effect = false, mhlo.sharding = "{devices=[8,1,2]<=[16] last_tile_dim_replicate}"} : (tensor<128x512xf32>) -> tensor<1024x512xf32>
  return %6 : tensor<1024x512xf32>
}
// The call is inlined.
func.func @inlined(%x: tensor<1024x256xf32>, %w: tensor<256x512xf32>) -> tensor<1024x512xf32> {
  %0 = "stablehlo.custom_call"(%x) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<1024x256xf32>) -> tensor<1024x256xf32>
  %1 = "stablehlo.custom_call"(%0) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<1024x256xf32>) -> tensor<128x256xf32>
  %2 = "stablehlo.custom_call"(%w) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{replicated}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %3 = "stablehlo.custom_call"(%2) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %4 = "stablehlo.dot_general"(%1, %3) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  %5 = "stablehlo.custom_call"(%4) {api_version = 1 : i32, call_target_name = "Sharding", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<128x512xf32>) -> tensor<128x512xf32>
  %6 = "stablehlo.custom_call"(%5) {api_version = 1 : i32, call_target_name = "SPMDShardToFullShape", has_side_effect = false, mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<128x512xf32>) -> tensor<1024x512xf32>
  return %6 : tensor<1024x512xf32>
}
func.func private @shmap_body(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>) -> tensor<128x512xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  return %0 : tensor<128x512xf32>
}
// Ten times, in a loop.
func.func @looped(%x: tensor<1024x256xf32>, %w: tensor<256x512xf32>) -> tensor<1024x256xf32> {
  %zero = arith.constant 0 : index
  %ten = arith.constant 10 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %ten step %one iter_args(%s = %x) -> (tensor<1024x256xf32>) {
    %1 = "stablehlo.custom_call"(%s) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<1024x256xf32>) -> tensor<128x256xf32>
    %3 = "stablehlo.custom_call"(%w) {api_version = 1 : i32, call_target_name = "SPMDFullToShardShape", has_side_effect = false, mhlo.sharding = "{manual}"} : (tensor<256x512xf32>) -> tensor<256x512xf32>
    %4 = func.call @back(%1, %3) : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x256xf32>
    %6 = "stablehlo.custom_call"(%4) {api_version = 1 : i32, call_target_name = "SPMDShardToFullShape", has_side_effect = false, mhlo.sharding = "{devices=[8,1]<=[8]}"} : (tensor<128x256xf32>) -> tensor<1024x256xf32>
    scf.yield %6 : tensor<1024x256xf32>
  }
  return %r : tensor<1024x256xf32>
}
func.func private @back(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>) -> tensor<128x256xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  %1 = "stablehlo.slice"(%0) {start_indices = array<i64: 0, 0>, limit_indices = array<i64: 128, 256>, strides = array<i64: 1, 1>} : (tensor<128x512xf32>) -> tensor<128x256xf32>
  return %1 : tensor<128x256xf32>
}
}
