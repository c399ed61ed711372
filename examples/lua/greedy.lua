-- A placement policy in Lua: earliest finish time first.
--
--   berth place MODEL --cluster k80x4 --policy examples/lua/greedy.lua -o placement.json
--
-- A list scheduler in the manner of HEFT (Topcuoglu, Hariri, Wu, 2002). It takes groups in topological
-- order and places each where it would finish first, given its inputs and the load of every device so
-- far. Then a local search moves one group at a time, as long as the evaluator's objective improves.

local berth = require "berth"

-- When the last input of a group reaches a device.
local function inputs_ready_us(group, device, groups, cluster, device_of, end_us)
  local ready_us = 0
  for _, edge in ipairs(groups:in_edges(group)) do
    local src = device_of[edge.src]
    if src then  -- of cyclic groups, some inputs come from groups that are not placed yet
      local arrival_us = end_us[edge.src]
      if src ~= device then
        arrival_us = arrival_us + cluster:transfer_us(src, device, edge.bytes)
      end
      ready_us = math.max(ready_us, arrival_us)
    end
  end
  return ready_us
end

-- The device of every group by earliest finish time.
local function earliest_finish(problem)
  local groups, cluster = problem:groups(), problem:cluster()
  local free_us, free_bytes = {}, {}
  for device = 1, cluster:device_count() do
    free_us[device], free_bytes[device] = 0, cluster:device(device).memory_bytes
  end

  local device_of, end_us = {}, {}
  for group = 1, groups:count() do
    local bytes = problem:group_param_bytes(group)
    local best, best_end_us
    for device = 1, cluster:device_count() do
      if bytes <= free_bytes[device] and problem:can_run(group, device) then
        local ready_us = inputs_ready_us(group, device, groups, cluster, device_of, end_us)
        local finish_us = math.max(free_us[device], ready_us) + problem:group_cost_us(group, device)
        if not best or finish_us < best_end_us then
          best, best_end_us = device, finish_us
        end
      end
    end
    if not best then
      berth.infeasible(("no device has room for the %.0f bytes of parameters of group %d")
        :format(bytes, group))
    end
    device_of[group], end_us[group] = best, best_end_us
    free_us[best] = best_end_us
    free_bytes[best] = free_bytes[best] - bytes
  end
  return device_of
end

-- Any feasible placement is better than any other, however slow.
local function better(a, b)
  if a.feasible ~= b.feasible then return a.feasible end
  if a.feasible then return a.objective_us < b.objective_us end
  return a.excess_bytes < b.excess_bytes
end

local function place(problem, evaluator, context)
  local groups, random = problem:groups(), context:random()
  local devices = problem:cluster():device_count()

  -- Repair moves what constraints keep apart, and what overflows a memory. Moves must not undo that.
  local repaired, device_of = evaluator:repair(earliest_finish(problem)), {}
  for group = 1, groups:count() do device_of[group] = repaired[groups:members(group)[1]] end
  local constrained = #problem:separations() > 0
  local best = evaluator:evaluate(groups:expand(device_of))
  local tried = evaluator:evaluate(groups:expand(device_of))

  for _ = 1, context:options().moves do
    if context:should_stop() then break end
    local group, device = random:integer(groups:count()), random:integer(devices)
    local before = device_of[group]
    if device ~= before and problem:can_run(group, device) then
      device_of[group] = device
      local placement = groups:expand(device_of)
      evaluator:evaluate_into(tried, placement)
      if better(tried, best) and not (constrained and not pcall(problem.validate, problem, placement)) then
        best, tried = tried, best
        context:progress(best.objective_us, "a better move")
      else
        device_of[group] = before
      end
    end
  end
  return groups:expand(device_of)
end

return berth.register_policy {
  name = "greedy",
  description = "earliest finish time first, then single moves that help (Lua)",
  options = {
    { name = "moves", default = 100, meaning = "moves that the local search tries, >= 0" },
  },
  place = place,
}
