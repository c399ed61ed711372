-- Learning curves of Placeto on one graph: intermediate against terminal rewards, and weights trained on
-- another graph against fresh ones, as in section 3 and table 1 of Addanki et al., 2018 (workshop).
--
--   berth run scripts/experiments/placeto_curves.lua [MODEL] [--cluster k80x2] [--groups 64]
--       [--updates 100] [--samples 16] [--from MODEL] [--seed N] [--trainings 'a;b'] [--figures FOLDER]
--       [--csv FILE] [--format text|markdown]
--
-- Like the published policy, these trainings do not look ahead; one that does is shown beside them. "as published"
-- has the paper's network too (form=published), and rates that decay. Gradients need not be beside their ops
-- (berth.free_gradients). A curve is the mean runtime of an
-- update's episodes over the number of episodes. "reached" is the number of episodes after which the best placement
-- was within 2 % of the best of all curves. With --from, the policy is first trained on that graph, with the same
-- number of updates.
-- --trainings names those to run, and may name more: "as published with one round" of messages, "as published with
-- sums" of pools too, "as published by the logarithm" (normalised advantages, an entropy of 0.02 and a rate of 3e-3, as
-- Berth's own form), that with ", memory free" (memory that lacks costs nothing), and each of the five with " untrained"
-- behind it, which is a rate of 0.

local arguments = require "berth.arguments"
local baselines = require "berth.baselines"
local berth = require "berth"
local events = require "berth.events"
local plots = require "berth.plots"
local rewards = require "berth.rewards"
local schedules = require "berth.schedules"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. The command line.

local options = { cluster = "k80x2", groups = 64, updates = 100, samples = 16, from = "", seed = 1,
                  csv = "", format = "text",
                  trainings = { "intermediate", "undiscounted", "terminal", "as published", "looking ahead" } }
local known = {}
for _, name in ipairs(options.trainings) do known[name] = true end
-- Changes of the published form.
local PUBLISHED = { ["as published"] = {}, ["as published with one round"] = { rounds = 1 },
                    ["as published with sums"] = { aggregate = "sum" },
                    ["as published by the logarithm"] = {}, ["as published by the logarithm, memory free"] = {} }
for name in pairs(PUBLISHED) do known[name], known[name .. " untrained"] = true, true end
local models = {}
local line = arguments.parser()
line.read({ ... }, models, {
  ["--cluster"] = line.text_into(options, "cluster"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--samples"] = line.number_into(options, "samples"),
  ["--from"] = line.text_into(options, "from"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--trainings"] = function(text)
    options.trainings = {}
    for name in text:gmatch "[^;]+" do
      line.one_of(name, "--trainings", known, "names of trainings with ';' between them")
      table.insert(options.trainings, name)
    end
  end,
  ["--figures"] = line.folder_into(options, "figures"),
  ["--csv"] = line.text_into(options, "csv"),
  ["--format"] = line.format_into(options),
})
if #models > 1 then line.usage "one model at a time" end
local model = models[1] or "examples/models/tf/inception_v3_b64.pb.gz"

-- 2. The runs.

local function problem_of(path)
  return berth.problem { graph = berth.free_gradients((berth.load(path))), cluster = options.cluster,
                         grouping = "placeto", groups = options.groups }
end

local function fresh(lookahead)
  return berth.policy("placeto",
    { weights = "none", init_seed = options.seed, lookahead = lookahead or false })
end

-- Rows are written as they come: a training that is stopped keeps its curve. What --from trains on first is none, and
-- what another run wrote goes: it would be there twice.
local BEFORE = "on "
local csv = options.csv ~= ""
  and events.csv(options.csv, { "training", "episodes", "runtime_ms", "fits", "best_ms" }, 0)

local function run(name, problem, policy, changes)
  local curve, show = { name = name, points = {}, best = {} }, train.show_progress(name)
  local given = {
    policy = policy, problems = { problem }, count = options.updates, samples = options.samples,
    seed = options.seed,
    progress = function(record)
      curve.points[#curve.points + 1] = { record.episodes, record.runtime_us / 1e3 }
      curve.best[#curve.best + 1] = { record.episodes, record.best_us / 1e3 }
      if csv and name:sub(1, #BEFORE) ~= BEFORE then
        csv.write { training = name, episodes = record.episodes, runtime_ms = record.runtime_us / 1e3,
                    fits = record.fits, best_ms = record.best_us / 1e3 }
      end
      show(record)
    end,
  }
  for key, value in pairs(changes) do given[key] = value end
  local started = berth.clock()
  local result = train.episodes(given)
  curve.best_ms = train.us_of(result.best[1].evaluation) / 1e3
  curve.greedy_ms = train.us_of(result.greedy[1].evaluation) / 1e3
  curve.wall_s = berth.clock() - started
  return curve
end

local problem = problem_of(model)

local function as_published(changes, rate)
  local settings = { weights = "none", init_seed = options.seed, form = "published" }
  for key, value in pairs(changes) do settings[key] = value end
  return berth.policy("placeto", settings), {
    reward = rewards.improvement {}, discount = 1, baseline = baselines.per_step, initial = "shared",
    learning_rate = schedules.linear(rate, rate / 10, options.updates),
    entropy_weight = schedules.linear(1, 0, options.updates) }
end
local function by_logarithm(rate, memory_free)
  local policy = as_published({}, rate)
  local reward = rewards.improvement { log = true, memory_penalty = memory_free and 0 or nil }
  return policy, { reward = reward, discount = 1, initial = "shared",
    learning_rate = schedules.linear(3 * rate, 0.3 * rate, options.updates) }
end

-- A policy, and what its training has for train.episodes' own.
local TRAININGS = {
  intermediate = function() return fresh(), {} end,
  undiscounted = function() return fresh(), { discount = 1 } end,
  terminal = function() return fresh(), { reward = rewards.terminal { log = true }, discount = 1 } end,
  ["looking ahead"] = function() return fresh(true), {} end,
}
for name, changes in pairs(PUBLISHED) do
  local function make(rate)
    if name:find "logarithm" then return by_logarithm(rate, name:find "memory free") end
    return as_published(changes, rate)
  end
  TRAININGS[name] = function() return make(1e-3) end
  TRAININGS[name .. " untrained"] = function() return make(0) end
end
local curves = {}
for _, name in ipairs(options.trainings) do curves[#curves + 1] = run(name, problem, TRAININGS[name]()) end
if options.from ~= "" then
  local policy = fresh()
  run(BEFORE .. options.from:match "[^/]+$", problem_of(options.from), policy, {})
  curves[#curves + 1] = run("transferred", problem, policy, {})
end

-- 3. The table and the plot.

local least = math.huge
for _, curve in ipairs(curves) do least = math.min(least, curve.best_ms) end
for _, curve in ipairs(curves) do
  for _, point in ipairs(curve.best) do
    if point[2] <= 1.02 * least then
      curve.reached = point[1]
      break
    end
  end
end
io.write(tables[options.format](curves, {
  { key = "name", title = "training" }, { key = "best_ms", title = "best ms", format = "%.2f" },
  { key = "greedy_ms", title = "greedy ms", format = "%.2f" },
  { key = "reached" }, { key = "wall_s", title = "s", format = "%.0f" },
}), "\n")
plots.keep(options.figures, "placeto_curves", plots.lines {
  title = ("Placeto on %s, %s"):format(model:match "[^/]+$", options.cluster), x = "episodes",
  y = "mean runtime of an update [ms]", series = curves })
if csv then csv.close() end
