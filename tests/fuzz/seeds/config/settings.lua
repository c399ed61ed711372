local devices = 4
return {
  cluster = "k80x" .. devices, policy = "scotch", objective = "latency", semantics = "placeto",
  costs = "roofline", groups = 2 ^ 7, seed = 7, threads = 2, budget = 1.5,
  policies = { "topo", "scotch" },
  options = { rounds = 8, lr = 1e-3, verbose = true, mode = "fast" },
  dims = { batch = math.max(8, 4) }, shapes = { image = { 1, 3, 8, 8 } }, fetches = { "loss:0" },
}
