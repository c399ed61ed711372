-- How does training by many processes fare: as published, when processes are killed, and as their number grows?
--
--   berth run scripts/experiments/workers.lua PART.. [--graph FILE] [--seeds N] [--minutes N] [--every SECONDS]
--       [--counts 1,2,4] [--wait SECONDS] [--updates N] [--hidden N] [--controllers N] [--per_controller N]
--       [--figures FOLDER] [--format text|markdown]
--
-- Parts:
--   published   --controllers controllers with --per_controller workers each (Mirhoseini et al., ICML 2017: 20
--               and 8) on --graph, asynchronously and synchronously: samples per second, runtime found
--   killed      such a training with a random one of its processes killed --every seconds, the store and the one
--               that learns among them, beside an undisturbed one of as many updates
--   store       as killed, and the one killed is always the store
--   throughput  samples per second over --counts of workers, for which --wait is needed
--
-- --wait: seconds that every measurement takes besides, as on hardware: what is seen is then not how many processes
-- share a core.
--
-- Each training is `berth run --workers N` of this script, which is then called with the part "train".

local arguments = require "berth.arguments"
local baselines = require "berth.baselines"
local berth = require "berth"
local files = require "berth.files"
local plots = require "berth.plots"
local processes = require "berth.processes"
local rewards = require "berth.rewards"
local statistics = require "berth.statistics"
local tables = require "berth.tables"
local train = require "berth.train"
local workers = require "berth.workers"

local options = { graph = "examples/models/tf/nmt_b64.pb.gz", cluster = "k80x2", seeds = 3, minutes = 0, every = 5,
  counts = { 1, 2, 4, 8, 16, 32, 64, 128 }, wait = 0, updates = 0, hidden = 64, controllers = 20,
  per_controller = 8, groups = 64, mode = "asynchronous", seed = 1, record = "", stop_at = 0,
  format = "text" }
local parts = {}
local line = arguments.parser()
local known = { ["--counts"] = line.numbers_into(options, "counts"), ["--format"] = line.format_into(options),
  ["--figures"] = line.folder_into(options, "figures") }
for _, name in ipairs { "seeds", "minutes", "every", "wait", "updates", "hidden", "controllers", "per_controller",
  "seed", "stop_at" } do
  known["--" .. name] = line.number_into(options, name)
end
for _, name in ipairs { "graph", "cluster", "mode", "record" } do
  known["--" .. name] = line.text_into(options, name)
end
line.read({ ... }, parts, known)

-- One training, in all of its processes ----------------------------------------------------------------

-- Ten thousand ops take the placer seconds to read: where only waiting is measured, ten will do ("--graph chain").
-- Four chains of five ("--graph chains") are what a training places best for sure in some thousand samples, so that
-- what it loses on the way would be seen.
local GRAPHS = { chain = { 1, 10 }, chains = { 4, 5 } }
local function chains(count, length)
  local builder = berth.graph_builder "chains"
  for k = 1, count do
    local tensor
    for i = 1, length do
      local op = builder:add_op(("op%d_%d"):format(k, i), "Op")
      builder:set_cost(op, 100)
      if tensor then builder:add_input(op, tensor) end
      tensor = builder:add_output(op, { bytes = 1e6 })
    end
  end
  return builder:build()
end

local function train_once()
  local made = GRAPHS[options.graph]
  local problem = made and berth.problem { graph = chains(unpack(made)), cluster = options.cluster }
    or berth.problem { graph = berth.load(options.graph), cluster = options.cluster, grouping = "icml2017" }
  local count = options.updates > 0 and options.updates or 2 ^ 30
  local result = train.episodes {
    policy = function()
      return berth.policy("seq2seq", { weights = "none", hidden = options.hidden, init_seed = options.seed,
        groups = math.max(2, problem:groups():count()) })
    end,
    problems = { problem }, count = count, samples = options.per_controller, seed = options.seed, max_norm = 1,
    learning_rate = 1e-3, entropy_weight = 0.016, reward = rewards.sqrt { failing = -10 },
    baseline = function() return baselines.normalised(baselines.quantile { share = 0.2 }) end,
    evaluators = options.wait > 0 and function(p)
      return berth.evaluator(p, { evaluate = function(placements)
        local found = {}
        for i, placement in ipairs(placements) do
          processes.sleep(options.wait)
          found[i] = p:evaluate(placement)
        end
        return found
      end })
    end or false,
    workers = { controllers = options.controllers, mode = options.mode, calibrate = false, lease_s = 600 },
    -- Shared by all processes that have learned: the next one goes on with the file.
    progress = function(record)
      files.append(options.record .. ".curve", ("%.3f %d\n"):format(berth.clock(), record.measured))
    end,
    -- Uses the time of day, so that a process that is killed and started again does not begin its minutes anew.
    should_stop = function()
      return berth.should_stop() or options.stop_at > 0 and os.time() >= options.stop_at
    end,
  }
  if workers.rank() > 0 then return end
  files.write(options.record,
    ("%d %d %.6f\n"):format(result.updates, result.measured, result.best[1].evaluation.runtime_us))
end

if parts[1] == "train" then return train_once() end

-- Trainings in processes of their own --------------------------------------------------------------------

local function children(pid)
  local text, found = files.content(("/proc/%d/task/%d/children"):format(pid, pid)) or "", {}
  for child in text:gmatch "%d+" do found[#found + 1] = tonumber(child) end
  return found
end

-- The launcher's process for the store; none while it is started again.
local function stores(pid)
  local found = {}
  for _, child in ipairs(children(pid)) do
    local command = files.content(("/proc/%d/cmdline"):format(child)) or ""
    if command:find("redis-server", 1, true) then found[#found + 1] = child end
  end
  return found
end

-- Samples per second, and the longest time between two updates, by the curve that all who learned wrote.
local function rate_and_pause(path)
  local curve, pause_s = {}, 0
  for text in io.lines(path) do
    local at_s, measured = text:match "(%S+) (%S+)"
    curve[#curve + 1] = { s = tonumber(at_s), measured = tonumber(measured) }
  end
  for i = 2, #curve do pause_s = math.max(pause_s, curve[i].s - curve[i - 1].s) end
  -- Beginnings are slower: the first samples of every process load what they need.
  local first, last = curve[math.max(1, math.floor(#curve / 4))], curve[#curve]
  return (last.measured - first.measured) / math.max(last.s - first.s, 1e-9), pause_s
end

-- Runs `berth run --workers N` of this script.
--   ARGS    count   N
--           set     options of the part "train"
--           meddle  function(pid of the launcher), called ten times a second; optional
--   RETURN  table: updates, measured, runtime_us, wall_s, per_s (samples), pause_s (the longest between two updates),
--           said (its last line)
local function run(count, set, meddle)
  local folder = processes.temporary_folder "berth-experiment-"
  local record, output = folder .. "/record", folder .. "/output"
  local command = { processes.program(), "run", "--workers", tostring(count), arg[0], "train", "--record", record }
  for _, name in ipairs { "graph", "cluster", "hidden", "per_controller" } do
    command[#command + 1], command[#command + 2] = "--" .. name, tostring(set[name] or options[name])
  end
  for _, name in ipairs { "controllers", "mode", "wait", "updates", "seed" } do
    command[#command + 1], command[#command + 2] = "--" .. name, tostring(set[name])
  end
  if set.minutes > 0 then
    command[#command + 1], command[#command + 2] = "--stop_at", tostring(os.time() + 60 * set.minutes)
  end
  local began_s = berth.clock()
  local pid = processes.start(command, { output = output })
  local how, code
  repeat
    processes.sleep(0.1)
    how, code = processes.ended(pid)
    if not how and meddle then meddle(pid) end
    if berth.should_stop() then processes.interrupt(pid) end
  until how
  local wall_s = berth.clock() - began_s
  local file = io.open(record)
  if not file then
    error(("a training ended with %s %d: %s"):format(how, code, processes.last_line(output) or "nothing"), 0)
  end
  local found = { wall_s = wall_s }
  found.updates, found.measured, found.runtime_us = file:read("*n", "*n", "*n")
  file:close()
  found.per_s, found.pause_s = rate_and_pause(record .. ".curve")
  for text in io.lines(output) do found.said = text:match "^workers: update.*" or found.said end
  os.remove(record)
  os.remove(record .. ".curve")
  os.remove(output)
  processes.remove_folder(folder)
  return found
end

local function median(rows, key)
  local values = {}
  for i, row in ipairs(rows) do values[i] = row[key] end
  return statistics.median(values)
end

local COLUMNS = { { key = "what", title = "training" }, { key = "processes" }, { key = "seed" },
  { key = "updates" }, { key = "measured" }, { key = "per_s", title = "samples/s", format = "%.1f" },
  { key = "wall_s", title = "wall time, s", format = "%.0f" },
  { key = "runtime", title = "runtime, ms", format = "%.2f" },
  { key = "pause_s", title = "longest pause, s", format = "%.1f" }, { key = "killed", optional = true },
  { key = "said", title = "last line", optional = true } }

local function shown(what, seed, count, found)
  return { what = what, seed = seed, processes = count, updates = found.updates, measured = found.measured,
    per_s = found.per_s, wall_s = found.wall_s, pause_s = found.pause_s,
    runtime = found.runtime_us / 1e3, said = found.said }
end

local PARTS = {}

function PARTS.published()
  local rows, by_mode = {}, {}
  local count = options.controllers * (1 + options.per_controller)
  for seed = 1, options.seeds do
    for _, mode in ipairs { "asynchronous", "synchronous" } do
      -- The same number of samples: a synchronous update is of all controllers.
      local updates = mode == "asynchronous" and options.updates or math.ceil(options.updates / options.controllers)
      local found = run(count, { controllers = options.controllers, mode = mode, wait = options.wait, updates = updates,
        minutes = options.minutes, seed = seed })
      rows[#rows + 1] = shown(mode, seed, count, found)
      by_mode[mode] = by_mode[mode] or {}
      table.insert(by_mode[mode], found)
      berth.progress(("%s, seed %d"):format(mode, seed))
    end
  end
  io.write(tables[options.format](rows, COLUMNS))
  for mode, found in pairs(by_mode) do
    print(("%s: median of %d seeds %.2f ms, %.1f samples/s"):format(mode, #found, median(found, "runtime_us") / 1e3,
      median(found, "per_s")))
  end
end

-- Each seed with one of `victims(pid of the launcher)` killed again and again, and then undisturbed with as many
-- updates: what killing costs in time is in the table, what it costs in quality would be samples that are lost.
local function disturbed(victims)
  local rows, found = {}, { alone = {}, killed = {} }
  local count = options.controllers * (1 + options.per_controller)
  local random = berth.random(options.seed)
  local function train(what, seed, set, meddle)
    set.controllers, set.mode, set.wait, set.seed = options.controllers, options.mode, options.wait, seed
    local result = run(count, set, meddle)
    rows[#rows + 1] = shown(what, seed, count, result)
    table.insert(found[what], result)
    berth.progress(("%s, seed %d"):format(what, seed))
    return rows[#rows], result
  end
  for seed = 1, options.seeds do
    local killed, next_s = 0, berth.clock() + options.every
    local row, result = train("killed", seed, { updates = options.updates, minutes = options.minutes }, function(pid)
      if berth.clock() < next_s then return end
      next_s = berth.clock() + options.every
      local all = victims(pid)
      if #all == 0 then return end
      processes.kill(all[random:integer(#all)])
      killed = killed + 1
    end)
    row.killed = killed
    train("alone", seed, { updates = result.updates, minutes = 0 })
  end
  io.write(tables[options.format](rows, COLUMNS))
  print(("median runtime: undisturbed %.3f ms, with processes killed %.3f ms (%+.2f %%)"):format(
    median(found.alone, "runtime_us") / 1e3, median(found.killed, "runtime_us") / 1e3,
    100 * (median(found.killed, "runtime_us") / median(found.alone, "runtime_us") - 1)))
end

function PARTS.killed() disturbed(children) end
function PARTS.store() disturbed(stores) end

function PARTS.throughput()
  if options.wait <= 0 then line.usage "throughput needs --wait, the seconds of a measurement" end
  local rows, points = {}, {}
  for _, count in ipairs(options.counts) do
    -- Three placements in flight for each worker: while one controller learns, those of others are measured.
    local controllers, each = 6, math.ceil(count / 2)
    local found = run(count + controllers, { controllers = controllers, mode = "asynchronous", wait = options.wait,
      per_controller = each, graph = "chain", minutes = 0, seed = options.seed, hidden = 32,
      updates = options.updates > 0 and options.updates or 10 * controllers })
    local ideal = count / options.wait
    rows[#rows + 1] = { workers = count, controllers = controllers, samples = each, measured = found.measured,
      per_s = found.per_s, ideal = ideal, share = 100 * found.per_s / ideal }
    points[#points + 1] = { count, found.per_s }
    berth.progress(("%d workers"):format(count))
  end
  io.write(tables[options.format](rows, { { key = "workers" }, { key = "controllers" },
    { key = "samples", title = "samples per update" }, { key = "measured" },
    { key = "per_s", title = "samples/s", format = "%.2f" }, { key = "ideal", title = "linear", format = "%.2f" },
    { key = "share", title = "% of linear", format = "%.1f" } }))
  plots.keep(options.figures, "workers_throughput", plots.lines { title = "Throughput by number of workers",
    x = "workers", y = "samples/s", x_log = true, y_log = true, series = { { name = "measured", points = points },
      { name = "linear", points = { { options.counts[1], options.counts[1] / options.wait },
        { options.counts[#options.counts], options.counts[#options.counts] / options.wait } } } } })
end

for _, part in ipairs(parts) do
  local names = {}
  for name in pairs(PARTS) do names[name] = true end
  PARTS[line.one_of(part, "part", names, "one of published, killed, store, throughput")]()
end
if #parts == 0 then line.usage "a part is missing" end
