-- One placement found by many processes: the first one runs the policy, all others measure what it asks for.

local berth = require "berth"
local fingerprints = require "berth.fingerprints"
local measuring = require "berth.workers.measuring"
local status = require "berth.workers.status"
local together = require "berth.workers.together"

local placing = {}

-- The policy's own options for a problem.
local function place(given, evaluator, progress)
  local policy = type(given.policy) == "function" and given.policy() or given.policy
  return policy:place(given.problem, { seed = given.seed, budget_s = given.budget_s, initial = given.initial,
    evaluator = evaluator, progress = progress })
end

function placing.alone(given)
  return place(given, given.evaluator and given.evaluator(given.problem) or nil, given.progress)
end

local function first(common, given, options)
  local seen, best_us, told_s, counted = status.new(common, options), nil, 0, 0
  local spread = measuring.evaluators(common, { given.problem }, given.evaluator ~= nil, options)[1]
  local function tell(last)
    local count = spread:evaluations()
    seen:samples(count - counted)
    counted = count
    seen:tell({ done = ("%d placements"):format(count), best_us = best_us }, last)
  end
  function common.watch()
    local now = berth.clock()
    if now - told_s < 1 then return end
    told_s = now
    if common.joined.server then common.joined.server:check() end
    local failed = common.joined.store:get(common.prefix .. "failed")
    if failed then error(failed, 0) end
    tell()
    seen:require_somebody()
  end
  local placement, outcome = place(given, spread, function(us, text)
    best_us = us
    if given.progress then given.progress(us, text) end
  end)
  tell(true)
  return { placement = placement, outcome = outcome }
end

-- ARGS    joined   of workers.join, with two processes or more
--         given    of workers.place
--         options  of workers.read_options
function placing.run(joined, given, options)
  local result = together.run(joined, { controllers = 0, options = options,
    fingerprint = { settings = { seed = given.seed or 0, measures = given.evaluator ~= nil },
      problems = { fingerprints.of_problem(given.problem) } },
    first = function(common) return first(common, given, options) end,
    others = function(common)
      measuring.serve(common, { given.problem }, { given.evaluator and given.evaluator(given.problem) or nil }, options)
    end })
  if result then return result.placement, result.outcome end
end

return placing
