-- Compares what policies make of the same graphs in the same time.
--
--   berth run scripts/experiments/compare.lua GRAPH:CLUSTER.. [--policies auto,placeto:weights=none] [--seconds N]
--       [--longer 2,4] [--shares 0.1,1] [--seeds N] [--groups N] [--threads N] [--same-start] [--bounds]
--       [--record FILE] [--figures FOLDER] [--format text|csv|markdown]
--
-- GRAPH         a model file; with dynamic dimensions FILE@batch=4,sequence=64
-- CLUSTER       a preset, or a berth.cluster/1 file
-- --policies    names, each with its options behind colons (auto, then every other); the others are compared
--               with the first
-- --seconds     for one placement, on --threads (1). Seconds count alike on an idle machine only
-- --longer      rows of the first with multiples of the seconds: what a faster search would give
-- --shares      also the best placement after these shares of the seconds
-- --same-start  all runs of a graph begin with one placement, the best of those that `auto` starts from
-- --bounds      also the lower bounds, by what proves them
-- --record      runs that are in the file are not made again
--
-- A policy that learns is called by its own placement, with which its last greedy episode ended; the best that it saw,
-- starts and a search around it included, has a row of its own ("best seen"), and is what the shares are of.
--
-- A runtime counts by the logarithm of its ratio to the first row's of the same graph, cluster and seed, and a graph by the
-- mean of its clusters and seeds, which are not independent. A run that fails or finds nothing that fits is counted as
-- failed and in no ratio. `csv` prints a line for each run.

local arguments = require "berth.arguments"
local berth = require "berth"
local compare = require "berth.compare"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

-- 1. The command line.

local options = { graphs = {}, seconds = 1, longer = {}, shares = {}, seeds = 3, threads = 1, format = "text" }
local line = arguments.parser()
line.read({ ... }, options.graphs, {
  ["--policies"] = line.list_into(options, "policies"),
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--longer"] = line.numbers_into(options, "longer"),
  ["--shares"] = line.numbers_into(options, "shares"),
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--threads"] = line.number_into(options, "threads"),
  ["--same-start"] = line.flag_into(options, "same_start"),
  ["--bounds"] = line.flag_into(options, "bounds"),
  ["--record"] = line.text_into(options, "record"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = function(text) options.format = line.one_of(text, "--format", tables, "text, csv or markdown") end,
})
if #options.graphs == 0 then line.usage "name at least one GRAPH:CLUSTER" end
if not options.policies then
  options.policies = { "auto" }
  for _, name in ipairs(compare.all_policies()) do
    if name ~= "auto" then table.insert(options.policies, name) end
  end
end

-- 2. The rows, the first one first.

local rows = {}
local function new_row(title)
  return { title = title, graphs = {}, logs = {}, gaps = {}, runs = 0, failed = 0, proven = 0 }
end
local function add_row(text, times)
  local name, chosen = arguments.policy(text)
  berth.policy(name, chosen)  -- an option that does not exist ends the script before anything ran
  local row = new_row(times and ("%s, %g times as long"):format(text, times) or text)
  row.name, row.options, row.seconds = name, chosen, (times or 1) * options.seconds
  row.seen = new_row(row.title .. ", best seen")
  rows[#rows + 1] = row
end
for i, text in ipairs(options.policies) do
  add_row(text)
  for _, times in ipairs(i == 1 and options.longer or {}) do add_row(text, times) end
end
if #rows == 0 then line.usage "--policies: name at least one" end

-- 3. The runs.

local runs = record.open(options.record, { groups = options.groups, threads = options.threads,
  same_start = options.same_start, shares = options.shares })

-- The numbers of a run: the objective (infinite where nothing fits), seconds, placements, the best that a policy that
-- learns saw (nan of the others), and the best objective after each share of the seconds. nil and the error's first
-- line of a run that failed.
local function numbers_of(key, problem, start, row, seed)
  local ok, objective_us, wall_s, tried, seen_us, best = pcall(function()
    local found = { runs.once(key, function()
      local best, began_s = {}, berth.clock()
      for i = 1, #options.shares do best[i] = math.huge end
      local function note(us)
        local share = (berth.clock() - began_s) / row.seconds
        for i, each in ipairs(options.shares) do
          if us > 0 and share <= each and us < best[i] then best[i] = us end
        end
      end
      local _, outcome = berth.policy(row.name, row.options):place(problem(), {
        seed = seed, threads = options.threads, budget_s = row.seconds, progress = #best > 0 and note or nil,
        initial = options.same_start and { start() } or nil })
      local own = compare.of_policy(outcome)
      local us = own and own.feasible and own.objective_us or math.huge
      local seen_us = outcome.whose and (outcome.feasible and outcome.objective_us or math.huge) or 0 / 0
      for i, share in ipairs(options.shares) do
        -- A policy may end a little after its time.
        if share >= 1 then best[i] = math.min(best[i], us, outcome.whose and seen_us or us) end
      end
      return us, outcome.wall_s, outcome.evaluations, seen_us, unpack(best)
    end) }
    return found[1], found[2], found[3], found[4], { unpack(found, 5) }
  end)
  if ok then return objective_us, wall_s, tried, seen_us, best end
  if berth.should_stop() then error(objective_us, 0) end
  return nil, tostring(objective_us):match "[^\n]*"
end

-- The value of make(), which is called once, when it is first needed.
local function late(make)
  local value
  return function()
    if value == nil then value = make() end
    return value
  end
end

-- The proofs of a bound, in the order of the columns, each with all before it.
local INGREDIENTS = { "paths and work", "joins", "backlogs", "refutation" }
local function bounds_of(name, problem)
  local began_s = berth.clock()
  local found = { graph = name, 0, 0, 0, 0 }
  for _, bound in ipairs(problem:bounds()) do
    local from = 1
    for i, word in ipairs(INGREDIENTS) do
      if bound.source:find(word, 1, true) then from = i end
    end
    for i = from, #INGREDIENTS do found[i] = math.max(found[i], bound.us / 1e3) end
  end
  found.seconds = berth.clock() - began_s
  return found
end

local by_graph, by_share, proofs, lines = {}, {}, {}, {}

local function new_cell() return { ms = {}, best = {} } end

-- Adds one run to its row, and to `cell`, the row's runs of this graph and cluster.
local function add(row, cell, graph, entry, first_us)
  row.runs = row.runs + 1
  lines[#lines + 1] = entry
  if not entry.objective_us or entry.objective_us == math.huge then
    row.failed = row.failed + 1
    return
  end
  table.insert(cell.ms, entry.objective_us / 1e3)
  table.insert(row.gaps, entry.objective_us / entry.bound_us - 1)
  if entry.objective_us <= entry.bound_us * (1 + 1e-9) then row.proven = row.proven + 1 end
  if first_us and first_us < math.huge then
    table.insert(row.graphs, graph)
    table.insert(row.logs, math.log(entry.objective_us / first_us))
  end
end

local function shares_of(graph, row, cell)
  local shown, points, band = { graph = graph, policy = (row.seen.runs > 0 and row.seen or row).title }, {}, {}
  for i, share in ipairs(options.shares) do
    local values = {}
    for _, best in ipairs(cell.best) do table.insert(values, best[i] / 1e3) end
    table.sort(values)
    shown[i] = #values > 0 and statistics.median(values) or math.huge
    if #values > 0 and values[#values] < math.huge then
      table.insert(points, { share * row.seconds, shown[i] })
      table.insert(band, { share * row.seconds, values[1], values[#values] })
    end
  end
  by_share[#by_share + 1] = shown
  return { name = shown.policy, points = points, band = band }
end

for _, text in ipairs(options.graphs) do
  local asked = arguments.problem(text, { groups = options.groups })
    or line.usage(("'%s' is not of the form GRAPH:CLUSTER"):format(text))
  local problem = late(asked.problem)
  local start = late(function()
    return (berth.policy("auto", { threads = 1, moves = 1 }):place(problem(), { seed = 0, threads = 1 }))
  end)
  local bound_us, single_us = runs.once(text .. " bound and one device", function()
    local single = problem():single()
    return (problem():bound()), single and single.evaluation.objective_us or math.huge
  end)
  local cells, series, shown = {}, {}, { graph = asked.name, bound = bound_us / 1e3, single = single_us / 1e3 }
  for i in ipairs(rows) do
    cells[i] = new_cell()
    cells[i].seen = new_cell()
  end
  for seed = 1, options.seeds do
    local first_us
    for i, row in ipairs(rows) do
      local key = ("%s %s %gs seed %d"):format(text, row.title, row.seconds, seed)
      local us, wall_s, tried, seen_us, best = numbers_of(key, problem, start, row, seed)
      if i == 1 then first_us = us end
      if us then table.insert(cells[i].best, best) end
      local entry = { graph = asked.name, policy = row.title, seed = seed, objective_us = us, bound_us = bound_us,
                      wall_s = us and wall_s, tried = tried, error = not us and wall_s or nil }
      add(row, cells[i], asked.graph, entry, first_us)
      if us and seen_us == seen_us then
        local seen = setmetatable({ policy = row.seen.title, objective_us = seen_us }, { __index = entry })
        add(row.seen, cells[i].seen, asked.graph, seen, first_us)
      end
      if not us then io.stderr:write(key, ": ", wall_s, "\n") end
    end
  end
  for i, row in ipairs(rows) do
    shown[i], shown[i .. " seen"] = statistics.median(cells[i].ms), statistics.median(cells[i].seen.ms)
    if #options.shares > 0 then series[i] = shares_of(asked.name, row, cells[i]) end
  end
  by_graph[#by_graph + 1] = shown
  if options.bounds then proofs[#proofs + 1] = bounds_of(asked.name, problem()) end
  plots.keep(options.figures, "quality_" .. asked.name:gsub("%W+", "_"), #series > 0 and plots.lines {
    title = asked.name, x = "seconds", y = "runtime, ms", x_log = true, series = series })
end

-- 4. The tables.

local function percent(value) return ("%+.2f %%"):format(100 * (math.exp(value) - 1)) end
local function ms(value) return value < math.huge and ("%.4g"):format(value) or "-" end

if options.format == "csv" then
  local columns = {}
  for i, key in ipairs { "graph", "policy", "seed", "objective_us", "bound_us", "wall_s", "tried", "error" } do
    columns[i] = { key = key }
  end
  io.write(tables.csv(lines, columns))
  return
end

local listed, summary, boxes = {}, {}, {}
for _, row in ipairs(rows) do
  listed[#listed + 1] = row
  if row.seen.runs > 0 then listed[#listed + 1] = row.seen end
end
for i, row in ipairs(listed) do
  local found = statistics.ratios(row.graphs, row.logs)
  summary[i] = { policy = row.title, graphs = found and found.n or 0, failed = row.failed > 0 and row.failed or nil,
                 proven = row.proven > 0 and row.proven or nil }
  if found then
    for _, key in ipairs { "median", "mean", "better", "worse", "p" } do summary[i][key] = found[key] end
    if found.low then summary[i].interval = ("%s to %s"):format(percent(found.low), percent(found.high)) end
    local values = {}
    for k, value in ipairs(found.values) do values[k] = 100 * (math.exp(value) - 1) end
    boxes[#boxes + 1] = { name = row.title, values = values }
  end
  if #row.gaps > 0 then summary[i].gap = statistics.mean(row.gaps) end
end
io.write(tables[options.format](summary, {
  { key = "policy" }, { key = "graphs" }, { key = "failed", optional = true }, { key = "median", format = percent },
  { key = "interval", title = "95 % of the median" }, { key = "mean", format = percent }, { key = "better" },
  { key = "worse" }, { key = "p", format = "%.3f" },
  { key = "gap", title = "above bound", format = function(gap) return ("%.1f %%"):format(100 * gap) end },
  { key = "proven", title = "proven optimal", optional = true } }), "\n")

local columns = { { key = "graph" }, { key = "bound", title = "bound, ms", format = ms },
                  { key = "single", title = "one device", format = ms } }
for i, row in ipairs(rows) do
  columns[#columns + 1] = { key = i, title = row.title, format = ms }
  if row.seen.runs > 0 then columns[#columns + 1] = { key = i .. " seen", title = row.seen.title, format = ms } end
end
io.write(tables[options.format](by_graph, columns))

if #options.shares > 0 then
  columns = { { key = "graph" }, { key = "policy" } }
  for i, share in ipairs(options.shares) do
    columns[i + 2] = { key = i, title = ("%g s"):format(share * options.seconds), format = ms }
  end
  io.write("\n", tables[options.format](by_share, columns))
end

if options.bounds then
  columns = { { key = "graph" } }
  for i, title in ipairs(INGREDIENTS) do columns[i + 1] = { key = i, title = title .. ", ms", format = ms } end
  columns[#columns + 1] = { key = "seconds", format = "%.1f" }
  io.write("\n", tables[options.format](proofs, columns))
end

plots.keep(options.figures, "compare", #boxes > 0 and plots.boxes {
  title = "Runtime against " .. rows[1].title, y = "percent", series = boxes })
