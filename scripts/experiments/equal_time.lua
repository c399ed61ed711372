-- What do policies make of the same graphs in the same time, pair by pair?
--
--   berth run scripts/experiments/equal_time.lua GRAPH:CLUSTER.. [--policies auto,placeto:weights=none]
--       [--seconds N] [--longer 2,4] [--seeds N] [--same-start] [--record FILE] [--figures FOLDER]
--       [--format text|markdown]
--
-- GRAPH         a model file; with dynamic dimensions FILE@batch=4,sequence=64
-- CLUSTER       a preset, or a berth.cluster/1 file
-- --policies    names, each with its options behind colons; the first is what the others are compared with
-- --seconds     for one placement, on one thread (1). Seconds count alike on an idle machine only
-- --longer      rows of the first with so many times the seconds: what being as many times as productive would give
-- --same-start  all runs of a graph begin with one placement, the best of those that `auto` starts from
-- --record      runs that are in the file are not made again
--
-- Pairs are runs of one graph and seed; a runtime counts by the logarithm of its ratio to the first row's.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

-- 1. The command line.

local options = { graphs = {}, policies = { "auto", "placeto", "placeto:weights=none", "lookahead" }, seconds = 1,
                  longer = {}, seeds = 3, same_start = false, format = "text" }
local line = arguments.parser("equal_time.lua GRAPH:CLUSTER.. [--policies LIST] [--seconds N] [--longer LIST] "
  .. "[--seeds N] [--same-start] [--record FILE] [--figures FOLDER] [--format text|markdown]")
local given = {}
for _, word in ipairs { ... } do
  if word == "--same-start" then options.same_start = true else given[#given + 1] = word end
end
line.read(given, options.graphs, {
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--longer"] = line.numbers_into(options, "longer"),
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--record"] = line.text_into(options, "record"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.graphs == 0 then line.usage "name at least one GRAPH:CLUSTER" end
if #options.policies == 0 then line.usage "--policies: name at least one" end

-- 2. The rows, the first one first, and the runs.

local rows = {}
for i, text in ipairs(options.policies) do
  local name, chosen = arguments.policy(text)
  rows[#rows + 1] = { title = text, name = name, options = chosen, seconds = options.seconds }
  for _, times in ipairs(i == 1 and options.longer or {}) do
    rows[#rows + 1] = { title = ("%s, %g times as long"):format(text, times), name = name, options = chosen,
                        seconds = times * options.seconds }
  end
end

-- The runtime of what a policy answers. `start` is asked for where the run is not in the record.
local runs = record.open(options.record)
local function runtime_us(text, problem, start, row, seed)
  local key = ("%s %s %gs seed %d"):format(text, row.title, row.seconds, seed)
  return (runs.once(key, function()
    local _, outcome = berth.policy(row.name, row.options):place(problem(), {
      seed = seed, threads = 1, budget_s = row.seconds, initial = options.same_start and { start() } or nil })
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
  local asked = arguments.problem(text) or line.usage(("'%s' is not of the form GRAPH:CLUSTER"):format(text))
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
  summary[i] = { policy = row.title, pairs = #found[i], median = statistics.median(found[i]),
                 interval = ("%s to %s"):format(percent(low), percent(high)), mean = statistics.mean(found[i]),
                 better = test.n - test.positive, worse = test.positive, p = test.p }
  boxes[i] = { name = row.title, values = {} }
  for k, value in ipairs(found[i]) do boxes[i].values[k] = 100 * (math.exp(value) - 1) end
end
local columns = {
  { key = "policy" }, { key = "pairs" }, { key = "median", format = percent },
  { key = "interval", title = "95 % of the median" }, { key = "mean", format = percent },
  { key = "better" }, { key = "worse" }, { key = "p", format = "%.3f" },
}
local by_graph = { { key = "graph" } }
for i = 2, #rows do by_graph[i] = { key = i, title = rows[i].title, format = percent } end
io.write(tables[options.format](summary, columns), "\n", tables[options.format](medians, by_graph))
plots.keep(options.figures, "equal_time", plots.boxes {
  title = "Runtime against " .. rows[1].title, y = "percent", series = boxes })
