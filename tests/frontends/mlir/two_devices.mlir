// A value that one device makes and the other reads twice.
func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = math.tanh %x {berth.device = "gpu:0"} : tensor<64x64xf32>
  %b = math.exp %a {berth.device = "gpu:1"} : tensor<64x64xf32>
  %c = arith.addf %a, %b {berth.device = "gpu:1"} : tensor<64x64xf32>
  return %c : tensor<64x64xf32>
}
