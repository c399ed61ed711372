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
-- The logarithm by which a pass that does not fit is compared with others: worse than any runtime.
local UNFIT = math.log(1e15)

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

-- The runtime of one pass by the rule, in microseconds; math.huge where it does not fit, and then why.
local function pass_us(rule, problem, folder)
  local path = folder .. "/rule.weights"
  instant.save(path, { rule })
  local fine, placement, outcome = pcall(function()
    return berth.policy("instant", { weights = path, passes = 1 }):place(problem, { seed = 1 })
  end)
  if berth.should_stop() then error("stopped", 0) end
  if fine and outcome.feasible then return outcome.objective_us end
  return math.huge, not fine and tostring(placement):match("^[^\n]*"):gsub("^.-%.lua:%d+: ", "") or "its placement does not fit"
end

-- Whether a pass can take so long; math.huge says that it does not fit. A record holds what it was given.
local function is_runtime(us) return us == math.huge or us >= 1e-9 and us <= 1e24 end

-- The best `keep` of tried = { { rule =, log_us = { by problem } }, .. } together, best first, the mean of the problems
-- that one of them fits (nil for none), and how many none fits. Rules that are alike beside the others come in the order
-- of what they are alone.
local function best_together(tried, keep, problems)
  local kept, taken, least = {}, {}, {}
  for i = 1, problems do least[i] = UNFIT end
  local function with(each)
    local sum, alone = 0, 0
    for i = 1, problems do
      sum, alone = sum + math.min(least[i], each.log_us[i]), alone + math.min(UNFIT, each.log_us[i])
    end
    return sum, alone
  end
  for _ = 1, math.min(keep, #tried) do
    local best, least_sum, least_alone = nil, math.huge, math.huge
    for _, each in ipairs(tried) do
      local sum, alone = with(each)
      if not taken[each] and (sum < least_sum or sum == least_sum and alone < least_alone) then
        best, least_sum, least_alone = each, sum, alone
      end
    end
    kept[#kept + 1], taken[best] = best.rule, true
    for i = 1, problems do least[i] = math.min(least[i], best.log_us[i]) end
  end
  local fit = {}
  for i = 1, problems do
    if least[i] < UNFIT then fit[#fit + 1] = least[i] end
  end
  return kept, #fit > 0 and statistics.mean(fit) or nil, problems - #fit
end

-- Learns rules.
--   ARGS    options  table: problems (array of berth.Problem); optional:
--             draws     rules to try, default 300; each takes a pass over every problem
--             keep      rules to keep, default 8: a pass by each of the first two is made first
--             seed      default 1
--             record    file of runs that are done, as of berth.record: the same call goes on where it was stopped; what
--                       it holds of other problems is left alone
--             progress  function of { draw =, draws =, log_us = the mean so far, of the problems that a pass fits;
--                       nil where that is none, unfit = how many it fits not }
--   RETURN  array of rules, best first; each an array of eleven weights. An error where no pass fits any problem
function instant.learn(options)
  known.check("instant.learn", options, { "problems", "draws", "keep", "seed", "record", "progress" })
  local problems, random = options.problems, berth.random(options.seed or 1)
  local draws, keep = options.draws or 300, options.keep or 8
  if type(problems) ~= "table" or #problems == 0 then error("instant.learn: name at least one problem", 2) end
  local runs, folder = record.open(options.record), processes.temporary_folder "berth-learn-"
  local tried, keys, unfit_because = {}, {}, nil
  for i, each in ipairs(problems) do keys[i] = fingerprints.key_of(each) end
  local fine, problem = pcall(function()
    for number = 1, draws do
      local kept = number > 1 and number > (1 - VARIED) * draws and best_together(tried, keep, #problems)
      local rule = kept and vary(kept[random:integer(#kept)], random) or draw(random)
      local log_us = {}
      for i, each in ipairs(problems) do
        log_us[i] = math.log(runs.once(("%s: %s"):format(keys[i], text_of(rule)), function()
          local us, why = pass_us(rule, each, folder)
          unfit_because = why or unfit_because
          return us
        end, is_runtime))
      end
      tried[number] = { rule = rule, log_us = log_us }
      if options.progress and number % 10 == 0 then
        local _, reached, unfit = best_together(tried, keep, #problems)
        options.progress { draw = number, draws = draws, log_us = reached, unfit = unfit }
      end
    end
  end)
  processes.remove_all(folder)
  if not fine then error(problem, 0) end
  local rules, reached = best_together(tried, keep, #problems)
  if not reached then
    error(("instant.learn: no pass fits any of the problems, so that there is nothing to learn from; give devices with more "
      .. "memory%s"):format(unfit_because and " (" .. unfit_because .. ")" or ""), 2)
  end
  return rules
end

-- The mean ratio of one pass's runtime to one device's, of the best of `rules`.
--   RETURN  the ratio, of the problems that a pass fits, and one device too; nil where that is none
--           how many these are
--           how many a pass fits
function instant.ratio(rules, problems)
  local folder, logs, fits = processes.temporary_folder "berth-learn-", {}, 0
  for _, problem in ipairs(problems) do
    local least_us, single = math.huge, problem:single()
    for _, rule in ipairs(rules) do least_us = math.min(least_us, (pass_us(rule, problem, folder))) end
    if least_us < math.huge then fits = fits + 1 end
    if least_us < math.huge and single then logs[#logs + 1] = math.log(least_us / single.evaluation.objective_us) end
  end
  processes.remove_all(folder)
  return #logs > 0 and math.exp(statistics.mean(logs)) or nil, #logs, fits
end

return instant
