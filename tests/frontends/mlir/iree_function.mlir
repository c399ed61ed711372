"builtin.module"() ({
  "util.func"() ({
  ^bb0(%x: tensor<1024x1024xf32>, %n: index):
    %zero = "arith.constant"() {value = 0 : index} : () -> index
    %one = "arith.constant"() {value = 1 : index} : () -> index
    %r = "scf.for"(%zero, %n, %one, %x) ({
    ^bb1(%i: index, %a: tensor<1024x1024xf32>):
      %b = "mine.twist"(%a) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
      "scf.yield"(%b) : (tensor<1024x1024xf32>) -> ()
    }) : (index, index, index, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %c = "util.call"(%r) {callee = @more} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    "util.return"(%c) : (tensor<1024x1024xf32>) -> ()
  }) {function_type = (tensor<1024x1024xf32>, index) -> tensor<1024x1024xf32>, sym_name = "main"} : () -> ()
  "util.func"() ({
  ^bb0(%x: tensor<1024x1024xf32>):
    %d = "math.exp"(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    "util.return"(%d) : (tensor<1024x1024xf32>) -> ()
  }) {function_type = (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>, sym_name = "more", sym_visibility = "private"} : () -> ()
}) : () -> ()
