// A tensor has 4 MiB.
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
