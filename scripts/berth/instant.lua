-- Learns the rules of `instant`: the weights by which a pass of its list scheduler chooses devices.
--
--   local instant = require "berth.instant"
--   local rules = instant.learn { problems = problems, draws = 300, keep = 8, seed = 1 }
--   instant.save("mine.weights", rules)
--   berth.policy("instant", { weights = "mine.weights" }):place(problem)
--
-- A rule has eleven weights (plugins/instant/rules.h), and a pass is over in milliseconds, so nothing is differentiated:
-- rules are drawn, each makes one pass over every problem, and those are kept which are best together, the first alone,
-- the second beside the first, and so on; then variations of those that are kept are drawn in the same way. What counts is
-- the logarithm of the runtime, the least of the kept rules' on each problem.

local berth = require "berth"
local files = require "berth.files"
local fingerprints = require "berth.fingerprints"
local known = require "berth.known"
local processes = require "berth.processes"
local record = require "berth.record"
local statistics = require "berth.statistics"

local instant = {}

local WEIGHTS = { "arrive", "send", "join", "load", "wait", "slow", "future", "stay", "transfers",
                  "share", "bind" }

-- How a weight is drawn: 0 with this chance, else between the ends, evenly in its logarithm. `future` and `stay` do
-- nothing in a pass from nothing, which is what rules are judged by; passes around a placement vary them.
local RANGES = { arrive = { 0.2, 0.1, 4 }, send = { 0.2, 0.1, 4 }, join = { 0.15, 0.1, 4 }, load = { 0.6, 0.01, 1 },
                 wait = { 0.6, 0.03, 1 }, slow = { 0.6, 0.1, 4 }, future = { 0, 1, 2 }, stay = { 0, 0.05, 0.05 },
                 transfers = { 0.5, 0.03, 2 }, share = { 0.4, 0.005, 0.3 }, bind = { 0.3, 0.1, 4 } }
-- Share of the draws that vary rules that are kept; and by which factor at most, one way or the other.
local VARIED, FACTOR = 0.4, 2
-- Runtime of a pass that fits nowhere, in microseconds.
local NOTHING = 1e9

local function uniform(random) return random:integer(2 ^ 30) / 2 ^ 30 end

local function draw(random)
  local rule = {}
  for i, name in ipairs(WEIGHTS) do
    local none, least, most = unpack(RANGES[name])
    local weight = least * (most / least) ^ uniform(random)
    rule[i] = uniform(random) < none and 0 or weight
  end
  return rule
end

local function vary(rule, random)
  local other = {}
  for i, weight in ipairs(rule) do other[i] = weight * FACTOR ^ (uniform(random) - uniform(random)) end
  return other
end

local function text_of(rule)
  local texts = {}
  for i, weight in ipairs(rule) do texts[i] = ("%.4g"):format(weight) end
  return table.concat(texts, " ")
end

-- Writes rules as a file of weights.
function instant.save(path, rules)
  local lines = { "berth.instant/2" }
  for _, rule in ipairs(rules) do lines[#lines + 1] = text_of(rule) end
  files.write(path, table.concat(lines, "\n"), "\n")
end

-- The runtime of one pass by the rule, in microseconds.
local function pass_us(rule, problem, folder)
  local path = folder .. "/rule.weights"
  instant.save(path, { rule })
  local fine, _, outcome = pcall(function()
    return berth.policy("instant", { weights = path, passes = 1 }):place(problem, { seed = 1 })
  end)
  if berth.should_stop() then error("stopped", 0) end
  return fine and outcome.feasible and outcome.objective_us or NOTHING
end

-- The best `keep` of tried = { { rule =, log_us = { by problem } }, .. } together, best first, and their mean.
local function best_together(tried, keep, problems)
  local kept, least = {}, {}
  for i = 1, problems do least[i] = math.log(NOTHING) end
  local function with(each)
    local sum = 0
    for i = 1, problems do sum = sum + math.min(least[i], each.log_us[i]) end
    return sum / problems
  end
  local reached
  for _ = 1, math.min(keep, #tried) do
    local best, least_sum = nil, math.huge
    for _, each in ipairs(tried) do
      local sum = with(each)
      if sum < least_sum then best, least_sum = each, sum end
    end
    kept[#kept + 1], reached = best.rule, least_sum
    for i = 1, problems do least[i] = math.min(least[i], best.log_us[i]) end
  end
  return kept, reached
end

-- Learns rules.
--   ARGS    options  table: problems (array of berth.Problem); optional:
--             draws     rules to try, default 300; each takes a pass over every problem
--             keep      rules to keep, default 8: a pass by each of the first two is made first
--             seed      default 1
--             record    file of runs that are done, as of berth.record: the same call goes on where it was stopped; what
--                       it holds of other problems is left alone
--             progress  function of { draw =, draws =, log_us = the mean so far }
--   RETURN  array of rules, best first; each an array of eleven weights
function instant.learn(options)
  known.check("instant.learn", options, { "problems", "draws", "keep", "seed", "record", "progress" })
  local problems, random = options.problems, berth.random(options.seed or 1)
  local draws, keep = options.draws or 300, options.keep or 8
  if type(problems) ~= "table" or #problems == 0 then error("instant.learn: name at least one problem", 2) end
  local runs, folder = record.open(options.record), processes.temporary_folder "berth-learn-"
  local tried, keys = {}, {}
  for i, each in ipairs(problems) do keys[i] = fingerprints.key_of(each) end
  local fine, problem = pcall(function()
    for number = 1, draws do
      local kept = number > 1 and number > (1 - VARIED) * draws and best_together(tried, keep, #problems)
      local rule = kept and vary(kept[random:integer(#kept)], random) or draw(random)
      local log_us = {}
      for i, each in ipairs(problems) do
        log_us[i] = math.log(runs.once(("%s: %s"):format(keys[i], text_of(rule)), function()
          return pass_us(rule, each, folder)
        end))
      end
      tried[number] = { rule = rule, log_us = log_us }
      if options.progress and number % 10 == 0 then
        local _, reached = best_together(tried, keep, #problems)
        options.progress { draw = number, draws = draws, log_us = reached }
      end
    end
  end)
  processes.remove_all(folder)
  if not fine then error(problem, 0) end
  return (best_together(tried, keep, #problems))
end

-- The mean ratio of one pass's runtime to one device's, over `problems`, of the best of `rules`.
function instant.ratio(rules, problems)
  local folder, logs = processes.temporary_folder "berth-learn-", {}
  for i, problem in ipairs(problems) do
    logs[i] = math.huge
    for _, rule in ipairs(rules) do logs[i] = math.min(logs[i], math.log(pass_us(rule, problem, folder))) end
    local single = problem:single()
    logs[i] = logs[i] - math.log(single and single.evaluation.objective_us or NOTHING)
  end
  processes.remove_all(folder)
  return math.exp(statistics.mean(logs))
end

return instant
