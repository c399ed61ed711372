// Two branches of products as JAX writes them, in the generic form that parses without StableHLO; the
// second calls a function of its own twice.
"builtin.module"() <{sym_name = "jit_two_branches"}> ({
  "func.func"() <{function_type = (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>):
    %a1 = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %a2 = "stablehlo.dot_general"(%a1, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %b1 = "func.call"(%x, %w) <{callee = @layer}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %b2 = "func.call"(%b1, %w) <{callee = @layer}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %sum = "stablehlo.add"(%a2, %b2) : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    "func.return"(%sum) : (tensor<1024x1024xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>, sym_name = "layer", sym_visibility = "private"}> ({
  ^bb0(%x: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>):
    %y = "stablehlo.dot_general"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    %z = "stablehlo.tanh"(%y) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    "func.return"(%z) : (tensor<1024x1024xf32>) -> ()
  }) : () -> ()
}) : () -> ()
