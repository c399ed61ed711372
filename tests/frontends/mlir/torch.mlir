// Two products of 8192 x 4096 x 4096 (0.55 TFLOP) in torch-mlir's generic form.
"func.func"() <{function_type = (!torch.vtensor<[8192,4096],f32>) -> !torch.vtensor<[8192,4096],f32>, sym_name = "forward"}> ({
^bb0(%x: !torch.vtensor<[8192,4096],f32>):
  %w = "torch.vtensor.literal"() {value = dense<1.0> : tensor<4096x4096xf32>} : () -> !torch.vtensor<[4096,4096],f32>
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %none = "torch.constant.none"() : () -> !torch.none
  %0 = "torch.aten.mm"(%x, %w) : (!torch.vtensor<[8192,4096],f32>, !torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[8192,4096],f32>
  %1 = "torch.aten.add.Tensor"(%0, %x, %one) : (!torch.vtensor<[8192,4096],f32>, !torch.vtensor<[8192,4096],f32>, !torch.int) -> !torch.vtensor<[8192,4096],f32>
  %2 = "torch.aten.linear"(%1, %w, %none) : (!torch.vtensor<[8192,4096],f32>, !torch.vtensor<[4096,4096],f32>, !torch.none) -> !torch.vtensor<[8192,4096],f32>
  "func.return"(%2) : (!torch.vtensor<[8192,4096],f32>) -> ()
}) : () -> ()
