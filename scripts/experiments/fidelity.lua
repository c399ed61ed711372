-- How well does the simulator predict the runtime of an executed placement?
--
--   berth run scripts/experiments/fidelity.lua [MODEL[:DIM=SIZE,..]..] [--backend cpu]
--       [--devices N] [--threads N] [--bandwidth BYTES_PER_S] [--latency US] [--placements N]
--       [--warm-up N] [--repeats N] [--seed N] [--record FILE] [--figures FOLDER] [--format text|markdown]
--
-- For each model, the script profiles its ops and the links. It then simulates and executes the same
-- placements (default 50). Execution goes in rounds over all of them, two steps each. A step on the first
-- device is the reference: it is measured before each of these pairs, and a measured runtime is the median
-- of (step / reference) times the simulated reference, which is what such a step took while the profile was
-- made. So a machine whose speed drifts by a quarter within seconds, as virtual ones do, counts neither for
-- nor against the simulator. Placements on one device are no part of the table: they would be right by
-- construction.
--
-- One row per model: the mean of |simulated - measured| / measured, and Spearman's rank correlation. Both are
-- also given between the odd and the even rounds, because a prediction cannot agree better than the measurement
-- does with itself. "in order" counts the pairs of placements whose measured runtimes differ by more than a
-- repeat's error, and those of them that the simulator puts in that order. The range of the measured runtimes
-- shows the scale. "on links" is the error if copies took no time of their receivers (LinkSpec::receiver_us),
-- "best of 8" how much slower than the fastest placement measured is the fastest of the eight that the
-- simulator likes best.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

-- 1. The command line.

local options = { models = {}, backend = "cpu", device_options = { devices = 2 }, placements = 50,
                  warm_up = 1, repeats = 24, seed = 1, format = "text" }

local line = arguments.parser()
line.read({ ... }, options.models, {
  ["--backend"] = line.text_into(options, "backend"),
  ["--devices"] = line.number_into(options.device_options, "devices"),
  ["--threads"] = line.number_into(options.device_options, "threads"),
  ["--bandwidth"] = line.number_into(options.device_options, "bandwidth_bytes_per_s", "--bandwidth"),
  ["--latency"] = line.number_into(options.device_options, "latency_us", "--latency"),
  ["--placements"] = line.number_into(options, "placements"),
  ["--warm-up"] = line.number_into(options, "warm_up", "--warm-up"),
  ["--repeats"] = line.number_into(options, "repeats"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--record"] = line.text_into(options, "record"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
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

-- Ops that belong together go where the first of them is, and those that cannot run there where they can: inputs
-- are the host's.
local function together(problem, placement)
  local groups, device_of = problem:groups(), {}
  for op, device in ipairs(placement) do
    local group = groups:of(op)
    if not device_of[group] then
      local able = device
      while not problem:can_run(group, able) do able = able % problem:cluster():device_count() + 1 end
      device_of[group] = able
    end
  end
  return groups:expand(device_of)
end

local function on_first(problem)
  local placement = {}
  for op = 1, problem:graph():op_count() do placement[op] = 1 end
  return together(problem, placement)
end

-- `count` of `candidates` ({ placement, simulated_us }) whose simulated runtimes lie evenly between the
-- fastest and the slowest: drawn at random, most placements of a chain of ops take about the same.
local function evenly(candidates, count)
  table.sort(candidates, function(a, b) return a[2] < b[2] end)
  local first, last = candidates[1][2], candidates[#candidates][2]
  local chosen, at = {}, 1
  for k = 1, count do
    local wanted = first + (last - first) * (k - 1) / math.max(count - 1, 1)
    local latest = #candidates - (count - k)
    while at < latest and candidates[at][2] < wanted do at = at + 1 end
    chosen[k] = candidates[at][1]
    at = at + 1
  end
  return chosen
end

local function varied_placements(problem, count, seed)
  local graph, costs = problem:graph(), problem:costs()
  local devices = problem:cluster():device_count()
  local random = berth.random(seed)
  local placements = {}
  for _, name in ipairs { "topo", "heft", "m-etf", "round_robin", "random" } do
    placements[#placements + 1] =
        together(problem, (berth.policy(name):place(problem, { seed = seed })))
  end
  local candidates = {}
  for i = 1, 20 * count do
    local size = 2 ^ random:integer(6)
    local placement = i % 2 == 0 and in_runs(graph, devices, random, size)
        or in_groups(graph, costs, devices, random, size)
    placement = together(problem, placement)
    candidates[i] = { placement, problem:evaluate(placement).runtime_us }
  end
  for _, placement in ipairs(evenly(candidates, math.max(0, count - #placements))) do
    placements[#placements + 1] = placement
  end
  return placements
end

-- 3. One model: profile, then both runtimes of every placement.

local function model_of(text)
  local path, dims = text:match "^(.-):(.*)$"
  local load = { dims = {} }
  for name, size in (dims or ""):gmatch "([^,=]+)=(%d+)" do load.dims[name] = tonumber(size) end
  return path or text, load
end

local function reference_us(session, problem, repeats)
  local found = session:measure(on_first(problem), { warm_up = options.warm_up, repeats = repeats })
  return statistics.quantile(found.steps_us, 0.5)
end

-- The steps of every placement, in us on a machine as fast as when the reference took `profiled_us`, in the
-- order they were run.
local function measure_in_rounds(session, problem, placements, profiled_us)
  local steps = {}
  for i = 1, #placements do steps[i] = {} end
  for _ = 1, math.ceil(options.repeats / 2) do
    for i, placement in ipairs(placements) do
      local scale = profiled_us / reference_us(session, problem, 3)
      local found = session:measure(placement, { warm_up = options.warm_up, repeats = 2 })
      for _, us in ipairs(found.steps_us) do table.insert(steps[i], us * scale) end
    end
  end
  return steps
end

local function runtime_of(steps) return statistics.quantile(steps, 0.5) end

-- The runtimes of the odd and of the even rounds.
local function halves(steps_of)
  local odd, even = {}, {}
  for i, steps in ipairs(steps_of) do
    local half = { {}, {} }
    for k, us in ipairs(steps) do table.insert(half[(math.ceil(k / 2) - 1) % 2 + 1], us) end
    odd[i], even[i] = runtime_of(half[1]), runtime_of(half[2])
  end
  return odd, even
end

local function mean_difference(predicted, measured)
  local differences = {}
  for i, us in ipairs(measured) do differences[i] = math.abs(predicted[i] - us) / us end
  return statistics.mean(differences)
end

-- The problem on a machine whose links are held by copies, which cost their receivers nothing.
local function with_copies_on_links(problem)
  local cluster = problem:cluster()
  local machine = { name = cluster:name(), devices = {}, links = {} }
  for src = 1, cluster:device_count() do
    machine.devices[src] = cluster:device(src)
    for dst = 1, cluster:device_count() do
      if src ~= dst then
        local link = cluster:route(src, dst)
        link.latency_us, link.receiver_us = link.latency_us + (link.receiver_us or 0), nil
        link.parallel = false
        table.insert(machine.links, link)
      end
    end
  end
  return problem:with(problem:costs(), berth.cluster(machine))
end

-- How much longer than the fastest of all the fastest of the eight with the shortest simulated step takes.
local function best_of_eight(simulated, measured)
  local order = {}
  for i = 1, #simulated do order[i] = i end
  table.sort(order, function(a, b) return simulated[a] < simulated[b] end)
  local best = math.huge
  for k = 1, math.min(8, #order) do best = math.min(best, measured[order[k]]) end
  return best / math.min(unpack(measured)) - 1
end

-- `points` are { simulated, measured }.
local function pairs_in_order(points, repeat_error)
  local right, told = 0, 0
  for i, a in ipairs(points) do
    for j = 1, i - 1 do
      local b = points[j]
      if math.abs(a[2] - b[2]) > repeat_error * math.max(a[2], b[2]) then
        told = told + 1
        if (a[1] - b[1]) * (a[2] - b[2]) > 0 then right = right + 1 end
      end
    end
  end
  return ("%d of %d"):format(right, told)
end

local FIGURES = { "ops", "placements", "error", "rank", "on_links", "best_of_8", "repeat_error", "repeat_rank",
                  "fastest_us", "slowest_us" }

-- The figures of a model, then its points, as a record keeps them.
local function measured_row(text)
  local path, load = model_of(text)
  local program = berth.program(path, load)
  local backend = berth.backend(options.backend, options.device_options)
  local costs, cluster = backend:open(program):profile { repeats = options.repeats }
  local problem = berth.problem { graph = program:graph(), cluster = cluster, costs = costs }
  local profiled_us = problem:evaluate(on_first(problem)).runtime_us
  local session = backend:open(program, { problem = problem })
  local row, points = { ops = program:graph():op_count() }, {}
  local placements = varied_placements(problem, options.placements, options.seed)
  local steps = measure_in_rounds(session, problem, placements, profiled_us)
  local simulated, measured, on_links = {}, {}, {}
  local other = with_copies_on_links(problem)
  for i, placement in ipairs(placements) do
    simulated[i] = problem:evaluate(placement).runtime_us
    on_links[i] = other:evaluate(placement).runtime_us
    measured[i] = runtime_of(steps[i])
    table.insert(points, simulated[i] / 1e3)
    table.insert(points, measured[i] / 1e3)
  end
  local odd, even = halves(steps)
  row.placements = #measured
  row.error, row.rank = mean_difference(simulated, measured), statistics.spearman(simulated, measured)
  row.on_links, row.best_of_8 = mean_difference(on_links, measured), best_of_eight(simulated, measured)
  row.repeat_error, row.repeat_rank = mean_difference(odd, even), statistics.spearman(odd, even)
  row.fastest_us, row.slowest_us = math.min(unpack(measured)), math.max(unpack(measured))
  local numbers = {}
  for i, name in ipairs(FIGURES) do numbers[i] = row[name] end
  for _, coordinate in ipairs(points) do numbers[#numbers + 1] = coordinate end
  return unpack(numbers)
end

local machine = berth.backend(options.backend, options.device_options):description()
local of = options.device_options
local runs = record.open(options.record, { machine = machine, backend = options.backend, devices = of.devices,
  threads = of.threads, bandwidth = of.bandwidth_bytes_per_s, latency = of.latency_us, placements = options.placements,
  warm_up = options.warm_up, repeats = options.repeats, seed = options.seed })

local function row_of(text)
  local numbers = { runs.once(text, function() return measured_row(text) end) }
  local row = { model = (text:match "^(.-):" or text):match "[^/]+$":gsub("%..*$", ""), points = {} }
  for i, name in ipairs(FIGURES) do row[name] = numbers[i] end
  for i = #FIGURES + 1, #numbers, 2 do table.insert(row.points, { numbers[i], numbers[i + 1] }) end
  row.in_order = pairs_in_order(row.points, row.repeat_error)
  return row
end

-- A model that was stopped has no row; those before it have theirs.
local rows, series = {}, {}
for _, model in ipairs(options.models) do
  local done, row = pcall(row_of, model)
  if not done and berth.should_stop() then break end
  if not done then error(row, 0) end
  rows[#rows + 1] = row
  series[#series + 1] = { name = row.model, points = row.points }
end

-- 4. The table, the picture.

local function percent(share) return ("%.1f %%"):format(100 * share) end
local function milliseconds(us) return ("%.2f"):format(us / 1e3) end

io.write(machine, "\n\n")
io.write(tables[options.format](rows, {
  { key = "model" }, { key = "ops" }, { key = "placements" },
  { key = "error", title = "mean error", format = percent },
  { key = "rank", title = "rank correlation", format = "%.3f" },
  { key = "in_order", title = "in order" },
  { key = "on_links", title = "on links", format = percent },
  { key = "best_of_8", title = "best of 8", format = percent },
  { key = "repeat_error", title = "of a repeat: error", format = percent },
  { key = "repeat_rank", title = "rank", format = "%.3f" },
  { key = "fastest_us", title = "fastest ms", format = milliseconds },
  { key = "slowest_us", title = "slowest", format = milliseconds },
}))
plots.keep(options.figures, "fidelity", #series > 0 and plots.scatter { title = "Runtimes of placements",
  x = "simulated [ms]", y = "measured [ms]", series = series, diagonal = true })
