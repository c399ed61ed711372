// Values that share memory. A tensor has 4 MiB, but for single numbers.
func.func private @hands_on(%w: tensor<1024x1024xf32>, %a: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %m = "stablehlo.dot"(%a, %w) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %w, %m : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
// A state that stays is the operand, also where the body hands it on by a call: three tensors.
func.func @state_stays(%w: tensor<1024x1024xf32>, %x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %zero = arith.constant 0 : i32
  %r:3 = "stablehlo.while"(%zero, %w, %x) ({
  ^bb0(%i: i32, %b: tensor<1024x1024xf32>, %a: tensor<1024x1024xf32>):
    %end = arith.constant 100 : i32
    %go = arith.cmpi slt, %i, %end : i32
    "stablehlo.return"(%go) : (i1) -> ()
  }, {
  ^bb0(%i: i32, %b: tensor<1024x1024xf32>, %a: tensor<1024x1024xf32>):
    %one = arith.constant 1 : i32
    %n:2 = func.call @hands_on(%b, %a) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>)
    %next = arith.addi %i, %one : i32
    "stablehlo.return"(%next, %n#0, %n#1) : (i32, tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> ()
  }) : (i32, tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> (i32, tensor<1024x1024xf32>, tensor<1024x1024xf32>)
  return %r#1, %r#2 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
func.func @state_stays_in_for(%w: tensor<1024x1024xf32>, %x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%b = %w, %a = %x) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %m = "stablehlo.dot"(%a, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    scf.yield %b, %m : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  return %r#0, %r#1 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
// The results are the states in another order.
func.func @state_stays_in_while(%w: tensor<1024x1024xf32>, %x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %r:3 = scf.while (%b = %w, %a = %x, %i = %zero) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>, i32) -> (i32, tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    %go = arith.cmpi slt, %i, %ten : i32
    scf.condition(%go) %i, %a, %b : i32, tensor<1024x1024xf32>, tensor<1024x1024xf32>
  } do {
  ^bb0(%i: i32, %a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>):
    %m = "stablehlo.dot"(%a, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %next = arith.addi %i, %one : i32
    scf.yield %b, %m, %next : tensor<1024x1024xf32>, tensor<1024x1024xf32>, i32
  }
  return %r#1, %r#2 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
// States that change places are two tensors more.
func.func @states_swap(%w: tensor<1024x1024xf32>, %x: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r:2 = scf.for %i = %c0 to %c10 step %c1 iter_args(%b = %w, %a = %x) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
    scf.yield %a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>
  }
  return %r#0, %r#1 : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
// A state that is changed in place and read then takes no room in the body: the argument, and the result in the memory
// that was filled.
func.func @state_in_place(%x: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %z = arith.constant 0.0 : f32
  %s = tensor.splat %z : tensor<1024x1024xf32>
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %s) -> tensor<1024x1024xf32> {
    %n = tensor.insert %z into %a[%i, %i] : tensor<1024x1024xf32>
    %m = "stablehlo.dot"(%n, %x) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    scf.yield %m : tensor<1024x1024xf32>
  }
  return %r : tensor<1024x1024xf32>
}
// A barrier hands on its operands: three tensors.
func.func @barrier(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %0:2 = "stablehlo.optimization_barrier"(%a, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>)
  %1 = "stablehlo.add"(%0#0, %0#1) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %1 : tensor<1024x1024xf32>
}
// The product is in the memory that was filled for it: three tensors, and the number.
func.func @filled(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}
// Another reads what was filled: four tensors.
func.func @filled_and_read(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>) -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<1024x1024xf32>, tensor<1024x1024xf32>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %0, %f : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}
// Results in the place of the argument that the caller gives away, by number or by type.
func.func @donated(%a: tensor<1024x1024xf32> {tf.aliasing_output = 1 : i32}) -> (tensor<1xf32>, tensor<1024x1024xf32>) {
  %0 = "stablehlo.tanh"(%a) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.slice"(%0) : (tensor<1024x1024xf32>) -> tensor<1xf32>
  return %1, %0 : tensor<1xf32>, tensor<1024x1024xf32>
}
func.func @donor(%a: tensor<1024x1024xf32> {jax.buffer_donor = true}) -> (tensor<1xf32>, tensor<1024x1024xf32>) {
  %0 = "stablehlo.tanh"(%a) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.slice"(%0) : (tensor<1024x1024xf32>) -> tensor<1xf32>
  return %1, %0 : tensor<1xf32>, tensor<1024x1024xf32>
}
// A result that the step does not compute takes nobody's place: two tensors.
func.func @donated_to_constant(%a: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<1024x1024xf32>, tensor<1xf32>) {
  %z = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %0 = "stablehlo.broadcast_in_dim"(%z) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<1024x1024xf32>
  %1 = "stablehlo.slice"(%a) : (tensor<1024x1024xf32>) -> tensor<1xf32>
  return %0, %1 : tensor<1024x1024xf32>, tensor<1xf32>
}
// A global that nothing writes is there once; one that may be written is there for each load.
memref.global "private" constant @weights : memref<1024x1024xf32> = dense<1.0>
memref.global "private" @written : memref<1024x1024xf32> = dense<1.0>
func.func @loads(%x: memref<1xf32>) {
  %a = memref.get_global @weights : memref<1024x1024xf32>
  %b = memref.get_global @weights : memref<1024x1024xf32>
  %c = memref.get_global @written : memref<1024x1024xf32>
  %d = memref.get_global @written : memref<1024x1024xf32>
  "test.reads"(%a, %b, %c, %d, %x) : (memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1024x1024xf32>, memref<1xf32>) -> ()
  return
}
// An update of an argument that its caller keeps makes a copy first.
func.func @update_copies(%x: tensor<1024x1024xf32>, %row: tensor<1x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %new = "stablehlo.dynamic_update_slice"(%x, %row, %zero, %zero) : (tensor<1024x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  return %new : tensor<1024x1024xf32>
}
// Updates of what the step makes write in it: the arguments, and one tensor.
func.func @updates_in_chain(%a: tensor<1024x1024xf32>, %b: tensor<1024x1024xf32>, %row: tensor<1x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %sum = "stablehlo.add"(%a, %b) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %first = "stablehlo.dynamic_update_slice"(%sum, %row, %zero, %zero) : (tensor<1024x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  %second = "stablehlo.dynamic_update_slice"(%first, %row, %zero, %zero) : (tensor<1024x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  return %second : tensor<1024x1024xf32>
}
// An update writes in the memory that is filled for it, by a step that fills it: one tensor, and the row.
func.func @update_of_filled(%row: tensor<1x1024xf32>, %at: tensor<i32>) -> tensor<1024x1024xf32> {
  %z = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %s = "stablehlo.broadcast_in_dim"(%z) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<1024x1024xf32>
  %new = "stablehlo.dynamic_update_slice"(%s, %row, %at, %at) : (tensor<1024x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  return %new : tensor<1024x1024xf32>
}
// Tensors that are inserted in an empty buffer have its memory: the arguments, and one tensor.
func.func @inserts_in_empty(%a: tensor<512x1024xf32>, %b: tensor<512x1024xf32>) -> tensor<1024x1024xf32> {
  %e = tensor.empty() : tensor<1024x1024xf32>
  %r = tensor.insert_slice %a into %e[0, 0] [512, 1024] [1, 1] : tensor<512x1024xf32> into tensor<1024x1024xf32>
  %q = tensor.insert_slice %b into %r[512, 0] [512, 1024] [1, 1] : tensor<512x1024xf32> into tensor<1024x1024xf32>
  return %q : tensor<1024x1024xf32>
}
// Halves of the columns and of the rows that they meet.
func.func @views_in_loop(%a: memref<1024x1024xf32>, %b: memref<1024x1024xf32>, %c: memref<1024x1024xf32>) {
  %zero = arith.constant 0 : index
  %half = arith.constant 512 : index
  %end = arith.constant 1024 : index
  scf.for %i = %zero to %end step %half {
    %left = memref.subview %a[0, %i] [1024, 512] [1, 1] : memref<1024x1024xf32> to memref<1024x512xf32, strided<[1024, 1], offset: ?>>
    %right = memref.subview %b[%i, 0] [512, 1024] [1, 1] : memref<1024x1024xf32> to memref<512x1024xf32, strided<[1024, 1], offset: ?>>
    linalg.matmul ins(%left, %right : memref<1024x512xf32, strided<[1024, 1], offset: ?>>, memref<512x1024xf32, strided<[1024, 1], offset: ?>>) outs(%c : memref<1024x1024xf32>)
  }
  return
}
