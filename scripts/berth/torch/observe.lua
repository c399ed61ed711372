-- torch.observe: an environment's observations as tensors over its own memory.

local ffi = require "ffi"

local NAMES = { "groups", "devices", "able", "allowed", "current", "placement", "objective_us", "excess_bytes",
  "alternatives" }

return function(torch)
  -- The tensors of an observation are made once and show what every step writes. They hold the observation,
  -- so both sides are weak.
  local known = setmetatable({}, { __mode = "kv" })

  -- A table of tensors of a berth.environment's episodes of one problem: groups [episodes, groups,
  -- features], devices [episodes, devices, features], able [groups, devices], allowed [episodes, devices] (of the
  -- current group), current [episodes],
  -- placement [episodes, groups] (both from 1), objective_us and excess_bytes [episodes], alternatives [episodes,
  -- devices] (objective_us with the current group there; infinite without `look_ahead`, and where it is more than 1.1
  -- times as long as now). The next step changes them: clone what is kept.
  --   ARGS  environment; problem  its index, default 1
  return function(environment, problem)
    local observation = environment:observation(problem)
    local seen = known[observation]
    if seen then return seen end
    seen = {}
    for _, name in ipairs(NAMES) do
      local address, c_type, shape = observation:view(name)
      local pointer = ffi.cast(c_type .. "*", address)
      seen[name] = torch.from_cdata(pointer, shape, observation)
    end
    known[observation] = seen
    return seen
  end
end
