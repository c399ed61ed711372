-- Runs a policy written in Lua beside the built-in ones.
--
--   berth run examples/lua/compare_with_greedy.lua [MODEL]

local berth = require "berth"
local compare = require "berth.compare"
local tables = require "berth.tables"
require "greedy"  -- registers the policy; it lies beside this script

local folder = arg[0]:match "^(.*)/" or "."
local problem = berth.problem {
  graph = berth.load(arg[1] or folder .. "/branches.graph.json"),
  cluster = folder .. "/two_gpus.cluster.json",
}

local rows = compare.policies {
  problem = problem,
  policies = { "single", "topo", "random", "greedy" },
  seed = 1,
}
print(problem)
io.write(tables.text(rows, compare.columns))
