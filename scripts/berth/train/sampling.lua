-- Samples the episodes of an update: their problems, starts, and rewards.

local baselines = require "berth.baselines"
local ranking = require "berth.train.ranking"

local sampling = {}

-- Rewards of one episode, then their discounted sums to the end, into `returns`.
--   RETURN  the sum of the rewards
local before, after = {}, {}
local function episode_returns(rollout, e, reward, discount, returns)
  local steps, sum = rollout:steps(e), 0
  rollout:evaluation(e, 0, before)
  for t = 1, steps do
    rollout:evaluation(e, t, after)
    local value = reward(before, after, t == steps)
    if not (type(value) == "number" and value > -math.huge and value < math.huge) then
      error(("train: the reward of episode %d, step %d is %s; it must be a finite number")
        :format(e, t, tostring(value)), 0)
    end
    returns[t], sum = value, sum + value
    before, after = after, before
  end
  for t = steps - 1, 1, -1 do returns[t] = returns[t] + discount * returns[t + 1] end
  for t = steps + 1, #returns do returns[t] = nil end
  return sum
end

-- The energy (the sum of squares) of advantages that tells the episodes that began alike apart, and all of it.
-- Their common part teaches nothing: it pushes every choice the same way.
local function energies(out, starts)
  local mean, count, apart, all = {}, {}, 0, 0
  for e = 1, #out do
    local sums = mean[starts[e]] or {}
    mean[starts[e]], count[starts[e]] = sums, (count[starts[e]] or 0) + 1
    for t = 1, #out[e] do sums[t] = (sums[t] or 0) + out[e][t] end
  end
  for e = 1, #out do
    local sums, n = mean[starts[e]], count[starts[e]]
    for t = 1, #out[e] do
      apart, all = apart + (out[e][t] - sums[t] / n) ^ 2, all + out[e][t] ^ 2
    end
  end
  return apart, all
end

-- Says once in a training that episodes of different runtimes are not told apart.
local function check_told_apart(state, rollout, returns, runtimes)
  if state.told_alike or rollout:tells_apart(returns) then return end
  state.told_alike = true
  io.stderr:write(("train: note: update %d teaches nothing: %d episodes with steps of %.6g to %.6g ms got the same "
    .. "rewards; give a reward that tells them apart, such as rewards.improvement { log = true }\n"):format(
    state.update, #runtimes, math.min(unpack(runtimes)) / 1e3, math.max(unpack(runtimes)) / 1e3))
end

-- A baseline that forgets an episode, or divides by 0, would teach nonsense without a word.
local function check_advantages(out, returns)
  for e, steps in ipairs(returns) do
    for t = 1, #steps do
      local value = out[e][t]
      if not (type(value) == "number" and value > -math.huge and value < math.huge) then
        error(("train: the baseline's advantage of step %d of episode %d of a problem is %s; `advantages` fills `out` with "
          .. "finite numbers, one for each step of each episode"):format(t, e, tostring(value)), 0)
      end
    end
  end
end

local function new_baseline(options)
  local baseline = (options.baseline or baselines.normalised)()
  for _, name in ipairs { "advantages", "state", "restore" } do
    if type(baseline) ~= "table" or type(baseline[name]) ~= "function" then
      error(("train: `baseline` returned %s; it returns a table with the functions advantages, state and restore"):format(
        type(baseline) == "table" and "a table without " .. name or "a " .. type(baseline)), 0)
    end
  end
  return baseline
end

-- Training's memory of a problem.
--   ARGS    measured  whether its figures are measurements
function sampling.new_memory(options, measured)
  local memory = { baseline = new_baseline(options), best = nil, placement = nil, latest = nil, finalists = {} }
  function memory.note(placement, evaluation)
    if measured then
      ranking.add_finalist(memory.finalists, placement, evaluation, options.finalists, options.score)
    end
    if ranking.better(evaluation, memory.best, options.score) then
      memory.best, memory.placement = evaluation, placement
    end
  end
  return memory
end

-- The problems of an update: all, or the next `batch` in turn.
function sampling.chosen(options, update)
  local count = #options.problems
  if options.batch == 0 or options.batch >= count then
    local all = {}
    for i = 1, count do all[i] = i end
    return all
  end
  local some = {}
  for k = 0, options.batch - 1 do
    some[#some + 1] = ((update - 1) * options.batch + k) % count + 1
  end
  return some
end

-- The entries of `array` at `indices`; nil where there is no array.
function sampling.picked(array, indices)
  if not array then return nil end
  local some = {}
  for k, i in ipairs(indices) do some[k] = array[i] end
  return some
end

-- In which of how many rounds over all problems an update is.
local function round_of(options, update, batch)
  local updates = #options.problems / batch
  return math.ceil(update / updates), math.ceil(options.count / updates)
end

local function initial_of(options, update, memories, indices)
  local choice = options.initial
  if type(choice) == "function" then
    choice = choice(round_of(options, update, #indices))
    if type(choice) ~= "string" then
      error(("train: initial(round, rounds) returned %s; it returns the name of a start, such as \"single\""):format(
        tostring(choice)), 0)
    end
  end
  if choice == "none" then return "zero" end
  if choice ~= "best" and choice ~= "latest" then return choice end
  local initial = {}
  for k, i in ipairs(indices) do
    local placement = choice == "best" and memories[i].placement or memories[i].latest
    if not placement then return "random" end
    initial[k] = { placement }
  end
  return initial
end

-- One update's worth of samples and rewards.
--   ARGS    seed   of the sampling
--   RETURN  record (of `progress`, as far as it is known), rollout, advantages, found (by problem sampled: the
--           best of it, { placement, evaluation })
function sampling.sample(options, state, memories, reward, rates, seed)
  local indices = sampling.chosen(options, state.update)
  local problems = sampling.picked(options.problems, indices)
  local rollout = options.policy:rollout(problems, {
    samples = options.samples, seed = seed,
    epsilon = rates.epsilon(state.update), noise = rates.noise(state.update), traversal = options.traversal,
    initial = initial_of(options, state.update, memories, indices), into = state.rollout,
    evaluators = sampling.picked(options.evaluators, indices) })
  state.rollout = rollout

  local episodes = #indices * options.samples
  local record = { update = state.update, runtime_us = 0, fits = 0, reward = 0, episodes = episodes,
    measured = 0 }
  local advantages, all_returns, count, found, runtimes = {}, {}, 0, {}, {}
  local apart, energy = 0, 0
  for k, i in ipairs(indices) do
    local returns, out, heard = {}, {}, { returns = {}, out = {}, starts = {} }
    local best, best_placement = nil, nil
    for s = 1, options.samples do
      local e = (k - 1) * options.samples + s
      returns[s], out[s] = {}, {}
      record.reward = record.reward +
        episode_returns(rollout, e, reward, options.discount, returns[s])
      local last = rollout:evaluation(e, rollout:steps(e), after)
      record.runtime_us = record.runtime_us + last.objective_us
      record.fits = record.fits + (last.feasible and 1 or 0)
      if last.feasible or state.update <= options.valid_only_after then
        heard.returns[#heard.returns + 1], heard.out[#heard.out + 1] = returns[s], out[s]
        heard.starts[#heard.starts + 1] = rollout:start(e)
        runtimes[#runtimes + 1] = last.objective_us
      end
      -- Tables are made only for what may be kept.
      local kept_is_best = not options.score and options.initial ~= "none"
      if not kept_is_best or ranking.better(rollout:best_evaluation(e, after), best) then
        local placement, evaluation = ranking.kept_of(rollout, e, options)
        if ranking.better(evaluation, best, options.score) then best, best_placement = evaluation, placement end
      end
      record.measured = record.measured + rollout:measured(e)
    end
    memories[i].latest = best_placement
    memories[i].note(best_placement, best)
    found[i] = { placement = best_placement, evaluation = best }
    if #heard.returns > 0 then
      memories[i].baseline.advantages(heard.returns, heard.out, heard.starts)
      check_advantages(heard.out, heard.returns)
      local own_apart, own = energies(heard.out, heard.starts)
      apart, energy = apart + own_apart, energy + own
    end
    for s = 1, options.samples do
      for t = 1, #returns[s] do
        count = count + 1
        advantages[count], all_returns[count] = out[s][t] or 0, returns[s][t]
      end
    end
  end
  if #runtimes == episodes then check_told_apart(state, rollout, all_returns, runtimes) end
  for _, name in ipairs { "runtime_us", "fits", "reward" } do record[name] = record[name] / episodes end
  record.signal = energy > 0 and apart / energy or nil
  record.entropy_weight = rates.entropy_weight(state.update)
  return record, rollout, advantages, found
end

-- Adds to a record what is known after its update; its best_us is math.huge where nothing fits yet.
function sampling.complete(record, training, report, indices)
  local state, memories = training.state, training.memories
  state.measured = state.measured + record.measured
  state.episodes = state.episodes + record.episodes
  record.episodes, record.measured = state.episodes, state.measured
  record.loss, record.entropy, record.gradient_norm = report.loss, report.entropy,
    report.gradient_norm
  local best = 0
  record.best_by_problem_us = {}
  for _, i in ipairs(indices) do
    local best_us = ranking.us_of(memories[i].best)
    best, record.best_by_problem_us[i] = best + best_us, best_us
  end
  record.best_us = best / #indices
end

return sampling
