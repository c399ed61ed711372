// A tensor and a constant behind annotations: one device makes what the other reads.
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = math.tanh %x {berth.device = "gpu:0"} : tensor<64x64xf32>
  %c = arith.constant dense<1.0> : tensor<64x64xf32>
  %0 = "sdy.sharding_constraint"(%a) {sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "sdy.sharding_constraint"(%c) {sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  "sdy.sharding_group"(%0) {group_id = 0 : i64} : (tensor<64x64xf32>) -> ()
  %b = arith.addf %0, %1 {berth.device = "gpu:1"} : tensor<64x64xf32>
  return %b : tensor<64x64xf32>
}
