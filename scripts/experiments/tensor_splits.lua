-- How much shorter does a step become whose products are split over devices?
--
--   berth run scripts/experiments/tensor_splits.lua [--format text|markdown]
--
-- An estimate without a search: a step on one group of devices, one op after another, in which every product is
-- split by the rows or the columns of its result where that is shorter. A part takes what the roofline model
-- says of a product of its size; behind it the result is gathered by a ring over the group's slowest link.
-- Without gathers it is what splits could bring at most: neighbours that are split alike need none.

local arguments = require "berth.arguments"
local berth = require "berth"
local tables = require "berth.tables"

-- Graph, machine, samples of a step, devices of a group.
local ROWS = {
  { "rnnlm_b64", "v100x8", 64, 8 }, { "rnnlm_b64", "v100x8", 32, 4 },
  { "nmt_b64", "v100x8", 64, 8 }, { "nmt_b64", "v100x8", 32, 4 },
}
local KIND = 2 -- behind the host's

local options = { format = "text" }
local line = arguments.parser()
local parts = {}
line.read({ ... }, parts, { ["--format"] = line.format_into(options) })
if #parts > 0 then line.usage(("unexpected argument '%s'"):format(parts[1])) end

-- A product of so many rows, columns and terms, in microseconds; remembered.
local function product(cluster)
  local known = {}
  return function(rows, columns, terms)
    local key = ("%d %d %d"):format(rows, columns, terms)
    if not known[key] then
      local builder = berth.graph_builder("product", "onnx")
      local a = builder:add_parameter { dtype = "f32", shape = { rows, terms } }
      local x = builder:add_op("x", "Input")
      local b = builder:add_output(x, { dtype = "f32", shape = { terms, columns } })
      local op = builder:add_op("product", "MatMul")
      builder:add_input(op, a)
      builder:add_input(op, b)
      builder:add_output(op, { dtype = "f32", shape = { rows, columns } })
      local graph = builder:build()
      known[key] = berth.costs("roofline", graph, cluster):op_us(graph:find "product", KIND)
    end
    return known[key]
  end
end

local rows = {}
for _, row in ipairs(ROWS) do
  local name, machine, samples, devices = unpack(row)
  local cluster = berth.cluster(machine)
  local graph = berth.load(("examples/models/tf/%s.pb.gz"):format(name), { batch = samples })
  local costs = berth.costs("roofline", graph, cluster)
  local product_us = product(cluster)
  local overhead_us = cluster:device(2).op_overhead_us
  local gather_us = function(bytes)
    local slowest = 0
    for i = 0, devices - 1 do
      slowest = math.max(slowest, cluster:transfer_us(2 + i, 2 + (i + 1) % devices, math.ceil(bytes / devices)))
    end
    return (devices - 1) * slowest
  end
  local one, products, with_gathers, without, split = 0, 0, 0, 0, 0
  for op = 1, graph:op_count() do
    local us = costs:op_us(op, KIND)
    if us > 0 and us < math.huge then
      us = us + overhead_us
      one = one + us
      local gathered, alone = us, us
      if graph:op_type(op) == "MatMul" then
        products = products + us
        local out = graph:outputs(op)[1]
        local shape = graph:shape(out)
        local terms = graph:work(op).flops / 2 / shape[1] / shape[2]
        alone = overhead_us + math.min(product_us(math.ceil(shape[1] / devices), shape[2], terms),
          product_us(shape[1], math.ceil(shape[2] / devices), terms))
        gathered = alone + gather_us(graph:tensor_bytes(out))
        if gathered < us then split = split + 1 end
      end
      with_gathers = with_gathers + math.min(us, gathered)
      without = without + math.min(us, alone)
    end
  end
  rows[#rows + 1] = {
    graph = name, machine = machine, group = ("%d of %d samples"):format(devices, samples),
    one = one / 1e3, products = products / one * 100, split = split,
    with_gathers = with_gathers / 1e3, without = without / 1e3,
  }
end

io.write(tables[options.format](rows, {
  { key = "graph" }, { key = "machine" }, { key = "group", title = "devices" },
  { key = "one", title = "one device, ms", format = "%.1f" },
  { key = "products", title = "of it products, %", format = "%.0f" },
  { key = "split", title = "worth splitting" },
  { key = "with_gathers", title = "split, ms", format = "%.1f" },
  { key = "without", title = "without gathers, ms", format = "%.1f" },
}))
