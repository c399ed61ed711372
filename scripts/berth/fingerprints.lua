-- Tells whether results belong together: a checkpoint that goes on with other problems, or processes that work
-- together on unlike ones, would mix figures of different things.
--
-- A fingerprint is { settings = { name = value }, problems = { of_problem(..), .. } }.

local notes = require "berth.notes"
local sources = require "berth.sources"

local fingerprints = {}

-- The hash of a sequence of values.
local function digest(add_all)
  local parts = {}
  add_all(function(value) parts[#parts + 1] = tostring(value) end)
  return sources.hash(table.concat(parts, " "))
end

-- The ops with what they give and read: a model of other sizes has the same names.
local function of_graph(graph)
  return digest(function(add)
    for op = 1, graph:op_count() do
      add(graph:op_name(op))
      add(graph:op_type(op))
      add(graph:param_bytes(op))
      for _, edge in ipairs(graph:in_edges(op)) do
        add(edge.src)
        add(edge.tensor)
      end
      for _, tensor in ipairs(graph:outputs(op)) do add(graph:tensor_bytes(tensor)) end
      add ";"
    end
  end)
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
    for number = 1, cluster:device_count() do
      local device = cluster:device(number)
      add(device.name)
      add(device.kind)
      add(device.host)
      add(problem:memory_bytes(number))
      add(device.op_overhead_us)
      -- Peak FLOP/s are no part: they count through costs alone, and a backend reads them off a clock that changes.
      add(device.memory_bandwidth)
      for other = 1, cluster:device_count() do
        if other ~= number then
          local route = cluster:route(number, other)
          add(route.bandwidth_bytes_per_s)
          add(route.latency_us)
          add(route.receiver_us)
          add(route.parallel)
          add(table.concat(route.shares or {}, ","))
        end
      end
    end
  end)
end

local function of_constraints(problem)
  local groups = problem:groups()
  return digest(function(add)
    for op = 1, problem:graph():op_count() do add(groups:of(op)) end
    for group = 1, groups:count() do
      for device = 1, problem:cluster():device_count() do add(problem:can_run(group, device)) end
    end
    for _, separation in ipairs(problem:separations()) do
      for _, part in ipairs(separation) do add(table.concat(part, ",")) end
      add ";"
    end
  end)
end

-- The groups on one device after another, in runs of `length`.
local function dealt(problem, length)
  local devices, device_of = problem:cluster():device_count(), {}
  for group = 1, problem:groups():count() do
    local device = math.floor(group / length) % devices + 1
    for _ = 1, devices do
      if problem:can_run(group, device) then break end
      device = device % devices + 1
    end
    device_of[group] = device
  end
  return problem:groups():expand(device_of)
end

-- The runtimes of steps that send much and little. They tell gaps, places of inputs and steps in flight, which no
-- function does.
local function of_steps(problem)
  return digest(function(add)
    for _, length in ipairs { 1, math.ceil(problem:groups():count() / problem:cluster():device_count()) } do
      local fine, found = pcall(problem.evaluate, problem, dealt(problem, length))
      add(fine and ("%.9g"):format(found.objective_us) or found)
      for device = 1, fine and #found.peak_bytes or 0 do add(found.peak_bytes[device]) end
    end
  end)
end

-- The things that measured runtimes are of. Costs that are assumed from the machine's figures are no part of it.
function fingerprints.of_measured(problem)
  local graph, cluster, source = problem:graph(), problem:cluster(), problem:costs():source()
  return { graph = graph:name(), ops = graph:op_count(), groups = problem:groups():count(),
    cluster = cluster:name(), devices = cluster:device_count(), objective = problem:objective(),
    semantics = problem:semantics(),
    -- Digests: named last, for they say least of what differs.
    ["the costs"] = source == "roofline" and source or of_costs(problem),
    ["the sizes and edges of the graph"] = of_graph(graph),
    ["the links and memory"] = of_machine(problem),
    ["the groups and what constraints allow"] = of_constraints(problem) }
end

-- Everything that the simulation of a problem depends on.
function fingerprints.of_problem(problem)
  local of = fingerprints.of_measured(problem)
  -- Other sizes give another runtime.
  of.one_device_us = problem:evaluate(problem:one_device(1)).objective_us
  of["the costs"] = of_costs(problem)
  of["what a step takes"] = of_steps(problem)
  return of
end

-- The same as a short text, for keys.
function fingerprints.key_of(problem) return sources.hash(notes.write(fingerprints.of_problem(problem))) end

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
