// Products of torch-mlir whose sizes are in lists, and those of training.
// Gradients of both the image and the weights: 132.7 MFLOP, as PyTorch counts them; then of one of them.
func.func @both_gradients(%a0: !torch.vtensor<[8,32,30,30],f32>, %a1: !torch.vtensor<[8,16,32,32],f32>, %a2: !torch.vtensor<[32,16,3,3],f32>) -> !torch.vtensor<[8,16,32,32],f32> {
  %n0 = "torch.constant.none"() : () -> !torch.none
  %l1_0 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l1_1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %n1 = "torch.prim.ListConstruct"(%l1_0, %l1_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %l2_0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %l2_1 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n2 = "torch.prim.ListConstruct"(%l2_0, %l2_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %l3_0 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l3_1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %n3 = "torch.prim.ListConstruct"(%l3_0, %l3_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %n4 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %l5_0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %l5_1 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n5 = "torch.prim.ListConstruct"(%l5_0, %l5_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %n6 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l7_0 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %l7_1 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %l7_2 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %n7 = "torch.prim.ListConstruct"(%l7_0, %l7_1, %l7_2) : (!torch.bool, !torch.bool, !torch.bool) -> !torch.list<bool>
  %r = "torch.aten.convolution_backward"(%a0, %a1, %a2, %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7) : (!torch.vtensor<[8,32,30,30],f32>, !torch.vtensor<[8,16,32,32],f32>, !torch.vtensor<[32,16,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int, !torch.list<bool>) -> !torch.vtensor<[8,16,32,32],f32>
  return %r : !torch.vtensor<[8,16,32,32],f32>
}
func.func @one_gradient(%a0: !torch.vtensor<[8,32,30,30],f32>, %a1: !torch.vtensor<[8,16,32,32],f32>, %a2: !torch.vtensor<[32,16,3,3],f32>) -> !torch.vtensor<[8,16,32,32],f32> {
  %n0 = "torch.constant.none"() : () -> !torch.none
  %l1_0 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l1_1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %n1 = "torch.prim.ListConstruct"(%l1_0, %l1_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %l2_0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %l2_1 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n2 = "torch.prim.ListConstruct"(%l2_0, %l2_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %l3_0 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l3_1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %n3 = "torch.prim.ListConstruct"(%l3_0, %l3_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %n4 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %l5_0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %l5_1 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n5 = "torch.prim.ListConstruct"(%l5_0, %l5_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %n6 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l7_0 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %l7_1 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %l7_2 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %n7 = "torch.prim.ListConstruct"(%l7_0, %l7_1, %l7_2) : (!torch.bool, !torch.bool, !torch.bool) -> !torch.list<bool>
  %r = "torch.aten.convolution_backward"(%a0, %a1, %a2, %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7) : (!torch.vtensor<[8,32,30,30],f32>, !torch.vtensor<[8,16,32,32],f32>, !torch.vtensor<[32,16,3,3],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int, !torch.list<bool>) -> !torch.vtensor<[8,16,32,32],f32>
  return %r : !torch.vtensor<[8,16,32,32],f32>
}
// The gradients of a transposed convolution, 67.11 MFLOP.
func.func @gradients_transposed(%a0: !torch.vtensor<[8,32,64,64],f32>, %a1: !torch.vtensor<[8,16,32,32],f32>, %a2: !torch.vtensor<[16,32,2,2],f32>) -> !torch.vtensor<[8,16,32,32],f32> {
  %n0 = "torch.constant.none"() : () -> !torch.none
  %l1_0 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %l1_1 = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %n1 = "torch.prim.ListConstruct"(%l1_0, %l1_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %l2_0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %l2_1 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n2 = "torch.prim.ListConstruct"(%l2_0, %l2_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %l3_0 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l3_1 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %n3 = "torch.prim.ListConstruct"(%l3_0, %l3_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %n4 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %l5_0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %l5_1 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n5 = "torch.prim.ListConstruct"(%l5_0, %l5_1) : (!torch.int, !torch.int) -> !torch.list<int>
  %n6 = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %l7_0 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %l7_1 = "torch.constant.bool"() {value = true} : () -> !torch.bool
  %l7_2 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %n7 = "torch.prim.ListConstruct"(%l7_0, %l7_1, %l7_2) : (!torch.bool, !torch.bool, !torch.bool) -> !torch.list<bool>
  %r = "torch.aten.convolution_backward"(%a0, %a1, %a2, %n0, %n1, %n2, %n3, %n4, %n5, %n6, %n7) : (!torch.vtensor<[8,32,64,64],f32>, !torch.vtensor<[8,16,32,32],f32>, !torch.vtensor<[16,32,2,2],f32>, !torch.none, !torch.list<int>, !torch.list<int>, !torch.list<int>, !torch.bool, !torch.list<int>, !torch.int, !torch.list<bool>) -> !torch.vtensor<[8,16,32,32],f32>
  return %r : !torch.vtensor<[8,16,32,32],f32>
}
// Two products of 33.55 MFLOP each, and five in the gradient.
func.func @flash(%a0: !torch.vtensor<[2,8,128,64],f32>, %a1: !torch.vtensor<[2,8,128,64],f32>, %a2: !torch.vtensor<[2,8,128,64],f32>) -> !torch.vtensor<[2,8,128,64],f32> {
  %n0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n1 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %n2 = "torch.constant.none"() : () -> !torch.none
  %n3 = "torch.constant.none"() : () -> !torch.none
  %r = "torch.aten._scaled_dot_product_flash_attention_for_cpu"(%a0, %a1, %a2, %n0, %n1, %n2, %n3) : (!torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128,64],f32>, !torch.int, !torch.bool, !torch.none, !torch.none) -> !torch.vtensor<[2,8,128,64],f32>
  return %r : !torch.vtensor<[2,8,128,64],f32>
}
func.func @flash_gradient(%a0: !torch.vtensor<[2,8,128,64],f32>, %a1: !torch.vtensor<[2,8,128,64],f32>, %a2: !torch.vtensor<[2,8,128,64],f32>, %a3: !torch.vtensor<[2,8,128,64],f32>, %a4: !torch.vtensor<[2,8,128,64],f32>, %a5: !torch.vtensor<[2,8,128],f32>) -> !torch.vtensor<[2,8,128,64],f32> {
  %n0 = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %n1 = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %n2 = "torch.constant.none"() : () -> !torch.none
  %n3 = "torch.constant.none"() : () -> !torch.none
  %r = "torch.aten._scaled_dot_product_flash_attention_for_cpu_backward"(%a0, %a1, %a2, %a3, %a4, %a5, %n0, %n1, %n2, %n3) : (!torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128,64],f32>, !torch.vtensor<[2,8,128],f32>, !torch.int, !torch.bool, !torch.none, !torch.none) -> !torch.vtensor<[2,8,128,64],f32>
  return %r : !torch.vtensor<[2,8,128,64],f32>
}
// 16.78 MFLOP in eight products.
func.func @einsum_in_torch(%x: !torch.vtensor<[8,128,64],f32>, %w: !torch.vtensor<[8,64,128],f32>) -> !torch.vtensor<[8,128,128],f32> {
  %s = "torch.constant.str"() {value = "bij, bjk -> bik"} : () -> !torch.str
  %n = "torch.constant.none"() : () -> !torch.none
  %l = "torch.prim.ListConstruct"(%x, %w) : (!torch.vtensor<[8,128,64],f32>, !torch.vtensor<[8,64,128],f32>) -> !torch.list<vtensor>
  %0 = "torch.aten.einsum"(%s, %l, %n) : (!torch.str, !torch.list<vtensor>, !torch.none) -> !torch.vtensor<[8,128,128],f32>
  return %0 : !torch.vtensor<[8,128,128],f32>
}
// A step of an LSTM, 2 * 64 * 1024 * (128 + 256) FLOP and activations; and ten of them.
func.func @lstm_cell(%a0: !torch.vtensor<[64,128],f32>, %a1: !torch.vtensor<[64,256],f32>, %a2: !torch.vtensor<[64,256],f32>, %a3: !torch.vtensor<[1024,128],f32>, %a4: !torch.vtensor<[1024,256],f32>) -> !torch.vtensor<[64,256],f32> {
  %r = "torch.aten.lstm_cell"(%a0, %a1, %a2, %a3, %a4) : (!torch.vtensor<[64,128],f32>, !torch.vtensor<[64,256],f32>, !torch.vtensor<[64,256],f32>, !torch.vtensor<[1024,128],f32>, !torch.vtensor<[1024,256],f32>) -> !torch.vtensor<[64,256],f32>
  return %r : !torch.vtensor<[64,256],f32>
}
func.func @lstm(%a0: !torch.vtensor<[10,64,128],f32>, %a1: !torch.vtensor<[1,64,256],f32>, %a2: !torch.vtensor<[1,64,256],f32>, %a3: !torch.vtensor<[1024,128],f32>, %a4: !torch.vtensor<[1024,256],f32>) -> !torch.vtensor<[10,64,256],f32> {
  %r = "torch.aten.lstm.input"(%a0, %a1, %a2, %a3, %a4) : (!torch.vtensor<[10,64,128],f32>, !torch.vtensor<[1,64,256],f32>, !torch.vtensor<[1,64,256],f32>, !torch.vtensor<[1024,128],f32>, !torch.vtensor<[1024,256],f32>) -> !torch.vtensor<[10,64,256],f32>
  return %r : !torch.vtensor<[10,64,256],f32>
}
func.func @outer(%a0: !torch.vtensor<[4096],f32>, %a1: !torch.vtensor<[2048],f32>) -> !torch.vtensor<[4096,2048],f32> {
  %r = "torch.aten.outer"(%a0, %a1) : (!torch.vtensor<[4096],f32>, !torch.vtensor<[2048],f32>) -> !torch.vtensor<[4096,2048],f32>
  return %r : !torch.vtensor<[4096,2048],f32>
}
