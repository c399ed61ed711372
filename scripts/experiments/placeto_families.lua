-- Does a policy trained on some graphs of a family place others well? The protocol of the generalization figures of
-- Addanki et al., NeurIPS 2019: 32 graphs of a family, some to learn from and some to be judged by.
--
--   berth run scripts/experiments/placeto_families.lua [table] [--record FILE] [--families cifar10,ptb,nmt]
--       [--cluster k80x4] [--groups 64] [--train 24] [--test 8] [--updates 150] [--own 40] [--budget SECONDS]
--       [--seeds 1,2,3] [--figures FOLDER] [--format text|markdown]
--
-- For each family and seed a policy is trained on `train` graphs, and places the `test` others without further
-- training ("zero-shot"). It is compared with
--   untrained  the weights it began with
--   own        a policy trained on the test graph alone, with `own` updates: the best placement it measured
--   own, untrained  the same with a learning rate of 0
--   shipped    the weights that come with Berth
--   random     the mean of eight random placements
--   scotch     Scotch's mapping
--   classic    the best of several policies that do not learn, on the same groups, `budget` seconds each (2)
--   auto       which also splits groups, for `budget` seconds
-- Runtimes are divided by the best that any of them found for the graph.
--
-- --record: what is done (berth.record); the same command goes on where it was stopped. "table" makes nothing.

local arguments = require "berth.arguments"
local berth = require "berth"
local families = require "berth.families"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. The command line.

local options = { families = families.names, cluster = "k80x4", groups = 64, train = 24, test = 8,
                  updates = 150, own = 40, budget = 2, seeds = { 1, 2, 3 }, format = "text" }
local line = arguments.parser("placeto_families.lua [table] [--record FILE] [--families a,b] [--cluster C] "
  .. "[--groups N] [--train N] [--test N] [--updates N] [--own N] [--budget SECONDS] [--seeds 1,2,3] "
  .. "[--figures FOLDER] [--format text|markdown]")
local parts = {}
line.read({ ... }, parts, {
  ["--record"] = line.text_into(options, "record"),
  ["--families"] = function(text) options.families = arguments.list(text) end,
  ["--cluster"] = line.text_into(options, "cluster"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--train"] = line.number_into(options, "train"),
  ["--test"] = line.number_into(options, "test"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--own"] = line.number_into(options, "own"),
  ["--budget"] = line.number_into(options, "budget"),
  ["--seeds"] = line.numbers_into(options, "seeds"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
local only_table = parts[1] == "table"
if #parts > 1 or (#parts == 1 and not only_table) then line.usage "the one part is 'table'" end

-- 2. Problems and policies.

-- What is learned is compared: no search follows it.
local function fresh(seed)
  return berth.policy("placeto", { weights = "none", init_seed = seed, neighbourhood = 0 })
end

local function trained_on(problems, updates, seed, rate, what)
  local policy = fresh(seed)
  local result = train.episodes { policy = policy, problems = problems, count = updates, batch = 2,
    seed = seed, initial = train.explore_then_improve, learning_rate = rate, progress = train.show_progress(what) }
  return policy, result.best[1].evaluation.objective_us
end

-- What a policy places, in microseconds; inf where nothing fits.
local function placed_us(problem, policy, budget_s, seed)
  local ok, placement = pcall(policy.place, policy, problem, { seed = seed or 1, budget_s = budget_s })
  local evaluation = ok and problem:evaluate(placement)
  return evaluation and evaluation.feasible and evaluation.objective_us or math.huge
end

local function random_us(problem)
  local sum, count = 0, 8
  for i = 1, count do
    sum = sum + placed_us(problem, berth.policy("random", { repair = true }), nil, i) / count
  end
  return sum
end

-- Of those that this build has.
local function classic_us(problem)
  local best = math.huge
  for _, name in ipairs { "heft", "m-etf", "m-sct", "metis", "mincut", "mcmc" } do
    local ok, policy = pcall(berth.policy, name)
    if ok then best = math.min(best, placed_us(problem, policy, options.budget)) end
  end
  return best
end

-- 3. The measurements: microseconds by family, column, seed and graph.

local COLUMNS = { "random", "scotch", "classic", "auto", "shipped", "untrained", "zero-shot", "own, untrained", "own" }
-- What does not depend on a seed of weights and training.
local ONCE = {
  random = random_us,
  scotch = function(problem)
    local ok, policy = pcall(berth.policy, "scotch")
    return ok and placed_us(problem, policy) or math.huge
  end,
  classic = classic_us,
  auto = function(problem) return placed_us(problem, berth.policy "auto", options.budget) end,
  shipped = function(problem)
    return placed_us(problem, berth.policy("placeto", { groups = options.groups, neighbourhood = 0 }))
  end,
}

local runs = record.open(options.record)
local function key_of(family, column, seed, graph)
  return ("%s, %s, seed %d, graph %d"):format(family, column, ONCE[column] and 0 or seed, graph)
end

local sets = {}
local function set_of(family)
  if not sets[family] then
    local learn, held = families.split(families[family] { seed = 1 })
    local as = { cluster = options.cluster, groups = options.groups }
    local function problems(graphs, count)
      return families.problems(graphs, { count = count, cluster = as.cluster, groups = as.groups })
    end
    sets[family] = { train = problems(learn, options.train), test = problems(held, options.test) }
  end
  return sets[family]
end

local function measure(family, seed)
  local set = set_of(family)
  local zero_shot
  local by_column = {
    untrained = function(problem) return placed_us(problem, fresh(seed), nil, seed) end,
    ["zero-shot"] = function(problem)
      zero_shot = zero_shot or trained_on(set.train, options.updates, seed, false, family)
      return placed_us(problem, zero_shot, nil, seed)
    end,
    own = function(problem) return (select(2, trained_on({ problem }, options.own, seed, false, "own"))) end,
    ["own, untrained"] = function(problem) return (select(2, trained_on({ problem }, options.own, seed, 0, "own"))) end,
  }
  for _, column in ipairs(COLUMNS) do
    for graph, problem in ipairs(set.test) do
      runs.once(key_of(family, column, seed, graph), function()
        return (ONCE[column] or by_column[column])(problem)
      end)
    end
  end
end

for _, seed in ipairs(only_table and {} or options.seeds) do
  for _, family in ipairs(options.families) do measure(family, seed) end
end

-- 4. Medians, and the distributions.

local function best_of(family, graph)
  local best = math.huge
  for _, column in ipairs(COLUMNS) do
    for _, seed in ipairs(options.seeds) do
      best = math.min(best, (runs.get(key_of(family, column, seed, graph))) or math.huge)
    end
  end
  return best
end

-- By column, one for each graph and seed that is done.
local function shares_of(family)
  local shares, to_own = {}, {}
  for _, column in ipairs(COLUMNS) do shares[column] = {} end
  for graph = 1, options.test do
    local best = best_of(family, graph)
    for i, seed in ipairs(options.seeds) do
      for _, column in ipairs(COLUMNS) do
        local us = runs.get(key_of(family, column, seed, graph))
        if us and (i == 1 or not ONCE[column]) then table.insert(shares[column], us / best) end
      end
      local zero, own = runs.get(key_of(family, "zero-shot", seed, graph)), runs.get(key_of(family, "own", seed, graph))
      if zero and own then to_own[#to_own + 1] = zero / own end
    end
  end
  return shares, to_own
end

local rows = {}
for _, family in ipairs(options.families) do
  local shares, to_own = shares_of(family)
  local row, lines = { family = family, graphs = options.test, seeds = #shares.own / options.test }, {}
  for _, column in ipairs(COLUMNS) do
    if #shares[column] > 0 then
      row[column] = statistics.median(shares[column])
      if column ~= "random" then lines[#lines + 1] = { name = column, values = shares[column] } end
    end
  end
  row.to_own = #to_own > 0 and statistics.median(to_own) or nil
  rows[#rows + 1] = row
  plots.keep(options.figures, "zero_shot_" .. family, #lines > 0 and plots.distributions {
    title = "Held-out graphs of " .. family, series = lines,
    x = "runtime / the best found for the graph", y = "share of graphs and seeds" })
end
local columns = { { key = "family" }, { key = "graphs" }, { key = "seeds", format = "%.1f" } }
for _, column in ipairs(COLUMNS) do columns[#columns + 1] = { key = column, format = "%.3f" } end
columns[#columns + 1] = { key = "to_own", title = "zero-shot to own", format = "%.3f" }
io.write(tables[options.format](rows, columns), "\n")
