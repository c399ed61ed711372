// Bytes that ops move. An update changes 256 x 1024 numbers, 1 MiB of 16 MiB.
func.func @update_in_loop(%x: tensor<4096x1024xf32>, %u: tensor<256x1024xf32>) -> tensor<4096x1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %z = arith.constant 0 : i32
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%a = %x) -> tensor<4096x1024xf32> {
    %n = "stablehlo.dynamic_update_slice"(%a, %u, %z, %z) : (tensor<4096x1024xf32>, tensor<256x1024xf32>, i32, i32) -> tensor<4096x1024xf32>
    scf.yield %n : tensor<4096x1024xf32>
  }
  return %r : tensor<4096x1024xf32>
}
func.func @insert_in_loop(%x: tensor<4096x1024xf32>, %u: tensor<256x1024xf32>) -> tensor<4096x1024xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %r = scf.for %i = %c0 to %c100 step %c1 iter_args(%a = %x) -> tensor<4096x1024xf32> {
    %n = tensor.insert_slice %u into %a[%i, 0] [256, 1024] [1, 1] : tensor<256x1024xf32> into tensor<4096x1024xf32>
    scf.yield %n : tensor<4096x1024xf32>
  }
  return %r : tensor<4096x1024xf32>
}
// An argument that the caller gives away is changed in place. One that it keeps is copied first, and so is what another op
// reads later.
func.func @update_of_donated(%x: tensor<4096x1024xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<256x1024xf32>, %i: tensor<i32>) -> tensor<4096x1024xf32> {
  %n = "stablehlo.dynamic_update_slice"(%x, %u, %i, %i) : (tensor<4096x1024xf32>, tensor<256x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x1024xf32>
  return %n : tensor<4096x1024xf32>
}
func.func @update_of_argument(%x: tensor<4096x1024xf32>, %u: tensor<256x1024xf32>, %i: tensor<i32>) -> tensor<4096x1024xf32> {
  %n = "stablehlo.dynamic_update_slice"(%x, %u, %i, %i) : (tensor<4096x1024xf32>, tensor<256x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x1024xf32>
  return %n : tensor<4096x1024xf32>
}
func.func @update_of_read(%x: tensor<4096x1024xf32> {tf.aliasing_output = 0 : i32}, %u: tensor<256x1024xf32>, %i: tensor<i32>) -> (tensor<4096x1024xf32>, tensor<4096x1024xf32>) {
  %t = "stablehlo.reverse"(%x) : (tensor<4096x1024xf32>) -> tensor<4096x1024xf32>
  %n = "stablehlo.dynamic_update_slice"(%t, %u, %i, %i) : (tensor<4096x1024xf32>, tensor<256x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x1024xf32>
  return %n, %t : tensor<4096x1024xf32>, tensor<4096x1024xf32>
}
// An update is read and written, and what was there is read: three times 1 MiB, and the indices.
func.func @scatter(%x: tensor<4096x1024xf32> {tf.aliasing_output = 0 : i32}, %i: tensor<256x1xi32>, %u: tensor<256x1024xf32>) -> tensor<4096x1024xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    "stablehlo.return"(%s) : (tensor<f32>) -> ()
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<4096x1024xf32>, tensor<256x1xi32>, tensor<256x1024xf32>) -> tensor<4096x1024xf32>
  return %0 : tensor<4096x1024xf32>
}
// Their regions say what happens at every element.
func.func @pad(%x: tensor<4096x1022xf32>) -> tensor<4096x1024xf32> {
  %z = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1] high[0, 1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %z : f32
  } : tensor<4096x1022xf32> to tensor<4096x1024xf32>
  return %p : tensor<4096x1024xf32>
}
func.func @generate() -> tensor<4096x1024xf32> {
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c = arith.index_cast %i : index to i32
    %f = arith.sitofp %c : i32 to f32
    tensor.yield %f : f32
  } : tensor<4096x1024xf32>
  return %g : tensor<4096x1024xf32>
}
// A table of 256 MB, of which the body reads an element at each of 10240 x 64 points: 2.62 MB, as many written, and the
// ids. Where it reads the table otherwise too, all of it counts.
func.func @lookup(%table: tensor<1000000x64xf32>, %ids: tensor<10240xi64>) -> tensor<10240x64xf32> {
  %0 = tensor.empty() : tensor<10240x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<10240xi64>) outs(%0 : tensor<10240x64xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %element = tensor.extract %table[%row, %column] : tensor<1000000x64xf32>
    linalg.yield %element : f32
  } -> tensor<10240x64xf32>
  return %1 : tensor<10240x64xf32>
}
func.func @lookup_of_whole(%table: tensor<1000000x64xf32>, %ids: tensor<10240xi64>) -> tensor<10240x64xf32> {
  %0 = tensor.empty() : tensor<10240x64xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<10240xi64>) outs(%0 : tensor<10240x64xf32>) {
  ^bb0(%id: i64, %out: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %slice = tensor.extract_slice %table[%row, 0] [1, 64] [1, 1] : tensor<1000000x64xf32> to tensor<64xf32>
    %element = tensor.extract %slice[%column] : tensor<64xf32>
    linalg.yield %element : f32
  } -> tensor<10240x64xf32>
  return %1 : tensor<10240x64xf32>
}
// A step that updates zeros writes them first: 16 MiB, and what an update moves.
func.func @update_of_filled(%u: tensor<256x1024xf32>, %i: tensor<i32>) -> tensor<4096x1024xf32> {
  %z = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>
  %s = "stablehlo.broadcast_in_dim"(%z) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<4096x1024xf32>
  %n = "stablehlo.dynamic_update_slice"(%s, %u, %i, %i) : (tensor<4096x1024xf32>, tensor<256x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x1024xf32>
  return %n : tensor<4096x1024xf32>
}
