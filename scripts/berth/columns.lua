-- The baseline columns of the placement papers, simulated, and what was published of them.
--
--   local columns = require "berth.columns"
--   local cells = columns.of(problem, { recipe = "layers" })
--   print(columns.text(cells.expert))
--
-- Columns: everything on the CPU; everything on one GPU (but what only the CPU can run); Scotch's
-- mapping onto CPU and GPUs; MinCut, the same without the CPU; the human expert. Policies are not
-- allowed to repair what does not fit.

local berth = require "berth"
local known = require "berth.known"

local columns = {}

-- The published values: seconds per step, "OOM", nil where a table has no such column.
--   M17: Mirhoseini et al., "Device Placement Optimization with Reinforcement Learning", ICML 2017,
--        table 2. Its machine had another CPU than the presets.
--   N19: Addanki et al., "Learning Generalizable Device Placement Algorithms for Distributed Machine
--        Learning" (Placeto), NeurIPS 2019, table 1. Its "rl" is the network of M17, trained by its authors.
--   W18: Addanki et al., "Placeto: Efficient Progressive Device Placement Optimization", Workshop on
--        ML for Systems at NeurIPS 2018, table 1.
columns.OOM = "OOM"
local OOM = columns.OOM
columns.published = {
  { paper = "M17", graph = "rnnlm_b64", gpus = 2, recipe = "layers",
    cpu = 6.89, gpu = 1.57, scotch = 13.43, mincut = 11.94, expert = 3.81, rl = 1.57 },
  { paper = "M17", graph = "rnnlm_b64", gpus = 4, recipe = "layers",
    cpu = 6.89, gpu = 1.57, scotch = 11.52, mincut = 10.44, expert = 4.46, rl = 1.57 },
  { paper = "M17", graph = "nmt_b64", gpus = 2, recipe = "layers",
    cpu = 10.72, gpu = OOM, scotch = 14.19, mincut = 11.54, expert = 4.99, rl = 4.04 },
  { paper = "M17", graph = "nmt_b64", gpus = 4, recipe = "layers",
    cpu = 10.72, gpu = OOM, scotch = 11.23, mincut = 11.78, expert = 4.73, rl = 3.92 },
  { paper = "M17", graph = "inception_v3_b32", gpus = 2, recipe = "contiguous",
    cpu = 26.21, gpu = 4.60, scotch = 25.24, mincut = 22.88, expert = 11.22, rl = 4.60 },
  { paper = "M17", graph = "inception_v3_b32", gpus = 4, recipe = "contiguous",
    cpu = 26.21, gpu = 4.60, scotch = 23.41, mincut = 24.52, expert = 10.65, rl = 3.85 },
  { paper = "N19", graph = "inception_v3_b64", gpus = 2, recipe = "branches",
    cpu = 12.54, gpu = 1.56, scotch = 1.54, expert = 1.28, placeto = 1.18, rl = 1.17 },
  { paper = "N19", graph = "inception_v3_b64", gpus = 4, recipe = "branches",
    cpu = 12.54, gpu = 1.56, scotch = 1.74, expert = 1.15, placeto = 1.13, rl = 1.19 },
  { paper = "N19", graph = "nasnet_b64", gpus = 2, recipe = "branches",
    cpu = 37.5, gpu = 1.28, scotch = 1.28, expert = 0.86, placeto = 0.86, rl = 0.89 },
  { paper = "N19", graph = "nasnet_b64", gpus = 4, recipe = "branches",
    cpu = 37.5, gpu = 1.28, scotch = 1.22, expert = 0.84, placeto = 0.74, rl = 0.76 },
  { paper = "N19", graph = "nmt_b256", gpus = 2, recipe = "layers",
    cpu = 33.5, gpu = OOM, scotch = OOM, expert = OOM, placeto = 2.32, rl = 2.35 },
  { paper = "N19", graph = "nmt_b256", gpus = 4, recipe = "layers",
    cpu = 33.5, gpu = OOM, scotch = OOM, expert = OOM, placeto = 2.63, rl = 3.15 },
  { paper = "W18", graph = "nmt_b256", gpus = 2, recipe = "layers", expert = 2.00 },
}

-- The columns in their order, and their titles.
columns.names = { "cpu", "gpu", "scotch", "mincut", "expert" }
columns.titles = { cpu = "CPU", gpu = "1 GPU", scotch = "Scotch", mincut = "MinCut",
                 expert = "Expert" }

-- Policies whose libraries this build lacks are left out.
local built = {}
for _, plugin in ipairs((berth.plugins())) do built[plugin.name] = true end

local function by_policy(problem, name, policy_options, seed)
  if not built[name] then return nil end
  policy_options.repair = false
  local placement, outcome = berth.policy(name, policy_options):place(problem, { seed = seed })
  return placement, table.concat(outcome.notes, "; ")
end

-- A cell of a table.
--   ARGS    problem, placement  nil: no such cell
--           told                what the policy said
--   RETURN  table: s (seconds per step), fits, device and excess_gb where it does not fit, problem,
--           placement, told
function columns.cell(problem, placement, told)
  if not placement then return nil end
  local evaluation = problem:evaluate(placement)
  return {
    placement = placement,
    problem = problem,
    told = told,
    s = evaluation.runtime_us / 1e6,
    fits = evaluation.feasible,
    device = evaluation.worst_device
      and problem:cluster():device(evaluation.worst_device).name,
    excess_gb = evaluation.excess_bytes / 1e9,
  }
end

-- All columns of a problem.
--   ARGS    problem
--           options  table, all optional: recipe of the expert ("auto"), seed (0)
--   RETURN  by the names of the columns: see columns.cell; nil where this build lacks the policy
function columns.of(problem, options)
  options = known.check("columns.of", options, { "recipe", "seed" })
  local cluster, seed = problem:cluster(), options.seed or 0
  local function policy(name, policy_options)
    return columns.cell(problem, by_policy(problem, name, policy_options, seed))
  end
  return {
    cpu = columns.cell(problem, problem:one_device(cluster:find "cpu:0")),
    gpu = columns.cell(problem, problem:one_device(cluster:find "gpu:0")),
    scotch = policy("scotch", {}),
    mincut = policy("mincut", {}),
    expert = policy("expert", { recipe = options.recipe or "auto" }),
  }
end

-- A cell as text: "OOM" names the fullest device and what it lacks.
function columns.text(value)
  if not value then return "-" end
  if value.fits then return ("%.2f"):format(value.s) end
  return ("OOM (%s +%.1f GB)"):format(value.device, value.excess_gb)
end

-- A published value as text.
function columns.published_text(value)
  if value == nil then return "-" end
  return value == OOM and OOM or ("%.2f"):format(value)
end

-- Does `a` beat `b` among these cells? What does not fit is beaten by what does.
function columns.beats(a, b)
  if not b.fits then return a.fits end
  return a.fits and a.s < b.s
end

-- The orderings that the published rows state, and whether the simulated cells keep them.
--   ARGS    rows    of columns.published, each with cells = what columns.of returned
--   RETURN  array of tables: paper, graph, gpus, ordering (a text), published, simulated (texts), holds
--           ("yes" or "NO"), row, better and worse (names of columns; the same where the ordering is that
--           one fits, or does not)
function columns.orderings(rows)
  local checks, titles = {}, columns.titles
  local function add(row, better, worse, check)
    check.paper, check.graph, check.gpus = row.paper, row.graph, row.gpus
    check.row, check.better, check.worse = row, better, worse
    checks[#checks + 1] = check
  end
  local function compare(row, a, b)
    if row[a] == nil or row[b] == nil or not row.cells[a] or not row.cells[b] then return end
    -- Cells that do not fit are compared by compare_fit; equal ones have no order.
    if row[a] == OOM or row[b] == OOM or row[a] == row[b] then return end
    local was, is = row[a] < row[b], columns.beats(row.cells[a], row.cells[b])
    local better, worse = a, b
    if not was then better, worse = b, a end
    add(row, better, worse, {
      ordering = ("%s beats %s"):format(titles[better], titles[worse]),
      published = ("%s, %s"):format(columns.published_text(row[better]), columns.published_text(row[worse])),
      simulated = ("%s, %s"):format(columns.text(row.cells[better]), columns.text(row.cells[worse])),
      holds = was == is and "yes" or "NO",
    })
  end
  local function compare_fit(row, name)
    if row[name] == nil or not row.cells[name] then return end
    local fitted = row[name] ~= OOM
    if fitted and row.cells[name].fits then return end  -- nothing to say
    add(row, name, name, {
      ordering = titles[name] .. (fitted and " fits" or " does not fit"),
      published = columns.published_text(row[name]), simulated = columns.text(row.cells[name]),
      holds = fitted == row.cells[name].fits and "yes" or "NO",
    })
  end
  local pairs_of_columns = {
    { "gpu", "cpu" }, { "gpu", "scotch" }, { "gpu", "mincut" }, { "gpu", "expert" },
    { "expert", "scotch" }, { "expert", "mincut" }, { "expert", "cpu" }, { "cpu", "scotch" },
    { "cpu", "mincut" }, { "mincut", "scotch" },
  }
  for _, row in ipairs(rows) do
    for _, name in ipairs(columns.names) do compare_fit(row, name) end
    for _, pair in ipairs(pairs_of_columns) do compare(row, pair[1], pair[2]) end
  end
  return checks
end

return columns
