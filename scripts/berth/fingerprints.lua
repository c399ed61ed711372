-- Tells whether results belong together: a checkpoint that goes on with other problems, or processes that work
-- together on unlike ones, would mix figures of different things.
--
-- A fingerprint is { settings = { name = value }, problems = { of_problem(..), .. } }.

local sources = require "berth.sources"

local fingerprints = {}

-- The hash of a sequence of values.
local function digest(add_all)
  local parts = {}
  add_all(function(value) parts[#parts + 1] = tostring(value) end)
  return sources.hash(table.concat(parts, " "))
end

local function of_costs(problem)
  local costs = problem:costs()
  return digest(function(add)
    for op = 1, problem:graph():op_count() do
      for kind = 1, #problem:cluster():kinds() do add(costs:op_us(op, kind)) end
      add(costs:workspace_bytes(op))
    end
  end)
end

local function of_machine(problem)
  local cluster = problem:cluster()
  return digest(function(add)
    for device = 1, cluster:device_count() do
      add(problem:memory_bytes(device))
      add(cluster:device(device).op_overhead_us)
      for other = 1, cluster:device_count() do
        if other ~= device then
          local route = cluster:route(device, other)
          add(route.bandwidth_bytes_per_s)
          add(route.latency_us)
          add(route.receiver_us)
          add(route.parallel)
        end
      end
    end
  end)
end

local function of_constraints(problem)
  return digest(function(add)
    for group = 1, problem:groups():count() do
      for device = 1, problem:cluster():device_count() do add(problem:can_run(group, device)) end
    end
    for _, separation in ipairs(problem:separations()) do
      for _, part in ipairs(separation) do add(table.concat(part, ",")) end
      add ";"
    end
  end)
end

function fingerprints.of_problem(problem)
  local graph, cluster = problem:graph(), problem:cluster()
  return { graph = graph:name(), ops = graph:op_count(), groups = problem:groups():count(),
    cluster = cluster:name(), devices = cluster:device_count(), objective = problem:objective(),
    semantics = problem:semantics(),
    -- Other sizes give another runtime.
    one_device_us = problem:evaluate(problem:one_device(1)).objective_us,
    -- Digests: named last, for they say least of what differs.
    ["the costs"] = of_costs(problem), ["the links and memory"] = of_machine(problem),
    ["what constraints allow"] = of_constraints(problem) }
end

-- The first key in which two tables differ, and both values.
local function difference(a, b)
  local keys, seen = {}, {}
  for _, side in ipairs { a, b } do
    for key in pairs(side) do
      if not seen[key] then keys[#keys + 1] = key end
      seen[key] = true
    end
  end
  table.sort(keys)
  for _, key in ipairs(keys) do
    if a[key] ~= b[key] and not sources.same_function(a[key], b[key]) then return key, a[key], b[key] end
  end
end

-- The first thing in which two fingerprints differ.
--   RETURN  its name ("option seed", "problem 1, ops") and both values; nil for none
function fingerprints.difference(a, b)
  local name, one, other = difference(a.settings, b.settings)
  if name then return "option " .. name, one, other end
  for i = 1, math.max(#a.problems, #b.problems) do
    name, one, other = difference(a.problems[i] or {}, b.problems[i] or {})
    if name then return ("problem %d, %s"):format(i, name), one, other end
  end
end

return fingerprints
