// Ops on buffers, which give no results. A product of 512 x 512 is 268.4 MFLOP.
func.func @in_turn(%x: memref<512x512xf32>, %w: memref<512x512xf32>, %h: memref<512x512xf32>, %y: memref<512x512xf32>) {
  linalg.matmul ins(%x, %w : memref<512x512xf32>, memref<512x512xf32>) outs(%h : memref<512x512xf32>)
  linalg.matmul ins(%h, %w : memref<512x512xf32>, memref<512x512xf32>) outs(%y : memref<512x512xf32>)
  return
}
func.func @apart(%x: memref<512x512xf32>, %w: memref<512x512xf32>, %h: memref<512x512xf32>, %y: memref<512x512xf32>) {
  linalg.matmul ins(%x, %w : memref<512x512xf32>, memref<512x512xf32>) outs(%h : memref<512x512xf32>)
  linalg.matmul ins(%x, %w : memref<512x512xf32>, memref<512x512xf32>) outs(%y : memref<512x512xf32>)
  return
}
// A product in a loop, of parts, behind what fills the buffer, on one device.
func.func @one_place(%x: memref<512x512xf32>, %w: memref<512x512xf32>, %zero: f32) -> memref<512x512xf32> {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c512 = arith.constant 512 : index
  %h = memref.alloc() : memref<512x512xf32>
  linalg.fill ins(%zero : f32) outs(%h : memref<512x512xf32>)
  scf.for %i = %c0 to %c512 step %c256 {
    %part = memref.subview %h[%i, 0] [256, 512] [1, 1] : memref<512x512xf32> to memref<256x512xf32, strided<[512, 1], offset: ?>>
    %rows = memref.subview %x[%i, 0] [256, 512] [1, 1] : memref<512x512xf32> to memref<256x512xf32, strided<[512, 1], offset: ?>>
    linalg.matmul ins(%rows, %w : memref<256x512xf32, strided<[512, 1], offset: ?>>, memref<512x512xf32>) outs(%part : memref<256x512xf32, strided<[512, 1], offset: ?>>)
  }
  linalg.exp ins(%h : memref<512x512xf32>) outs(%h : memref<512x512xf32>)
  return %h : memref<512x512xf32>
}
