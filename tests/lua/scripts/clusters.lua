local berth = require "berth"
local check = require "check"
local models = require "models"
local folder = ...

check.test("a cluster made from a table tells it back", function()
  local cluster = berth.cluster {
    name = "mixed",
    devices = {
      { name = "g0", kind = "gpu", memory_bytes = 1e9, flops = 1e12, flops_16 = 2e12, flops_8 = 4e12,
        flops_64 = 5e11, flops_tf32 = 1.5e12, memory_bandwidth = 1e11, op_overhead_us = 2, multiprocessors = 7 },
      { name = "c0", kind = "cpu", memory_bytes = math.huge, host = true, engine_per_link = true },
    },
    links = {
      { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 5, shares = { "bus" } },
      { src = "g0", dst = "c0", bandwidth_bytes_per_s = 2e9 },
    },
  }
  check.equal(tostring(cluster), "cluster 'mixed' (g0, c0)")
  check.equal({ cluster:name(), cluster:device_count() }, { "mixed", 2 })
  check.equal(cluster:device(1), { name = "g0", kind = "gpu", memory_bytes = 1e9, flops = 1e12,
    flops_16 = 2e12, flops_8 = 4e12, flops_64 = 5e11, flops_tf32 = 1.5e12, memory_bandwidth = 1e11, op_overhead_us = 2,
    multiprocessors = 7, host = false, engine_per_link = false })
  local c0 = cluster:device(2)
  check.equal({ c0.memory_bytes, c0.host, c0.engine_per_link }, { math.huge, true, true })
  check.equal({ cluster:find "c0", cluster:find "c1" }, { 2 })
  check.equal(cluster:kinds(), { "gpu", "cpu" })
  check.equal(cluster:route(1, 2),
    { src = "g0", dst = "c0", bandwidth_bytes_per_s = 2e9, latency_us = 0, shares = {}, parallel = false })
  check.equal(cluster:route(2, 1).shares, { "bus" })
  check.near(cluster:transfer_us(2, 1, 1000), 6)

  -- A machine of another's routes, whose receivers copy.
  local pair = { { name = "a", kind = "k" }, { name = "b", kind = "k" } }
  local copying = berth.cluster { name = "copying", devices = pair,
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, receiver_us = 3 } } }
  local again = berth.cluster { name = "again", devices = pair,
    links = { copying:route(1, 2), copying:route(2, 1) } }
  check.equal(again:route(2, 1), copying:route(2, 1))

  local path = folder .. "/mixed.cluster.json"
  cluster:save(path)
  check.equal(berth.cluster(path):device(1), cluster:device(1))
end)

check.test("what a device runs is read, told and obeyed", function()
  local device = { name = "n0", kind = "npu", flops = 1e13, memory_bandwidth = 1e11,
                   runs = { types = { "MatMul" }, dtypes = { "f16" } } }
  local host = { name = "c0", kind = "cpu", flops = 1e11, memory_bandwidth = 1e10, host = true }
  local links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9 } }
  local phone = berth.cluster { name = "phone", devices = { host, device }, links = links }
  check.equal(phone:device(2).runs, { types = { "MatMul" }, dtypes = { "f16" } })
  check.equal(phone:device(1).runs, nil)
  local builder = berth.graph_builder "three"
  local last
  for _, type in ipairs { "MatMul", "Loop", "MatMul" } do
    local op = builder:add_op(type .. (last or 0), type)
    if last then builder:add_input(op, last) end
    last = builder:add_output(op, { dtype = "f16", shape = { 512, 512 } })
    builder:set_work(op, { flops = 1e9, class = "matmul", dtype = "f16" })
  end
  local graph = builder:build()
  local problem = berth.problem { graph = graph, cluster = phone }
  local placement = berth.policy("single"):place(problem)
  check.equal(placement[2], 1)
  check.fails("'Loop1' of type 'Loop' cannot run on device 'n0' .*which runs no op of type 'Loop'", function()
    problem:validate { 2, 2, 2 }
  end)
  check.fails("c0 runs no op of type 'Loop'; npu runs no op of type 'Loop'", function()
    host.kind, host.runs = "c0", { types = { "MatMul" } }
    berth.problem { graph = graph,
                    cluster = berth.cluster { name = "phone", devices = { host, device }, links = links } }
  end)
  check.fails("there is no element type 'half'", function()
    device.runs = { dtypes = { "half" } }
    berth.cluster { name = "phone", devices = { host, device }, links = links }
  end)
end)

check.test("here is this machine, and the same one each time", function()
  local here = berth.cluster "here"
  check.equal(here:device(1).host, true)
  check.equal(here:device(1).flops > 0 and here:device(1).memory_bandwidth > 0, true)
  check.equal(berth.cluster("here"):device(1), here:device(1))
  local problem = berth.problem { graph = models.diamond(), cluster = "here" }
  check.equal(problem:cluster():device(1), here:device(1))
  local _, outcome = berth.policy("single"):place(problem)
  check.equal(outcome.feasible, true)
  local path = folder .. "/diamond.graph.json"
  models.diamond():save(path, problem:costs(), problem:cluster())
  local _, placed = berth.place(path, { cluster = "here", policy = "single" })
  check.equal(placed.feasible, true)
  check.fails("'here'.*stands for itself", berth.cluster, "here+rtx4090")
end)

check.test("presets are listed with their sources", function()
  local presets = berth.cluster_presets()
  check.equal(#presets > 0, true)
  for _, preset in ipairs(presets) do
    check.equal(preset.source ~= "" and preset.description ~= "", true)
    check.equal(berth.cluster(preset.name):name(), preset.name)
  end
end)

check.test("bad clusters are refused", function()
  local device = { name = "d", kind = "k" }
  check.fails("clusters.lua:%d+: berth.cluster: .*k80x4", function() berth.cluster "k80y5" end)
  check.fails("a preset's name, a file's path or a table expected, got 4", berth.cluster, 4)
  check.fails("'name': text expected, got nothing", berth.cluster, { devices = { device } })
  check.fails("unknown field 'device'.*devices", berth.cluster, { name = "x", device = {} })
  check.fails("devices%[2%]: field 'kind': text expected", berth.cluster,
              { name = "x", devices = { device, { name = "e" } } })
  check.fails("devices%[1%]: unknown field 'flop'.*flops", berth.cluster,
              { name = "x", devices = { { name = "d", kind = "k", flop = 1 } } })
  check.fails("'devices%[1%]': table expected, got 1", berth.cluster, { name = "x", devices = { 1 } })
  check.fails("links%[1%]: field 'bandwidth_bytes_per_s': number expected", berth.cluster,
              { name = "x", devices = { device }, links = { { src = "*", dst = "*" } } })
  check.fails("berth.cluster: .", berth.cluster, { name = "x" })
  check.fails("berth.cluster: .*'d'", berth.cluster, { name = "x", devices = { device, device } })
  local pair = models.cluster(2)
  check.fails("device%): integer in 1%.%.2 expected, got 3", pair.device, pair, 3)
  check.fails("no route to itself", pair.route, pair, 1, 1)
  check.fails("bytes%): integer >= 0 expected, got %-1", pair.transfer_us, pair, 1, 2, -1)
  check.fails("cluster:save: .*absent", pair.save, pair, folder .. "/absent/x.json")
end)

check.finish()
