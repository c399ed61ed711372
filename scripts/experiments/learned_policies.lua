-- Compares learned policies on one graph in the same time, trained and untrained.
--
--   berth run scripts/experiments/learned_policies.lua GRAPH:CLUSTER.. [--policies doppler,placeto]
--       [--seconds N] [--seeds N] [--record FILE] [--figures FOLDER] [--format text|markdown]
--
-- For each graph and each policy that learns:
--   untrained  the same with the weights it begins with (learning rate 0)
--   trained    REINFORCE on the very graph until the seconds are over (the option `episodes`)
-- Figures are of the policies' own placements: what their greedy episodes end with, not the best that they saw.
-- Runs whose time ended before a policy had placed all groups by itself are in no figure; `failed` counts them.
-- Policies that imitate first (doppler) have a row without that, too. `heft` and `auto` are for scale. All on one
-- thread. Medians over seeds, with the range; then what is compared with what, seed by seed; a pair is a graph, with the
-- mean of its seeds.

local arguments = require "berth.arguments"
local berth = require "berth"
local comparing = require "berth.compare"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

local options = { graphs = {}, policies = { "doppler", "placeto" }, seconds = 20, seeds = 3, format = "text" }
local line = arguments.parser()
line.read({ ... }, options.graphs, {
  ["--policies"] = line.list_into(options, "policies"),
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--record"] = line.text_into(options, "record"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.graphs == 0 then line.usage("name at least one GRAPH:CLUSTER") end

local runs = record.open(options.record)
local found = {}  -- by title of a row: the logarithms of its runtimes, all graphs and seeds
local rows, boxes = {}, {}

-- A row of the table, a run of `policy` for each seed.
local function add(text, problem, title, policy, given)
  local runtimes, walls, tried = {}, {}, {}
  for seed = 1, options.seeds do
    local all = given.episodes and { init_seed = seed } or {}
    for key, value in pairs(given) do all[key] = value end
    runtimes[seed], walls[seed], tried[seed] = runs.once(("%s %s %gs seed %d"):format(text, title, options.seconds, seed),
      function()
        local started = berth.clock()
        local _, outcome = berth.policy(policy, all):place(problem(), {
          seed = seed, threads = 1, budget_s = options.seconds })
        local own = comparing.of_policy(outcome)
        return own and own.objective_us or math.huge, berth.clock() - started, outcome.evaluations
      end)
  end
  found[title] = found[title] or {}
  for _, us in ipairs(runtimes) do table.insert(found[title], math.log(us)) end
  local graph = text:match "^[%w_]+"
  boxes[graph] = boxes[graph] or {}
  local ms = {}
  for _, us in ipairs(runtimes) do
    if us < math.huge then ms[#ms + 1] = us / 1e3 end
  end
  if #ms > 0 then table.insert(boxes[graph], { name = title, values = ms }) end
  table.sort(ms)
  local wall, placements = statistics.median(walls), statistics.median(tried)
  rows[#rows + 1] = { graph = graph, policy = title, median = statistics.median(ms), wall = wall, tried = placements,
                      range = #ms > 0 and ("%.0f to %.0f"):format(ms[1], ms[#ms]) or nil, rate = placements / wall,
                      failed = #ms < options.seeds and options.seeds - #ms or nil }
end

local function has(name, option)
  for _, plugin in ipairs((berth.plugins())) do
    for _, each in ipairs(plugin.name == name and plugin.options or {}) do
      if each.name == option then return true end
    end
  end
  return false
end

-- No search follows: the learned placements are compared.
local function variants_of(name)
  local settings = { episodes = -1, neighbourhood = has(name, "neighbourhood") and 0 or nil }
  if not has(name, "imitation") then return { { name, settings } } end
  return { { name .. ", no imitation", { episodes = -1, imitation = 0 } }, { name, settings } }
end

for _, text in ipairs(options.graphs) do
  local asked = line.problem(text)
  local made
  local function problem()
    made = made or asked.problem()
    return made
  end
  add(asked.name, problem, "one device", "single", {})
  for _, name in ipairs(options.policies) do
    for _, variant in ipairs(variants_of(name)) do
      local title, settings = unpack(variant)
      settings.learning_rate = 0
      add(asked.name, problem, title .. ", untrained", name, settings)
      settings.learning_rate = nil
      add(asked.name, problem, title .. ", trained", name, settings)
    end
  end
  add(asked.name, problem, "heft", "heft", {})
  add(asked.name, problem, "auto", "auto", { threads = 1 })
end

local columns = {
  { key = "graph" }, { key = "policy" }, { key = "median", title = "runtime, ms", format = "%.0f" },
  { key = "range" }, { key = "wall", title = "seconds", format = "%.1f" },
  { key = "tried", title = "placements", format = "%.0f" },
  { key = "rate", title = "per second", format = "%.0f" }, { key = "failed", optional = true },
}
io.write(tables[options.format](rows, columns), "\n")

local function percent(value) return ("%+.1f %%"):format(100 * (math.exp(value) - 1)) end
local summary = {}
local function compare(what, against)
  local graphs, all = {}, {}
  for k, value in ipairs(found[what]) do
    local difference = value - found[against][k]
    if difference - difference == 0 then
      graphs[#graphs + 1], all[#all + 1] = math.ceil(k / options.seeds), difference
    end
  end
  local row = statistics.ratios(graphs, all)
  if not row then return end
  row.what, row.against = what, against
  row.interval = row.low and ("%s to %s"):format(percent(row.low), percent(row.high))
  summary[#summary + 1] = row
end
for _, name in ipairs(options.policies) do
  for _, variant in ipairs(variants_of(name)) do compare(variant[1] .. ", trained", variant[1] .. ", untrained") end
end
for i = 2, #options.policies do
  compare(options.policies[1] .. ", trained", options.policies[i] .. ", trained")
end
io.write(tables[options.format](summary, {
  { key = "what" }, { key = "against" }, { key = "n", title = "graphs" }, { key = "median", format = percent },
  { key = "interval", title = "95 % of the median", optional = true }, { key = "better" }, { key = "worse" },
  { key = "p", format = "%.4f" },
}))
for graph, list in pairs(boxes) do
  plots.keep(options.figures, "learned_" .. graph, #list > 0 and plots.boxes { title = graph, y = "runtime, ms", series = list })
end
