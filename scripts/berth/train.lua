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
local course = require "berth.train.course"
local files = require "berth.files"
local options = require "berth.train.options"
local processes = require "berth.processes"
local ranking = require "berth.train.ranking"
local sampling = require "berth.train.sampling"
local workers = require "berth.workers"

local train = { evaluate = course.evaluate, measure_again = ranking.measure_again, us_of = ranking.us_of }

-- One update's worth of samples, rewards and learning.
local function update_once(training)
  local of, state, rates = training.options, training.state, training.rates
  -- The seed of an update depends on its number alone, so that a resumed run draws the same.
  local record, rollout, advantages = sampling.sample(of, state, training.memories, training.reward, rates,
    of.seed * 1000003 + state.update)
  record.learning_rate = rates.learning_rate(state.update)
  local report = of.policy:update(rollout, advantages, {
    learning_rate = record.learning_rate, entropy_weight = record.entropy_weight,
    max_norm = of.max_norm })
  sampling.complete(record, training, report, sampling.chosen(of, state.update))
  return record
end

-- Trains a policy on problems.
--   ARGS    given  options, of which train/options.lua says what they are
--   RETURN  table: best (array by problem of { placement =, evaluation = }, the best state seen, which may be one
--           that episodes of the training began with; where an evaluator measures, what train.measure_again finds to
--           be the best of the finalists), greedy (the same, of the trained policy's own placements: with which its
--           greedy episodes end), start (array by problem: the evaluation of where those begin, the best single
--           device, which is no best unless the training began there too), updates, measured
--           (placements), stopped (true where should_stop said so)
function train.episodes(given)
  local of = options.read(given)
  local joined = of.workers and workers.join(of.workers)
  if joined then return require "berth.workers.training".run(joined, of) end
  options.make_policy(of)
  options.make_evaluators(of)
  local training = course.new(of)
  course.open_files(training)
  -- For all problems and not for those of the first update: a network knows what it was made for. Weights of
  -- a checkpoint are there already.
  of.policy:prepare(of.problems)
  local state, stopped, taught = training.state, false, false
  while state.update < of.count and not stopped do
    state.update = state.update + 1
    local record = update_once(training)
    taught = taught or record.signal ~= nil
    course.after_update(training, record)
    stopped = of.should_stop() or berth.should_stop()
  end
  if not taught and not state.told_alike and state.update > training.first then
    io.stderr:write(("train: note: nothing was learned: no episode of %d updates got more or less than its baseline; give more "
      .. "samples, or another reward or baseline\n"):format(state.update - training.first))
  end
  return course.conclude(training, stopped)
end

-- The figures of a training that belong side by side, in microseconds, math.huge where a placement does not fit.
--   ARGS    result  of train.episodes
--           i       the problem; default 1
--   RETURN  table: own_us (the policy's own, the figure to compare by), best_us (the best state seen), one_device_us
--           (where its greedy episodes begin)
function train.figures(result, i)
  i = i or 1
  return { own_us = train.us_of(result.greedy[i].evaluation), best_us = train.us_of(result.best[i].evaluation),
    one_device_us = train.us_of(result.start[i]) }
end

-- The same as one line.
function train.figures_line(result, i)
  local figures = train.figures(result, i)
  local function ms(us) return us < math.huge and ("%.3f ms"):format(us / 1e3) or "does not fit" end
  return ("own %s, best %s, one device %s"):format(ms(figures.own_us), ms(figures.best_us), ms(figures.one_device_us))
end

-- A record of `progress` as one line: update, runtime, the share that fits where some do not, best, reward, entropy,
-- time left; with workers, who is there.
--   ARGS    record  of train.episodes' progress
--   RETURN  text
function train.progress_line(record)
  local best = record.best_us < math.huge and ("%.3f ms"):format(record.best_us / 1e3) or "none that fits"
  local fits = record.fits < 1 and (", %.0f %% fit"):format(100 * record.fits) or ""
  return ("update %d/%d  runtime %.3f ms%s  best %s  reward %+.4f  entropy %.3f  %d s left%s")
    :format(record.update, record.count, record.runtime_us / 1e3, fits, best, record.reward, record.entropy, record.left_s,
      record.workers and "  " .. record.workers or "")
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
  local file = files.stream(path, "w")
  local began_s = berth.clock()
  local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
  end
  file.write(('{"format": "berth.events/1", "event": "start", "policy": %s, "host": %s, "pid": %d}\n'):format(
    quoted(what), quoted(processes.host()), processes.own_id()))
  return function(record)
    local best = record.best_us < math.huge and ('"best_us": %.17g, '):format(record.best_us) or ""
    file.write(('{"event": "%s", "policy": %s, "time_s": %.3f, %s"text": %s}\n'):format(
      record.update < record.count and "progress" or "end", quoted(what), berth.clock() - began_s, best,
      quoted(train.progress_line(record))))
  end
end

return require("berth.known").only(train, "berth.train")
