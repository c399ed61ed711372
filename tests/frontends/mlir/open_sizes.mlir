// Products of 64 x 256 x 256, 8.4 MFLOP, whose first size the types leave open.
func.func @argument(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %0 = "stablehlo.dot"(%x, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @listed(%x: !torch.vtensor<[?,256],f32>, %w: !torch.vtensor<[256,256],f32>) -> !torch.vtensor<[?,256],f32> {
  %0 = "torch.aten.mm"(%x, %w) : (!torch.vtensor<[?,256],f32>, !torch.vtensor<[256,256],f32>) -> !torch.vtensor<[?,256],f32>
  return %0 : !torch.vtensor<[?,256],f32>
}
// The type has a bound.
func.func @bounded(%x: tensor<?x256xf32, #stablehlo.bounds<64, ?>>, %w: tensor<256x256xf32>) -> tensor<?x256xf32, #stablehlo.bounds<64, ?>> {
  %0 = "stablehlo.dot"(%x, %w) : (tensor<?x256xf32, #stablehlo.bounds<64, ?>>, tensor<256x256xf32>) -> tensor<?x256xf32, #stablehlo.bounds<64, ?>>
  return %0 : tensor<?x256xf32, #stablehlo.bounds<64, ?>>
}
// The functions below have the same product of as many rows as follow from their first argument.
func.func @called(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %0 = call @product(%x, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func private @product(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %0 = "stablehlo.dot"(%x, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @joined(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %1 = "stablehlo.concatenate"(%x, %x) {dimension = 0 : i64} : (tensor<?x256xf32>, tensor<?x256xf32>) -> tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
// As JAX writes a broadcast to twice as many rows.
func.func @computed(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %n = "stablehlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<?x256xf32>) -> tensor<i32>
  %two = "stablehlo.constant"() {value = dense<2> : tensor<i32>} : () -> tensor<i32>
  %at_least = "stablehlo.compare"(%n, %two) {comparison_direction = #stablehlo<comparison_direction GE>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  "stablehlo.custom_call"(%at_least, %n) {call_target_name = "shape_assertion", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
  %m = "stablehlo.multiply"(%n, %two) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %a = "stablehlo.reshape"(%m) : (tensor<i32>) -> tensor<1xi32>
  %b = "stablehlo.constant"() {value = dense<256> : tensor<1xi32>} : () -> tensor<1xi32>
  %s = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %f = "stablehlo.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %1 = "stablehlo.dynamic_broadcast_in_dim"(%f, %s) {broadcast_dimensions = array<i64>} : (tensor<f32>, tensor<2xi32>) -> tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @written(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x256xf32>
  %e = tensor.empty(%n) : tensor<?x256xf32>
  %0 = linalg.matmul ins(%x, %w : tensor<?x256xf32>, tensor<256x256xf32>) outs(%e : tensor<?x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @cut(%x: tensor<?x512xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?x512xf32>
  %1 = tensor.extract_slice %x[0, 256] [%n, 256] [1, 1] : tensor<?x512xf32> to tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
// As IREE writes torch's views, twice as many rows.
func.func @reshaped(%x: tensor<?x512xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %columns = arith.constant 256 : i64
  %n = tensor.dim %x, %zero : tensor<?x512xf32>
  %m = arith.muli %n, %two : index
  %rows = arith.index_cast %m : index to i64
  %s = tensor.from_elements %rows, %columns : tensor<2xi64>
  %1 = tensor.reshape %x(%s) : (tensor<?x512xf32>, tensor<2xi64>) -> tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @regrouped(%x: tensor<?x2x128xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %1 = tensor.collapse_shape %x [[0], [1, 2]] : tensor<?x2x128xf32> into tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @looped(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %zero = arith.constant 0 : index
  %ten = arith.constant 10 : index
  %one = arith.constant 1 : index
  %r = scf.for %i = %zero to %ten step %one iter_args(%s = %x) -> (tensor<?x256xf32>) {
    %0 = "stablehlo.dot"(%s, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
    scf.yield %0 : tensor<?x256xf32>
  }
  return %r : tensor<?x256xf32>
}
func.func @chosen(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>, %c: i1) -> tensor<?x256xf32> {
  %1 = scf.if %c -> (tensor<?x256xf32>) {
    scf.yield %x : tensor<?x256xf32>
  } else {
    scf.yield %x : tensor<?x256xf32>
  }
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @looked_up(%ids: tensor<?x1xi32>, %table: tensor<1000x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %1 = "stablehlo.gather"(%table, %ids) {dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 256>} : (tensor<1000x256xf32>, tensor<?x1xi32>) -> tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
// One of two rows of each.
func.func @sliced(%x: tensor<?x2x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %n = "stablehlo.get_dimension_size"(%x) {dimension = 0 : i64} : (tensor<?x2x256xf32>) -> tensor<i32>
  %a = "stablehlo.reshape"(%n) : (tensor<i32>) -> tensor<1xi32>
  %b = "stablehlo.constant"() {value = dense<[1, 256]> : tensor<2xi32>} : () -> tensor<2xi32>
  %s = "stablehlo.concatenate"(%a, %b) {dimension = 0 : i64} : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
  %at = "stablehlo.constant"() {value = dense<0> : tensor<1xi32>} : () -> tensor<1xi32>
  %1 = "stablehlo.dynamic_gather"(%x, %at, %s) {dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [1], start_index_map = [1]>} : (tensor<?x2x256xf32>, tensor<1xi32>, tensor<3xi32>) -> tensor<?x256xf32>
  %0 = "stablehlo.dot"(%1, %w) : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @turned(%x: tensor<?x256xf32>, %w: tensor<256x256xf32>) -> tensor<?x256xf32> {
  %2 = "stablehlo.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<?x256xf32>) -> tensor<256x?xf32>
  %3 = "stablehlo.transpose"(%2) {permutation = array<i64: 1, 0>} : (tensor<256x?xf32>) -> tensor<?x256xf32>
  %1 = "stablehlo.negate"(%3) : (tensor<?x256xf32>) -> tensor<?x256xf32>
  %0 = "stablehlo.dot_general"(%1, %w) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<?x256xf32>, tensor<256x256xf32>) -> tensor<?x256xf32>
  return %0 : tensor<?x256xf32>
}
func.func @tosa(%x: tensor<?x16x16xf32>, %w: tensor<256x256xf32>, %b: tensor<256xf32>) -> tensor<?x256xf32> {
  %t = "tosa.const"() {value = dense<[0, 2, 1]> : tensor<3xi32>} : () -> tensor<3xi32>
  %1 = "tosa.transpose"(%x, %t) : (tensor<?x16x16xf32>, tensor<3xi32>) -> tensor<?x16x16xf32>
  %2 = "tosa.reshape"(%1) {new_shape = array<i64: -1, 256>} : (tensor<?x16x16xf32>) -> tensor<?x256xf32>
  %3 = "tosa.negate"(%2) : (tensor<?x256xf32>) -> tensor<?x256xf32>
  %4 = "tosa.fully_connected"(%3, %w, %b) : (tensor<?x256xf32>, tensor<256x256xf32>, tensor<256xf32>) -> tensor<?x256xf32>
  return %4 : tensor<?x256xf32>
}
// A table is looked up, heads are turned to the front and back, and the last place is multiplied.
func.func @torch(%ids: !torch.vtensor<[?,4],si64>, %w: !torch.vtensor<[256,256],f32>) -> !torch.vtensor<[?,256],f32> {
  %zero = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %one = "torch.constant.int"() {value = 1 : i64} : () -> !torch.int
  %two = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %four = "torch.constant.int"() {value = 4 : i64} : () -> !torch.int
  %heads = "torch.constant.int"() {value = 8 : i64} : () -> !torch.int
  %width = "torch.constant.int"() {value = 32 : i64} : () -> !torch.int
  %all = "torch.constant.int"() {value = 256 : i64} : () -> !torch.int
  %last = "torch.constant.int"() {value = -1 : i64} : () -> !torch.int
  %no = "torch.constant.bool"() {value = false} : () -> !torch.bool
  %x = "torch.aten.embedding"(%w, %ids, %last, %no, %no) : (!torch.vtensor<[256,256],f32>, !torch.vtensor<[?,4],si64>, !torch.int, !torch.bool, !torch.bool) -> !torch.vtensor<[?,4,256],f32>
  %n = "torch.aten.size.int"(%ids, %zero) : (!torch.vtensor<[?,4],si64>, !torch.int) -> !torch.int
  %s = "torch.prim.ListConstruct"(%n, %four, %heads, %width) : (!torch.int, !torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %1 = "torch.aten.view"(%x, %s) : (!torch.vtensor<[?,4,256],f32>, !torch.list<int>) -> !torch.vtensor<[?,4,8,32],f32>
  %2 = "torch.aten.transpose.int"(%1, %one, %two) : (!torch.vtensor<[?,4,8,32],f32>, !torch.int, !torch.int) -> !torch.vtensor<[?,8,4,32],f32>
  %3 = "torch.aten.transpose.int"(%2, %one, %two) : (!torch.vtensor<[?,8,4,32],f32>, !torch.int, !torch.int) -> !torch.vtensor<[?,4,8,32],f32>
  %o = "torch.prim.ListConstruct"(%last, %four, %all) : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %4 = "torch.aten.reshape"(%3, %o) : (!torch.vtensor<[?,4,8,32],f32>, !torch.list<int>) -> !torch.vtensor<[?,4,256],f32>
  %5 = "torch.aten.select.int"(%4, %one, %last) : (!torch.vtensor<[?,4,256],f32>, !torch.int, !torch.int) -> !torch.vtensor<[?,256],f32>
  %6 = "torch.aten.t"(%w) : (!torch.vtensor<[256,256],f32>) -> !torch.vtensor<[256,256],f32>
  %0 = "torch.aten.mm"(%5, %6) : (!torch.vtensor<[?,256],f32>, !torch.vtensor<[256,256],f32>) -> !torch.vtensor<[?,256],f32>
  return %0 : !torch.vtensor<[?,256],f32>
}
