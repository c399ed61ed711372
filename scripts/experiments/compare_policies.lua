-- Which policy places which model best on which machine?
--
--   berth run scripts/experiments/compare_policies.lua MODEL.. [--clusters a,b] [--policies a,b]
--       [--groups N] [--budget SECONDS] [--seed N] [--dim name=value].. [--figures FOLDER] [--format text|csv|markdown]
--
-- MODEL   model files (.onnx, .graph.json, ...)
-- Prints one table per model and cluster, best policy first, with the gap to the lower bound.

local arguments = require "berth.arguments"
local berth = require "berth"
local compare = require "berth.compare"
local plots = require "berth.plots"
local tables = require "berth.tables"

-- 1. The command line.

local options = {
  models = {},
  clusters = { "k80x4" },
  policies = nil,  -- all there are
  groups = nil,    -- one per op
  budget_s = nil,  -- without end
  seed = 0,
  dims = nil,
  format = "text",
}

local line = arguments.parser("compare_policies.lua MODEL.. [--clusters a,b] [--policies a,b] "
  .. "[--groups N] [--budget SECONDS] [--seed N] [--dim name=value].. "
  .. "[--figures FOLDER] [--format text|csv|markdown]")
line.read({ ... }, options.models, {
  ["--clusters"] = function(text) options.clusters = arguments.list(text) end,
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--groups"] = function(text) options.groups = line.number(text, "--groups") end,
  ["--budget"] = function(text) options.budget_s = line.number(text, "--budget") end,
  ["--seed"] = line.number_into(options, "seed"),
  ["--dim"] = function(text)
    local name, value = text:match "^([^=]+)=(.+)$"
    if not name then line.usage(("--dim: name=value expected, got '%s'"):format(text)) end
    options.dims = options.dims or {}
    options.dims[name] = line.number(value, "--dim " .. name)
  end,
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = function(text)
    options.format = line.one_of(text, "--format", tables, "text, csv or markdown")
  end,
})
if #options.models == 0 then line.usage "no model given" end

-- 2. Every policy on every model and cluster.

local policies = options.policies or compare.all_policies()
local records = {}  -- of CSV, which is one table

for _, model in ipairs(options.models) do
  local graph, notes = berth.load(model, { dims = options.dims })
  for _, note in ipairs(notes) do io.stderr:write(model, ": ", note, "\n") end
  for _, cluster in ipairs(options.clusters) do
    local problem = berth.problem { graph = graph, cluster = cluster, groups = options.groups }
    local rows = compare.policies {
      problem = problem,
      policies = policies,
      seed = options.seed,
      budget_s = options.budget_s,
    }
    local bound_us, source = problem:bound()
    for _, row in ipairs(rows) do
      row.model, row.cluster, row.bound_us = model, cluster, bound_us
      records[#records + 1] = row
    end
    plots.keep(options.figures, ("compare_%s_%s"):format(graph:name(), cluster), plots.table_bars(rows, {
      title = ("%s on %s"):format(graph:name(), cluster), y = "ms", name = "policy",
      columns = { { key = "objective_us", title = "objective" } },
      value = function(row) return row.feasible and row.objective_us / 1e3 end }))
    if options.format ~= "csv" then
      print(("%s on %s: at least %.3f ms (%s)"):format(graph:name(), cluster, bound_us / 1e3, source))
      print(tables[options.format](rows, compare.columns))
    end
  end
end

if options.format == "csv" then
  local columns = {}
  for c, key in ipairs { "model", "cluster", "policy", "objective_us", "bound_us", "feasible",
                         "devices", "evaluations", "wall_s", "error" } do
    columns[c] = { key = key }
  end
  io.write(tables.csv(records, columns))
end
