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
local statistics = require "berth.statistics"

local tune = {}

tune.DEFAULTS = {
  measurements = 25,  -- placements to measure
  batch = 1,          -- how many at a time, for evaluators that measure several at once
  moves = 2000,       -- of `auto`, which finds each placement
  seed = 0,
}

-- Draws from the posterior, for intervals; and how often a placement is drawn anew that was measured before.
local ENSEMBLE, TRIES = 32, 3

-- Proposing and learning -----------------------------------------------------------------------

local Tuning = {}
Tuning.__index = Tuning

local function key_of(placement) return table.concat(placement, ",") end

-- A placement that is good under these values of the beliefs.
function Tuning:placed(values, seed)
  local initial = self.best and { self.best.placement } or self.given.initial
  return (berth.policy("auto", { moves = self.options.moves }):place(self.beliefs:posed(values), { seed = seed,
    initial = initial }))
end

-- The placement to measure next; `also` are keys of those that are measured beside it.
function Tuning:propose(number, also)
  local random = berth.random((self.options.seed * 8191 + number) % 2 ^ 53)
  local placement
  for try = 1, TRIES do
    local values
    if try == 1 and number % 2 == 1 then
      values = self.beliefs.values
    else
      values = self.beliefs:draw(random, try == TRIES)
    end
    placement = self:placed(values, self.options.seed + number)
    local key = key_of(placement)
    if not self.seen[key] and not also[key] then break end
  end
  also[key_of(placement)] = true
  return placement
end

function Tuning:take(each)
  self.measured[#self.measured + 1] = each
  self.seen[key_of(each.placement)] = true
  if not measured.usable(each.evaluation) then return end
  if not self.best or each.evaluation.objective_us < self.best.evaluation.objective_us then self.best = each end
  self.beliefs:learn(each.placement, each.evaluation)
end

function Tuning:measure(placements, keep)
  local now, predicted = self.beliefs:posed(), {}
  for i, placement in ipairs(placements) do predicted[i] = now:evaluate(placement).objective_us end
  for i, evaluation in ipairs(self.given.evaluator:batch(placements)) do
    local each = { placement = placements[i], evaluation = evaluation, predicted_us = predicted[i] }
    keep(each)
    self:take(each)
  end
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
    local least = name == "seed" and 0 or 1
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

-- Measures placements and learns costs from them.
--   ARGS    given  table: problem (berth.Problem with the assumed costs), evaluator (of the hardware: only the
--                  objective_us of its evaluations is needed, busy_us helps), of DEFAULTS; optional record (a file that a
--                  later call goes on from), initial (placements), reference (a placement that is measured first, besides
--                  the others), progress(best_us, text), should_stop()
--   RETURN  table: placement and evaluation of the best one measured; costs, cluster and problem, the most likely;
--           measured: array of { placement, evaluation, predicted_us }; factors: array of { type, kind, factor, low,
--           high, us }, how much longer ops take than assumed, by their time under the assumed costs, with the interval
--           of 80 %; assumed_error, predicted_error: medians of the relative errors of runtimes, under the assumed costs
--           and, for the later half, by what was known before each was measured; useless: how many measurements gave no
--           runtime, for the placement did not fit or the hardware said 0 or no number. nil where all did
function tune.run(given)
  local options = read_given(given)
  local self = setmetatable({ given = given, options = options, beliefs = beliefs.new(given.problem, given.prior),
    measured = {}, seen = {} }, Tuning)
  local before, keep = measured.open(given.record, given.problem, { seed = options.seed })
  for _, each in ipairs(before) do self:take(each) end
  local function tell()
    if given.progress and self.best then
      given.progress(self.best.evaluation.objective_us, ("%d of %d measured"):format(#self.measured,
        options.measurements))
    end
  end
  tell()
  local besides = given.reference and 1 or 0
  if given.reference and not self.seen[key_of(given.reference)] then
    self:measure({ given.reference }, keep)
    tell()
  end
  while #self.measured < options.measurements + besides do
    -- Ctrl-C ends it in any case.
    if #self.measured > 0 and (berth.should_stop() or given.should_stop and given.should_stop()) then break end
    local placements, also = {}, {}
    for i = 1, math.min(options.batch, options.measurements + besides - #self.measured) do
      placements[i] = self:propose(#self.measured - besides + i, also)
    end
    self:measure(placements, keep)
    tell()
  end
  if not self.best then return nil end
  local useless = 0
  for _, each in ipairs(self.measured) do
    if not measured.usable(each.evaluation) then useless = useless + 1 end
  end
  local costs, cluster = self.beliefs:figures()
  local assumed, predicted = errors_of(self)
  return { placement = self.best.placement, evaluation = self.best.evaluation, costs = costs, cluster = cluster,
    problem = given.problem:with(costs, cluster), measured = self.measured,
    factors = self.beliefs:factors(berth.random(options.seed), ENSEMBLE), assumed_error = assumed,
    predicted_error = predicted, useless = useless }
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
        batch = options.batch, moves = options.moves, record = options.record, seed = context:seed(),
        reference = single and single.placement, initial = context:initial(), should_stop = function() return context:should_stop() end,
        progress = function(best_us, text) context:progress(best_us, text) end }
      if not found then berth.infeasible("none of the placements that were measured fits") end
      context:note(note_of(found, single))
      if found.useless > 0 then
        context:note(("%d of the measurements gave no runtime and taught nothing: the placement did not fit, or its runtime "
          .. "was no number above 0"):format(found.useless))
      end
      if options.costs ~= "" then found.costs:save(options.costs, problem:graph(), found.cluster) end
      if options.machine ~= "" then found.cluster:save(options.machine) end
      return found.placement
    end,
  }
end

return tune
