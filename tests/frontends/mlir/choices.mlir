// A step runs one branch, of two products of 33.5 MFLOP at most.
func.func private @twice(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %a = "stablehlo.dot"(%x, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %b = "stablehlo.dot"(%a, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %b : tensor<256x256xf32>
}
func.func @case(%i: tensor<i32>, %x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %r = "stablehlo.case"(%i) ({
    %a = "stablehlo.dot"(%x, %x) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    "stablehlo.return"(%a) : (tensor<256x256xf32>) -> ()
  }, {
    %b = func.call @twice(%x) : (tensor<256x256xf32>) -> tensor<256x256xf32>
    "stablehlo.return"(%b) : (tensor<256x256xf32>) -> ()
  }, {
    "stablehlo.return"(%x) : (tensor<256x256xf32>) -> ()
  }) : (tensor<i32>) -> tensor<256x256xf32>
  return %r : tensor<256x256xf32>
}
// Within a loop of ten trips.
func.func @within(%x: tensor<256x256xf32>, %go: i1) -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%s = %x) -> tensor<256x256xf32> {
    %n = scf.if %go -> tensor<256x256xf32> {
      %b = func.call @twice(%s) : (tensor<256x256xf32>) -> tensor<256x256xf32>
      scf.yield %b : tensor<256x256xf32>
    } else {
      %a = "stablehlo.dot"(%s, %s) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
      scf.yield %a : tensor<256x256xf32>
    }
    scf.yield %n : tensor<256x256xf32>
  }
  return %r : tensor<256x256xf32>
}
