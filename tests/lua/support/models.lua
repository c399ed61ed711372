-- Small graphs and clusters for the scripts in tests/lua/scripts.

local berth = require "berth"

local models = {}

-- Two branches between a source and a sink; every cost and size stated.
--
--        +-> left 30 us --+
--   in --+                +-> out 5 us
--   10 us+-> right 20 us -+
function models.diamond()
  local builder = berth.graph_builder "diamond"
  local ops, outputs = {}, {}
  for i, spec in ipairs { { "in", 10 }, { "left", 30 }, { "right", 20 }, { "out", 5 } } do
    ops[i] = builder:add_op(spec[1], "Test")
    builder:set_cost(ops[i], spec[2])
    outputs[i] = builder:add_output(ops[i], { bytes = 1000 }, spec[1] .. ":0")
  end
  builder:add_input(ops[2], outputs[1]):add_input(ops[3], outputs[1])
  builder:add_input(ops[4], outputs[2]):add_input(ops[4], outputs[3])
  return builder:build()
end

-- `count` equal devices with a bus of 1 GB/s: 1000 bytes take 1 us.
function models.cluster(count, memory_bytes)
  local devices = {}
  for i = 1, count do
    devices[i] = { name = "gpu:" .. i - 1, kind = "gpu", memory_bytes = memory_bytes }
  end
  return berth.cluster {
    name = "pair",
    devices = devices,
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 0 } },
  }
end

-- The published simulator's rules without its pauses, so that runtimes can be told by hand.
function models.problem(options)
  local fields = {
    graph = models.diamond(),
    cluster = models.cluster(2),
    semantics = "placeto",
    device_gap_us = 0,
    transfer_gap_us = 0,
  }
  for key, value in pairs(options or {}) do fields[key] = value end
  return berth.problem(fields)
end

return models
