-- Tells whether results belong together: a checkpoint that goes on with other problems, or processes that work
-- together on unlike ones, would mix figures of different things.
--
-- A fingerprint is { settings = { name = value }, problems = { of_problem(..), .. } }.

local sources = require "berth.sources"

local fingerprints = {}

function fingerprints.of_problem(problem)
  local graph, cluster = problem:graph(), problem:cluster()
  return { graph = graph:name(), ops = graph:op_count(), groups = problem:groups():count(),
    cluster = cluster:name(), devices = cluster:device_count(), objective = problem:objective(),
    semantics = problem:semantics(),
    -- Other costs, sizes or links give another runtime.
    one_device_us = problem:evaluate(problem:one_device(1)).objective_us }
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
