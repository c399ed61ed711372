-- What can a better choice of proposals win in the search of `auto`?
--
--   berth run scripts/experiments/proposals.lua GRAPH:CLUSTER.. [--proposals adaptive,uniform,bandit]
--       [--seconds N] [--longer 2,4] [--seeds N] [--record FILE] [--figures FOLDER] [--format text|markdown]
--
-- GRAPH        a model file; with dynamic dimensions FILE@batch=4,sequence=64
-- CLUSTER      a preset, or a berth.cluster/1 file
-- --proposals  values of the option `proposals`; the first is what the others are compared with
-- --seconds    for one search, on one thread (1). Seconds count alike on an idle machine only
-- --longer     rows of the first with so many times the seconds (2,4): what a choice that is as many
--              times as good would give
-- --record     runs that are in the file are not made again
--
-- All searches of a graph begin with the same placement, the best of those that `auto` starts from. Pairs
-- are runs of one graph and seed; a runtime counts by the logarithm of its ratio to the first row's.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

-- 1. The command line.

local options = { graphs = {}, proposals = { "adaptive", "uniform", "bandit" }, seconds = 1, longer = { 2, 4 },
                  seeds = 3, format = "text" }
local line = arguments.parser("proposals.lua GRAPH:CLUSTER.. [--proposals LIST] [--seconds N] [--longer LIST] "
  .. "[--seeds N] [--record FILE] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, options.graphs, {
  ["--proposals"] = function(text) options.proposals = arguments.list(text) end,
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--longer"] = line.numbers_into(options, "longer"),
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--record"] = line.text_into(options, "record"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.graphs == 0 then line.usage "name at least one GRAPH:CLUSTER" end
if #options.proposals == 0 then line.usage "--proposals: name at least one" end

-- 2. The rows, the first one first, and the runs.

local rows = {}
for i, name in ipairs(options.proposals) do
  rows[#rows + 1] = { title = name, proposals = name, seconds = options.seconds }
  for _, times in ipairs(i == 1 and options.longer or {}) do
    rows[#rows + 1] = { title = ("%s, %g times as long"):format(name, times), proposals = name,
                        seconds = times * options.seconds }
  end
end

-- What a GRAPH:CLUSTER names: how tables call it, and what makes its problem.
local function parsed(text)
  local what, cluster = text:match "^(.+):([^:]+)$"
  if not what then line.usage(("'%s' is not of the form GRAPH:CLUSTER"):format(text)) end
  local file, given = what:match "^(.-)@(.*)$"
  local dims = {}
  for name, size in (given or ""):gmatch "([%w_]+)=(%d+)" do dims[name] = tonumber(size) end
  return {
    name = ("%s, %s"):format(what:match "([^/]+)$", cluster:match "([^/]+)$"),
    problem = function()
      return berth.problem { graph = berth.load(file or what, { dims = given and dims }), cluster = cluster }
    end,
  }
end

-- The runtime that a search ends with. `start` is asked for where the run is not in the record.
local runs = record.open(options.record)
local function runtime_us(text, problem, start, row, seed)
  local key = ("%s %s %gs seed %d"):format(text, row.proposals, row.seconds, seed)
  return (runs.once(key, function()
    local policy = berth.policy("auto", { threads = 1, from = "single", proposals = row.proposals })
    local _, outcome = policy:place(problem(), { seed = seed, threads = 1, budget_s = row.seconds,
                                                 initial = { start() } })
    return outcome.objective_us
  end))
end

-- The value of make(), which is called once, when it is first needed.
local function late(make)
  local value
  return function()
    if value == nil then value = make() end
    return value
  end
end

local found = {}  -- by row: the logarithms of the ratios, all pairs
local medians = {}  -- by graph: by row, the median of them
for i = 1, #rows do found[i] = {} end
for g, text in ipairs(options.graphs) do
  local asked = parsed(text)
  local problem = late(asked.problem)
  local start = late(function()
    return (berth.policy("auto", { threads = 1, moves = 1 }):place(problem(), { seed = 0, threads = 1 }))
  end)
  local ratios = {}
  for seed = 1, options.seeds do
    local first_us
    for i, row in ipairs(rows) do
      local us = runtime_us(text, problem, start, row, seed)
      first_us = first_us or us
      ratios[i] = ratios[i] or {}
      table.insert(ratios[i], math.log(us / first_us))
      table.insert(found[i], ratios[i][seed])
    end
  end
  medians[g] = { graph = asked.name }
  for i = 1, #rows do medians[g][i] = statistics.median(ratios[i]) end
end

-- 3. The tables.

local function percent(value) return ("%+.2f %%"):format(100 * (math.exp(value) - 1)) end

local zeros, summary, boxes = {}, {}, {}
for k = 1, #found[1] do zeros[k] = 0 end
for i, row in ipairs(rows) do
  local low, high = statistics.bootstrap(found[i])
  local test = statistics.sign_test(found[i], zeros)
  summary[i] = { proposals = row.title, pairs = #found[i], median = statistics.median(found[i]),
                 interval = ("%s to %s"):format(percent(low), percent(high)), mean = statistics.mean(found[i]),
                 better = test.n - test.positive, worse = test.positive, p = test.p }
  boxes[i] = { name = row.title, values = {} }
  for k, value in ipairs(found[i]) do boxes[i].values[k] = 100 * (math.exp(value) - 1) end
end
local columns = {
  { key = "proposals" }, { key = "pairs" }, { key = "median", format = percent },
  { key = "interval", title = "95 % of the median" }, { key = "mean", format = percent },
  { key = "better" }, { key = "worse" }, { key = "p", format = "%.3f" },
}
local by_graph = { { key = "graph" } }
for i = 2, #rows do by_graph[i] = { key = i, title = rows[i].title, format = percent } end
io.write(tables[options.format](summary, columns), "\n", tables[options.format](medians, by_graph))
plots.keep(options.figures, "proposals", plots.boxes {
  title = "Runtime against " .. rows[1].title, y = "percent", series = boxes })
