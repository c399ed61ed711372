-- What learned policies make of one graph in the same time, trained and untrained.
--
--   berth run scripts/experiments/learned_policies.lua GRAPH:CLUSTER.. [--policies doppler,placeto]
--       [--seconds N] [--seeds N] [--figures FOLDER] [--format text|markdown]
--
-- For each graph and each policy that learns:
--   untrained  the same episodes with the weights it begins with, in the same time: what sampling alone
--              finds (learning rate 0)
--   trained    REINFORCE on the very graph (the option `episodes`), as many updates as the seconds allow
-- Policies that imitate first (doppler) have a row without that, too. `heft` and `auto` are for scale;
-- `auto` has the same seconds. All on one thread. Medians over seeds, with the range.

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

local options = { graphs = {}, policies = { "doppler", "placeto" }, seconds = 20, seeds = 3, format = "text" }
local line = arguments.parser("learned_policies.lua GRAPH:CLUSTER.. [--policies LIST] [--seconds N] "
  .. "[--seeds N] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, options.graphs, {
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.graphs == 0 then line.usage("name at least one GRAPH:CLUSTER") end

local SAMPLES = 16  -- episodes per update

local function policy_of(name, given, seed)
  local all = { seed = seed, samples = SAMPLES, init_seed = seed }
  for key, value in pairs(given) do all[key] = value end
  return berth.policy(name, all)
end

-- Updates that fit into the seconds, with what comes before them, and the seconds of one.
local function updates_in(seconds, problem, name, given)
  local function timed(updates)
    local with = { episodes = updates }
    for key, value in pairs(given) do with[key] = value end
    local started = berth.clock()
    policy_of(name, with, 1):place(problem, { threads = 1 })
    return berth.clock() - started
  end
  timed(0)  -- so that libraries are loaded
  local before, after = timed(0), timed(10)
  local each = math.max(after - before, after / 20) / 10
  return math.max(1, math.floor((seconds - before) / each)), each
end

local function measure(problem, name, given)
  local runtimes, walls, tried = {}, {}, {}
  for seed = 1, options.seeds do
    local started = berth.clock()
    local _, outcome = policy_of(name, given, seed):place(problem, { threads = 1 })
    runtimes[seed], walls[seed] = outcome.objective_us, berth.clock() - started
    tried[seed] = outcome.evaluations
  end
  return runtimes, statistics.median(walls), statistics.median(tried)
end

local rows, boxes = {}, {}
local function add(graph, title, runtimes, wall, tried, rate)
  table.sort(runtimes)
  local median = statistics.median(runtimes)
  rows[#rows + 1] = { graph = graph, policy = title, median = median / 1e3, range = ("%.0f to %.0f")
    :format(runtimes[1] / 1e3, runtimes[#runtimes] / 1e3), wall = wall, tried = tried, rate = rate }
  boxes[graph] = boxes[graph] or {}
  local ms = {}
  for i, us in ipairs(runtimes) do ms[i] = us / 1e3 end
  table.insert(boxes[graph], { name = title, values = ms })
end

for _, text in ipairs(options.graphs) do
  local file, cluster = text:match "^(.*):([^:]+)$"
  if not file then line.usage(("'%s' is not of the form GRAPH:CLUSTER"):format(text)) end
  local problem = berth.problem { graph = berth.load(file), cluster = cluster }
  local graph = ("%s (%d groups, %d devices)"):format(problem:graph():name(), problem:groups():count(),
    problem:cluster():device_count())
  local single = problem:single()
  if single then add(graph, "one device", { single.evaluation.objective_us }) end
  for _, name in ipairs(options.policies) do
    -- What is learned is compared: no search follows it.
    local alike = name == "placeto" and { neighbourhood = 0 } or {}
    local has = {}
    for _, plugin in ipairs((berth.plugins())) do
      if plugin.name == name then
        for _, option in ipairs(plugin.options) do has[option.name] = true end
      end
    end
    local variants = { { "", alike } }
    if has.imitation then table.insert(variants, 1, { ", no imitation", { imitation = 0 } }) end
    for _, variant in ipairs(variants) do
      local suffix, given = unpack(variant)
      local updates, each = updates_in(options.seconds, problem, name, given)
      local function with(rate)
        local all = { episodes = updates, learning_rate = rate }
        for key, value in pairs(given) do all[key] = value end
        return all
      end
      local runtimes, wall, tried = measure(problem, name, with(0))
      add(graph, name .. suffix .. ", untrained", runtimes, wall, tried)
      runtimes, wall, tried = measure(problem, name, with(nil))
      add(graph, name .. suffix .. ", trained", runtimes, wall, tried, SAMPLES / each)
    end
  end
  for _, name in ipairs { "heft", "auto" } do
    local runtimes, walls = {}, {}
    for seed = 1, options.seeds do
      local started = berth.clock()
      local _, outcome = berth.policy(name, name == "auto" and { threads = 1 } or nil)
        :place(problem, { seed = seed, threads = 1, budget_s = name == "auto" and options.seconds or nil })
      runtimes[seed], walls[seed] = outcome.objective_us, berth.clock() - started
    end
    add(graph, name, runtimes, statistics.median(walls))
  end
end

local columns = {
  { key = "graph" }, { key = "policy" }, { key = "median", title = "runtime, ms", format = "%.0f" },
  { key = "range" }, { key = "wall", title = "seconds", format = "%.1f" },
  { key = "tried", title = "placements", format = "%.0f" },
  { key = "rate", title = "episodes/s", format = "%.0f" },
}
io.write(options.format == "markdown" and tables.markdown(rows, columns) or tables.text(rows, columns))
for graph, list in pairs(boxes) do
  plots.keep(options.figures, "learned_" .. graph:match "^[%w_]+", plots.boxes {
    title = graph, y = "runtime, ms", series = list })
end
