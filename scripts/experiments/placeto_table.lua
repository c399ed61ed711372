-- Placeto trained on each benchmark graph, beside the published table and the other policies.
--
--   berth run scripts/experiments/placeto_table.lua [MODEL..] [--gpus 2,4] [--groups 64]
--       [--updates 80] [--samples 16] [--seed N] [--figures FOLDER] [--format text|markdown]
--
-- Without MODEL: the benchmark graphs of Addanki et al., NeurIPS 2019, table 1, and the language model
-- of ICML 2017. All policies place the same groups, so only the policy differs. Columns:
--   1 GPU, expert, Scotch   as in baselines.lua, with these groups
--   best other              the best of all policies that do not learn, with these groups
--   zero-shot               Placeto without training on this graph, with the weights of Berth
--   trained                 fresh weights trained on this graph: the best placement that was measured
--   episodes                of that training; each measures one placement per group. After a slash the
--                           papers' "placements sampled", which are most likely episodes too
-- Published seconds per step follow a slash: Addanki et al., NeurIPS 2019, table 1, quoted from memory.

local arguments = require "berth.arguments"
local berth = require "berth"
local compare = require "berth.compare"
local plots = require "berth.plots"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. What was published, seconds per step and thousands of placements sampled.

local OOM = "OOM"
local published = {
  inception_v3_b64 = {
    [2] = { gpu = 1.56, expert = 1.28, scotch = 1.54, placeto = 1.18, sampled = 1.6 },
    [4] = { gpu = 1.56, expert = 1.15, scotch = 1.74, placeto = 1.13, sampled = 5.8 },
  },
  nmt_b256 = {
    [2] = { gpu = OOM, expert = OOM, scotch = OOM, placeto = 2.32, sampled = 20.4 },
    [4] = { gpu = OOM, expert = OOM, scotch = OOM, placeto = 2.63, sampled = 94 },
  },
  nasnet_b64 = {
    [2] = { gpu = 1.28, expert = 0.86, scotch = 1.28, placeto = 0.86, sampled = 3.5 },
    [4] = { gpu = 1.28, expert = 0.84, scotch = 1.22, placeto = 0.74, sampled = 29 },
  },
}
local recipes = { inception_v3_b64 = "branches", nasnet_b64 = "branches", nmt_b256 = "layers",
                  rnnlm_b64 = "layers" }
local LEARNED = { placeto = true, seq2seq = true, hdp = true }
local OWN_GRAIN = { auto = true, exact = true }  -- they also split groups, or do not end

-- 2. The command line.

local options = { models = {}, gpus = { 2, 4 }, groups = 64, updates = 80, samples = 16, seed = 1,
                  format = "text" }
local line = arguments.parser("placeto_table.lua [MODEL..] [--gpus 2,4] [--groups N] [--updates N] "
  .. "[--samples N] [--seed N] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, options.models, {
  ["--gpus"] = line.numbers_into(options, "gpus"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--samples"] = line.number_into(options, "samples"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.models == 0 then
  for _, name in ipairs { "inception_v3_b64", "nmt_b256", "nasnet_b64", "rnnlm_b64" } do
    options.models[#options.models + 1] = "examples/models/tf/" .. name .. ".pb.gz"
  end
end

-- 3. One row per model and number of GPUs.

local function seconds(evaluation)
  if not evaluation then return nil end
  return evaluation.feasible and evaluation.objective_us / 1e6 or OOM
end

local function placed(problem, name, policy_options)
  local ok, placement = pcall(function()
    return (berth.policy(name, policy_options):place(problem, { seed = options.seed, budget_s = 20 }))
  end)
  return ok and seconds(problem:evaluate(placement)) or nil
end

-- The best of the policies that place these very groups without learning.
local function best_other(problem)
  local best, name
  for _, policy in ipairs(compare.all_policies()) do
    if not LEARNED[policy] and not OWN_GRAIN[policy] then
      local s = placed(problem, policy)
      if type(s) == "number" and (not best or s < best) then best, name = s, policy end
    end
  end
  return best, name
end

local function trained(problem)
  local policy = berth.policy("placeto", { weights = "none", init_seed = options.seed })
  local started = berth.clock()
  local result = train.episodes {
    policy = policy, problems = { problem }, count = options.updates, samples = options.samples,
    seed = options.seed, initial = train.explore_then_improve,
    traversal = "depth_first",  -- what follows each other belongs together, and can move together
    progress = train.show_progress(problem:graph():name()),
  }
  return seconds(result.best[1].evaluation), result.updates * options.samples,
    berth.clock() - started
end

local rows = {}
for _, model in ipairs(options.models) do
  local graph = berth.load(model)
  local name = model:match "[^/]+$":gsub("%..*$", "")
  for _, gpus in ipairs(options.gpus) do
    if berth.should_stop() then break end
    local problem = berth.problem { graph = graph, cluster = "k80x" .. gpus, groups = options.groups }
    local single = problem:single()
    local row = { graph = name, gpus = gpus, published = (published[name] or {})[gpus] or {} }
    row.gpu = single and seconds(single.evaluation) or OOM
    row.expert = placed(problem, "expert", { recipe = recipes[name] or "layers", repair = false })
    row.scotch = placed(problem, "scotch", { repair = false })
    row.other, row.other_name = best_other(problem)
    row.zero = placed(problem, "placeto", { groups = options.groups })
    row.placeto, row.sampled, row.wall_s = trained(problem)
    row.ratio = type(row.placeto) == "number" and row.other and row.placeto / row.other or nil
    rows[#rows + 1] = row
  end
end

-- 4. The table.

local function time_text(value) return type(value) == "number" and ("%.3f"):format(value) or value end

local function beside(key)
  return function(value, row)
    local said = row.published[key]
    if said == nil then return time_text(value) end
    return time_text(value) .. " / " .. (type(said) == "number" and ("%.2f"):format(said) or said)
  end
end

plots.keep(options.figures, "placeto_table", plots.table_bars(rows, {
  title = "Placeto and others", y = "seconds per step",
  name = function(row) return ("%s, %d"):format(row.graph, row.gpus) end,
  columns = { { key = "gpu", title = "1 GPU" }, { key = "expert", title = "expert" },
    { key = "scotch", title = "Scotch" }, { key = "other", title = "best other" },
    { key = "zero", title = "Placeto zero-shot" }, { key = "placeto", title = "trained" } } }))
io.write(tables[options.format](rows, {
  { key = "graph" }, { key = "gpus", title = "GPUs" },
  { key = "gpu", title = "1 GPU", format = beside "gpu" },
  { key = "expert", format = beside "expert" },
  { key = "scotch", title = "Scotch", format = beside "scotch" },
  { key = "other", title = "best other", format = time_text },
  { key = "other_name", title = "which" },
  { key = "zero", title = "Placeto zero-shot", format = time_text },
  { key = "placeto", title = "trained", format = beside "placeto" },
  { key = "ratio", title = "to best other", format = "%.3f" },
  { key = "sampled", title = "episodes", format = function(value, row)
      return row.published.sampled and ("%d / %.1f K"):format(value, row.published.sampled)
        or ("%d"):format(value)
    end },
  { key = "wall_s", title = "s", format = "%.0f" },
}), "\n")
