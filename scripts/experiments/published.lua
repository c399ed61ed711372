-- The published learned methods, trained as published on each benchmark graph, beside Berth's own forms of them,
-- the same untrained, and what does not learn: all with as many seconds.
--
--   berth run scripts/experiments/published.lua [table] [--record FILE] [--graphs a,b] [--gpus 2,4] [--seeds 1,2,3]
--       [--forms a,b] [--seconds 30] [--models FOLDER] [--figures FOLDER] [--format text|markdown]
--
-- For placeto gradients need not be beside their ops (berth.free_gradients): with them there, no grouping is without
-- cycles. The groups of icml2017 rest on it: with gradients freed Inception-V3 has 3,906 and not 85.
--
-- Forms of placeto (64 groups of placeto), seq2seq (the groups of icml2017) and hdp (makes its groups):
--   published  the constants of the paper (option form=published)
--   own        the defaults, with fresh weights
--   untrained  own with a learning rate of 0; "placeto published untrained" likewise
-- Figures of learned methods are of their own placements: what greedy episodes end with, not the best they saw.
-- "1 GPU" and "expert" are as in baselines.lua, "auto" has the seconds too. All on one thread.
--
-- --record: a file with a line for each run that is done. A run that is there is not made again, so that the same
-- command goes on where it was stopped. "table" makes none.

local arguments = require "berth.arguments"
local berth = require "berth"
local columns = require "berth.columns"
local compare = require "berth.compare"
local plots = require "berth.plots"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

local GRAPHS = { "inception_v3_b64", "nmt_b256", "nasnet_b64", "rnnlm_b64", "nmt_b64", "inception_v3_b32" }
local FORMS = { "1 GPU", "expert", "auto", "placeto published", "placeto published untrained", "placeto own", "placeto untrained",
  "seq2seq published", "seq2seq own", "seq2seq untrained", "hdp published", "hdp own", "hdp untrained" }
-- The papers' columns for these forms.
local SAID = { ["1 GPU"] = "gpu", expert = "expert", ["placeto published"] = "placeto",
  ["seq2seq published"] = "rl" }

local options = { graphs = GRAPHS, forms = FORMS, gpus = { 2, 4 }, seeds = { 1, 2, 3 }, seconds = 30,
  models = "examples/models/tf", format = "text" }
local line = arguments.parser()
local parts = {}
line.read({ ... }, parts, {
  ["--record"] = line.text_into(options, "record"),
  ["--graphs"] = line.list_into(options, "graphs"),
  ["--forms"] = line.list_into(options, "forms"),
  ["--gpus"] = line.numbers_into(options, "gpus"),
  ["--seeds"] = line.numbers_into(options, "seeds"),
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--models"] = line.text_into(options, "models"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

local known = {}
for _, form in ipairs(FORMS) do known[form] = true end
for _, form in ipairs(options.forms) do line.one_of(form, "--forms", known, "one of " .. table.concat(FORMS, ", ")) end
local only_table = parts[1] == "table"
if #parts > 1 or (#parts == 1 and not only_table) then line.usage "the one part is 'table'" end

-- 1. Runs: seconds per step (inf: nothing fits; nan: the time ended before the policy had placed all groups by
-- itself), evaluations, updates, wall seconds.

local runs = record.open(options.record, { models = options.models })

local function run_of(key)
  local s, evaluations, updates, wall = runs.get(key)
  return s and { s = s, evaluations = evaluations, updates = updates, wall = wall }
end

-- 2. One run.

local function published_row(name, gpus)
  for _, row in ipairs(columns.published) do
    if row.graph == name and row.gpus == gpus and row.paper ~= "W18" then return row end
  end
  return {}
end

-- Groups by policy; the others take TensorFlow's co-location.
local GROUPS = { placeto = { groups = 64, grouping = "placeto" }, seq2seq = { grouping = "icml2017" } }
local problems = {}
local function problem_of(name, gpus, policy)
  local key = ("%s %d %s"):format(name, gpus, GROUPS[policy] and policy or "")
  if not problems[key] then
    local graph = berth.load(("%s/%s.pb.gz"):format(options.models, name))
    local of = { graph = policy == "placeto" and berth.free_gradients(graph) or graph, cluster = "k80x" .. gpus }
    for option, value in pairs(GROUPS[policy] or {}) do of[option] = value end
    problems[key] = berth.problem(of)
  end
  return problems[key]
end

local function place(problem, policy, settings, with)
  with.threads = 1
  local started = berth.clock()
  local _, outcome = berth.policy(policy, settings):place(problem, with)
  if outcome.ended == "cancelled" then error("stopped; the same command goes on with this run", 0) end
  local updates = 0
  for _, note in ipairs(outcome.notes) do updates = tonumber(note:match "learned on this graph in (%d+)") or updates end
  local own = compare.of_policy(outcome)
  local s = own and (own.feasible and own.runtime_us / 1e6 or math.huge) or 0 / 0
  return s, outcome.evaluations, updates, berth.clock() - started
end

local function learn(problem, policy, kind, seed)
  local settings = { init_seed = seed, weights = "none", episodes = -1 }
  if kind:find "published" then settings.form = "published" end
  if kind:find "untrained" then settings.learning_rate = 0 end
  if policy == "placeto" then settings.neighbourhood = 0 end  -- what is learned is compared: no search follows it
  if policy == "seq2seq" then settings.groups = math.max(2, problem:groups():count()) end
  return place(problem, policy, settings, { seed = seed, budget_s = options.seconds })
end

local function make(name, gpus, form, seed)
  local policy, kind = form:match "^(%S+) (.+)$"
  local problem = problem_of(name, gpus, policy)
  if form == "auto" then return place(problem, "auto", {}, { seed = seed, budget_s = options.seconds }) end
  if form == "1 GPU" or form == "expert" then
    local cells = columns.of(problem, { recipe = published_row(name, gpus).recipe })
    local cell = form == "expert" and cells.expert or cells.gpu
    return cell.fits and cell.s or math.huge, 1, 0, 0
  end
  return learn(problem, policy, kind, seed)
end

-- 3. All of them, a seed of all before the next one, and the table.

local function each_cell(visit)
  for _, name in ipairs(options.graphs) do
    for _, gpus in ipairs(options.gpus) do
      for _, form in ipairs(options.forms) do visit(name, gpus, form) end
    end
  end
end

local function key_of(name, gpus, form, seed)
  return ("%s %d %s %g %d"):format(name, gpus, form, options.seconds, seed)
end

for _, seed in ipairs(only_table and {} or options.seeds) do
  each_cell(function(name, gpus, form)
    local key = key_of(name, gpus, form, seed)
    runs.once(key, function() return make(name, gpus, form, seed) end)
  end)
end

local function shown(seconds)
  if not seconds then return "none" end
  return seconds < math.huge and ("%.3f"):format(seconds) or "OOM"
end

-- A row for each cell, with the median of each form; and one for each cell and form.
local cells, rows, points = {}, {}, {}
each_cell(function(name, gpus, form)
  local found = { s = {}, evaluations = {}, updates = {}, wall = {} }
  for _, seed in ipairs(options.seeds) do
    local run = run_of(key_of(name, gpus, form, seed))
    for field, values in pairs(run and found or {}) do
      if run[field] == run[field] then table.insert(values, run[field]) end
    end
  end
  if #found.wall == 0 then return end
  table.sort(found.s)
  local said = SAID[form] and published_row(name, gpus)[SAID[form]]
  local median = statistics.median(found.s)
  rows[#rows + 1] = { graph = name, gpus = gpus, form = form, runs = #found.wall, median = shown(median),
    range = #found.s > 0 and found.s[1] < found.s[#found.s] and shown(found.s[1]) .. " to " .. shown(found.s[#found.s]) or nil,
    evaluations = statistics.median(found.evaluations), updates = found.updates[1] > 0 and statistics.median(found.updates) or nil,
    wall = found.wall[1] > 0 and statistics.median(found.wall) or nil }
  local cell = cells[#cells]
  if not cell or cell.graph ~= name or cell.gpus ~= gpus then
    cell = { graph = name, gpus = gpus }
    cells[#cells + 1] = cell
  end
  cell[form] = shown(median) .. (said and " / " .. columns.published_text(said) or "")
  if median and median < math.huge then
    points[form] = points[form] or {}
    table.insert(points[form], { name = ("%s, %d"):format(name, gpus), s = median })
  end
end)

local by_form = { { key = "graph" }, { key = "gpus", title = "GPUs" } }
for _, form in ipairs(options.forms) do by_form[#by_form + 1] = { key = form, optional = true } end
io.write("Seconds per step, medians; after a slash as published\n\n", tables[options.format](cells, by_form), "\n")
io.write(tables[options.format](rows, {
  { key = "graph" }, { key = "gpus", title = "GPUs" }, { key = "form" }, { key = "runs" },
  { key = "median", title = "seconds" }, { key = "range", optional = true },
  { key = "evaluations", title = "simulations", format = "%.0f" }, { key = "updates", format = "%d" },
  { key = "wall", title = "wall s", format = "%.0f" },
}))

-- The share of auto's runtime, a box for each form.
local base, boxes = {}, {}
for _, each in ipairs(points.auto or {}) do base[each.name] = each.s end
for _, form in ipairs(options.forms) do
  local values = {}
  for _, each in ipairs(points[form] or {}) do
    if base[each.name] then values[#values + 1] = each.s / base[each.name] end
  end
  if #values > 0 and form ~= "auto" then boxes[#boxes + 1] = { name = form, values = values } end
end
plots.keep(options.figures, "published", #boxes > 0 and plots.boxes {
  title = "Learned policies on the benchmark graphs", y = "runtime / auto's", series = boxes })
