// Two devices read one constant, of a dialect that is not loaded.
"func.func"() <{function_type = (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>), sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
  %two = "stablehlo.constant"() <{value = dense<2.0> : tensor<4xf32>}> : () -> tensor<4xf32>
  %a = "stablehlo.add"(%two, %two) {berth.device = "gpu:0"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %b = "stablehlo.multiply"(%two, %two) {berth.device = "gpu:1"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "func.return"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> ()
}) : () -> ()
