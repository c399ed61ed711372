-- How do policies fare on machines of many nodes, with graphs of up to hundreds of thousands of ops?
--
--   berth run scripts/experiments/large_machines.lua [--layers N] [--width N] [--nodes N,N] [--gpus N]
--       [--policies a,b:option=value] [--budget SECONDS] [--seed N] [--figures FOLDER]
--       [--format text|markdown]
--
-- The graph has --layers of --width ops each. An op reads the op before it in its own column and one of
-- the ten columns to either side; costs (5 to 50 us) and tensors (64 KiB to 1 MiB) are drawn by the seed.
-- A machine has --nodes of --gpus devices: within a node transfers run at 300 GB/s with 5 us, between
-- nodes at 25 GB/s with 15 us, and all that leaves or enters a node passes its one network card.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local tables = require "berth.tables"

local options = { layers = 400, width = 250, nodes = { 8 }, gpus = 8, budget_s = 30, seed = 0, format = "text",
                  policies = { "single", "topo", "metis", "metis:phases=16", "heft", "auto" } }
local line = arguments.parser("large_machines.lua [--layers N] [--width N] [--nodes N,N] [--gpus N] "
  .. "[--policies a,b] [--budget SECONDS] [--seed N] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, nil, {
  ["--layers"] = line.number_into(options, "layers"),
  ["--width"] = line.number_into(options, "width"),
  ["--nodes"] = line.numbers_into(options, "nodes"),
  ["--gpus"] = line.number_into(options, "gpus"),
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--budget"] = function(text) options.budget_s = line.number(text, "--budget") end,
  ["--seed"] = line.number_into(options, "seed"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

local function layered_graph(layers, width, seed)
  local random = berth.random(seed)
  local builder = berth.graph_builder(("layered_%dx%d"):format(layers, width))
  local before = {}
  for layer = 1, layers do
    local outputs = {}
    for column = 1, width do
      local op = builder:add_op(("layer_%d/op_%d"):format(layer, column), "Layer")
      builder:set_cost(op, 5 + 45 * random:uniform())
      if layer > 1 then
        builder:add_input(op, before[column])
        local other = math.max(1, math.min(width, column + random:integer(21) - 11))
        if other ~= column then builder:add_input(op, before[other]) end
      end
      outputs[column] = builder:add_output(op, { bytes = 65536 * (random:integer(16)) })
    end
    before = outputs
  end
  return builder:build()
end

local function cluster_of(nodes, gpus)
  local devices, links = {}, {}
  for node = 0, nodes - 1 do
    for gpu = 0, gpus - 1 do
      devices[#devices + 1] = { name = ("n%d/gpu:%d"):format(node, gpu), kind = "gpu" }
    end
  end
  for src = 0, #devices - 1 do
    for dst = 0, #devices - 1 do
      local a, b = math.floor(src / gpus), math.floor(dst / gpus)
      if src ~= dst then
        links[#links + 1] = { src = devices[src + 1].name, dst = devices[dst + 1].name,
          bandwidth_bytes_per_s = a == b and 300e9 or 25e9, latency_us = a == b and 5 or 15,
          shares = a ~= b and { ("out:%d"):format(a), ("in:%d"):format(b) } or nil }
      end
    end
  end
  return berth.cluster { name = ("%d nodes of %d"):format(nodes, gpus), devices = devices, links = links }
end

local graph = layered_graph(options.layers, options.width, options.seed)
local rows = {}
for _, nodes in ipairs(options.nodes) do
  local began_s = berth.clock()
  local problem = berth.problem { graph = graph, cluster = cluster_of(nodes, options.gpus) }
  local made_s = berth.clock() - began_s
  for _, text in ipairs(options.policies) do
    local name, set = text:match "^[^:]+", {}
    for key, value in text:gmatch ":([^=:]+)=([^:]+)" do set[key] = tonumber(value) or value end
    began_s = berth.clock()
    local done, placement, outcome = pcall(function()
      return berth.policy(name, set):place(problem, { budget_s = options.budget_s, seed = options.seed })
    end)
    local row = { machine = nodes .. " x " .. options.gpus, policy = text, wall = berth.clock() - began_s, made = made_s }
    if done then
      row.runtime, row.tried = outcome.runtime_us / 1e3, outcome.evaluations
    else
      row.remark = placement:match "[^\n]*"
    end
    rows[#rows + 1] = row
    berth.progress(("%s on %s"):format(text, row.machine))
  end
end
plots.keep(options.figures, "large_machines", plots.table_bars(rows, {
  title = ("%d ops on machines of nodes"):format(graph:op_count()), y = "runtime, ms", y_log = true,
  name = "machine", series = "policy", key = "runtime" }))
print(("%d ops; seed %d, budget %g s"):format(graph:op_count(), options.seed, options.budget_s))
io.write(tables[options.format](rows, {
  { key = "machine" }, { key = "policy" }, { key = "runtime", title = "runtime, ms", format = "%.2f" },
  { key = "wall", title = "all time, s", format = "%.1f" }, { key = "made", title = "problem, s", format = "%.1f" },
  { key = "tried", title = "placements" }, { key = "remark", optional = true },
}))
