// Types and constants of dialects that are not loaded: two matrices of 16 MiB on devices that hold one each.
"func.func"() <{function_type = (!torch.vtensor<[8,2048],f32>) -> !torch.vtensor<[8,2048],f32>, sym_name = "forward"}> ({
^bb0(%x: !torch.vtensor<[8,2048],f32>):
  %w0 = "torch.vtensor.literal"() {value = dense<1.0> : tensor<2048x2048xf32>} : () -> !torch.vtensor<[2048,2048],f32>
  %w1 = "onnx.Constant"() {value = dense<2.0> : tensor<2048x2048xf32>} : () -> !torch.vtensor<[2048,2048],f32>
  %0 = "torch.aten.mm"(%x, %w0) {berth.device = "gpu:0"} : (!torch.vtensor<[8,2048],f32>, !torch.vtensor<[2048,2048],f32>) -> !torch.vtensor<[8,2048],f32>
  %1 = "torch.aten.mm"(%0, %w1) {berth.device = "gpu:0"} : (!torch.vtensor<[8,2048],f32>, !torch.vtensor<[2048,2048],f32>) -> !torch.vtensor<[8,2048],f32>
  "func.return"(%1) : (!torch.vtensor<[8,2048],f32>) -> ()
}) : () -> ()
