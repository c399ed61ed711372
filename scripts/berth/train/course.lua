-- The course of a training, whoever makes its updates: what it begins with, what follows an update, its result.

local berth = require "berth"
local checkpoint = require "berth.train.checkpoint"
local events = require "berth.events"
local known = require "berth.known"
local ranking = require "berth.train.ranking"
local rewards = require "berth.rewards"
local sampling = require "berth.train.sampling"
local schedules = require "berth.schedules"

local course = {}

-- The curves in TensorBoard, beside the best of each problem if there are several.
local CURVES = { "runtime_us", "fits", "best_us", "greedy_us", "reward", "signal", "entropy", "loss", "gradient_norm",
  "learning_rate", "entropy_weight" }

-- `fits`: the share of the episodes whose last placements fit; runtime_us is the mean of all of them.
-- `signal`: of the advantages' energy, the share that tells episodes apart that began alike.
local COLUMNS = { "update", "episodes", "measured", "runtime_us", "fits", "best_us", "greedy_us", "reward",
  "signal", "entropy", "loss", "gradient_norm", "learning_rate", "entropy_weight" }

local function own_placements(options)
  local results = {}
  for i, problem in ipairs(options.problems) do
    local initial, result = "single", {}
    for pass = 1, options.passes or 1 do
      local rollout = options.policy:rollout(problem,
        { greedy = true, initial = initial, traversal = options.traversal,
          evaluators = sampling.picked(options.evaluators, { i }) })
      result.placement, result.evaluation = rollout:last(1)
      if pass == 1 then
        result.start = rollout:evaluation(1, 0)
        local decided, worth = ranking.decided_of(rollout, 1, options)
        result.decided = decided and { placement = decided, evaluation = worth }
      end
      local placement, evaluation = ranking.kept_of(rollout, 1, options)
      if not ranking.better(evaluation, result.best and result.best.evaluation, options.score) then break end
      result.best = { placement = placement, evaluation = evaluation }
      initial = { { placement } }
    end
    results[i] = result
  end
  return results
end

-- The options of course.evaluate: a training's others may be there too.
local READ = { "passes" }
for name in pairs(require("berth.train.options").DEFAULTS) do READ[#READ + 1] = name end

-- The policy's own placements of all problems: with which greedy episodes from the best single device end.
--   ARGS    options  policy, problems, traversal, evaluators; passes (default 1): a pass that found
--                    better is followed by one from there, so often at most
--   RETURN  array of { placement =, evaluation = (of the policy's own), best = (the same of the best state on the
--           way), start = (evaluation of where the first pass began), decided = (as best, of the first pass, but for
--           its start; nil where nothing moved) }
function course.evaluate(options)
  known.check("train.evaluate", options, READ)
  return own_placements(options)
end

local function measures(options, i)
  return options.evaluators and options.evaluators[i]:measures() or false
end

-- A schedule, of which every value is checked: by the update in which it is wrong.
local function rate(options, name, default, most)
  local schedule = schedules.of(options[name] or nil, default)
  return function(update)
    local value = schedule(update)
    if type(value) == "number" and value >= 0 and value <= most and value < math.huge then return value end
    error(("train: %s is %s at update %d; a schedule returns a number from 0 %s"):format(name, tostring(value), update,
      most < math.huge and "to " .. most or "on"), 0)
  end
end

-- A training that has not begun: options, reward, rates, memories (by problem), state.
function course.new(options)
  local training = { options = options, reward = options.reward or rewards.improvement { log = true } }
  training.rates = {
    learning_rate = rate(options, "learning_rate", schedules.linear(3e-3, 3e-4, options.count), math.huge),
    entropy_weight = rate(options, "entropy_weight", schedules.linear(0.02, 0, options.count), math.huge),
    epsilon = rate(options, "epsilon", 0, 1), noise = rate(options, "noise", 0, math.huge),
  }
  training.memories = {}
  for i = 1, #options.problems do training.memories[i] = sampling.new_memory(options, measures(options, i)) end
  training.state = { update = 0, measured = 0, episodes = 0, fingerprint = checkpoint.fingerprint(options) }
  return training
end

-- Takes up the checkpoint, and opens what is written on the way.
function course.open_files(training)
  local options, state = training.options, training.state
  checkpoint.open(options, state, training.memories)
  -- Events written after the checkpoint come again, and belong there once.
  training.board = options.tensorboard ~= "" and events.tensorboard(options.tensorboard, state.update)
  training.csv = options.csv ~= "" and events.csv(options.csv, COLUMNS, state.update)
  training.began_s, training.first = berth.clock(), state.update
end

local function close_files(training)
  if training.board then training.board.close() end
  if training.csv then training.csv.close() end
end

-- Training that begins elsewhere has not seen the best single device, with which greedy episodes begin: it would be
-- called the best that a policy of no training at all found.
local function note_decided(memory, result)
  if result.decided then memory.note(result.decided.placement, result.decided.evaluation) end
end

-- Runs after every update: evaluation, curves, checkpoint and progress, where due.
function course.after_update(training, record)
  local options, state, memories = training.options, training.state, training.memories
  if options.evaluate_every > 0 and state.update % options.evaluate_every == 0 then
    local sum = 0
    for i, result in ipairs(own_placements(options)) do
      sum = sum + ranking.us_of(result.evaluation)
      note_decided(memories[i], result)
    end
    record.greedy_us = sum / #options.problems
  end
  record.count = options.count
  record.left_s = (berth.clock() - training.began_s) / (state.update - training.first)
    * (options.count - state.update)
  if training.board then
    local values = {}
    for _, name in ipairs(CURVES) do values[name] = record[name] end
    for i, best_us in pairs(#options.problems > 1 and record.best_by_problem_us or {}) do
      values[("problem_%d/best_us"):format(i)] = best_us
    end
    training.board.write(state.update, values)
  end
  if training.csv then training.csv.write(record) end
  if options.checkpoint ~= "" and
    (state.update % options.checkpoint_every == 0 or state.update == options.count) then
    checkpoint.save(options.checkpoint, options, state, memories)
  end
  if options.progress then options.progress(record) end
end

-- The result of a training, after its last update.
function course.conclude(training, stopped)
  local options, state = training.options, training.state
  if stopped and options.checkpoint ~= "" then
    checkpoint.save(options.checkpoint, options, state, training.memories)
  end
  local greedy = own_placements(options)
  local best, start = {}, {}
  for i, memory in ipairs(training.memories) do
    note_decided(memory, greedy[i])
    start[i] = greedy[i].start
    greedy[i] = { placement = greedy[i].placement, evaluation = greedy[i].evaluation }
    best[i] = { placement = memory.placement, evaluation = memory.best }
    if measures(options, i) then
      local placements = {}
      for k, each in ipairs(memory.finalists) do placements[k] = each.placement end
      best[i] = ranking.measure_again(options.evaluators[i], placements, options.score)[1]
    end
  end
  close_files(training)
  return { best = best, greedy = greedy, start = start, updates = state.update, measured = state.measured,
    stopped = stopped }
end

return course
