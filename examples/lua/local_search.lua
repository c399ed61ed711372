-- A local search of one's own: simulated annealing over groups, with moves that are evaluated by what
-- they change.
--
--   berth place MODEL --cluster k80x4 --policy examples/lua/local_search.lua --set moves=50000
--   berth compare MODEL --cluster k80x4 --policies examples/lua/local_search.lua,mcmc,auto
--
-- berth.moves keeps one placement evaluated. A proposal costs as little as it changes, so that a script
-- judges some hundred thousand placements per second. The same seed gives the same placement.

local berth = require "berth"

-- The devices that can run each group.
local function devices_of(problem)
  local devices = {}
  for group = 1, problem:groups():count() do
    devices[group] = {}
    for device = 1, problem:cluster():device_count() do
      if problem:can_run(group, device) then table.insert(devices[group], device) end
    end
  end
  return devices
end

-- Whether a placement keeps apart what the constraints separate; the moves do not ask.
local function allowed(problem, placement) return (pcall(problem.validate, problem, placement)) end

local function place(problem, evaluator, context)
  local options, random = context:options(), context:random()
  local devices, groups = devices_of(problem), problem:groups():count()
  local start = problem:single()
  if not start then berth.infeasible "no single device holds everything; start from another policy's placement" end
  -- Made from the evaluator, so that its work is counted.
  local moves = berth.moves(evaluator):reset(start.placement)
  local kept_us = moves:objective_us()
  local best, best_us = start.placement, kept_us

  for k = 1, options.moves do
    if context:should_stop() then break end
    local group = random:integer(groups)
    local device = devices[group][random:integer(#devices[group])]
    -- The threshold of this temperature is drawn before the candidate is evaluated (Metropolis et al.,
    -- 1953), so a proposal ends as soon as it is proven to be worse.
    local temperature = options.temperature * (1 - (k - 1) / options.moves)
    local limit_us = kept_us * (1 - temperature * math.log(1 - random:uniform()))
    local us, excess_bytes, rejected = moves:propose_group(group, device, limit_us)
    if not rejected and excess_bytes == 0 and us <= limit_us then
      moves:accept()
      kept_us = us
      if us < best_us then
        local placement = moves:placement()
        if allowed(problem, placement) then
          best, best_us = placement, us
          context:progress(best_us, k .. " moves")
        end
      end
    end
  end
  return best
end

berth.register_policy {
  name = "local_search",
  description = "simulated annealing by moves of groups (Lua)",
  options = {
    { name = "moves", default = 20000, at_least = 1, meaning = "proposals" },
    { name = "temperature", default = 0.01, at_least = 0,
      meaning = "at the start, as a share of the objective; falls to 0" },
  },
  place = place,
}
