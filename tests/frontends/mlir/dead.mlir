// Ops from which nothing follows: a product of 33.5 MFLOP that nobody reads beside one that is returned.
func.func @unread(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %a = "stablehlo.dot"(%x, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %b = "stablehlo.dot"(%a, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %c = linalg.matmul ins(%a, %b : tensor<256x256xf32>, tensor<256x256xf32>) outs(%x : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %a : tensor<256x256xf32>
}
// The caller reads one of two results.
func.func private @two(%x: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>) {
  %a = "stablehlo.dot"(%x, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %b = "stablehlo.dot"(%a, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %a, %b : tensor<256x256xf32>, tensor<256x256xf32>
}
func.func @unread_in_call(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %a:2 = func.call @two(%x) : (tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>)
  return %a#0 : tensor<256x256xf32>
}
func.func @unread_in_loop(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x) -> tensor<256x256xf32> {
    %a = "stablehlo.dot"(%s, %s) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %b = "stablehlo.dot"(%a, %s) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    scf.yield %a : tensor<256x256xf32>
  }
  return %r : tensor<256x256xf32>
}
// An op that has an effect, or may have one, stays with all that it reads.
func.func @effects(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %a = "stablehlo.dot"(%x, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %b = "stablehlo.dot"(%a, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %t = "stablehlo.custom_call"(%b) {call_target_name = "print", has_side_effect = true} : (tensor<256x256xf32>) -> tensor<f32>
  %c = "stablehlo.dot"(%a, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  "test.unknown"(%c) : (tensor<256x256xf32>) -> ()
  return %a : tensor<256x256xf32>
}
