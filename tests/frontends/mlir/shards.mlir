// A product of 1024 x 256 x 512 in eight shards, as JAX writes shard_map.
"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["d"=4, "m"=3, "e"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{function_type = (tensor<1024x256xf32>, tensor<256x512xf32>) -> tensor<1024x512xf32>, sym_name = "main"}> ({
  ^bb0(%x: tensor<1024x256xf32>, %w: tensor<256x512xf32>):
    %0 = "sdy.manual_computation"(%x, %w) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"d", "e"}, {}]>, <@mesh, [{}, {}]>]>, manual_axes = #sdy<manual_axes{"d", "e"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"d", "e"}, {}]>]>}> ({
    ^bb0(%a: tensor<128x256xf32>, %b: tensor<256x512xf32>):
      %1 = "stablehlo.dot_general"(%a, %b) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>} : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
      "sdy.return"(%1) : (tensor<128x512xf32>) -> ()
    }) : (tensor<1024x256xf32>, tensor<256x512xf32>) -> tensor<1024x512xf32>
    "func.return"(%0) : (tensor<1024x512xf32>) -> ()
  }) : () -> ()
}) : () -> ()
