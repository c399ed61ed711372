// Integers without negative numbers, that one device makes and the other reads.
func.func @main(%x: tensor<64x64xui8>) -> tensor<64x64xui8> {
  %a = "stablehlo.add"(%x, %x) {berth.device = "gpu:0"} : (tensor<64x64xui8>, tensor<64x64xui8>) -> tensor<64x64xui8>
  %b = "stablehlo.not"(%a) {berth.device = "gpu:1"} : (tensor<64x64xui8>) -> tensor<64x64xui8>
  return %b : tensor<64x64xui8>
}
