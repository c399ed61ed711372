-- Which placements a training keeps: the best seen, and where figures are measurements, the best few.

local ranking = {}

-- A placement that does not fit, by 0 bytes, breaks a separation: worse than any that lacks memory.
local function excess(evaluation)
  return evaluation.excess_bytes > 0 and evaluation.excess_bytes or math.huge
end

local function scored(score, evaluation)
  local value = score(evaluation)
  if type(value) == "number" and value == value then return value end
  error(("train: the score of an evaluation is %s; it must be a number, the smaller the better"):format(tostring(value)), 0)
end

-- Whether an evaluation is to be preferred to another (nil: none).
function ranking.better(a, b, score)
  if b == nil then return true end
  if a.feasible ~= b.feasible then return a.feasible end
  if not a.feasible then return excess(a) < excess(b) end
  if score then return scored(score, a) < scored(score, b) end
  return a.objective_us < b.objective_us
end

-- The objective of an evaluation for figures and ranks: math.huge where the placement does not fit, since nobody can run
-- it, however fast it is.
function ranking.us_of(evaluation) return evaluation.feasible and evaluation.objective_us or math.huge end

-- The placement of an episode that is kept: the fastest on the way, or the last one where the score prefers
-- that, or where nothing else counts.
--   ARGS    options  score, initial
function ranking.kept_of(rollout, e, options)
  if options.initial == "none" then return rollout:last(e) end
  local placement, evaluation = rollout:best(e)
  if options.score then
    local last, last_evaluation = rollout:last(e)
    if ranking.better(last_evaluation, evaluation, options.score) then return last, last_evaluation end
  end
  return placement, evaluation
end

local function same(a, b)
  for op = 1, #a do
    if a[op] ~= b[op] then return false end
  end
  return true
end

-- The placement of a greedy episode that is kept as the policy's doing: not the one where it began.
--   ARGS    options  score, initial
--   RETURN  placement, evaluation; nil where the episode ended as it began, with nothing better on the way
function ranking.decided_of(rollout, e, options)
  local placement, evaluation = ranking.kept_of(rollout, e, options)
  -- A start of 0: nothing was placed before the first decision.
  if rollout:start(e) == 0 or ranking.better(evaluation, rollout:evaluation(e, 0)) then return placement, evaluation end
  local start, last, last_evaluation = rollout:best(e), rollout:last(e)
  if not same(last, start) then return last, last_evaluation end
  return nil
end

-- Puts a placement among the best few, best first.
--   ARGS    most   how many there are at most
--           score  as of train.episodes
function ranking.add_finalist(finalists, placement, evaluation, most, score)
  for k, each in ipairs(finalists) do
    if same(each.placement, placement) then
      if not ranking.better(evaluation, each.evaluation, score) then return end
      table.remove(finalists, k)
      break
    end
  end
  local k = #finalists + 1
  while k > 1 and ranking.better(evaluation, finalists[k - 1].evaluation, score) do k = k - 1 end
  table.insert(finalists, k, { placement = placement, evaluation = evaluation })
  finalists[most + 1] = nil
end

-- Odd, so that one run is the median. The range of seven holds the true median with 98 % certainty: all
-- on one side of it are 2 cases in 2^7.
local RUNS = 7

-- Measures placements again, in turn, so that what slows the machine down meets all of them alike.
--   ARGS    evaluator   one that measures
--           placements  array
--           score       as of train.episodes; default the objective
--           how         table, optional: runs (default 7), should_stop() (asked after each run)
--   RETURN  array, the best first: { placement, evaluation (of the run that is the median), runs_us, low_us,
--           high_us (the range of the runs, an interval of 98 % for the median), from (its place in
--           placements) }
function ranking.measure_again(evaluator, placements, score, how)
  local found = {}
  for k, placement in ipairs(placements) do
    found[k] = { placement = placement, from = k, runs = {}, runs_us = {} }
  end
  local runs = 0
  for run = 1, how and how.runs or RUNS do
    if run > 1 and how and how.should_stop and how.should_stop() then break end
    runs = run
    -- At once: what measures may be many machines.
    for k, evaluation in ipairs(evaluator:batch(placements)) do
      found[k].runs[run], found[k].runs_us[run] = evaluation, evaluation.objective_us
    end
  end
  for _, each in ipairs(found) do
    -- A placement that did not fit once does not fit.
    table.sort(each.runs, function(a, b) return ranking.better(a, b, score) end)
    local last = each.runs[runs]
    each.evaluation = last.feasible and each.runs[math.floor((runs + 1) / 2)] or last
    each.low_us, each.high_us = math.min(unpack(each.runs_us)), math.max(unpack(each.runs_us))
    each.runs = nil
  end
  table.sort(found, function(a, b)
    if ranking.better(a.evaluation, b.evaluation, score) then return true end
    return not ranking.better(b.evaluation, a.evaluation, score) and a.from < b.from
  end)
  return found
end

return ranking
