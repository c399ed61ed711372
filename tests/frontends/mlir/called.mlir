// A product of eight milliseconds that the body of a loop of ten calls.
func.func @main(%x: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %x) -> tensor<2048x2048xf32> {
    %n = func.call @product(%a, %x) : (tensor<2048x2048xf32>, tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
    scf.yield %n : tensor<2048x2048xf32>
  }
  return %r : tensor<2048x2048xf32>
}
func.func private @product(%a: tensor<2048x2048xf32>, %w: tensor<2048x2048xf32>) -> tensor<2048x2048xf32> {
  %m = linalg.matmul ins(%a, %w : tensor<2048x2048xf32>, tensor<2048x2048xf32>) outs(%a : tensor<2048x2048xf32>) -> tensor<2048x2048xf32>
  return %m : tensor<2048x2048xf32>
}
