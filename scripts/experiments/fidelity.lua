-- How well does the simulator predict what executing a placement takes?
--
--   berth run scripts/experiments/fidelity.lua [MODEL[:DIM=SIZE,..]..] [--backend cpu]
--       [--devices N] [--threads N] [--bandwidth BYTES_PER_S] [--latency US] [--placements N]
--       [--warm-up N] [--repeats N] [--seed N] [--svg FILE] [--format text|markdown]
--
-- Per model: profiles its ops and the links, then simulates with these costs and executes the same
-- varied placements (default 50). One row per model: the mean of |simulated - measured| / measured,
-- Spearman's rank correlation, and how far measured runtimes spread, for scale.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

-- 1. The command line.

local options = { models = {}, backend = "cpu", device_options = { devices = 2 }, placements = 50,
                  warm_up = 2, repeats = 7, seed = 1, format = "text" }

local line = arguments.parser("fidelity.lua [MODEL[:DIM=SIZE,..]..] [--backend cpu] [--devices N] "
  .. "[--threads N] [--bandwidth BYTES_PER_S] [--latency US] [--placements N] [--warm-up N] "
  .. "[--repeats N] [--seed N] [--svg FILE] [--format text|markdown]")
local function number(name, into, key)
  return function(text) into[key] = line.number(text, name) end
end
line.read({ ... }, options.models, {
  ["--backend"] = function(text) options.backend = text end,
  ["--devices"] = number("--devices", options.device_options, "devices"),
  ["--threads"] = number("--threads", options.device_options, "threads"),
  ["--bandwidth"] = number("--bandwidth", options.device_options, "bandwidth_bytes_per_s"),
  ["--latency"] = number("--latency", options.device_options, "latency_us"),
  ["--placements"] = number("--placements", options, "placements"),
  ["--warm-up"] = number("--warm-up", options, "warm_up"),
  ["--repeats"] = number("--repeats", options, "repeats"),
  ["--seed"] = number("--seed", options, "seed"),
  ["--svg"] = function(text) options.svg = text end,
  ["--format"] = function(text)
    options.format = line.one_of(text, "--format", { text = true, markdown = true },
      "text or markdown")
  end,
})
if #options.models == 0 then
  options.models = { "examples/models/tiny_cnn.onnx", "examples/models/resnet50.onnx",
                     "examples/models/inception_v3.onnx",
                     "examples/models/bert_base.onnx:batch=1,sequence=64" }
end

-- 2. Placements that differ in how much they balance and how much they send.

-- Ops in topological order, cut into runs of random length, each on a random device.
local function in_runs(graph, devices, random, runs)
  local order = graph:topological_order()
  local cut, placement = {}, {}
  for _ = 1, runs - 1 do cut[random:integer(#order)] = true end
  local device = random:integer(devices)
  for i, op in ipairs(order) do
    if cut[i] then device = random:integer(devices) end
    placement[op] = device
  end
  return placement
end

-- Every group of a coarser graph on a random device.
local function in_groups(graph, costs, devices, random, count)
  local groups = berth.coarsen(graph, costs, count)
  local device_of = {}
  for g = 1, groups:count() do device_of[g] = random:integer(devices) end
  return groups:expand(device_of)
end

local function on_one(graph, device)
  local placement = {}
  for op = 1, graph:op_count() do placement[op] = device end
  return placement
end

-- Ops that belong together go where the first of them is.
local function together(graph, placement)
  local device_of = {}
  for op = 1, graph:op_count() do
    local class = graph:colocation(op)
    if class then
      device_of[class] = device_of[class] or placement[op]
      placement[op] = device_of[class]
    end
  end
  return placement
end

local function varied_placements(problem, count, seed)
  local graph, costs = problem:graph(), problem:costs()
  local devices = problem:cluster():device_count()
  local random = berth.random(seed)
  local placements = {}
  for device = 1, devices do placements[#placements + 1] = on_one(graph, device) end
  for _, name in ipairs { "topo", "heft", "m-etf", "round_robin", "random" } do
    placements[#placements + 1] = (berth.policy(name):place(problem, { seed = seed }))
  end
  while #placements < count do
    local size = 2 ^ random:integer(6)
    placements[#placements + 1] = #placements % 2 == 0
        and in_runs(graph, devices, random, size)
        or in_groups(graph, costs, devices, random, size)
  end
  for i = 1, #placements do placements[i] = together(graph, placements[i]) end
  return placements
end

-- 3. One model: profile, then both runtimes of every placement.

local function model_of(text)
  local path, dims = text:match "^(.-):(.*)$"
  local load = { dims = {} }
  for name, size in (dims or ""):gmatch "([^,=]+)=(%d+)" do load.dims[name] = tonumber(size) end
  return path or text, load
end

local function row_of(text)
  local path, load = model_of(text)
  local program = berth.program(path, load)
  local backend = berth.backend(options.backend, options.device_options)
  local costs, cluster = backend:open(program):profile { repeats = 3 * options.repeats }
  local problem = berth.problem { graph = program:graph(), cluster = cluster, costs = costs }
  local session = backend:open(program, { problem = problem })
  local row = { model = path:match "[^/]+$":gsub("%..*$", ""), ops = program:graph():op_count(),
                points = {}, machine = backend:description() }
  local simulated, measured, errors = {}, {}, {}
  for i, placement in ipairs(varied_placements(problem, options.placements, options.seed)) do
    if berth.should_stop() then break end
    local found = session:measure(placement, { warm_up = options.warm_up, repeats = options.repeats })
    simulated[i] = problem:evaluate(placement).runtime_us
    measured[i] = found.median_us
    errors[i] = math.abs(simulated[i] - measured[i]) / measured[i]
    row.points[i] = { simulated[i] / 1e3, measured[i] / 1e3 }
  end
  row.placements = #errors
  row.error = statistics.mean(errors)
  row.rank = #errors > 1 and statistics.spearman(simulated, measured) or nil
  row.fastest_us, row.slowest_us = math.min(unpack(measured)), math.max(unpack(measured))
  return row
end

local rows, series = {}, {}
for _, model in ipairs(options.models) do
  if berth.should_stop() then break end
  local row = row_of(model)
  rows[#rows + 1] = row
  series[#series + 1] = { name = row.model, points = row.points }
end

-- 4. The table, the picture.

local function milliseconds(us) return ("%.2f"):format(us / 1e3) end

io.write(rows[1] and rows[1].machine .. "\n\n" or "")
io.write(tables[options.format](rows, {
  { key = "model" }, { key = "ops" }, { key = "placements" },
  { key = "error", title = "mean error", format = function(e) return ("%.1f %%"):format(100 * e) end },
  { key = "rank", title = "rank correlation", format = "%.3f" },
  { key = "fastest_us", title = "fastest ms", format = milliseconds },
  { key = "slowest_us", title = "slowest", format = milliseconds },
}))
if options.svg then
  local file = assert(io.open(options.svg, "w"))
  file:write(plots.scatter { title = "Runtimes of placements", x = "simulated [ms]",
                             y = "measured [ms]", series = series, diagonal = true })
  file:close()
end
