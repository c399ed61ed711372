-- Compares placements that have to be there in milliseconds: policies at equal wall time, from one millisecond to
-- ten seconds, on graphs that the rules of `instant` were not learned from, and how those rules were learned.
--
--   berth run scripts/experiments/instant.lua [learn FILE] [--record FILE] [--families cifar10,ptb,nmt]
--       [--clusters k80x4,v100x8] [--graphs 8] [--models GRAPH:CLUSTER,..] [--policies a,b] [--budgets 0.005,0.01]
--       [--seeds 1,2,3,4,5] [--draws 300] [--figures FOLDER] [--format text|markdown]
--
-- learn FILE    learns the rules from the families' training graphs and writes them; the rest is not done. Held-out
--               graphs are those that placeto_families.lua tests on
-- --models      other graphs, beside the families'; those of a cluster are one set
-- --policies    names with options behind colons; "nearest" carries over what `auto` makes in two seconds of the most
--               similar training graph: by name, else by type and position. It has most types of ops in common, and of
--               those that have as many it is nearest in size. A graph that has less than half of its ops in common with
--               every training graph is listed as one without a similar one. The first is compared with the others, and
--               with itself in ten times the time
-- --budgets     seconds, for each placement, on one thread
--
-- A figure is the runtime as a share of one device's; of a graph's seeds the median counts. Where policies are compared, a
-- graph counts by the mean of its clusters, which are not independent. Seconds count alike on an idle machine only.

local arguments = require "berth.arguments"
local berth = require "berth"
local families = require "berth.families"
local instant = require "berth.instant"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

-- 1. The command line.

local options = { families = families.published, clusters = { "k80x4", "v100x8" }, graphs = 8, models = {}, seeds = { 1, 2, 3, 4, 5 },
                  policies = { "auto", "instant", "instant:weights=none", "nearest", "heft", "m-etf", "metis" },
                  budgets = { 0.005, 0.01, 0.03, 0.1 }, draws = 300, format = "text" }
local line = arguments.parser()
local words = {}
line.read({ ... }, words, {
  ["--record"] = line.text_into(options, "record"),
  ["--families"] = line.list_into(options, "families"),
  ["--clusters"] = line.list_into(options, "clusters"),
  ["--graphs"] = line.number_into(options, "graphs"),
  ["--models"] = line.list_into(options, "models"),
  ["--policies"] = line.list_into(options, "policies"),
  ["--budgets"] = line.numbers_into(options, "budgets"),
  ["--seeds"] = line.numbers_into(options, "seeds"),
  ["--draws"] = line.number_into(options, "draws"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

-- 2. Learning: four graphs of each family on three machines.

local LEARNED_FROM, MACHINES = { 2, 8, 14, 20 }, { "k80x4", "k80x2", "v100x8" }

local function split(family) return families.split(families[family] { seed = 1, count = 32 }) end

if words[1] == "learn" then
  local problems = {}
  for _, cluster in ipairs(MACHINES) do
    for _, family in ipairs(options.families) do
      local graphs = split(family)
      for _, i in ipairs(LEARNED_FROM) do problems[#problems + 1] = berth.problem { graph = graphs[i], cluster = cluster } end
    end
  end
  local rules = instant.learn { problems = problems, draws = options.draws, record = options.record,
    progress = function(at) print(("%d of %d rules: %.1f us"):format(at.draw, at.draws, math.exp(at.log_us))) end }
  instant.save(words[2] or line.usage "learn: name the file to write", rules)
  for count = 1, #rules do
    print(count, ("%.4f"):format(instant.ratio({ unpack(rules, 1, count) }, problems)))
  end
  return
end

-- 3. The nearest graph's placement.

local TEACHER_S = 2

-- Ops of each type in topological order.
local function by_type(graph)
  local types = {}
  for _, op in ipairs(graph:topological_order()) do
    local type_name = graph:op_type(op)
    types[type_name] = types[type_name] or {}
    table.insert(types[type_name], op)
  end
  return types
end

-- The share of ops of each type.
local function types_of(graph)
  local shares, count = {}, graph:op_count()
  for op = 1, count do
    local type_name = graph:op_type(op)
    shares[type_name] = (shares[type_name] or 0) + 1 / count
  end
  return shares
end

local function in_common(shares, others)
  local sum = 0
  for type_name, share in pairs(shares) do sum = sum + math.min(share, others[type_name] or 0) end
  return sum
end

local trained_on

-- The most similar training graph, and the share of ops that it has in common.
local function most_similar(graph)
  if not trained_on then
    trained_on = {}
    for _, family in ipairs(families.published) do
      for _, other in ipairs((split(family))) do trained_on[#trained_on + 1] = { graph = other, types = types_of(other) } end
    end
  end
  local types, best = types_of(graph), nil
  for _, other in ipairs(trained_on) do
    local common = in_common(types, other.types)
    local distance = math.abs(math.log(other.graph:op_count() / graph:op_count()))
    local closer = not best or common > best.common + 0.01
    if closer or common > best.common - 0.01 and distance < best.distance then
      best = { graph = other.graph, common = common, distance = distance }
    end
  end
  return best.graph, best.common
end

local teachers = {}

local function taught(other, cluster)
  local key = other:name() .. cluster:name()
  if not teachers[key] then
    local problem = berth.problem { graph = other, cluster = cluster }
    teachers[key] = (berth.policy("auto", { threads = 1 }):place(problem, { seed = 1, budget_s = TEACHER_S }))
  end
  return teachers[key]
end

-- The placement; groups are where the first of their ops that has a twin is, or all else is.
local function carried_over(problem)
  local graph, groups = problem:graph(), problem:groups()
  local other = most_similar(graph)
  local placement, types = taught(other, problem:cluster()), by_type(other)
  local device_of_group, all_of, so_far = {}, by_type(graph), {}
  for _, op in ipairs(graph:topological_order()) do
    local type_name = graph:op_type(op)
    so_far[type_name] = (so_far[type_name] or 0) + 1
    local twin, twins = other:find(graph:op_name(op)), types[type_name]
    if not twin and twins then twin = twins[math.ceil(so_far[type_name] * #twins / #all_of[type_name])] end
    local group = groups:of(op)
    if twin and not device_of_group[group] and problem:can_run(group, placement[twin]) then
      device_of_group[group] = placement[twin]
    end
  end
  local single = problem:single().placement
  for group = 1, groups:count() do
    device_of_group[group] = device_of_group[group] or single[groups:members(group)[1]]
  end
  return groups:expand(device_of_group)
end

berth.register_policy { name = "nearest", description = "the placement of the most similar training graph",
  place = function(problem) return carried_over(problem) end }

-- 4. The runs.

local runs = record.open(options.record)
local sets = {}
for _, cluster in ipairs(options.clusters) do
  for _, family in ipairs(options.families) do
    local _, test = split(family)
    local set = { name = ("%s, %s"):format(family, cluster), problems = {} }
    for i = 1, math.min(options.graphs, #test) do
      set.problems[i] = { name = test[i]:name() .. " " .. cluster, graph = test[i]:name(), make = function()
        return berth.problem { graph = test[i], cluster = cluster }
      end }
    end
    sets[#sets + 1] = set
  end
end
local of_models = {}
for _, text in ipairs(options.models) do
  local asked = line.problem(text)
  local cluster = text:match "[^:/]+$"
  if not of_models[cluster] then
    of_models[cluster] = { name = "models, " .. cluster, problems = {} }
    sets[#sets + 1] = of_models[cluster]
  end
  table.insert(of_models[cluster].problems, { name = text, graph = asked.graph, make = asked.problem })
end

local function measure(each)
  local problem
  local function made()
    if not problem then
      problem = each.make()
      problem:bound()  -- not in anybody's time
      berth.policy("auto", { threads = 1 }):place(problem, { seed = 1, threads = 1, budget_s = 0.2 })  -- nor loading plugins
    end
    return problem
  end
  each.single_us = runs.once(each.name .. " one device", function() return made():single().evaluation.objective_us end)
  for _, text in ipairs(options.policies) do
    if text == "nearest" then
      each.common = runs.once(each.name .. " in common", function() return select(2, most_similar(made():graph())) end)
      if not runs.get(("%s nearest %gs seed %d"):format(each.name, options.budgets[1], options.seeds[1])) then
        taught((most_similar(made():graph())), made():cluster())  -- not in anybody's time
      end
    end
    for _, budget in ipairs(options.budgets) do
      for _, seed in ipairs(options.seeds) do
        runs.once(("%s %s %gs seed %d"):format(each.name, text, budget, seed), function()
          local name, chosen = arguments.policy(text)
          local fine, _, outcome = pcall(function()
            return berth.policy(name, chosen):place(made(), { seed = seed, threads = 1, budget_s = budget })
          end)
          if not fine then
            if berth.should_stop() then error(_, 0) end
            return math.huge, 0
          end
          return outcome.feasible and outcome.objective_us or math.huge, outcome.wall_s
        end)
      end
    end
  end
end
local all = { name = "all", problems = {} }
for _, set in ipairs(sets) do
  for _, each in ipairs(set.problems) do
    measure(each)
    table.insert(all.problems, each)
  end
end
if #sets > 1 then table.insert(sets, all) end

-- 5. Tables and pictures.

-- The median share of every graph, by its name, and the seconds; nil where nothing was measured.
local function medians_of(set, text, budget)
  local shares, seconds, count = {}, {}, 0
  for _, each in ipairs(set.problems) do
    local of_seeds = {}
    for _, seed in ipairs(options.seeds) do
      local us, wall_s = runs.get(("%s %s %gs seed %d"):format(each.name, text, budget, seed))
      if us then
        of_seeds[#of_seeds + 1], seconds[#seconds + 1] = us / each.single_us, wall_s
      end
    end
    if #of_seeds > 0 then shares[each.name], count = statistics.median(of_seeds), count + 1 end
  end
  if count > 0 then return shares, seconds end
end

local function values_of(shares)
  local values = {}
  for _, value in pairs(shares) do values[#values + 1] = value end
  return values
end

local function percent(value) return ("%+.1f %%"):format(100 * (math.exp(value) - 1)) end
local function share(value) return value < math.huge and ("%.3f"):format(value) or "-" end

local rows = {}
for _, set in ipairs(sets) do
  local series = {}
  for _, text in ipairs(options.policies) do
    local row, points = { set = set.name, policy = text }, {}
    for i, budget in ipairs(options.budgets) do
      local shares, seconds = medians_of(set, text, budget)
      row[i] = shares and statistics.median(values_of(shares)) or nil
      if row[i] and row[i] < math.huge then points[#points + 1] = { statistics.median(seconds), row[i] } end
    end
    if #points > 0 then
      rows[#rows + 1] = row
      series[#series + 1] = { name = text, points = points }
    end
  end
  plots.keep(options.figures, "instant_" .. set.name:gsub("%W+", "_"), #series > 0 and plots.lines {
    title = set.name, x = "seconds", y = "runtime / one device's", x_log = true, series = series })
end
local columns = { { key = "set" }, { key = "policy" } }
for i, budget in ipairs(options.budgets) do columns[i + 2] = { key = i, title = ("%g ms"):format(1e3 * budget), format = share } end
io.write(tables[options.format](rows, columns), "\n")

local compared = {}
local function compare(first, budget, other, other_budget)
  local firsts, others, seconds = medians_of(all, first, budget), medians_of(all, other, other_budget)
  if not firsts or not others then return end
  local graphs, logs = {}, {}
  for _, each in ipairs(all.problems) do
    local mine, value = firsts[each.name], others[each.name]
    if mine and value and value < math.huge and mine < math.huge then
      graphs[#graphs + 1], logs[#logs + 1] = each.graph, math.log(mine / value)
    end
  end
  local same = first == other and budget == other_budget
  local row = not same and statistics.ratios(graphs, logs) or {}
  row.budget, row.policy, row.wall, row.most = 1e3 * budget, other, 1e3 * statistics.median(seconds), 1e3 * math.max(unpack(seconds))
  if budget ~= other_budget then row.policy = ("%s, %g ms"):format(other, 1e3 * other_budget) end
  row.interval = row.low and ("%s to %s"):format(percent(row.low), percent(row.high))
  compared[#compared + 1] = row
end
for _, budget in ipairs(options.budgets) do
  for _, text in ipairs(options.policies) do compare(options.policies[1], budget, text, budget) end
  for _, longer in ipairs(options.budgets) do
    if math.abs(longer / budget - 10) < 1e-6 then compare(options.policies[1], budget, options.policies[1], longer) end
  end
end
io.write(tables[options.format](compared, {
  { key = "budget", title = "budget, ms", format = "%g" }, { key = "policy" }, { key = "n", title = "graphs", optional = true },
  { key = "wall", title = "took, median", format = "%.1f" }, { key = "most", format = "%.1f" },
  { key = "median", title = options.policies[1] .. " against it", format = percent, optional = true },
  { key = "interval", title = "95 % of the median", optional = true }, { key = "better", optional = true },
  { key = "worse", optional = true }, { key = "p", format = "%.4f", optional = true } }))

local SIMILAR = 0.5
for _, each in ipairs(all.problems) do
  if each.common and each.common < SIMILAR then
    print(("%s: no training graph is similar; the most similar one has %.0f %% of its ops in common"):format(each.name, 100 * each.common))
  end
end
