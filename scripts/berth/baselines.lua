-- Baselines of REINFORCE: what a return is compared with.
--
-- A baseline is a table with
--   advantages(returns, out, starts)  fills `out` with the returns less the baseline, and remembers the
--                             returns; both are indexed [episode][step], for the episodes of one problem.
--                             starts, optional, by episode: the same for those that began with one placement
--   state(), restore(state)   plain tables, which a checkpoint can hold

local known = require "berth.known"

local baselines = {}

-- Raises unless an option is a number that fits; errors are those of the caller's caller.
local function require_number(what, name, value, range, fits)
  if type(value) == "number" and fits(value) then return end
  error(("%s: %s is %s, got %s"):format(what, name, range, tostring(value)), 3)
end

-- The mean return at the same step of the last rollouts, as in Placeto (Addanki et al., NeurIPS 2019), over
-- the episodes that began with the same placement: where an episode starts says more of what is gained than what
-- is decided. An episode that no other began like is compared with all others of its rollout.
--   ARGS    options  table, all optional:
--             rollouts  how many rollouts it looks back on, 0 or more, default 10
--             others    also count the other episodes of this rollout, but not the episode itself, so
--                       that the estimate stays unbiased; default true
function baselines.per_step(options)
  options = known.check("baselines.per_step", options, { "rollouts", "others" })
  local rollouts = options.rollouts or 10
  require_number("baselines.per_step", "rollouts", rollouts, "a whole number from 0 on",
    function(value) return value >= 0 and (value % 1 == 0 or value == math.huge) end)
  local others = options.others ~= false
  local past = {}  -- a rollout each: array of { start =, n = episodes, [t] = sum over them }

  local baseline = {}

  local function zeros(start, steps)
    local sums = { start = start, n = 0 }
    for t = 1, steps do sums[t] = 0 end
    return sums
  end

  local function add(sums, more)
    sums.n = sums.n + more.n
    for t = 1, #more do sums[t] = sums[t] + more[t] end
  end

  -- Sums over the episodes of a rollout by their start.
  local function sums_of(returns, starts)
    local all, by_start = {}, {}
    for e = 1, #returns do
      local start = starts and starts[e] or 0
      local sums = by_start[start]
      if not sums then
        sums = zeros(start, #returns[e])
        by_start[start], all[#all + 1] = sums, sums
      end
      returns[e].n = 1
      add(sums, returns[e])
      returns[e].n = nil
    end
    return all
  end

  -- The baseline of episodes of a start, the episode itself among it where it counts.
  local function alike(start, now, steps)
    local sums = zeros(start, steps)
    for _, rollout in ipairs(past) do
      for _, each in ipairs(rollout) do
        if each.start == start then add(sums, each) end
      end
    end
    if not others then return sums end
    for _, each in ipairs(now) do
      if each.start == start then add(sums, each) end
    end
    if sums.n > 1 then return sums end
    sums = zeros(start, steps)
    for _, each in ipairs(now) do add(sums, each) end
    return sums
  end

  function baseline.advantages(returns, out, starts)
    local steps = #returns[1]
    local now, sums_by_start = sums_of(returns, starts), {}
    for e = 1, #returns do
      local start = starts and starts[e] or 0
      sums_by_start[start] = sums_by_start[start] or alike(start, now, steps)
      local sums, own = sums_by_start[start], others and 1 or 0
      for t = 1, steps do
        local value, of = returns[e][t], sums.n - own
        out[e][t] = of > 0 and value - (sums[t] - own * value) / of or value
      end
    end
    past[#past + 1] = now
    if #past > rollouts then table.remove(past, 1) end
  end

  function baseline.state() return { past = past } end
  function baseline.restore(state) past = state.past end

  return baseline
end

-- The advantages of another baseline, divided by their root mean square over the rollout: learning
-- rate and entropy weight then mean the same whatever the graph and however far training is. Not
-- part of the published method; without it the entropy weight that keeps one graph exploring drowns
-- the advantages of the next.
--   ARGS    inner  a baseline; default baselines.per_step()
function baselines.normalised(inner)
  inner = inner or baselines.per_step()

  local baseline = { state = inner.state, restore = inner.restore }

  function baseline.advantages(returns, out, starts)
    inner.advantages(returns, out, starts)
    local sum, count = 0, 0
    for e = 1, #out do
      for t = 1, #out[e] do
        sum, count = sum + out[e][t] ^ 2, count + 1
      end
    end
    if sum == 0 then return end
    local scale = math.sqrt(count / sum)
    for e = 1, #out do
      for t = 1, #out[e] do out[e][t] = out[e][t] * scale end
    end
  end

  return baseline
end

-- An exponential moving average of the mean return, one number for all steps, as in
-- Mirhoseini et al., ICML 2017.
--   ARGS    options  table, all optional:
--             decay  share that it keeps at each rollout, from 0 to below 1, default 0.9
--             start  its value before anything was seen; nil = the first mean
function baselines.moving_average(options)
  options = known.check("baselines.moving_average", options, { "decay", "start" })
  local decay, value = options.decay or 0.9, options.start
  require_number("baselines.moving_average", "decay", decay, "from 0 on and below 1",
    function(of) return of >= 0 and of < 1 end)
  require_number("baselines.moving_average", "start", value or 0, "a finite number",
    function(of) return of - of == 0 end)

  local baseline = {}

  function baseline.advantages(returns, out)
    local sum, count = 0, 0
    for e = 1, #returns do
      for t = 1, #returns[e] do
        sum, count = sum + returns[e][t], count + 1
      end
    end
    local mean = sum / count
    local compare = value or mean
    for e = 1, #returns do
      for t = 1, #returns[e] do out[e][t] = returns[e][t] - compare end
    end
    value = value and decay * value + (1 - decay) * mean or mean
  end

  function baseline.state() return { value = value } end
  function baseline.restore(state) value = state.value end

  return baseline
end

-- The return that a share of the episodes of this rollout exceeds; episodes below it teach nothing.
-- Raises the best that the policy samples rather than the mean (risk-seeking policy
-- gradients; Petersen et al., ICLR 2021): where one good sample is all one needs. For episodes of one
-- decision.
--   ARGS    options  table, all optional:
--             share  of the episodes that teach, above 0 and below 1, default 0.1; at least the best one does, where there
--                    are two: one alone has nothing to exceed
function baselines.quantile(options)
  local share = known.check("baselines.quantile", options, { "share" }).share or 0.1
  require_number("baselines.quantile", "share", share, "above 0 and below 1",
    function(value) return value > 0 and value < 1 end)

  local baseline = {}

  function baseline.advantages(returns, out)
    local sorted = {}
    for e = 1, #returns do sorted[e] = returns[e][1] end
    table.sort(sorted, function(a, b) return a > b end)
    local bar = sorted[math.min(math.max(1, math.floor(#sorted * share)) + 1, #sorted)]
    for e = 1, #returns do out[e][1] = math.max(0, returns[e][1] - bar) end
  end

  function baseline.state() return {} end
  function baseline.restore() end

  return baseline
end

return known.only(baselines, "berth.baselines")
