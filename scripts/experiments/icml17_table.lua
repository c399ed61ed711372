-- The table of Mirhoseini et al., ICML 2017, in simulation, beside the published cells, with the learned
-- policies `seq2seq` and `hdp` trained on each graph.
--
--   berth run scripts/experiments/icml17_table.lua [PART..] [--graphs a,b] [--gpus 2,4]
--       [--updates 300] [--samples 32] [--hidden 128] [--budget 10] [--models FOLDER] [--seed N]
--       [--figures FOLDER] [--format text|markdown]
--
-- Parts, by default all:
--   table       CPU, GPU, Scotch, MinCut, expert, RL (seq2seq on the groups of icml2017), hdp (only
--               co-location groups), and auto for --budget seconds, by itself and from RL's best
--   large       the same for NMT at a batch of 256, which no GPU holds
--   load        where the expert and RL compute (forward, backward) and copy, by device
--   efficiency  the best placement by number of placements measured, against Placeto
--   grouping    hdp against seq2seq on fixed groups
--
-- RL here is not the method of the paper. Training is risk-seeking REINFORCE (Petersen et al., ICLR 2021)
-- of sqrt(runtime): it learns from the best of each update's samples, against a quantile, with
-- normalised advantages, Adam and clipping. The paper has sqrt(runtime) too, but a moving average as the
-- baseline. A placement that does not fit costs 10; after half of the updates it teaches nothing. Both
-- policies are trained with two settings, neither of which is good on every graph; the better is shown.

local arguments = require "berth.arguments"
local baselines = require "berth.baselines"
local berth = require "berth"
local columns = require "berth.columns"
local rewards = require "berth.rewards"
local schedules = require "berth.schedules"
local plots = require "berth.plots"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. The command line.

local PARTS = { "table", "large", "load", "efficiency", "grouping" }
local GRAPHS = { "rnnlm_b64", "nmt_b64", "inception_v3_b32" }
local RECIPES = { rnnlm_b64 = "layers", nmt_b64 = "layers", nmt_b256 = "layers",
                  inception_v3_b32 = "contiguous" }

local options = { graphs = GRAPHS, gpus = { 2, 4 }, updates = 300, samples = 32, hidden = 128,
                  budget = 10, models = "examples/models/tf", seed = 1, format = "text" }
local parts, wanted, known = {}, {}, {}
for _, part in ipairs(PARTS) do known[part] = true end
local line = arguments.parser("icml17_table.lua [PART..] [--graphs a,b] [--gpus 2,4] [--updates N] "
  .. "[--samples N] [--hidden N] [--budget SECONDS] [--models FOLDER] [--seed N] "
  .. "[--figures FOLDER] [--format text|markdown]")
line.read({ ... }, parts, {
  ["--graphs"] = function(text) options.graphs = arguments.list(text) end,
  ["--gpus"] = line.numbers_into(options, "gpus"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--samples"] = line.number_into(options, "samples"),
  ["--hidden"] = line.number_into(options, "hidden"),
  ["--budget"] = line.number_into(options, "budget"),
  ["--models"] = line.text_into(options, "models"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
for _, part in ipairs(#parts > 0 and parts or PARTS) do
  wanted[line.one_of(part, "part", known, "one of " .. table.concat(PARTS, ", "))] = true
end

-- 2. Problems and trainings, each made once.

local cached = {}
local function once(key, make)
  if cached[key] == nil then cached[key] = make() end
  return cached[key]
end

-- "groups": nil (co-location), the name of a grouping, or a number of balanced groups.
local function problem_of(name, gpus, groups)
  return once(("problem %s %s %s"):format(name, gpus, tostring(groups)), function()
    local graph = once("graph " .. name, function()
      local path = name:find "[/.]" and name or ("%s/%s.pb.gz"):format(options.models, name)
      return (berth.load(path))
    end)
    local number = type(groups) == "number"
    return berth.problem { graph = graph, cluster = "k80x" .. gpus,
      groups = number and groups or nil, grouping = not number and groups or nil }
  end)
end

-- hdp draws a group for each of thousands of units: with the other's weight of the entropy little else
-- would count.
local SETTINGS = {
  seq2seq = { { rate = 1e-3, entropy = 0.016, share = 0.1 }, { rate = 3e-3, entropy = 0.001, share = 0.2 } },
  hdp = { { rate = 1e-3, entropy = 0.004, share = 0.1 }, { rate = 3e-3, entropy = 0.001, share = 0.2 } },
}

local POLICIES = {
  seq2seq = function(problem)
    return berth.policy("seq2seq", { hidden = options.hidden, init_seed = options.seed,
      groups = math.max(2, problem:groups():count()) })
  end,
  hdp = function()
    return berth.policy("hdp", { hidden = options.hidden, init_seed = options.seed, groups = 64,
      groupings = 8, grouping_prior = 12,
      persistence = 3 - math.log(2) })  -- odds of ten to one
  end,
}

local function trained_with(setting, policy, problem, show)
  local curve = {}
  local result = train.episodes {
    policy = POLICIES[policy](problem), problems = { problem }, count = options.updates,
    samples = options.samples, seed = options.seed, max_norm = 1,
    reward = rewards.sqrt { failing = -10 },
    baseline = function()
      return baselines.normalised(baselines.quantile { share = setting.share })
    end,
    learning_rate = schedules.linear(setting.rate, setting.rate / 10, options.updates),
    entropy_weight = schedules.linear(setting.entropy, 0, options.updates),
    valid_only_after = options.updates / 2,
    progress = function(record)
      curve[#curve + 1] = { measured = record.measured, s = record.best_us / 1e6 }
      show(record)
    end,
  }
  return { cell = columns.cell(problem, result.best[1].placement), curve = curve }
end

-- RETURN  table: cell (of the best placement), wall_s, curve (of the best training: array of
--         { measured =, s = best so far, nil before anything fits }), others (text: what the other
--         trainings found)
local function trained(policy, name, gpus, groups)
  return once(("%s %s %s %s"):format(policy, name, gpus, tostring(groups)), function()
    local problem, started = problem_of(name, gpus, groups), berth.clock()
    local show = train.show_progress(("%s %s %d GPUs"):format(policy, name, gpus))
    local best, others = nil, {}
    for _, setting in ipairs(SETTINGS[policy]) do
      local one = trained_with(setting, policy, problem, show)
      if best then others[#others + 1] = columns.beats(one.cell, best.cell) and best or one end
      if not best or columns.beats(one.cell, best.cell) then best = one end
    end
    for i, one in ipairs(others) do others[i] = columns.text(one.cell) end
    best.wall_s, best.others = berth.clock() - started, table.concat(others, ", ")
    return best
  end)
end

local function refined(problem, initial)
  local _, placement = pcall(function()
    return (berth.policy("auto", initial and { from = "single" } or {}):place(problem,
      { seed = options.seed, budget_s = options.budget, initial = initial }))
  end)
  return type(placement) == "table" and columns.cell(problem, placement) or nil
end

-- 3. Parts.

local function published_row(name, gpus)
  for _, row in ipairs(columns.published) do
    if row.graph == name and row.gpus == gpus and row.paper == "M17" then return row end
  end
  return {}
end

local function best_of(cells, names)
  local best
  for _, name in ipairs(names) do
    local value = cells[name]
    if value and (not best or columns.beats(value, best)) then best = value end
  end
  return best
end

local BASELINES = { "gpu", "scotch", "mincut", "expert" }

local function percent(value) return ("%.1f %%"):format(100 * value) end

-- One row of seconds, simulated / published.
local function table_row(name, gpus)
  local problem, said = problem_of(name, gpus), published_row(name, gpus)
  local cells = columns.of(problem, { recipe = RECIPES[name] or "auto", seed = options.seed })
  local rl = trained("seq2seq", name, gpus, "icml2017")
  local hdp = trained("hdp", name, gpus)
  cells.rl, cells.hdp = rl.cell, hdp.cell
  cells.auto = refined(problem)
  cells.rl_auto = refined(problem, { rl.cell.placement })
  local row = { graph = name:match "[^/]+$", gpus = gpus, cells = cells, groups = problem_of(name, gpus, "icml2017"):groups():count(),
                others = rl.others, hdp_others = hdp.others, wall_s = rl.wall_s, hdp_wall_s = hdp.wall_s }
  for key, value in pairs(cells) do
    row[key] = columns.text(value)
    if said[key] then row[key] = row[key] .. " / " .. columns.published_text(said[key]) end
  end
  local best = best_of(cells, BASELINES)
  if best and best.fits and cells.rl.fits then
    row.gain = percent(best.s / cells.rl.s - 1)
    local was = said.gpu and math.min(said.gpu == columns.OOM and math.huge or said.gpu, said.scotch,
      said.mincut, said.expert)
    if was then row.gain = row.gain .. " / " .. percent(was / said.rl - 1) end
  end
  return row
end

local TABLE_COLUMNS = {
  { key = "graph" }, { key = "gpus", title = "GPUs" }, { key = "groups" },
  { key = "cpu", title = "CPU" }, { key = "gpu", title = "1 GPU" }, { key = "scotch", title = "Scotch" },
  { key = "mincut", title = "MinCut" }, { key = "expert", title = "Expert" },
  { key = "rl", title = "RL" }, { key = "others", title = "other training" }, { key = "gain", title = "RL is faster by" },
  { key = "hdp", title = "hdp" }, { key = "hdp_others", title = "hdp, other training" },
  { key = "auto", title = "auto" },
  { key = "rl_auto", title = "RL + auto" }, { key = "wall_s", title = "RL s", format = "%.0f" },
  { key = "hdp_wall_s", title = "hdp s", format = "%.0f" },
}

local FIGURE_COLUMNS = { { key = "gpu", title = "1 GPU" }, { key = "scotch", title = "Scotch" },
  { key = "mincut", title = "MinCut" }, { key = "expert", title = "Expert" }, { key = "rl", title = "RL" },
  { key = "hdp", title = "hdp" }, { key = "auto", title = "auto" } }

-- What of the quality asked for holds.
local function verdict(rows)
  local held, joint = 0, 0
  for _, row in ipairs(rows) do
    local best = best_of(row.cells, { "scotch", "mincut", "expert" })
    if not best or not columns.beats(best, row.cells.rl) then held = held + 1 end
    if not columns.beats(row.cells.rl, row.cells.hdp) then joint = joint + 1 end
  end
  print(("\nRL is at least as good as expert, Scotch and MinCut on %d of %d; hdp is no worse than RL "
    .. "on %d of %d.\n"):format(held, #rows, joint, #rows))
end

local function print_rows(title, graphs)
  local rows = {}
  for _, name in ipairs(graphs) do
    for _, gpus in ipairs(options.gpus) do
      if not berth.should_stop() then rows[#rows + 1] = table_row(name, gpus) end
    end
  end
  print(title .. "\n")
  io.write(tables[options.format](rows, TABLE_COLUMNS))
  plots.keep(options.figures, "icml17_" .. graphs[1]:match "[^/]+$", plots.table_bars(rows, {
    title = title, y = "seconds per step", columns = FIGURE_COLUMNS,
    name = function(row) return ("%s, %d"):format(row.graph, row.gpus) end,
    value = function(row, key) return row.cells[key] and row.cells[key].fits and row.cells[key].s end }))
  verdict(rows)
end

-- Compute time of the forward and the backward pass, and of sending, by device.
local function loads(name, gpus, whose, placement)
  local problem, rows = problem_of(name, gpus), {}
  local graph, cluster, trace = problem:graph(), problem:cluster(), problem:trace(placement)
  for device = 1, cluster:device_count() do
    rows[device] = { graph = name:match "[^/]+$", gpus = gpus, whose = whose,
                     device = cluster:device(device).name, forward = 0, backward = 0, copies = 0,
                     gb = 0 }
  end
  for op = 1, graph:op_count() do
    local pass = graph:op_name(op):find("^gradients/") and "backward" or "forward"
    local row = rows[placement[op]]
    row[pass] = row[pass] + problem:cost_us(op, placement[op]) / 1e6
  end
  for _, link in ipairs(trace.links) do
    local row = rows[link.src]
    row.copies, row.gb = row.copies + link.busy_us / 1e6, row.gb + link.bytes / 1e9
  end
  return rows
end

local function print_loads()
  local rows = {}
  local gpus = options.gpus[#options.gpus]
  for _, name in ipairs(options.graphs) do
    local cells = columns.of(problem_of(name, gpus), { recipe = RECIPES[name] or "auto" })
    local rl = trained("seq2seq", name, gpus, "icml2017").cell
    for _, pair in ipairs { { "expert", cells.expert }, { "RL", rl } } do
      for _, row in ipairs(pair[2] and loads(name, gpus, pair[1], pair[2].placement) or {}) do
        rows[#rows + 1] = row
      end
    end
  end
  print "Seconds of computing and of sending, by device\n"
  io.write(tables[options.format](rows, {
    { key = "graph" }, { key = "gpus", title = "GPUs" }, { key = "whose", title = "placement" },
    { key = "device" }, { key = "forward", format = "%.3f" }, { key = "backward", format = "%.3f" },
    { key = "copies", title = "sending", format = "%.3f" }, { key = "gb", title = "GB", format = "%.2f" },
  }))
  print ""
end

-- Placeto with its own defaults, as many placements measured as the others.
local function placeto_curve(name, gpus, measured)
  return once(("placeto %s %s"):format(name, gpus), function()
    local problem, curve = problem_of(name, gpus, "icml2017"), {}
    local per_update = 16 * (problem:groups():count() + 1)
    train.episodes {
      policy = berth.policy("placeto", { weights = "none", init_seed = options.seed }),
      problems = { problem }, count = math.max(1, math.ceil(measured / per_update)), samples = 16,
      seed = options.seed,
      progress = function(record)
        curve[#curve + 1] = { measured = record.measured, s = record.best_us / 1e6 }
      end,
    }
    return curve
  end)
end

local function at_measured(curve, mark)
  local best
  for _, point in ipairs(curve) do
    if point.measured <= mark then best = point.s end
  end
  return best and ("%.3f"):format(best)
end

local function print_efficiency()
  local rows, all = {}, options.updates * options.samples
  local marks = {}
  for _, share in ipairs { 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1 } do
    marks[#marks + 1] = math.floor(all * share)
  end
  local gpus = options.gpus[1]
  for _, name in ipairs(options.graphs) do
    local curves = {
      { "seq2seq", trained("seq2seq", name, gpus, "icml2017").curve },
      { "hdp", trained("hdp", name, gpus).curve },
      { "placeto", placeto_curve(name, gpus, all) },
    }
    for _, pair in ipairs(curves) do
      local row = { graph = name:match "[^/]+$", gpus = gpus, policy = pair[1] }
      for _, mark in ipairs(marks) do row["at " .. mark] = at_measured(pair[2], mark) end
      rows[#rows + 1] = row
    end
  end
  local shown = { { key = "graph" }, { key = "gpus", title = "GPUs" }, { key = "policy" } }
  for _, mark in ipairs(marks) do
    shown[#shown + 1] = { key = "at " .. mark, title = "after " .. mark }
  end
  print("Best seconds per step after so many placements measured (Placeto measures after every group, "
    .. "and updates after 16 episodes)\n")
  io.write(tables[options.format](rows, shown))
  print ""
end

local function print_grouping()
  local rows = {}
  local gpus = options.gpus[#options.gpus]
  for _, name in ipairs(options.graphs) do
    rows[#rows + 1] = {
      graph = name:match "[^/]+$", gpus = gpus,
      hdp = columns.text(trained("hdp", name, gpus).cell),
      icml = columns.text(trained("seq2seq", name, gpus, "icml2017").cell),
      balanced = columns.text(trained("seq2seq", name, gpus, 64).cell),
    }
  end
  print "Seconds per step by who makes the groups\n"
  io.write(tables[options.format](rows, {
    { key = "graph" }, { key = "gpus", title = "GPUs" },
    { key = "hdp", title = "hdp, learned, 64" }, { key = "icml", title = "seq2seq, icml2017" },
    { key = "balanced", title = "seq2seq, balanced, 64" } }))
  print ""
end

-- 4. All that is wanted.

local started = berth.clock()
if wanted.table then print_rows("Seconds per step, simulated / published", options.graphs) end
if wanted.large then
  print_rows("A layer that fits no device (batch 256)", { "nmt_b256" })
end
if wanted.load then print_loads() end
if wanted.efficiency then print_efficiency() end
if wanted.grouping then print_grouping() end
io.stderr:write(("icml17_table: %.0f s, seed %d, berth %s\n"):format(berth.clock() - started,
  options.seed, berth.version))
