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

-- The runtime that an evaluator gives for all on one device, where it simulates something else than its problem and says
-- the same twice; a measurement says nothing of which hardware it is from.
local function own_runtime(evaluator, problem)
  local placement = problem:one_device(1)
  local fine, us, again = pcall(function()
    return evaluator:evaluate(placement).objective_us, evaluator:evaluate(placement).objective_us
  end)
  if fine and us == again and us ~= problem:evaluate(placement).objective_us then
    return (" (%.9g us on one device)"):format(us)
  end
  return ""
end

-- The source of what a placement is worth.
local function worth(options, among_processes)
  local evaluators = options.given.evaluators
  if type(evaluators) == "function" then
    return among_processes and sources.of_text(evaluators) or sources.of_function(evaluators)
  end
  local texts, seen = {}, {}
  for i, evaluator in ipairs(evaluators or {}) do
    local text = evaluator:measures() and "measured" or "simulated"
    if text == "simulated" and options.checkpoint ~= "" and not among_processes then
      text = text .. own_runtime(evaluator, options.problems[i])
    end
    if not seen[text] then texts[#texts + 1] = text end
    seen[text] = true
  end
  return #texts > 0 and table.concat(texts, ", ") or "simulated"
end

-- The policy's own options: how it learns is among them.
local function add_policy(policy, settings)
  if type(policy) == "function" then
    settings.policy = sources.of_text(policy)
    return
  end
  for name, value in pairs(policy:options()) do settings["of the policy, " .. name] = value end
end

--   ARGS    among_processes  whether it is compared with other processes', whose functions hold things of their own
--   RETURN  as of berth.fingerprints
function checkpoint.fingerprint(options, among_processes)
  local of = { settings = { evaluators = worth(options, among_processes) }, problems = {} }
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
  local fine, loaded = pcall(options.policy.load, options.policy, path)
  if not fine then
    -- The store's is in no file that one could delete.
    local anew = named == path and "; to train anew, delete it, or set resume = false" or ""
    error(("train: %s%s"):format(tostring(loaded):gsub("^.-: policy:load: ", ""), anew), 3)
  end
  local kept = notes.read(loaded)
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
