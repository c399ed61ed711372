-- The baseline columns of the placement papers, simulated, beside the published numbers.
--
--   berth run scripts/experiments/baselines.lua [MODEL..] [--gpus 2,4] [--models FOLDER]
--       [--seed N] [--grouping NAME] [--figures FOLDER] [--format text|markdown]
--
-- Without MODEL: the benchmark graphs of the papers, then which published orderings hold
-- (results/papers.md has the reasons of those that do not). With MODEL: only the simulated columns.
--
-- Columns: everything on the CPU; everything on one GPU, except what only the CPU can run; Scotch's
-- mapping onto CPU and GPUs; MinCut, the same without the CPU; the human expert. Policies may not repair
-- a placement that does not fit. "OOM" names the fullest device and how much it lacks.

local arguments = require "berth.arguments"
local berth = require "berth"
local columns = require "berth.columns"
local plots = require "berth.plots"
local tables = require "berth.tables"

-- 1. What was published.

local OOM, published = columns.OOM, columns.published
local names, titles = columns.names, columns.titles
local simulated_text, published_text = columns.text, columns.published_text

-- 2. The command line.

local options = {
  models = {},
  gpus = { 2, 4 },
  folder = "examples/models/tf",
  seed = 0,
  grouping = nil,  -- TensorFlow's co-location
  format = "text",
}

local line = arguments.parser()
line.read({ ... }, options.models, {
  ["--gpus"] = function(text)
    options.gpus = {}
    for _, item in ipairs(arguments.list(text)) do
      if item ~= "2" and item ~= "4" then
        line.usage("--gpus: 2, 4 or both, got '" .. text .. "'")
      end
      options.gpus[#options.gpus + 1] = tonumber(item)
    end
  end,
  ["--models"] = function(text) options.folder = text end,
  ["--seed"] = line.number_into(options, "seed"),
  ["--grouping"] = function(text) options.grouping = text end,
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

-- 3. The columns of one graph on one machine.

local function columns_of(graph, gpus, recipe)
  local problem = berth.problem {
    graph = graph, cluster = "k80x" .. gpus, grouping = options.grouping,
  }
  return columns.of(problem, { recipe = recipe, seed = options.seed })
end

local graphs = {}
local function graph_of(path)
  if not graphs[path] then graphs[path] = (berth.load(path)) end
  return graphs[path]
end

local cached = {}
local function simulated(row)
  local key = ("%s %d %s"):format(row.graph, row.gpus, row.recipe)
  if not cached[key] then
    local graph = graph_of(("%s/%s.pb.gz"):format(options.folder, row.graph))
    cached[key] = columns_of(graph, row.gpus, row.recipe)
  end
  return cached[key]
end

-- 4. Tables.

local function shown_columns()
  local list = {}
  for i, name in ipairs(names) do list[i] = { key = name, title = titles[name] } end
  return list
end

local function print_table(rows, with_published)
  local shown = { { key = "paper", optional = true }, { key = "graph" }, { key = "gpus", title = "GPUs" } }
  for _, name in ipairs(names) do shown[#shown + 1] = { key = name, title = titles[name] } end
  local records = {}
  for _, row in ipairs(rows) do
    local record = { paper = row.paper, graph = row.graph, gpus = row.gpus }
    for _, name in ipairs(names) do
      record[name] = simulated_text(row.cells[name])
      if with_published then record[name] = record[name] .. " / " .. published_text(row[name]) end
    end
    records[#records + 1] = record
  end
  io.write(tables[options.format](records, shown))
  plots.keep(options.figures, "baselines", plots.table_bars(rows, {
    title = "Simulated baselines", y = "seconds per step",
    name = function(row) return ("%s, %d"):format(row.graph, row.gpus) end, columns = shown_columns(),
    value = function(row, key) return row.cells[key] and row.cells[key].fits and row.cells[key].s end }))
end

if #options.models > 0 then
  local rows = {}
  for _, model in ipairs(options.models) do
    for _, gpus in ipairs(options.gpus) do
      local cells = columns_of(graph_of(model), gpus, "auto")
      rows[#rows + 1] = { graph = graph_of(model):name(), gpus = gpus, cells = cells }
    end
  end
  print("Seconds per step, simulated")
  print_table(rows, false)
  for _, row in ipairs(rows) do
    print(("%s on %d GPUs: %s"):format(row.graph, row.gpus, row.cells.expert.told))
  end
  return
end

local started = berth.clock()
local rows = {}
for _, row in ipairs(published) do
  for _, gpus in ipairs(options.gpus) do
    if gpus == row.gpus then
      row.cells = simulated(row)
      rows[#rows + 1] = row
    end
  end
end
print "Seconds per step, simulated / published\n"
print_table(rows, true)

-- 5. Which published orderings hold.

local checks = columns.orderings(rows)

local held = 0
for _, check in ipairs(checks) do held = held + (check.holds == "yes" and 1 or 0) end
print(("\nOf %d published orderings %d hold:\n"):format(#checks, held))
local shown = {}
for _, key in ipairs { "paper", "graph", "gpus", "ordering", "published", "simulated", "holds" } do
  shown[#shown + 1] = { key = key }
end
io.write(tables[options.format](checks, shown))

io.stderr:write(("baselines: %.1f s, seed %d, berth %s\n"):format(berth.clock() - started,
  options.seed, berth.version))
