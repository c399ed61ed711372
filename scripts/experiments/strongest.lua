-- Is `auto` the strongest policy, and how far is it from the proven bound?
--
--   berth run scripts/experiments/strongest.lua [MODEL..] [--clusters a,b] [--policies a,b]
--       [--budget SECONDS] [--seed N] [--figures FOLDER] [--format text|markdown]
--
-- Without MODEL: the benchmark graphs of the papers. Every policy that is there places every model
-- on every cluster, one after the other, each within the budget (default 10 s); one row per pair.
-- "classic" is the best of Scotch, METIS, m-SCT, HEFT and the expert. A second table says what proves the bounds.

local arguments = require "berth.arguments"
local berth = require "berth"
local compare = require "berth.compare"
local plots = require "berth.plots"
local tables = require "berth.tables"

-- 1. The command line.

local CLASSIC = { scotch = true, metis = true, ["m-sct"] = true, heft = true, expert = true }
local options = {
  models = {},
  clusters = { "k80x2", "k80x4" },
  policies = nil,  -- all there are
  budget_s = 10,
  seed = 0,
  format = "text",
}

local line = arguments.parser("strongest.lua [MODEL..] [--clusters a,b] [--policies a,b] "
  .. "[--budget SECONDS] [--seed N] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, options.models, {
  ["--clusters"] = function(text) options.clusters = arguments.list(text) end,
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--budget"] = function(text) options.budget_s = line.number(text, "--budget") end,
  ["--seed"] = line.number_into(options, "seed"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.models == 0 then
  for _, name in ipairs { "inception_v3_b32", "inception_v3_b64", "nasnet_b64", "nmt_b64", "nmt_b256",
                          "rnnlm_b64" } do
    options.models[#options.models + 1] = "examples/models/tf/" .. name .. ".pb.gz"
  end
end
local policies = options.policies or compare.all_policies()

-- 2. One row per model and cluster.

-- What proves a bound, in the order of the second table's columns, each with all of those before it.
local INGREDIENTS = { "paths and work", "joins", "backlogs", "refutation" }

local function ingredient_of(source)
  return source:find "refutation" and 4 or source:find "backlogs" and 3 or source:find "joins" and 2 or 1
end

-- By ingredient the best bound of a problem in microseconds, and the seconds that all took.
local function bounds_of(problem)
  local started_s = berth.clock()
  local bounds = problem:bounds()
  local found = { seconds = berth.clock() - started_s }
  for i = 1, #INGREDIENTS do
    found[i] = 0
    for _, bound in ipairs(bounds) do
      if ingredient_of(bound.source) <= i then found[i] = math.max(found[i], bound.us) end
    end
  end
  return found
end

-- A finished row of `compare` that fits and passes `wanted`, the best first.
local function first(rows, wanted)
  for _, row in ipairs(rows) do
    if not row.error and row.feasible and wanted(row.policy) then return row end
  end
end

local function row_of(model, graph, cluster)
  local problem = berth.problem { graph = graph, cluster = cluster }
  local bounds = bounds_of(problem)
  local rows = compare.policies { problem = problem, policies = policies, seed = options.seed,
                                  budget_s = options.budget_s }
  local auto = first(rows, function(name) return name == "auto" end)
  local classic = first(rows, function(name) return CLASSIC[name] end)
  local other = first(rows, function(name) return name ~= "auto" end)
  local single = problem:single()
  local bound_us = bounds[#INGREDIENTS]
  return {
    model = model:match "[^/]+$":gsub("%..*$", ""),
    cluster = cluster,
    bounds = bounds,
    bound_us = bound_us,
    single_us = single and single.evaluation.objective_us,
    auto_us = auto and auto.objective_us,
    gap = auto and auto.objective_us / bound_us - 1,
    classic = classic and classic.policy,
    classic_us = classic and classic.objective_us,
    gain = auto and classic and 1 - auto.objective_us / classic.objective_us,
    other = other and other.policy,
    other_us = other and other.objective_us,
  }
end

local rows = {}
for _, model in ipairs(options.models) do
  local graph = berth.load(model)
  for _, cluster in ipairs(options.clusters) do
    if berth.should_stop() then break end
    rows[#rows + 1] = row_of(model, graph, cluster)
  end
end

-- 3. The table, then the verdict.

local function milliseconds(us) return ("%.1f"):format(us / 1e3) end
local function percent(ratio) return ("%.1f %%"):format(100 * ratio) end

plots.keep(options.figures, "strongest", plots.table_bars(rows, {
  title = "auto beside the best of the others", y = "objective / bound", y_log = true,
  name = function(row) return row.model .. ", " .. row.cluster end,
  columns = { { key = "single_us", title = "one device" }, { key = "classic_us", title = "best classic" },
    { key = "other_us", title = "best of all others" }, { key = "auto_us", title = "auto" } },
  value = function(row, key) return row[key] and row[key] / row.bound_us end }))
io.write(tables[options.format](rows, {
  { key = "model" }, { key = "cluster" },
  { key = "bound_us", title = "bound ms", format = milliseconds },
  { key = "single_us", title = "one device", format = milliseconds },
  { key = "auto_us", title = "auto", format = milliseconds },
  { key = "gap", title = "above bound", format = percent },
  { key = "classic", title = "best classic" },
  { key = "classic_us", title = "ms", format = milliseconds },
  { key = "gain", title = "auto saves", format = percent },
  { key = "other", title = "best of all others" },
  { key = "other_us", title = "ms", format = milliseconds },
}), "\n")

local of_bounds = { { key = "model" }, { key = "cluster" } }
for i, title in ipairs(INGREDIENTS) do
  of_bounds[#of_bounds + 1] = { key = i, title = title .. " ms", format = milliseconds }
end
of_bounds[#of_bounds + 1] = { key = "seconds", format = "%.1f" }
local proven = {}
for i, row in ipairs(rows) do
  proven[i] = { model = row.model, cluster = row.cluster, seconds = row.bounds.seconds, unpack(row.bounds) }
end
io.write(tables[options.format](proven, of_bounds), "\n")

local best, strictly = 0, 0
for _, row in ipairs(rows) do
  if row.auto_us and (not row.other_us or row.auto_us <= row.other_us) then best = best + 1 end
  if row.auto_us and (not row.classic_us or row.auto_us < row.classic_us) then
    strictly = strictly + 1
  end
end
io.write(("auto is at least as good as every other policy on %d of %d, and strictly better than the "
  .. "best classic on %d.\n"):format(best, #rows, strictly))
