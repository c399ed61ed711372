-- The file that a training goes on from.

local fingerprints = require "berth.fingerprints"
local notes = require "berth.notes"
local sampling = require "berth.train.sampling"
local sources = require "berth.sources"

local checkpoint = {}

-- The settings that a checkpoint belongs to: other ones would go on from figures that are not
-- theirs. `count` may be raised.
local SETTINGS = { "reward", "baseline", "score", "seed", "samples", "batch", "discount", "max_norm", "traversal", "initial",
  "valid_only_after", "learning_rate", "entropy_weight", "epsilon", "noise" }

-- The source of what a placement is worth.
local function worth(evaluators)
  if type(evaluators) == "function" then return sources.of_text(evaluators) end
  return evaluators and evaluators[1]:measures() and "measured" or "simulated"
end

-- The policy's own options: how it learns is among them.
local function add_policy(policy, settings)
  if type(policy) == "function" then
    settings.policy = sources.of_text(policy)
    return
  end
  for name, value in pairs(policy:options()) do settings["of the policy, " .. name] = value end
end

--   RETURN  as of berth.fingerprints
function checkpoint.fingerprint(options)
  local of = { settings = { evaluators = worth(options.given.evaluators) }, problems = {} }
  add_policy(options.given.policy, of.settings)
  for _, name in ipairs(SETTINGS) do
    local value = options[name]
    of.settings[name] = type(value) == "function" and sources.of_function(value) or value
  end
  for i, problem in ipairs(options.problems) do of.problems[i] = fingerprints.of_problem(problem) end
  return of
end

-- Writes the policy's weights with the state of the training.
function checkpoint.save(path, options, state, memories)
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

-- Goes on from a file.
--   ARGS    named  what errors call it
function checkpoint.resume(path, named, options, state, memories)
  local kept = notes.read(options.policy:load(path))
  if kept.problems == nil or #kept.problems ~= #memories then
    error(("train: %s holds the training of %d problems, not of %d"):format(named,
      kept.problems and #kept.problems or 0, #memories), 3)
  end
  if kept.fingerprint and not options.mix then
    local name, then_, now = fingerprints.difference(kept.fingerprint, state.fingerprint)
    if name then
      error(("train: %s was made with %s = %s, and here it is %s; name another checkpoint, or set "
        .. "resume = false to replace it, or mix = true (--mix) to go on all the same"):format(named, name, tostring(then_), tostring(now)), 3)
    end
  end
  state.update, state.measured = kept.update, kept.measured
  -- Older files leave it out, of trainings whose updates were all alike.
  state.episodes = kept.episodes or kept.update * #sampling.chosen(options, 1) * options.samples
  for i, memory in ipairs(memories) do
    memory.baseline.restore(kept.problems[i].baseline)
    memory.best, memory.placement = kept.problems[i].best, kept.problems[i].placement
    memory.latest, memory.finalists = kept.problems[i].latest, kept.problems[i].finalists or {}
  end
end

-- Makes sure that the checkpoint of the options, if they name one, can be written, and goes on from what is there.
function checkpoint.open(options, state, memories)
  local path = options.checkpoint
  if path == "" then return end
  check_writable(path)
  if options.resume and exists(path) then checkpoint.resume(path, path, options, state, memories) end
end

return checkpoint
