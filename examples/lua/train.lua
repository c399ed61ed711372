-- Trains a policy written in Lua, and compares what it makes of random placements before and after.
--
--   berth run examples/lua/train.lua placeto|ppo|evolution|one_pass [MODEL [CLUSTER [UPDATES]]]

local berth = require "berth"
local train = require "berth.train"

local folder = arg[0]:match "^(.*)/" or "."
local name, model, cluster, updates = arg[1] or "placeto", arg[2] or folder .. "/branches.graph.json",
  arg[3] or "k80x2", tonumber(arg[4] or 50)
local problem = berth.problem { graph = berth.load(model), cluster = cluster, groups = 64 }
local options = name == "placeto" and { devices = problem:cluster():device_count() } or nil
local policy = berth.policy(folder .. "/" .. name .. ".lua", options)

-- The mean of eight greedy passes of the policy alone from random placements, without a search around it.
local function greedy_us()
  local episodes, sum = policy:rollout(problem, { samples = 8, greedy = true, seed = 1 }), 0
  for e = 1, episodes:episodes() do
    sum = sum + episodes:evaluation(e, episodes:steps(e)).objective_us
  end
  return sum / episodes:episodes()
end

local before_us = greedy_us()
local result = train.episodes { policy = policy, problems = { problem }, count = updates, samples = 8,
  progress = train.show_progress(name) }
if result.stopped then error(("stopped after %d of %d updates"):format(result.updates, updates), 0) end
local _, placed = policy:place(problem, { seed = 1 })
print(("%s on %s, %d updates of 8 episodes"):format(name, problem:graph():name(), result.updates))
print(("  from random placements: untrained %.3f ms, trained %.3f ms"):format(before_us / 1e3, greedy_us() / 1e3))
-- Three figures: what the policy decides by itself, the best state that it passed, where its episodes start.
print(("  placed: own %.3f ms, best %.3f ms (%s), one device %.3f ms"):format(
  placed.own.evaluation.objective_us / 1e3, placed.objective_us / 1e3, placed.whose,
  problem:single().evaluation.objective_us / 1e3))
