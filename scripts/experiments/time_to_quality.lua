-- How good is what a policy has found so far, against the time it has had?
--
--   berth run scripts/experiments/time_to_quality.lua GRAPH:CLUSTER.. [--policies auto,placeto] [--seconds N]
--       [--seeds N] [--record FILE] [--figures FOLDER] [--format text|markdown]
--
-- GRAPH and CLUSTER are as for equal_time.lua. Every policy has --seconds (10) on one thread, once for each seed, and is
-- asked for the best placement so far at a hundredth of them, a fiftieth, ... Medians over seeds; in the pictures, with
-- the range. Seconds count alike on an idle machine only.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

local SHARES = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1 }  -- of the seconds

local options = { graphs = {}, policies = { "auto", "placeto", "lookahead" }, seconds = 10, seeds = 3, format = "text" }
local line = arguments.parser("time_to_quality.lua GRAPH:CLUSTER.. [--policies LIST] [--seconds N] [--seeds N] "
  .. "[--record FILE] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, options.graphs, {
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--record"] = line.text_into(options, "record"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.graphs == 0 then line.usage "name at least one GRAPH:CLUSTER" end

-- The best runtime known after each share of the seconds; infinite where none is.
local function run(problem, text, seed)
  local name, chosen = arguments.policy(text)
  local best = {}
  for i = 1, #SHARES do best[i] = math.huge end
  local began = berth.clock()
  local function note(us)
    local share = (berth.clock() - began) / options.seconds
    for i, each in ipairs(SHARES) do
      if us > 0 and share <= each and us < best[i] then best[i] = us end
    end
  end
  local _, outcome = berth.policy(name, chosen):place(problem, {
    seed = seed, threads = 1, budget_s = options.seconds, progress = note })
  best[#SHARES] = math.min(best[#SHARES], outcome.objective_us)  -- a policy may end a little after its time
  return unpack(best)
end

local runs = record.open(options.record)
local rows = {}
for _, text in ipairs(options.graphs) do
  local asked = arguments.problem(text) or line.usage(("'%s' is not of the form GRAPH:CLUSTER"):format(text))
  local series = {}
  for _, policy in ipairs(options.policies) do
    local found = {}  -- by share: over seeds
    for i = 1, #SHARES do found[i] = {} end
    for seed = 1, options.seeds do
      local best = { runs.once(("%s %s %gs seed %d"):format(text, policy, options.seconds, seed), function()
        return run(asked.problem(), policy, seed)
      end) }
      for i, us in ipairs(best) do found[i][seed] = us / 1e3 end
    end
    local row = { graph = asked.name, policy = policy }
    local points, band = {}, {}
    for i, share in ipairs(SHARES) do
      table.sort(found[i])
      row[i] = statistics.median(found[i])
      if found[i][#found[i]] < math.huge then
        table.insert(points, { share * options.seconds, row[i] })
        table.insert(band, { share * options.seconds, found[i][1], found[i][#found[i]] })
      end
    end
    rows[#rows + 1] = row
    series[#series + 1] = { name = policy, points = points, band = band }
  end
  plots.keep(options.figures, "quality_" .. asked.name:gsub("%W+", "_"), plots.lines {
    title = asked.name, x = "seconds", y = "runtime, ms", x_log = true, series = series })
end

local function ms(value) return value < math.huge and ("%.4g"):format(value) or "-" end
local columns = { { key = "graph" }, { key = "policy" } }
for i, share in ipairs(SHARES) do
  columns[#columns + 1] = { key = i, title = ("%g s"):format(share * options.seconds), format = ms }
end
io.write(tables[options.format](rows, columns))
