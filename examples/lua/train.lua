-- Trains a policy written in Lua, and compares what it then places with what it placed before.
--
--   berth run examples/lua/train.lua placeto|ppo|evolution [MODEL [CLUSTER [UPDATES]]]

local berth = require "berth"
local train = require "berth.train"

local folder = arg[0]:match "^(.*)/" or "."
local name, model, cluster, updates = arg[1] or "placeto", arg[2] or folder .. "/branches.graph.json",
  arg[3] or "k80x2", tonumber(arg[4] or 50)
local problem = berth.problem { graph = berth.load(model), cluster = cluster, groups = 64 }
local options = name == "placeto" and { devices = problem:cluster():device_count() } or nil
local policy = berth.policy(folder .. "/" .. name .. ".lua", options)

local _, before = policy:place(problem)
local result = train.episodes { policy = policy, problems = { problem }, count = updates, samples = 8,
  progress = train.show_progress(name) }
local _, after = policy:place(problem)
print(("%s on %s, %d updates of 8 episodes"):format(name, problem:graph():name(), result.updates))
print(("  untrained %.3f ms, trained %.3f ms, best seen %.3f ms, one device %.3f ms"):format(
  before.objective_us / 1e3, after.objective_us / 1e3, result.best[1].evaluation.objective_us / 1e3,
  problem:single().evaluation.objective_us / 1e3))
