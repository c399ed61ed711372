-- Does a policy trained on some graphs of a family place others well? Zero-shot distributions, as in the
-- generalization figures of Addanki et al., NeurIPS 2019, and a policy trained on all families at once.
--
--   berth run scripts/experiments/placeto_families.lua [--families cifar10,ptb,nmt] [--cluster k80x4]
--       [--groups 64] [--train 12] [--test 8] [--updates 150] [--own 40]
--       [--mixed shipped|trained|no]
--       [--budget SECONDS] [--seed N] [--figures FOLDER] [--save FILE] [--format text|markdown]
--
-- For each family, a policy is trained on `train` graphs and places `test` others without further
-- training (zero-shot). It is compared with
--   own      a policy trained on each of the test graphs alone, with `own` updates
--   mixed    a policy for all families: the weights that come with Berth, or trained here
--   random   a random placement
--   scotch   Scotch's mapping
--   classic  the best of several policies that do not learn, on the same groups
--   auto     `auto`, which also splits groups
-- Searches have `budget` seconds (default 5). Runtimes are shares of the best single device's.
-- --save writes the weights of the mixed policy.

local arguments = require "berth.arguments"
local berth = require "berth"
local families = require "berth.families"
local plots = require "berth.plots"
local statistics = require "berth.statistics"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. The command line.

local options = { families = families.names, cluster = "k80x4", groups = 64, train = 12, test = 8,
                  updates = 150, own = 40, mixed = "shipped", budget = 5, seed = 1,
                  save = "", format = "text" }
local line = arguments.parser("placeto_families.lua [--families a,b] [--cluster C] [--groups N] "
  .. "[--train N] [--test N] [--updates N] [--own N] [--mixed shipped|trained|no] [--budget SECONDS] [--seed N] "
  .. "[--figures FOLDER] [--save FILE] [--format text|markdown]")
local positional = {}
line.read({ ... }, positional, {
  ["--families"] = function(text) options.families = arguments.list(text) end,
  ["--cluster"] = line.text_into(options, "cluster"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--train"] = line.number_into(options, "train"),
  ["--test"] = line.number_into(options, "test"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--own"] = line.number_into(options, "own"),
  ["--mixed"] = function(text)
    options.mixed = line.one_of(text, "--mixed", { shipped = true, trained = true, no = true },
      "shipped, trained or no")
  end,
  ["--budget"] = line.number_into(options, "budget"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--save"] = line.text_into(options, "save"),
  ["--format"] = line.format_into(options),
})
if #positional > 0 then line.usage(("unexpected argument '%s'"):format(positional[1])) end

-- 2. Problems and policies.

local function problems_of(graphs, count)
  return families.problems(graphs, { count = count, cluster = options.cluster,
                                     groups = options.groups })
end

local function trained_on(problems, updates, what)
  local policy = berth.policy("placeto", { weights = "none", init_seed = options.seed })
  local result = train.episodes { policy = policy, problems = problems, count = updates, batch = 2,
                                  seed = options.seed, initial = train.explore_then_improve,
                                  progress = train.show_progress(what) }
  return policy, result
end

-- What a policy places, in microseconds; nil where nothing fits.
local function placed_us(problem, policy, budget_s, seed)
  local ok, placement = pcall(function()
    return (policy:place(problem, { seed = seed or options.seed, budget_s = budget_s }))
  end)
  local evaluation = ok and problem:evaluate(placement)
  return evaluation and evaluation.feasible and evaluation.objective_us or nil
end

-- The mean of some placements drawn group by group.
local function random_us(problem)
  local sum, count = 0, 8
  for i = 1, count do
    local us = placed_us(problem, berth.policy("random", { repair = true }), nil, options.seed + i)
    sum = sum + us / count
  end
  return sum
end

-- 3. The measurements: rows[family][column] = { share of the single device's runtime, .. }.

local COLUMNS = { "random", "scotch", "classic", "auto", "zero-shot", "mixed", "own" }
local CLASSIC = { "heft", "m-etf", "m-sct", "metis", "mincut", "mcmc" }

local train_sets, test_sets = {}, {}
for _, family in ipairs(options.families) do
  local learn, held = families.split(families[family] { seed = options.seed })
  train_sets[family] = problems_of(learn, options.train)
  test_sets[family] = problems_of(held, options.test)
end

local mixed = options.mixed == "shipped" and berth.policy("placeto", { groups = options.groups })
if options.mixed == "trained" or options.save ~= "" then
  -- In turn a graph of each family, so that every update sees two of them.
  local all = {}
  for i = 1, options.train do
    for _, family in ipairs(options.families) do all[#all + 1] = train_sets[family][i] end
  end
  mixed = trained_on(all, options.updates * #options.families, "mixed")
  if options.save ~= "" then mixed:save(options.save, "") end
end

local rows, series = {}, {}
for _, family in ipairs(options.families) do
  local zero_shot = trained_on(train_sets[family], options.updates, family)
  local shares = {}
  for _, column in ipairs(COLUMNS) do shares[column] = {} end
  for _, problem in ipairs(test_sets[family]) do
    local single = problem:single()
    local unit = single and single.evaluation.objective_us or problem:bound()
    local function note(column, us) table.insert(shares[column], us and us / unit or nil) end
    note("random", random_us(problem))
    note("scotch", placed_us(problem, berth.policy "scotch"))
    local classic
    for _, name in ipairs(CLASSIC) do
      local us = placed_us(problem, berth.policy(name), options.budget)
      if us and (not classic or us < classic) then classic = us end
    end
    note("classic", classic)
    note("auto", placed_us(problem, berth.policy "auto", options.budget))
    note("zero-shot", placed_us(problem, zero_shot))
    if mixed then note("mixed", placed_us(problem, mixed)) end
    local _, own = trained_on({ problem }, options.own, problem:graph():name())
    note("own", own.best[1].evaluation.objective_us)
  end
  series[family] = shares
end

-- 4. Medians, and the distributions.

local columns = { { key = "family" }, { key = "graphs" } }
for _, column in ipairs(COLUMNS) do
  columns[#columns + 1] = { key = column, format = "%.3f", optional = true }
end
columns[#columns + 1] = { key = "to_own", title = "zero-shot to own", format = "%.3f" }
for _, family in ipairs(options.families) do
  local row = { family = family, graphs = #test_sets[family] }
  local lines = {}
  for _, column in ipairs(COLUMNS) do
    local values = series[family][column]
    row[column] = statistics.median(values)
    if #values > 0 and column ~= "random" then lines[#lines + 1] = { name = column, values = values } end
  end
  row.to_own = row["zero-shot"] / row.own
  rows[#rows + 1] = row
  plots.keep(options.figures, "zero_shot_" .. family, #lines > 0 and plots.distributions {
    title = "Held-out graphs of " .. family, series = lines,
    x = "runtime as a share of the best single device's", y = "share of graphs" })
end
io.write(tables[options.format](rows, columns), "\n")
