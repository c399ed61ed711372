-- The options of train.episodes, their defaults, and the values of each.

local arguments = require "berth.arguments"
local berth = require "berth"
local known = require "berth.known"
local workers = require "berth.workers"

local options = {}

options.DEFAULTS = {
  -- The policy and its problems
  policy = true,    -- a policy that learns, or a function that makes it: with `workers` it is called where the
                    -- policy is needed
  problems = true,  -- array; every update samples from all of them, or from `batch` of them
  count = true,     -- updates
  evaluators = false, -- array by problem: who measures, such as a berth.evaluator with a session, which
                    -- drops warm-up steps and takes the mean of the rest; default: simulation. Or a
                    -- function(problem, i) that makes one, called where it measures
  -- Options that affect learning. The defaults are those that learned fastest and most reliably; the published
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
                          -- per fast device), "earliest" (list scheduling), "random", "shared" (one
                          -- random placement for all samples of a problem in an update), "best" (the
                          -- best placement so far), "latest" (the best of the problem's last update), "none"
                          -- (begins as "zero", and nothing counts as best but what episodes end with),
                          -- or a function(round, rounds) that returns one of them; a round is as many
                          -- updates as it takes to sample from every problem.
                          -- Episodes of one start differ by their decisions alone, so that the
                          -- baseline takes away all else
  seed = 1,
  workers = false,        -- table of workers.DEFAULTS: the processes that torchrun, srun or `berth run --workers`
                          -- started train together; a process that is alone trains as without
  -- Evaluation, curves and files
  finalists = 5,          -- where an evaluator measures: the best of so many placements is found by measuring
                          -- them again at the end, in turn; the best of many noisy figures is a lucky one
  evaluate_every = 0,     -- greedy episodes every so many updates; 0 = at the end alone. They begin with the
                          -- best single device; greedy_us is of what they end with, not of what they passed, and
                          -- infinite where one of these does not fit
  checkpoint = "",        -- file, written every `checkpoint_every` updates and at the end
  checkpoint_every = 50,
  resume = true,          -- go on from the checkpoint where it is there
  mix = arguments.given "--mix",  -- even if it was made with other options, rewards or baselines, or on other
                          -- problems, which is otherwise an error; `--mix` on the script's command line
  tensorboard = "",       -- a folder for TensorBoard, or a file with "tfevents" in its name
  csv = "",               -- table of the training curve
  progress = false,       -- function(record), called after every update; see train.progress_line
  should_stop = berth.should_stop,  -- function(), asked after every update; Ctrl-C and SIGTERM end it in any case
}

-- The values of an option: a text for the message, and a test of a value.
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

local STARTS = { best = true, contiguous = true, earliest = true, latest = true, none = true, random = true,
                 shared = true, single = true, zero = true }

local RANGES = {
  policy = { "a policy: berth.policy(name, options)",
    function(value) return type(value) ~= "boolean" and type(value) ~= "number" and type(value) ~= "string" end },
  problems = { array() },
  evaluators = { "an array, { one, .. }, or a function", function(value)
    return value == false or type(value) == "function" or type(value) == "table" and #value > 0 end },
  count = { whole(1) },
  reward = { of_type("function", true) }, discount = { between(0, 1) },
  baseline = { "a constructor, such as baselines.per_step or function() return "
    .. "baselines.moving_average { decay = 0.9 } end",
    function(value) return type(value) == "function" or value == false end },
  learning_rate = { rate(0, math.huge) }, entropy_weight = { rate(0, math.huge) },
  score = { of_type("function", true) },
  max_norm = { "a number from 0 on, or math.huge",
    function(value) return type(value) == "number" and value >= 0 end },
  epsilon = { rate(0, 1) }, noise = { rate(0, math.huge) },
  valid_only_after = { "a number of updates", function(value)
    return type(value) == "number" and value >= 0 end },
  samples = { whole(1) }, batch = { whole(0) }, traversal = { of_type "string" },
  initial = { "best, contiguous, earliest, latest, none, random, shared, single, zero, or a function", function(value)
    return STARTS[value] or type(value) == "function" end },
  workers = { "a table", function(value) return value == false or type(value) == "table" end },
  seed = { whole(0, 9e9) },  -- with the update's number behind it a seed is still a whole number
  finalists = { whole(1) }, evaluate_every = { whole(0) },
  checkpoint = { of_type "string" }, checkpoint_every = { whole(1) },
  resume = { of_type "boolean" }, mix = { of_type "boolean" }, tensorboard = { of_type "string" }, csv = { of_type "string" },
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

-- All options of a training, of what is given; errors are those of the caller's caller.
function options.read(given)
  if type(given) ~= "table" then
    error(("train: a table of options expected, got %s"):format(shown(given)), 3)
  end
  local all = known.over("train", given, options.DEFAULTS, 4)
  for _, name in ipairs { "policy", "problems", "count" } do
    if all[name] == true then error(("train: option '%s' is missing"):format(name), 3) end
  end
  for name, range in pairs(RANGES) do
    if not range[2](all[name]) then
      error(("train: option '%s' is %s; give %s"):format(name, shown(all[name]), range[1]), 3)
    end
  end
  if type(all.evaluators) == "table" and #all.evaluators ~= #all.problems then
    error(("train: there are %d evaluators for %d problems; give one for each"):format(
      #all.evaluators, #all.problems), 3)
  end
  -- A checkpoint belongs to what was given, of which processes make different parts.
  all.given = { evaluators = all.evaluators, policy = all.policy }
  if all.workers then all.workers = workers.read_options(all.workers, 3) end
  if type(all.policy) ~= "function" then check_learns(all.policy, 4) end
  return all
end

-- Makes what options give as functions.
function options.make_policy(of)
  if type(of.policy) ~= "function" then return end
  of.policy = of.policy()
  if type(of.policy) ~= "userdata" or not tostring(of.policy):find "^policy " then
    error(("train: `policy` made %s; it makes a policy: berth.policy(name, options)"):format(shown(of.policy)), 3)
  end
  check_learns(of.policy, 3)
end

function options.make_evaluators(of)
  if not of.evaluators then return end
  local make, made = of.evaluators, {}
  for i, problem in ipairs(of.problems) do
    if type(make) == "function" then made[i] = make(problem, i) else made[i] = make[i] end
    if not (type(made[i]) == "userdata" and tostring(made[i]):find "^evaluator ") then
      error(("train: the evaluator of problem %d is %s; give berth.evaluator(problem, ..)"):format(i, shown(made[i])), 3)
    end
  end
  of.evaluators = made
end

return options
