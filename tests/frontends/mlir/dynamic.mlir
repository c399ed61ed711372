func.func public @main(%x: tensor<?x4096xf32>) -> tensor<?x4096xf32> {
  %a = math.exp %x : tensor<?x4096xf32>
  %b = math.tanh %a : tensor<?x4096xf32>
  return %b : tensor<?x4096xf32>
}
