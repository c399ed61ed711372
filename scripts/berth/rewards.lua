-- Rewards of placement episodes: pure functions of evaluations.
--
-- An evaluation is what `evaluator:evaluate` and `evaluator:evaluate_into` return. Its objective in
-- seconds, plus a penalty if memory is short, is the cost T: without one a policy settles for placements
-- that are fast and do not fit. The reward is one of
--
--   rewards.improvement   r = T before - T after                   Placeto
--   rewards.terminal      r = -T of the last placement, else 0     Placeto, as an alternative
--   rewards.sqrt          r = -sqrt(T) of the last, else 0         M17, HDP
--
-- Placeto is Addanki et al., NeurIPS 2019, and their workshop paper of 2018, which prints the
-- difference with the other sign. M17 is Mirhoseini et al., ICML 2017. HDP is Mirhoseini et al., ICLR
-- 2018.
--
-- Each constructor takes a table of options and returns `reward(before, after, last)`:
--   ARGS    before   evaluation before the step (used by rewards.improvement only)
--           after    evaluation after the step
--           last     true at the episode's last step
--   RETURN  the reward, a number; larger is better
-- A reward holds no state, so one reward can serve many episodes. It is called once per step. LuaJIT
-- compiles it because it makes no tables or closures (tests/lua/scripts/rewards_test.lua).

local read_options = require("berth.known").options
local max, min, log, sqrt, huge = math.max, math.min, math.log, math.sqrt, math.huge

local rewards = {}

local US_PER_S, BYTES_PER_GB = 1e6, 1e9
local LEAST_S = 1e-15  -- what the logarithm takes a step for that takes no time, as learning in C++ does

-- Bytes by which the worst device is over the limit. What breaks a rule and lacks no memory, such as ops that are to be
-- apart, counts as if a GB lacked.
local function excess_bytes(evaluation, memory_limit_bytes)
  if not evaluation.feasible and evaluation.excess_bytes == 0 then return BYTES_PER_GB end
  if memory_limit_bytes == huge then return evaluation.excess_bytes end
  local peak = 0
  local peaks = evaluation.peak_bytes
  for device = 1, #peaks do peak = max(peak, peaks[device]) end
  return max(0, peak - memory_limit_bytes)
end

local COST_DEFAULTS = {
  memory_penalty = 2,         -- seconds per GB (1e9 bytes) over the limit, as in the published sample
  memory_limit_bytes = huge,  -- of every device; huge: each device's own. Published sample: 8e9
  clamp_s = 10,               -- no placement costs more than this, as in Placeto's released code; with log: huge,
                              -- since a logarithm needs none, and steps of more than 10 s would teach nothing
  log = false,                -- the natural logarithm of the cost, after penalty and clamp
}

--   ARGS    given  as the caller gave them
--           o      the same over the defaults
local function cost_function(given, o)
  local penalty, limit, logarithm = o.memory_penalty, o.memory_limit_bytes, o.log
  local clamp = logarithm and not (given and given.clamp_s) and huge or o.clamp_s
  return function(evaluation)
    local cost = evaluation.objective_us / US_PER_S
    cost = cost + penalty * excess_bytes(evaluation, limit) / BYTES_PER_GB
    cost = min(cost, clamp)
    if logarithm then return log(max(cost, LEAST_S)) end
    return cost
  end
end

-- The cost T of an evaluation.
--   ARGS    options  table of COST_DEFAULTS, all optional
--   RETURN  function(evaluation) -> seconds, or their logarithm
function rewards.cost(options)
  return cost_function(options, read_options(options, COST_DEFAULTS))
end

-- T before - T after: positive for a step that makes the placement faster.
--   ARGS    options  table of COST_DEFAULTS, all optional
function rewards.improvement(options)
  local cost = cost_function(options, read_options(options, COST_DEFAULTS))
  return function(before, after) return cost(before) - cost(after) end
end

-- -T of the last placement, 0 before.
--   ARGS    options  table of COST_DEFAULTS, all optional
function rewards.terminal(options)
  local cost = cost_function(options, read_options(options, COST_DEFAULTS))
  return function(_, after, last)
    if not last then return 0 end
    return -cost(after)
  end
end

-- -sqrt(seconds) of the last placement, a constant where it does not fit in memory, 0 before.
--   ARGS    options  table, all optional:
--             failing  the reward of a placement that does not fit, default -10
function rewards.sqrt(options)
  local failing = read_options(options, { failing = -10 }).failing
  return function(_, after, last)
    if not last then return 0 end
    if not after.feasible then return failing end
    return -sqrt(after.objective_us / US_PER_S)
  end
end

return require("berth.known").only(rewards, "berth.rewards")
