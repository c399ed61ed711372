-- Schedules for learning rates, entropy weights and the like: functions of the number of the update,
-- from 1. Each constructor returns `schedule(update)`.

local known = require "berth.known"

local schedules = {}

-- The same value throughout.
--   ARGS    value
function schedules.constant(value)
  return function() return value end
end

-- From `first` in equal steps to `last`, which update `after + updates` has and all after it. Placeto decays its
-- learning rate in this way.
--   ARGS    first, last  values
--           updates      of the fall, >= 1; a single one has `first`
--           after        updates at `first` before the fall begins, default 0: a training of `count` updates that ends with
--                        `last` has a fall of count - after
function schedules.linear(first, last, updates, after)
  if not (updates >= 1) then error("schedules.linear: give at least 1 update", 2) end
  after = after or 0
  local steps = math.max(updates - 1, 1)
  return function(update)
    local part = (update - 1 - after) / steps
    return first + (last - first) * math.min(math.max(part, 0), 1)
  end
end

-- `first` times `factor` for every `every` updates, not below `least`. Placeto's released code offers
-- 0.95 per 100 updates.
--   ARGS    first   value
--           factor  per `every` updates, above 0, default 0.95
--           every   above 0, default 100
--           least   default 0
function schedules.exponential(first, factor, every, least)
  factor, every, least = factor or 0.95, every or 100, least or 0
  for name, value in pairs { factor = factor, every = every } do
    if not (value > 0) then error(("schedules.exponential: %s is above 0, got %s"):format(name, value), 2) end
  end
  return function(update)
    return math.max(least, first * factor ^ ((update - 1) / every))
  end
end

-- `schedule` as a function: a number stands for a constant.
--   ARGS    given    number, function or nil
--           default  what nil stands for
function schedules.of(given, default)
  if given == nil then given = default end
  if type(given) == "function" then return given end
  if type(given) ~= "number" then
    error(("a schedule is a number or a function of the update, got %s"):format(type(given)), 3)
  end
  return schedules.constant(given)
end

return known.only(known.arguments(schedules, "schedules", {
  constant = "value: number",
  linear = "first: number, last: number, updates: number, after: number?",
  exponential = "first: number, factor: number?, every: number?, least: number?",
}), "berth.schedules")
