// A hundred kernels each.
func.func @in_turn(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%a = %x) -> tensor<256x256xf32> {
    %b = math.exp %a : tensor<256x256xf32>
    scf.yield %b : tensor<256x256xf32>
  }
  return %r : tensor<256x256xf32>
}
func.func @with_indices(%x: tensor<256x256xf32>) -> tensor<256x256xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%a = %x) -> tensor<256x256xf32> {
    %j = arith.addi %i, %c1 : index
    %k = arith.muli %j, %c1 : index
    %b = math.exp %a : tensor<256x256xf32>
    scf.yield %b : tensor<256x256xf32>
  }
  return %r : tensor<256x256xf32>
}
func.func @forall(%x: tensor<100x256x256xf32>, %e: tensor<1x256x256xf32>) -> tensor<100x256x256xf32> {
  %r = scf.forall (%i, %j) in (20, 5) shared_outs(%o = %x) -> (tensor<100x256x256xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[%i, 0, 0] [1, 256, 256] [1, 1, 1] : tensor<1x256x256xf32> into tensor<100x256x256xf32>
    }
  }
  return %r : tensor<100x256x256xf32>
}
func.func @parallel(%x: memref<256x256xf32>, %y: memref<256x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c20 = arith.constant 20 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c5, %c20) step (%c1, %c1) {
    memref.copy %x, %y : memref<256x256xf32> to memref<256x256xf32>
    scf.reduce
  }
  return
}
func.func @affine(%x: memref<256x256xf32>, %y: memref<256x256xf32>) {
  affine.parallel (%i, %j) = (0, 10) to (10, 30) step (2, 1) {
    memref.copy %x, %y : memref<256x256xf32> to memref<256x256xf32>
  }
  return
}
