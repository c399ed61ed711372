// Lists and tuples are their elements: what is read of them is sent, and nothing else.
func.func @joined(%x: !torch.vtensor<[4096,4096],f32>, %y: !torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[8192,4096],f32> {
  %z = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %a = "torch.aten.mm"(%x, %y) {berth.device = "gpu:0"} : (!torch.vtensor<[4096,4096],f32>, !torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[4096,4096],f32>
  %b = "torch.aten.mm"(%y, %x) {berth.device = "gpu:0"} : (!torch.vtensor<[4096,4096],f32>, !torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[4096,4096],f32>
  %l = "torch.prim.ListConstruct"(%a, %b) : (!torch.vtensor<[4096,4096],f32>, !torch.vtensor<[4096,4096],f32>) -> !torch.list<vtensor>
  %0 = "torch.aten.cat"(%l, %z) {berth.device = "gpu:1"} : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[8192,4096],f32>
  return %0 : !torch.vtensor<[8192,4096],f32>
}
func.func @taken(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %a = "stablehlo.tanh"(%x) {berth.device = "gpu:0"} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %b = "stablehlo.negate"(%x) {berth.device = "gpu:0"} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %t = "stablehlo.tuple"(%a, %b) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tuple<tensor<4096x4096xf32>, tensor<4096x4096xf32>>
  %u = "stablehlo.get_tuple_element"(%t) {index = 1 : i32} : (tuple<tensor<4096x4096xf32>, tensor<4096x4096xf32>>) -> tensor<4096x4096xf32>
  %0 = "stablehlo.abs"(%u) {berth.device = "gpu:1"} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}
func.func @parts(%x: !torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[2048,4096],f32> {
  %z = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %two = "torch.constant.int"() {value = 2 : i64} : () -> !torch.int
  %l = "torch.aten.chunk"(%x, %two, %z) : (!torch.vtensor<[4096,4096],f32>, !torch.int, !torch.int) -> !torch.list<vtensor>
  %p:2 = "torch.prim.ListUnpack"(%l) : (!torch.list<vtensor>) -> (!torch.vtensor<[2048,4096],f32>, !torch.vtensor<[2048,4096],f32>)
  %0 = "torch.aten.add.Tensor"(%p#0, %p#1, %two) : (!torch.vtensor<[2048,4096],f32>, !torch.vtensor<[2048,4096],f32>, !torch.int) -> !torch.vtensor<[2048,4096],f32>
  return %0 : !torch.vtensor<[2048,4096],f32>
}
func.func private @sum(%l: !torch.list<vtensor>, %z: !torch.int) -> !torch.vtensor<[8192,4096],f32> {
  %0 = "torch.aten.cat"(%l, %z) {berth.device = "gpu:1"} : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[8192,4096],f32>
  return %0 : !torch.vtensor<[8192,4096],f32>
}
func.func @handed_on(%x: !torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[8192,4096],f32> {
  %z = "torch.constant.int"() {value = 0 : i64} : () -> !torch.int
  %a = "torch.aten.tanh"(%x) {berth.device = "gpu:0"} : (!torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[4096,4096],f32>
  %b = "torch.aten.neg"(%x) {berth.device = "gpu:0"} : (!torch.vtensor<[4096,4096],f32>) -> !torch.vtensor<[4096,4096],f32>
  %l = "torch.prim.ListConstruct"(%a, %b) : (!torch.vtensor<[4096,4096],f32>, !torch.vtensor<[4096,4096],f32>) -> !torch.list<vtensor>
  %0 = func.call @sum(%l, %z) : (!torch.list<vtensor>, !torch.int) -> !torch.vtensor<[8192,4096],f32>
  return %0 : !torch.vtensor<[8192,4096],f32>
}
