// Loops that say how often they run: a hundred products of 33.55 MFLOP each.
func.func @counts_up(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<256x256xf32>):
    %end = "stablehlo.constant"() {value = dense<100> : tensor<i32>} : () -> tensor<i32>
    %go = "stablehlo.compare"(%i, %end) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%go) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<256x256xf32>):
    %one = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %m = "stablehlo.dot"(%a, %a) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    "stablehlo.return"(%next, %m) : (tensor<i32>, tensor<256x256xf32>) -> ()
  }) : (tensor<i32>, tensor<256x256xf32>) -> (tensor<i32>, tensor<256x256xf32>)
  return %r#1 : tensor<256x256xf32>
}
// The end is a state that stays, the counter goes down by two, and the last trip is at the end.
func.func @counts_down(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %begin = arith.constant 200 : i32
  %end = arith.constant 2 : i32
  %two = arith.constant 2 : i32
  %r:3 = scf.while (%i = %begin, %last = %end, %a = %x) : (i32, i32, tensor<256x256xf32>) -> (i32, i32, tensor<256x256xf32>) {
    %go = arith.cmpi sle, %last, %i : i32
    scf.condition(%go) %i, %last, %a : i32, i32, tensor<256x256xf32>
  } do {
  ^bb0(%i: i32, %last: i32, %a: tensor<256x256xf32>):
    %m = linalg.matmul ins(%a, %a : tensor<256x256xf32>, tensor<256x256xf32>) outs(%a : tensor<256x256xf32>) -> tensor<256x256xf32>
    %next = arith.subi %i, %two : i32
    scf.yield %next, %last, %m : i32, i32, tensor<256x256xf32>
  }
  return %r#2 : tensor<256x256xf32>
}
// How often this one runs depends on data: once is counted.
func.func @by_data(%x: tensor<256x256xf32>, %n: i32) -> tensor<256x256xf32> {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%i = %zero, %a = %x) : (i32, tensor<256x256xf32>) -> (i32, tensor<256x256xf32>) {
    %go = arith.cmpi slt, %i, %n : i32
    scf.condition(%go) %i, %a : i32, tensor<256x256xf32>
  } do {
  ^bb0(%i: i32, %a: tensor<256x256xf32>):
    %m = linalg.matmul ins(%a, %a : tensor<256x256xf32>, tensor<256x256xf32>) outs(%a : tensor<256x256xf32>) -> tensor<256x256xf32>
    %next = arith.addi %i, %one : i32
    scf.yield %next, %m : i32, tensor<256x256xf32>
  }
  return %r#1 : tensor<256x256xf32>
}
// A body that makes 3 GiB, of which two are there at once, in a function that it calls; then the devices have too little.
func.func private @layer(%a: tensor<16384x16384xf32>) -> tensor<16384x16384xf32> {
  %b = "stablehlo.tanh"(%a) : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %c = "stablehlo.exponential"(%b) : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %d = "stablehlo.cosine"(%c) : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  %e = "stablehlo.sine"(%d) : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
  return %e : tensor<16384x16384xf32>
}
func.func @holds(%x: tensor<16384x16384xf32>) -> tensor<16384x16384xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %r = scf.for %i = %c0 to %c10 step %c1 iter_args(%a = %x) -> tensor<16384x16384xf32> {
    %n = func.call @layer(%a) : (tensor<16384x16384xf32>) -> tensor<16384x16384xf32>
    scf.yield %n : tensor<16384x16384xf32>
  }
  return %r : tensor<16384x16384xf32>
}
// A hundred trips, as the functions say that condition and body call; the end is handed to them.
func.func private @goes_on(%i: tensor<i32>, %end: tensor<i32>) -> tensor<i1> {
  %go = "stablehlo.compare"(%i, %end) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  return %go : tensor<i1>
}
func.func private @next(%i: tensor<i32>) -> tensor<i32> {
  %one = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
  %next = "stablehlo.add"(%one, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  return %next : tensor<i32>
}
func.func private @trip(%i: tensor<i32>, %end: tensor<i32>, %a: tensor<256x256xf32>) -> (tensor<i32>, tensor<i32>, tensor<256x256xf32>) {
  %next = func.call @next(%i) : (tensor<i32>) -> tensor<i32>
  %m = "stablehlo.dot"(%a, %a) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %next, %end, %m : tensor<i32>, tensor<i32>, tensor<256x256xf32>
}
func.func @counts_in_calls(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %hundred = "stablehlo.constant"() {value = dense<100> : tensor<i32>} : () -> tensor<i32>
  %r:3 = "stablehlo.while"(%zero, %hundred, %x) ({
  ^bb0(%i: tensor<i32>, %end: tensor<i32>, %a: tensor<256x256xf32>):
    %go = func.call @goes_on(%i, %end) : (tensor<i32>, tensor<i32>) -> tensor<i1>
    "stablehlo.return"(%go) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %end: tensor<i32>, %a: tensor<256x256xf32>):
    %n:3 = func.call @trip(%i, %end, %a) : (tensor<i32>, tensor<i32>, tensor<256x256xf32>) -> (tensor<i32>, tensor<i32>, tensor<256x256xf32>)
    "stablehlo.return"(%n#0, %n#1, %n#2) : (tensor<i32>, tensor<i32>, tensor<256x256xf32>) -> ()
  }) : (tensor<i32>, tensor<i32>, tensor<256x256xf32>) -> (tensor<i32>, tensor<i32>, tensor<256x256xf32>)
  return %r#2 : tensor<256x256xf32>
}
// A hundred trips, from 100 to 200, of counters without a sign: by their type, and by the comparison.
func.func @counts_unsigned(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %begin = "stablehlo.constant"() {value = dense<100> : tensor<ui8>} : () -> tensor<ui8>
  %r:2 = "stablehlo.while"(%begin, %x) ({
  ^bb0(%i: tensor<ui8>, %a: tensor<256x256xf32>):
    %end = "stablehlo.constant"() {value = dense<200> : tensor<ui8>} : () -> tensor<ui8>
    %go = "stablehlo.compare"(%i, %end) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<ui8>, tensor<ui8>) -> tensor<i1>
    "stablehlo.return"(%go) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<ui8>, %a: tensor<256x256xf32>):
    %one = "stablehlo.constant"() {value = dense<1> : tensor<ui8>} : () -> tensor<ui8>
    %m = "stablehlo.dot"(%a, %a) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %next = "stablehlo.add"(%i, %one) : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
    "stablehlo.return"(%next, %m) : (tensor<ui8>, tensor<256x256xf32>) -> ()
  }) : (tensor<ui8>, tensor<256x256xf32>) -> (tensor<ui8>, tensor<256x256xf32>)
  return %r#1 : tensor<256x256xf32>
}
func.func @compares_unsigned(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %begin = arith.constant 100 : i8
  %end = arith.constant 200 : i8
  %one = arith.constant 1 : i8
  %r:2 = scf.while (%i = %begin, %a = %x) : (i8, tensor<256x256xf32>) -> (i8, tensor<256x256xf32>) {
    %go = arith.cmpi ult, %i, %end : i8
    scf.condition(%go) %i, %a : i8, tensor<256x256xf32>
  } do {
  ^bb0(%i: i8, %a: tensor<256x256xf32>):
    %m = "stablehlo.dot"(%a, %a) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    %next = arith.addi %i, %one : i8
    scf.yield %next, %m : i8, tensor<256x256xf32>
  }
  return %r#1 : tensor<256x256xf32>
}
// Data may end it before its hundredth trip; the largest step counts. The first truth is written as JAX does.
func.func @ends_early(%x: tensor<256x256xf32>, %enough: tensor<f32>) -> tensor<256x256xf32> {
  %zero = "stablehlo.constant"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>
  %r:2 = "stablehlo.while"(%zero, %x) ({
  ^bb0(%i: tensor<i32>, %a: tensor<256x256xf32>):
    %n = "stablehlo.constant"() {value = dense<100> : tensor<i32>} : () -> tensor<i32>
    %counts = "stablehlo.compare"(%i, %n) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %false = "stablehlo.constant"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>
    %truth = "stablehlo.compare"(%counts, %false) {comparison_direction = #stablehlo<comparison_direction NE>} : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %corner = "stablehlo.slice"(%a) : (tensor<256x256xf32>) -> tensor<f32>
    %lacks = "stablehlo.compare"(%corner, %enough) {comparison_direction = #stablehlo<comparison_direction LT>} : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %go = "stablehlo.and"(%truth, %lacks) : (tensor<i1>, tensor<i1>) -> tensor<i1>
    "stablehlo.return"(%go) : (tensor<i1>) -> ()
  }, {
  ^bb0(%i: tensor<i32>, %a: tensor<256x256xf32>):
    %one = "stablehlo.constant"() {value = dense<1> : tensor<i32>} : () -> tensor<i32>
    %next = "stablehlo.add"(%i, %one) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %m = "stablehlo.dot"(%a, %a) : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
    "stablehlo.return"(%next, %m) : (tensor<i32>, tensor<256x256xf32>) -> ()
  }) : (tensor<i32>, tensor<256x256xf32>) -> (tensor<i32>, tensor<256x256xf32>)
  return %r#1 : tensor<256x256xf32>
}
// The loop itself says it.
func.func @by_attribute(%x: tensor<256x256xf32>, %n: index) -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<256x256xf32> {
    %m = linalg.matmul ins(%a, %a : tensor<256x256xf32>, tensor<256x256xf32>) outs(%a : tensor<256x256xf32>) -> tensor<256x256xf32>
    scf.yield %m : tensor<256x256xf32>
  } {berth.trips = 100 : i64}
  return %r : tensor<256x256xf32>
}
