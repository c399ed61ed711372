// A product of 8192 x 4096 x 2048 (0.14 TFLOP) and a bias, as onnx-mlir has them.
func.func @main_graph(%x: tensor<4096x8192xf32>) -> tensor<8192x2048xf32> {
  %w = "onnx.Constant"() {value = dense<1.0> : tensor<4096x2048xf32>} : () -> tensor<4096x2048xf32>
  %none = "onnx.NoValue"() {value} : () -> none
  %0 = "onnx.Gemm"(%x, %w, %none) {alpha = 1.0 : f32, beta = 1.0 : f32, transA = 1 : si64, transB = 0 : si64} : (tensor<4096x8192xf32>, tensor<4096x2048xf32>, none) -> tensor<8192x2048xf32>
  %1 = "onnx.Relu"(%0) : (tensor<8192x2048xf32>) -> tensor<8192x2048xf32>
  return %1 : tensor<8192x2048xf32>
}
