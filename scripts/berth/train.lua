-- Training of learned policies: REINFORCE, with everything that a researcher would replace given as a
-- Lua function. The method is that of Placeto (Addanki et al., NeurIPS 2019, section on training).
--
--   local train, rewards = require "berth.train", require "berth.rewards"
--   local result = train.episodes {
--     policy = berth.policy("placeto", { weights = "none" }), problems = { problem }, count = 500,
--     reward = rewards.improvement { log = true } }
--
-- One update: sample `samples` episodes per problem, turn measurements into rewards, rewards into
-- returns, returns into advantages, and let the policy take one step of its optimiser.

local berth = require "berth"
local baselines = require "berth.baselines"
local events = require "berth.events"
local fingerprints = require "berth.fingerprints"
local notes = require "berth.notes"
local processes = require "berth.processes"
local rewards = require "berth.rewards"
local schedules = require "berth.schedules"
local workers = require "berth.workers"

local train = {}

local DEFAULTS = {
  -- What is learned
  policy = true,    -- a policy that learns, or a function that makes it: with `workers` it is called where the
                    -- policy is needed
  problems = true,  -- array; every update samples from all of them, or from `batch` of them
  count = true,     -- updates
  evaluators = false, -- array by problem: who measures, such as a berth.evaluator with a session, which
                    -- drops warm-up steps and takes the mean of the rest; default: simulation. Or a
                    -- function(problem, i) that makes one, called where it measures
  -- What affects learning. The defaults are what learned fastest and most reliably; the published
  -- value follows where it is another.
  reward = false,         -- reward(before, after, last); default rewards.improvement { log = true }
  discount = 0.98,        -- gamma (published: 1). Less than 1 spares a decision the noise of late ones
  baseline = false,       -- constructor of a baseline, one per problem; default
                          -- baselines.normalised over per_step (published: baselines.per_step)
  learning_rate = false,  -- number or schedule; default 3e-3 -> 3e-4 linearly (released sample
                          -- settings: 1e-3 -> 1e-4)
  entropy_weight = false, -- number or schedule; default 0.02 -> 0 linearly
  score = false,          -- score(evaluation), the smaller the better: by what the best placement of those
                          -- that fit is kept, of the fastest and the last of each episode; default: its
                          -- objective_us
  max_norm = 1.25,        -- of the gradient, as in the released code
  epsilon = 0,            -- number or schedule
  noise = 0,              -- number or schedule: on the logits, where the policy has it (TensorFlow's
                          -- code of Mirhoseini et al., ICLR 2018: 0.5)
  valid_only_after = math.huge, -- updates, after which placements that do not fit teach nothing
                          -- (Mirhoseini et al., ICML 2017: 5,000)
  samples = 16,           -- episodes per problem and update (published: 8 workers with one each)
  batch = 0,              -- problems per update, in turn; 0 = all
  traversal = "topological",
  initial = "single",     -- "single" (the best device for all), "zero", "contiguous" (one run of groups
                          -- per fast device), "earliest" (list scheduling), "random", "best" (the
                          -- best placement so far), "latest" (the best of the problem's last update),
                          -- or a function(round, rounds) that returns one of them; a round is as many
                          -- updates as it takes to sample from every problem.
                          -- Episodes of one start differ by their decisions alone, so that the
                          -- baseline takes away all else
  seed = 1,
  workers = false,        -- table of workers.DEFAULTS: the processes that torchrun, srun or `berth run --workers`
                          -- started train together; a process that is alone trains as without
  -- What is watched and kept
  finalists = 5,          -- where an evaluator measures: the best of so many placements is found by measuring
                          -- them again at the end, in turn; the best of many noisy figures is a lucky one
  evaluate_every = 0,     -- greedy episodes every so many updates; 0 = at the end alone
  checkpoint = "",        -- file, written every `checkpoint_every` updates and at the end
  checkpoint_every = 50,
  resume = true,          -- go on from the checkpoint where it is there
  tensorboard = "",       -- event file
  csv = "",               -- table of the training curve
  progress = false,       -- function(record), called after every update; see train.progress_line
  should_stop = berth.should_stop,  -- function(), asked after every update; Ctrl-C by default
}

-- What TensorBoard shows, beside the best of each problem where there are several.
local CURVES = { "runtime_us", "best_us", "greedy_us", "reward", "entropy", "loss", "gradient_norm",
  "learning_rate", "entropy_weight" }

local COLUMNS = { "update", "episodes", "measured", "runtime_us", "best_us", "greedy_us", "reward",
  "entropy", "loss", "gradient_norm", "learning_rate", "entropy_weight" }

-- What values an option may have: a text for the message, and whether a value is one.
local function whole(least, most)
  return "a whole number from " .. least .. (most and " to " .. most or " on"), function(value)
    return type(value) == "number" and value % 1 == 0 and value >= least
      and value <= (most or 2 ^ 53)
  end
end
local function between(low, high)
  local what = high == math.huge and "a number from " .. low .. " on"
    or ("a number from %s to %s"):format(low, high)
  return what, function(value)
    return type(value) == "number" and value >= low and value <= high and value < math.huge
  end
end
local function rate(low, high)
  local what, fits = between(low, high)
  return what .. " or a schedule", function(value)
    return value == false or type(value) == "function" or fits(value)
  end
end
local function of_type(name, or_false)
  return "a " .. name, function(value) return type(value) == name or or_false and value == false end
end
local function array(or_false)
  return "an array, { one, .. }", function(value)
    return type(value) == "table" and #value > 0 or or_false and value == false
  end
end

local RANGES = {
  policy = { "a policy: berth.policy(name, options)",
    function(value) return type(value) ~= "boolean" and type(value) ~= "number" and type(value) ~= "string" end },
  problems = { array() }, evaluators = { "an array, { one, .. }, or a function", function(value)
    return value == false or type(value) == "function" or type(value) == "table" and #value > 0 end }, count = { whole(1) },
  reward = { of_type("function", true) }, discount = { between(0, 1) },
  baseline = { "a constructor, such as baselines.per_step or function() return "
    .. "baselines.moving_average { decay = 0.9 } end",
    function(value) return type(value) == "function" or value == false end },
  learning_rate = { rate(0, math.huge) }, entropy_weight = { rate(0, math.huge) },
  score = { of_type("function", true) },
  max_norm = { "a number from 0 on, or math.huge",
    function(value) return type(value) == "number" and value >= 0 end }, epsilon = { rate(0, 1) }, noise = { rate(0, math.huge) },
  valid_only_after = { "a number of updates", function(value)
    return type(value) == "number" and value >= 0 end },
  samples = { whole(1) }, batch = { whole(0) }, traversal = { of_type "string" },
  initial = { "a start's name or a function", function(value)
    return type(value) == "string" or type(value) == "function" end },
  workers = { "a table", function(value) return value == false or type(value) == "table" end },
  seed = { whole(0, 9e9) },  -- with the update's number behind it a seed is still a whole number
  finalists = { whole(1) }, evaluate_every = { whole(0) }, checkpoint = { of_type "string" }, checkpoint_every = { whole(1) },
  resume = { of_type "boolean" }, tensorboard = { of_type "string" }, csv = { of_type "string" },
  progress = { of_type("function", true) }, should_stop = { of_type "function" },
}

local function shown(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) == "number" then return tostring(value) end
  return "a " .. type(value)
end

local function check_learns(policy, level)
  if not policy:learns() then error(("train: policy '%s' has nothing to learn"):format(policy:name()), level) end
end

local function read_options(given)
  if type(given) ~= "table" then
    error(("train: a table of options expected, got %s"):format(shown(given)), 3)
  end
  local options = {}
  for name, default in pairs(DEFAULTS) do options[name] = default end
  for name, value in pairs(given) do
    if DEFAULTS[name] == nil then
      local known = {}
      for key in pairs(DEFAULTS) do known[#known + 1] = key end
      table.sort(known)
      error(("train: unknown option '%s'; known: %s"):format(tostring(name),
        table.concat(known, ", ")), 3)
    end
    options[name] = value
  end
  for _, name in ipairs { "policy", "problems", "count" } do
    if options[name] == true then error(("train: option '%s' is missing"):format(name), 3) end
  end
  for name, range in pairs(RANGES) do
    if not range[2](options[name]) then
      error(("train: option '%s' is %s; give %s"):format(name, shown(options[name]), range[1]), 3)
    end
  end
  if type(options.evaluators) == "table" and #options.evaluators ~= #options.problems then
    error(("train: there are %d evaluators for %d problems; give one for each"):format(
      #options.evaluators, #options.problems), 3)
  end
  if options.workers then options.workers = workers.read_options(options.workers, 3) end
  if type(options.policy) ~= "function" then check_learns(options.policy, 4) end
  return options
end

-- Makes what options give as functions.
local function make_policy(options)
  if type(options.policy) ~= "function" then return end
  options.policy = options.policy()
  check_learns(options.policy, 3)
end
local function make_evaluators(options)
  if type(options.evaluators) ~= "function" then return end
  local make, made = options.evaluators, {}
  for i, problem in ipairs(options.problems) do made[i] = make(problem, i) end
  options.evaluators = made
end

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

-- What does not fit by no byte breaks a separation: worse than any that lacks memory.
local function excess(evaluation)
  return evaluation.excess_bytes > 0 and evaluation.excess_bytes or math.huge
end

local function better(a, b, score)
  if b == nil then return true end
  if a.feasible ~= b.feasible then return a.feasible end
  if not a.feasible then return excess(a) < excess(b) end
  if score then return score(a) < score(b) end
  return a.objective_us < b.objective_us
end

-- What is kept of an episode: its fastest placement, or its last one where the score prefers that.
local function kept_of(rollout, e, score)
  local placement, evaluation = rollout:best(e)
  if score then
    local last, last_evaluation = rollout:last(e)
    if better(last_evaluation, evaluation, score) then return last, last_evaluation end
  end
  return placement, evaluation
end

local function same(a, b)
  for op = 1, #a do
    if a[op] ~= b[op] then return false end
  end
  return true
end

-- Puts a placement among the best few, best first.
local function add_finalist(finalists, placement, evaluation, options)
  for k, each in ipairs(finalists) do
    if same(each.placement, placement) then
      if not better(evaluation, each.evaluation, options.score) then return end
      table.remove(finalists, k)
      break
    end
  end
  local k = #finalists + 1
  while k > 1 and better(evaluation, finalists[k - 1].evaluation, options.score) do k = k - 1 end
  table.insert(finalists, k, { placement = placement, evaluation = evaluation })
  finalists[options.finalists + 1] = nil
end

-- What training remembers of a problem.
--   ARGS    measured  whether its figures are measurements
local function new_memory(options, measured)
  local memory = { baseline = (options.baseline or baselines.normalised)(), best = nil, placement = nil,
                   latest = nil, finalists = {} }
  function memory.note(placement, evaluation)
    if measured then add_finalist(memory.finalists, placement, evaluation, options) end
    if better(evaluation, memory.best, options.score) then
      memory.best, memory.placement = evaluation, placement
    end
  end
  return memory
end

-- The problems of an update: all, or the next `batch` in turn.
local function chosen(options, update)
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
local function picked(array, indices)
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
  if type(choice) == "function" then choice = choice(round_of(options, update, #indices)) end
  if choice ~= "best" and choice ~= "latest" then return choice end
  local initial = {}
  for k, i in ipairs(indices) do
    local placement = choice == "best" and memories[i].placement or memories[i].latest
    if not placement then return "random" end
    initial[k] = { placement }
  end
  return initial
end

-- What a checkpoint belongs to: other problems or other settings would go on from figures that are not
-- theirs. Functions cannot be told apart, and `count` may be raised.
local SETTINGS = { "seed", "samples", "batch", "discount", "max_norm", "traversal", "initial",
  "valid_only_after", "learning_rate", "entropy_weight", "epsilon", "noise" }

local function fingerprint(options)
  local of = { settings = {}, problems = {} }
  for _, name in ipairs(SETTINGS) do
    local value = options[name]
    of.settings[name] = type(value) == "function" and "a function" or value
  end
  for i, problem in ipairs(options.problems) do of.problems[i] = fingerprints.of_problem(problem) end
  return of
end

local function save(path, options, state, memories)
  local kept = { update = state.update, measured = state.measured, episodes = state.episodes, problems = {},
    fingerprint = state.fingerprint }
  for i, memory in ipairs(memories) do
    kept.problems[i] = { baseline = memory.baseline.state(), best = memory.best,
      placement = memory.placement, latest = memory.latest, finalists = memory.finalists }
  end
  options.policy:save(path, notes.write(kept))
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

-- Told before the first update and not at the fiftieth.
local function check_writable(path)
  local probe = path .. ".probe"
  local file, problem = io.open(probe, "wb")
  if not file then error(("train: the checkpoint cannot be written: %s"):format(problem), 3) end
  file:close()
  os.remove(probe)
end

-- ARGS    named  what errors call the file
local function resume(path, named, options, state, memories)
  local kept = notes.read(options.policy:load(path))
  if kept.problems == nil or #kept.problems ~= #memories then
    error(("train: %s holds the training of %d problems, not of %d"):format(named,
      kept.problems and #kept.problems or 0, #memories), 3)
  end
  if kept.fingerprint then
    local name, then_, now = fingerprints.difference(kept.fingerprint, state.fingerprint)
    if name then
      error(("train: %s was made with %s = %s, and here it is %s; name another checkpoint, or set "
        .. "resume = false to replace it"):format(named, name, tostring(then_), tostring(now)), 3)
    end
  end
  state.update, state.measured = kept.update, kept.measured
  -- Older files leave it out, of trainings whose updates were all alike.
  state.episodes = kept.episodes or kept.update * #chosen(options, 1) * options.samples
  for i, memory in ipairs(memories) do
    memory.baseline.restore(kept.problems[i].baseline)
    memory.best, memory.placement = kept.problems[i].best, kept.problems[i].placement
    memory.latest, memory.finalists = kept.problems[i].latest, kept.problems[i].finalists or {}
  end
end

-- Greedy placements of all problems, from the best single device.
--   ARGS    options  policy, problems, traversal, evaluators; passes (default 1): a pass that found
--                    better is followed by one from there, so often at most
--   RETURN  array of { placement =, evaluation = }
function train.evaluate(options)
  local results = {}
  for i, problem in ipairs(options.problems) do
    local initial = "single"
    for _ = 1, options.passes or 1 do
      local rollout = options.policy:rollout(problem,
        { greedy = true, initial = initial, traversal = options.traversal,
          evaluators = picked(options.evaluators, { i }) })
      local placement, evaluation = kept_of(rollout, 1, options.score)
      if not better(evaluation, results[i] and results[i].evaluation, options.score) then break end
      results[i] = { placement = placement, evaluation = evaluation }
      initial = { { placement } }
    end
  end
  return results
end

-- Odd, so that one run is the median. The range of seven holds the true median with 98 % certainty: all
-- on one side of it are 2 cases in 2^7.
local RUNS = 7

-- Measures placements again, in turn, so that what slows the machine down meets all of them alike.
--   ARGS    evaluator   one that measures
--           placements  array
--           score       as of train.episodes; default the objective
--   RETURN  array, the best first: { placement, evaluation (of the run that is the median), runs_us, low_us,
--           high_us (the range of the runs, an interval of 98 % for the median), from (its place in
--           placements) }
function train.measure_again(evaluator, placements, score)
  local found = {}
  for k, placement in ipairs(placements) do
    found[k] = { placement = placement, from = k, runs = {}, runs_us = {} }
  end
  for run = 1, RUNS do
    -- At once: what measures may be many machines.
    for k, evaluation in ipairs(evaluator:batch(placements)) do
      found[k].runs[run], found[k].runs_us[run] = evaluation, evaluation.objective_us
    end
  end
  for _, each in ipairs(found) do
    -- What did not fit once does not fit.
    table.sort(each.runs, function(a, b) return better(a, b, score) end)
    local last = each.runs[RUNS]
    each.evaluation = last.feasible and each.runs[(RUNS + 1) / 2] or last
    each.low_us, each.high_us = math.min(unpack(each.runs_us)), math.max(unpack(each.runs_us))
    each.runs = nil
  end
  table.sort(found, function(a, b)
    if better(a.evaluation, b.evaluation, score) then return true end
    return not better(b.evaluation, a.evaluation, score) and a.from < b.from
  end)
  return found
end

local function measures(options, i)
  return options.evaluators and options.evaluators[i]:measures() or false
end

-- One update's worth of samples and rewards.
--   ARGS    seed   of the sampling
--   RETURN  record (of `progress`, as far as it is known), rollout, advantages, found (by problem sampled: the
--           best of it, { placement, evaluation })
local function sample(options, state, memories, reward, rates, seed)
  local indices = chosen(options, state.update)
  local problems = picked(options.problems, indices)
  local rollout = options.policy:rollout(problems, {
    samples = options.samples, seed = seed,
    epsilon = rates.epsilon(state.update), noise = rates.noise(state.update), traversal = options.traversal,
    initial = initial_of(options, state.update, memories, indices), into = state.rollout,
    evaluators = picked(options.evaluators, indices) })
  state.rollout = rollout

  local episodes = #indices * options.samples
  local record = { update = state.update, runtime_us = 0, reward = 0, episodes = episodes, measured = 0 }
  local advantages, count, found = {}, 0, {}
  for k, i in ipairs(indices) do
    local returns, out, heard = {}, {}, { returns = {}, out = {} }
    local best, best_placement = nil, nil
    for s = 1, options.samples do
      local e = (k - 1) * options.samples + s
      returns[s], out[s] = {}, {}
      record.reward = record.reward +
        episode_returns(rollout, e, reward, options.discount, returns[s])
      local last = rollout:evaluation(e, rollout:steps(e), after)
      record.runtime_us = record.runtime_us + last.objective_us
      if last.feasible or state.update <= options.valid_only_after then
        heard.returns[#heard.returns + 1], heard.out[#heard.out + 1] = returns[s], out[s]
      end
      -- Tables are made only for what may be kept.
      if options.score or better(rollout:best_evaluation(e, after), best) then
        local placement, evaluation = kept_of(rollout, e, options.score)
        if better(evaluation, best, options.score) then best, best_placement = evaluation, placement end
      end
      record.measured = record.measured + rollout:measured(e)
    end
    memories[i].latest = best_placement
    memories[i].note(best_placement, best)
    found[i] = { placement = best_placement, evaluation = best }
    if #heard.returns > 0 then memories[i].baseline.advantages(heard.returns, heard.out) end
    for s = 1, options.samples do
      for t = 1, #returns[s] do
        count = count + 1
        advantages[count] = out[s][t] or 0
      end
    end
  end
  record.runtime_us, record.reward = record.runtime_us / episodes, record.reward / episodes
  record.entropy_weight = rates.entropy_weight(state.update)
  return record, rollout, advantages, found
end

-- Adds to a record what is known after its update.
local function complete(record, training, report, indices)
  local state, memories = training.state, training.memories
  state.measured = state.measured + record.measured
  state.episodes = state.episodes + record.episodes
  record.episodes, record.measured = state.episodes, state.measured
  record.loss, record.entropy, record.gradient_norm = report.loss, report.entropy,
    report.gradient_norm
  local best = 0
  record.best_by_problem_us = {}
  for _, i in ipairs(indices) do
    best = best + memories[i].best.objective_us
    record.best_by_problem_us[i] = memories[i].best.objective_us
  end
  record.best_us = best / #indices
end

-- One update's worth of samples, rewards and learning.
local function update_once(training)
  local options, state, rates = training.options, training.state, training.rates
  -- The seed of an update depends on its number alone, so that a resumed run draws the same.
  local record, rollout, advantages = sample(options, state, training.memories, training.reward, rates,
    options.seed * 1000003 + state.update)
  record.learning_rate = rates.learning_rate(state.update)
  local report = options.policy:update(rollout, advantages, {
    learning_rate = record.learning_rate, entropy_weight = record.entropy_weight,
    max_norm = options.max_norm })
  complete(record, training, report, chosen(options, state.update))
  return record
end

-- A training that has not begun: options, reward, rates, memories (by problem), state.
local function new_training(options)
  local training = { options = options, reward = options.reward or rewards.improvement { log = true } }
  training.rates = {
    learning_rate = schedules.of(options.learning_rate or nil,
      schedules.linear(3e-3, 3e-4, options.count)),
    entropy_weight = schedules.of(options.entropy_weight or nil,
      schedules.linear(0.02, 0, options.count)),
    epsilon = schedules.of(options.epsilon, 0),
    noise = schedules.of(options.noise, 0),
  }
  training.memories = {}
  for i = 1, #options.problems do training.memories[i] = new_memory(options, measures(options, i)) end
  training.state = { update = 0, measured = 0, episodes = 0, fingerprint = fingerprint(options) }
  return training
end

-- Takes up the checkpoint, and opens what is written on the way.
local function open_files(training)
  local options, state = training.options, training.state
  if options.checkpoint ~= "" then
    check_writable(options.checkpoint)
    if options.resume and exists(options.checkpoint) then
      resume(options.checkpoint, options.checkpoint, options, state, training.memories)
    end
  end
  -- What was written after the checkpoint comes again, and belongs there once.
  training.board = options.tensorboard ~= "" and events.tensorboard(options.tensorboard, state.update)
  training.csv = options.csv ~= "" and events.csv(options.csv, COLUMNS, state.update)
  training.began_s, training.first = berth.clock(), state.update
end

local function close_files(training)
  if training.board then training.board.close() end
  if training.csv then training.csv.close() end
end

-- What follows every update: what is due of evaluation, curves, checkpoint and progress.
local function after_update(training, record)
  local options, state, memories = training.options, training.state, training.memories
  if options.evaluate_every > 0 and state.update % options.evaluate_every == 0 then
    local sum = 0
    for i, result in ipairs(train.evaluate(options)) do
      sum = sum + result.evaluation.objective_us
      memories[i].note(result.placement, result.evaluation)
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
    save(options.checkpoint, options, state, memories)
  end
  if options.progress then options.progress(record) end
end

-- The result of a training, after its last update.
local function conclude(training, stopped)
  local options, state = training.options, training.state
  if stopped and options.checkpoint ~= "" then save(options.checkpoint, options, state, training.memories) end
  local greedy = train.evaluate(options)
  local best = {}
  for i, memory in ipairs(training.memories) do
    memory.note(greedy[i].placement, greedy[i].evaluation)
    best[i] = { placement = memory.placement, evaluation = memory.best }
    if measures(options, i) then
      local placements = {}
      for k, each in ipairs(memory.finalists) do placements[k] = each.placement end
      best[i] = train.measure_again(options.evaluators[i], placements, options.score)[1]
    end
  end
  close_files(training)
  return { best = best, greedy = greedy, updates = state.update, measured = state.measured,
    stopped = stopped }
end

-- Trains `options.policy` on `options.problems`.
--   ARGS    options  table of DEFAULTS
--   RETURN  table: best (array by problem of { placement =, evaluation = }, the best seen; where an evaluator
--           measures, what train.measure_again finds to be the best of the finalists),
--           greedy (the same, of the trained policy's greedy placements), updates, measured
--           (placements), stopped (true where should_stop said so)
function train.episodes(given)
  local options = read_options(given)
  local joined = options.workers and workers.join(options.workers)
  if joined then
    return require "berth.workers.training".run(joined, options, { new_training = new_training, sample = sample,
      complete = complete, better = better, open_files = open_files, after_update = after_update,
      conclude = conclude, save = save, resume = resume, fingerprint = fingerprint, make_policy = make_policy,
      make_evaluators = make_evaluators })
  end
  make_policy(options)
  make_evaluators(options)
  local training = new_training(options)
  open_files(training)
  local state, stopped = training.state, false
  while state.update < options.count and not stopped do
    state.update = state.update + 1
    after_update(training, update_once(training))
    stopped = options.should_stop()
  end
  return conclude(training, stopped)
end

-- An `initial` that leads out of local optima: every fifth round starts from the best single device, runs
-- of groups, list scheduling or random placements, in turn, and the four after it go on from what the
-- one before found; the last quarter from the best so far.
--   ARGS    round, rounds  of the problem, from 1
--   RETURN  text
function train.explore_then_improve(round, rounds)
  local plain = { "single", "contiguous", "earliest", "random" }
  if round > 0.75 * rounds then return "best" end
  if round % 5 ~= 1 then return "latest" end
  return plain[math.floor(round / 5) % #plain + 1]
end

-- A record of `progress` as one line: update, runtime, best, reward, entropy, time left; with workers, who is
-- there.
--   ARGS    record  of train.episodes' progress
--   RETURN  text
function train.progress_line(record)
  return ("update %d/%d  runtime %.3f ms  best %.3f ms  reward %+.4f  entropy %.3f  %d s left%s")
    :format(record.update, record.count, record.runtime_us / 1e3, record.best_us / 1e3,
      record.reward, record.entropy, record.left_s, record.workers and "  " .. record.workers or "")
end

-- A `progress` that says where training is in the line that `berth run` keeps up to date on a terminal.
--   ARGS    what  text in front of it
function train.show_progress(what)
  return function(record) berth.progress(what .. ": " .. train.progress_line(record)) end
end

-- A `progress` that writes a line of JSON per update, which `berth watch` shows, after one that says who
-- writes; it replaces the file.
--   ARGS    path, what  the file; what is trained, as a name
function train.log_progress(path, what)
  local file = assert(io.open(path, "w"))
  local began_s = berth.clock()
  local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
  end
  file:write(('{"format": "berth.events/1", "event": "start", "policy": %s, "host": %s, "pid": %d}\n'):format(
    quoted(what), quoted(processes.host()), processes.own_id()))
  file:flush()
  return function(record)
    local best = record.best_us < math.huge and ('"best_us": %.17g, '):format(record.best_us) or ""
    file:write(('{"event": "%s", "policy": %s, "time_s": %.3f, %s"text": %s}\n'):format(
      record.update < record.count and "progress" or "end", quoted(what), berth.clock() - began_s, best,
      quoted(train.progress_line(record))))
    file:flush()
  end
end

return train
