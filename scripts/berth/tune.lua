-- Placements and costs from a few measured steps.
--
--   local tune = require "berth.tune"
--   local found = tune.run { problem = problem, evaluator = hardware, measurements = 25, seed = 1 }
--   found.costs:save("costs.json", problem:graph(), found.cluster)
--
-- The costs of the problem are an assumption. Each round finds a placement for costs that the measurements so far leave
-- possible, and measures it. Every second round takes the most likely costs, the others a draw from their posterior
-- (Thompson sampling): what is not known well differs from draw to draw, and what pays if it is fast gets measured.
-- The costs, and how draws are made: berth/tune/beliefs.lua.
--
-- As a policy, whose evaluator is the hardware, so that it runs wherever policies run: with `berth tune`, in
-- `workers.place` (give it `batch` = the number of workers), in a comparison:
--
--   berth.policy(tune.register(), { measurements = 25, costs = "costs.json" }):place(problem, { evaluator = hardware })

local berth = require "berth"
local beliefs = require "berth.tune.beliefs"
local known = require "berth.known"
local measured = require "berth.tune.measured"
local ranking = require "berth.train.ranking"
local statistics = require "berth.statistics"

local tune = {}

tune.DEFAULTS = {
  measurements = 25,  -- placements to measure
  batch = 1,          -- how many at a time, for evaluators that measure several at once
  moves = 2000,       -- of `auto`, which finds each placement
  again = 3,          -- how often the best few are measured again in turn before one of them answers; 0 = the answer is
                      -- the best of what was measured
  seed = 0,
}

-- Draws from the posterior, for intervals; and how often a placement is drawn anew that was measured before.
local ENSEMBLE, TRIES = 32, 3
-- Placements that are measured again, besides the reference.
local FINALISTS = 3
-- So many failures of the hardware in a row end the search.
local FAILURES = 3
-- Random moves away from placements that failed before none is proposed.
local STEPS = 20

-- Proposing and learning -----------------------------------------------------------------------

local Tuning = {}
Tuning.__index = Tuning

local function key_of(placement) return table.concat(placement, ",") end

function Tuning:should_stop()
  -- Ctrl-C ends it in any case.
  return berth.should_stop() or self.given.should_stop ~= nil and self.given.should_stop()
end

-- A placement that is good under these values of the beliefs; nil where an interrupt came before the search began.
function Tuning:placed(values, seed)
  local initial = self.best and { self.best.placement } or self.given.initial
  local policy, problem = berth.policy("auto", { moves = self.options.moves }), self.beliefs:posed(values)
  local fine, placement = pcall(policy.place, policy, problem, { seed = seed, initial = initial })
  if fine then return placement end
  if berth.should_stop() then return nil end
  error(placement, 0)
end

-- Whether a placement failed more often than it ran: the hardware would only say so again.
local function is_useless(seen) return seen ~= nil and seen.failures > #seen.evaluations end

-- The placement, if it is worth a measurement, or one some random moves of a group away; nil where all of these failed, too.
function Tuning:unless_useless(placement, also, random)
  local problem, placed = self.given.problem, { unpack(placement) }
  local groups, devices = problem:groups(), problem:cluster():device_count()
  for _ = 0, STEPS do
    local key = key_of(placed)
    if not is_useless(self.seen[key]) and not also[key] then return placed end
    local group, device = random:integer(groups:count()), random:integer(devices)
    local moved = { unpack(placed) }
    for _, op in ipairs(groups:members(group)) do moved[op] = device end
    if pcall(problem.validate, problem, moved) then placed = moved end
  end
  return nil
end

-- The placement to measure next, nil where there is none; `also` are keys of those that are measured beside it.
function Tuning:propose(number, also)
  local random = berth.random((self.options.seed * 8191 + number) % 2 ^ 53)
  local placement
  for try = 1, TRIES do
    if #self.measured > 0 and self:should_stop() then return nil end
    local values
    if try == 1 and number % 2 == 1 then
      values = self.beliefs.values
    else
      values = self.beliefs:draw(random, try == TRIES)
    end
    placement = self:placed(values, self.options.seed + number)
    if not placement then return nil end
    local key = key_of(placement)
    if not self.seen[key] and not also[key] then break end
  end
  -- A placement that ran may be measured again: its median gets better.
  if is_useless(self.seen[key_of(placement)]) then placement = self:unless_useless(placement, also, random) end
  if placement then also[key_of(placement)] = true end
  return placement
end

-- Placements that ran, the least median first.
function Tuning:ranked()
  local ranked = {}
  for _, seen in ipairs(self.order) do
    if #seen.evaluations > 0 and not is_useless(seen) then ranked[#ranked + 1] = seen end
  end
  table.sort(ranked, function(a, b)
    local a_us, b_us = a.evaluation.objective_us, b.evaluation.objective_us
    if a_us ~= b_us then return a_us < b_us end
    return a.number < b.number
  end)
  return ranked
end

function Tuning:take(each)
  self.measured[#self.measured + 1] = each
  local key = key_of(each.placement)
  local seen = self.seen[key]
  if not seen then
    seen = { placement = each.placement, evaluations = {}, failures = 0, number = #self.order + 1 }
    self.seen[key], self.order[seen.number] = seen, seen
  end
  if measured.usable(each.evaluation) then
    table.insert(seen.evaluations, each.evaluation)
    table.sort(seen.evaluations, function(a, b) return a.objective_us < b.objective_us end)
    -- One that was measured once or twice more has its median, as no single figure is to be trusted.
    seen.evaluation = seen.evaluations[math.floor((#seen.evaluations + 1) / 2)]
    self.beliefs.memory:ran(each.placement)
    self.beliefs:learn(each.placement, each.evaluation)
  else
    seen.failures = seen.failures + 1
    if each.evaluation.feasible == false and not each.failure then self.beliefs.memory:overflowed(each.placement) end
  end
  self.best = self:ranked()[1]
end

-- Measures placements: an evaluation for each; a text of the hardware where it failed. nil where a stop made it fail.
function Tuning:evaluations_of(placements)
  local evaluator = self.given.evaluator
  local fine, found = pcall(evaluator.batch, evaluator, placements)
  if fine then return found end
  if self:should_stop() then return nil end
  if #placements == 1 then return { tostring(found) } end
  local evaluations = {}
  for i, placement in ipairs(placements) do
    local single = self:evaluations_of { placement }
    if not single then return nil end
    evaluations[i] = single[1]
  end
  return evaluations
end

-- Whether the search may go on.
function Tuning:measure(placements, keep)
  local now, predicted = self.beliefs:posed(), {}
  for i, placement in ipairs(placements) do predicted[i] = now:evaluate(placement).objective_us end
  local evaluations = self:evaluations_of(placements)
  if not evaluations then return false end
  for i, evaluation in ipairs(evaluations) do
    local each = { placement = placements[i], evaluation = evaluation, predicted_us = predicted[i] }
    if type(evaluation) == "string" then
      each.failure, each.evaluation = evaluation, { objective_us = 0, feasible = false }
      self.failure = evaluation
    end
    self.in_a_row = each.failure and self.in_a_row + 1 or 0
    keep(each)
    self:take(each)
    self.seen[key_of(each.placement)].here = true
  end
  return self.in_a_row < FAILURES
end

-- The best placement by what the best few take when they are measured again, in turn. A search calls best what was
-- lucky, and what is not faster than the reference is not to be the answer.
function Tuning:answer(finalists)
  if self.options.again == 0 or #finalists < 2 or self:should_stop() then return self.best end
  local placements = {}
  for i, seen in ipairs(finalists) do placements[i] = seen.placement end
  local fine, found = pcall(ranking.measure_again, self.given.evaluator, placements, nil, { runs = self.options.again,
    should_stop = function() return self:should_stop() end })
  if not fine or not measured.usable(found[1].evaluation) then return self.best end
  return found[1]
end

local function read_given(given)
  if type(given) ~= "table" or not given.problem or not given.evaluator then
    error("tune: a table with 'problem' and 'evaluator' expected", 3)
  end
  local taken = { problem = true, evaluator = true, record = true, initial = true, progress = true, should_stop = true,
    prior = true, reference = true }
  for name, default in pairs(tune.DEFAULTS) do taken[name] = default end
  known.check("tune", given, taken, 4)
  local options = {}
  for name, default in pairs(tune.DEFAULTS) do
    local value = given[name] == nil and default or given[name]
    local least = (name == "seed" or name == "again") and 0 or 1
    if type(value) ~= "number" or value % 1 ~= 0 or value < least then
      error(("tune: option '%s': a whole number from %d on expected, got %s"):format(name, least, tostring(value)), 3)
    end
    options[name] = value
  end
  if given.problem:objective() ~= "latency" then
    error("tune: runtimes of one step are measured; the problem's objective is " .. given.problem:objective(), 3)
  end
  return options
end

-- Medians of |predicted / measured - 1|: under the assumed costs, and by what was known before each was measured.
local function errors_of(self)
  local assumed, learnt = {}, {}
  for _, each in ipairs(self.measured) do
    if measured.usable(each.evaluation) then
      local us = each.evaluation.objective_us
      assumed[#assumed + 1] = math.abs(self.given.problem:evaluate(each.placement).objective_us / us - 1)
      if each.predicted_us and #assumed > 1 then learnt[#learnt + 1] = math.abs(each.predicted_us / us - 1) end
    end
  end
  -- The first ones were made by those who knew little.
  local later = {}
  for i = math.floor(#learnt / 2) + 1, #learnt do later[#later + 1] = learnt[i] end
  return statistics.median(assumed), #later > 0 and statistics.median(later) or nil
end

-- Measures placements until there are enough, a stop, or nothing more to try.
function Tuning:search(keep)
  local options = self.options
  local function tell()
    if self.given.progress and self.best then
      self.given.progress(self.best.evaluation.objective_us, ("%d of %d measured"):format(#self.measured,
        options.measurements))
    end
  end
  tell()
  local reference = self.given.reference
  local besides, goes_on = reference and 1 or 0, true
  if reference and not self.seen[key_of(reference)] then
    goes_on = self:measure({ reference }, keep)
    tell()
  end
  while goes_on and #self.measured < options.measurements + besides do
    if #self.measured > 0 and self:should_stop() then break end
    local placements, also = {}, {}
    for i = 1, math.min(options.batch, options.measurements + besides - #self.measured) do
      local placement = self:propose(#self.measured - besides + i, also)
      if not placement then break end
      placements[i] = placement
    end
    if #placements == 0 then break end
    goes_on = self:measure(placements, keep)
    tell()
  end
end

-- Measures placements and learns costs from them.
--   ARGS    given  table: problem (berth.Problem with the assumed costs), evaluator (of the hardware: only the
--                  objective_us of its evaluations is needed, busy_us helps; an error that it raises is a failed
--                  measurement), of DEFAULTS; optional record (a file that a later call goes on from), initial
--                  (placements), reference (a placement that is measured first, besides the others),
--                  progress(best_us, text), should_stop()
--   RETURN  table: placement and evaluation of the best one, by the medians of what the best few and the reference took when
--           they were measured again; costs, cluster and problem, the most likely, with the memory that devices are believed
--           to have where placements did not fit; measured: array of { placement, evaluation, predicted_us, failure (what
--           the hardware said where it raised an error) }, without the measurements again; finalists: array of { placement,
--           evaluation, here (whether this call measured it) }, the best few of these, the best first, and the reference; factors: array of { type, kind, factor,
--           low, high, us }, how much longer ops take than assumed, by their time under the assumed costs, with the interval
--           of 80 %; assumed_error, predicted_error: medians of the relative errors of runtimes, under the assumed costs
--           and, for the later half, by what was known before each was measured; useless: how many measurements gave no
--           runtime, for the placement did not fit, the hardware failed, or said 0 or no number; failure: the last error of the
--           hardware, if any. nil where all did. After three errors in a row the search ends; where none ran, with the
--           last of them
function tune.run(given)
  local options = read_given(given)
  local self = setmetatable({ given = given, options = options, beliefs = beliefs.new(given.problem, given.prior),
    measured = {}, seen = {}, order = {}, in_a_row = 0 }, Tuning)
  local before, keep = measured.open(given.record, given.problem, { seed = options.seed })
  for _, each in ipairs(before) do self:take(each) end
  self:search(keep)
  if not self.best then
    if self.in_a_row >= FAILURES then
      error(("tune: the hardware failed %d times in a row, and no placement ran before: %s"):format(self.in_a_row,
        self.failure), 0)
    end
    return nil
  end
  self.reference = given.reference and self.seen[key_of(given.reference)]
  local ranked, useless, finalists = self:ranked(), 0, {}
  for _, each in ipairs(self.measured) do
    if not measured.usable(each.evaluation) then useless = useless + 1 end
  end
  for i, seen in ipairs(ranked) do
    if i <= FINALISTS or seen == self.reference then finalists[#finalists + 1] = seen end
  end
  local answer = self:answer(finalists)
  local costs, cluster = self.beliefs:figures()
  local assumed, predicted = errors_of(self)
  return { placement = answer.placement, evaluation = answer.evaluation, costs = costs, cluster = cluster,
    problem = given.problem:with(costs, cluster), measured = self.measured, finalists = finalists,
    factors = self.beliefs:factors(berth.random(options.seed), ENSEMBLE), assumed_error = assumed,
    predicted_error = predicted, useless = useless, failure = self.failure }
end

-- The policy ---------------------------------------------------------------------------------------

local function note_of(found, single)
  local text = ("%d placements were measured%s; the assumed costs predict them %.0f %% off (median)"):format(
    #found.measured - (single and 1 or 0), single and (", and one device (%s)"):format(single.text) or "", 100 * found.assumed_error)
  if found.predicted_error then
    text = text .. (", the learnt ones predicted the later half %.0f %% off"):format(100 * found.predicted_error)
  end
  return text
end

-- Shows the policy's evaluator finalists that only a record has: whoever runs the policy measures again what
-- the policy asked for, and chooses among it.
local function show_recorded(found, evaluator)
  local placements = {}
  for _, each in ipairs(found.finalists) do
    if not each.here then placements[#placements + 1] = each.placement end
  end
  if evaluator:measures() and #placements > 0 then pcall(evaluator.batch, evaluator, placements) end
end

-- Registers the policy "tune".
--   RETURN  its name
function tune.register()
  return berth.register_policy {
    name = "tune", version = "1.0",
    description = "learns the costs from a few measured placements; the evaluator is the hardware",
    options = {
      { name = "measurements", default = tune.DEFAULTS.measurements, at_least = 1, meaning = "placements to measure, besides the one on one device" },
      { name = "batch", default = tune.DEFAULTS.batch, at_least = 1, meaning = "how many are measured at a time" },
      { name = "moves", default = tune.DEFAULTS.moves, at_least = 1, meaning = "moves of `auto` for each placement" },
      { name = "record", default = "", meaning = "a file of the measurements, to go on from" },
      { name = "costs", default = "", meaning = "a file for the learnt costs (berth.costs/1)" },
      { name = "machine", default = "", meaning = "a file for the learnt machine (berth.cluster/1)" },
    },
    place = function(problem, evaluator, context)
      local options = context:options()
      -- Everything is compared with the runtime on one device, so that nothing slower than it may be the answer.
      local single = problem:single()
      local found = tune.run { problem = problem, evaluator = evaluator, measurements = options.measurements,
        batch = options.batch, moves = options.moves, again = 0, record = options.record, seed = context:seed(),
        reference = single and single.placement, initial = context:initial(), should_stop = function() return context:should_stop() end,
        progress = function(best_us, text) context:progress(best_us, text) end }
      if not found then berth.infeasible("none of the placements that were measured fits") end
      context:note(note_of(found, single))
      show_recorded(found, evaluator)
      if found.useless > 0 then
        context:note(("%d of the measurements gave no runtime: the placement did not fit, the hardware failed, or its runtime "
          .. "was no number above 0%s"):format(found.useless, found.failure and "; it said: " .. found.failure or ""))
      end
      if options.costs ~= "" then found.costs:save(options.costs, problem:graph(), found.cluster) end
      if options.machine ~= "" then found.cluster:save(options.machine) end
      return found.placement
    end,
  }
end

return tune
