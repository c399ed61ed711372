-- A first script: load a model, place it, look at the result.
--
--   berth run examples/lua/hello.lua [MODEL]

local berth = require "berth"

local folder = arg[0]:match "^(.*)/" or "."
local model = arg[1] or folder .. "/branches.graph.json"

-- The model and the machine.
local graph, notes = berth.load(model)
for _, note in ipairs(notes) do print("note: " .. note) end
local problem = berth.problem { graph = graph, cluster = folder .. "/two_gpus.cluster.json" }
print(problem)

-- One word names the policy.
local policy = berth.policy "topo"
local placement, outcome = policy:place(problem)
print("placed: " .. tostring(outcome))
print(("%.1f %% above the lower bound (%s)"):format(100 * outcome.gap, outcome.bound_source))
if outcome.single then print("on " .. outcome.single.text .. ": " .. tostring(outcome.single.evaluation)) end

-- Ids count from 1, so placement[op] is the device of an op.
local cluster = problem:cluster()
for op, device in ipairs(placement) do
  print(("  %-12s %s"):format(graph:op_name(op), cluster:device(device).name))
end

-- The critical path: what the step waited for.
for _, step in ipairs(problem:trace(placement).critical_path) do
  local what = step.op and graph:op_name(step.op) or "a transfer"
  print(("  %8.1f us  %-12s (%s)"):format(step.start_us, what, step.reason))
end
