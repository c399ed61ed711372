-- How good is a placement after so many measured steps, where the assumed costs are wrong?
--
--   berth run scripts/experiments/tune.lua [MODEL[@DIM=N,..]:CLUSTER ..] [--seeds N] [--measurements N]
--       [--alone N] [--moves N] [--record FILE] [--format text|markdown]
--
-- The hardware is a simulator with other costs than the problem's: every type of op on every kind of device is off by
-- a log-normal factor of 0.7, every op by 0.25, every op takes 10 us more, and every link has 0.25 to 0.58 of its
-- bandwidth. A measured runtime has noise of 1 %; figures are without it, of the placement whose measurement was best.
-- All are divided by the runtime of what `auto` finds with the true costs, with as many moves. A pair of the sign test
-- is a graph, the mean of its seeds' logarithms: seeds of one graph are not independent.
--
--   blind      `auto` with the assumed costs
--   best of n  the best of n measured: `auto` with the assumed costs, then with draws from what `tune` believes at first
--   bandit     over the first eight of those: each once, then always the one with the lowest lower confidence bound
--   mcmc       chains of single moves on the hardware
--   runtimes   `tune` that is told runtimes alone (--alone of them)
--   tune       `tune` that is told the devices' busy times, too
--   told       `auto` with the true factors of types, links and overheads, but not of single ops

local arguments = require "berth.arguments"
local beliefs = require "berth.tune.beliefs"
local berth = require "berth"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"
local tune = require "berth.tune"

local NOISE, ARMS = 0.01, 8

-- 1. The command line.

local options = { problems = {}, seeds = 3, measurements = 25, alone = 25, moves = 300, format = "text" }
local line = arguments.parser()
line.read({ ... }, options.problems, {
  ["--seeds"] = line.number_into(options, "seeds"),
  ["--measurements"] = line.number_into(options, "measurements"),
  ["--alone"] = line.number_into(options, "alone"),
  ["--moves"] = line.number_into(options, "moves"),
  ["--record"] = line.text_into(options, "record"),
  ["--format"] = line.format_into(options),
})
if #options.problems == 0 then
  options.problems = { "examples/models/inception_v3.onnx@batch=32:k80x4" }
end
local runs = record.open(options.record, { measurements = options.measurements, alone = options.alone,
  moves = options.moves })

-- 2. Hardware.

local function normal(random)
  return math.sqrt(-2 * math.log(1 - random:uniform())) * math.cos(2 * math.pi * random:uniform())
end

-- The problem with the costs of the hardware of a seed, and with all that `tune` could learn of them.
local function hardware(problem, seed)
  local random = berth.random(1000 + seed)
  local graph, cluster, costs = problem:graph(), problem:cluster(), problem:costs()
  local us, told = {}, {}
  for k, kind in ipairs(cluster:kinds()) do
    local factors = {}
    us[kind], told[kind] = {}, {}
    for op = 1, graph:op_count() do
      local name = graph:op_type(op)
      factors[name] = factors[name] or 0.7 * normal(random)
      told[kind][op] = costs:op_us(op, k) * math.exp(factors[name])
      us[kind][op] = told[kind][op] * math.exp(0.25 * normal(random))
    end
  end
  local devices, links = {}, {}
  for src = 1, cluster:device_count() do
    devices[src] = cluster:device(src)
    devices[src].op_overhead_us = devices[src].op_overhead_us + 10
    for dst = 1, cluster:device_count() do
      if src ~= dst then
        local link = cluster:route(src, dst)
        link.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s * (0.25 + 0.33 * random:uniform())
        links[#links + 1] = link
      end
    end
  end
  local machine = berth.cluster { name = "hardware", devices = devices, links = links }
  return problem:with(berth.costs({ us = us }, graph, machine), machine),
    problem:with(berth.costs({ us = told }, graph, machine), machine)
end

local function auto(problem, seed)
  return (berth.policy("auto", { moves = options.moves }):place(problem, { seed = seed }))
end

-- An evaluator that measures on the hardware, and what the best measured one takes really after each measurement.
local function meter(problem, real, seed, alone)
  local random = berth.random(seed)
  local best_us, curve = math.huge, {}
  local evaluator = berth.evaluator(problem, { measures = true, evaluate = function(placements)
    local evaluations = {}
    for i, placement in ipairs(placements) do
      local found = real:evaluate(placement)
      local true_us, busy_us = found.objective_us, not alone and found.busy_us or nil
      local measured_us = true_us * math.exp(NOISE * normal(random))
      evaluations[i] = { objective_us = measured_us, busy_us = busy_us }
      local last = curve[#curve] or math.huge
      curve[#curve + 1] = measured_us < best_us and true_us or last
      best_us = math.min(best_us, measured_us)
    end
    return evaluations
  end })
  return evaluator, curve
end

-- 3. Methods: each gives the curve of true runtimes by number of measurements.

local methods = {}

function methods.tune(problem, real, seed)
  local evaluator, curve = meter(problem, real, seed)
  tune.run { problem = problem, evaluator = evaluator, measurements = options.measurements, moves = options.moves,
    again = 0, seed = seed }
  return curve
end

function methods.runtimes(problem, real, seed)
  local evaluator, curve = meter(problem, real, seed, true)
  tune.run { problem = problem, evaluator = evaluator, measurements = options.alone, moves = options.moves, again = 0,
    seed = seed }
  return curve
end

-- Candidates do not depend on the hardware: one list for all seeds.
local listed = {}
local function candidates(problem, name)
  if not listed[name] then
    local known, random = beliefs.new(problem), berth.random(1)
    listed[name] = { auto(problem, 1) }
    for i = 2, options.measurements do listed[name][i] = auto(known:posed(known:draw(random, true)), i) end
  end
  return listed[name]
end

methods["best of n"] = function(problem, real, seed, name)
  local evaluator, curve = meter(problem, real, seed)
  for _, placement in ipairs(candidates(problem, name)) do evaluator:evaluate(placement) end
  return curve
end

function methods.bandit(problem, real, seed, name)
  local random, arms, curve = berth.random(seed), {}, {}
  for i = 1, math.min(ARMS, options.measurements) do
    arms[i] = { us = real:evaluate(candidates(problem, name)[i]).objective_us, sum = 0, count = 0 }
  end
  for n = 1, options.measurements do
    local best, best_bound
    for _, arm in ipairs(arms) do
      local bound = arm.count == 0 and -math.huge or arm.sum / arm.count - NOISE * math.sqrt(2 * math.log(n) / arm.count)
      if not best or bound < best_bound then best, best_bound = arm, bound end
    end
    best.sum, best.count = best.sum + math.log(best.us) + NOISE * normal(random), best.count + 1
    local answer
    for _, arm in ipairs(arms) do
      if arm.count > 0 and (not answer or arm.sum / arm.count < answer.sum / answer.count) then answer = arm end
    end
    curve[n] = answer.us
  end
  return curve
end

function methods.mcmc(problem, real, seed)
  local evaluator, curve = meter(problem, real, seed)
  berth.policy("mcmc", { chains = 1, moves = options.measurements }):place(problem, { seed = seed,
    evaluator = evaluator })
  -- A chain that ended early has no better one.
  for n = #curve + 1, options.measurements do curve[n] = curve[#curve] end
  return curve
end

-- 4. Runs: seeds outside, so that what is done so far covers all graphs.

local ORDER = { "best of n", "bandit", "mcmc", "runtimes", "tune" }
local problems = {}
for i, text in ipairs(options.problems) do
  problems[i] = arguments.problem(text) or line.usage(("'%s' is no MODEL:CLUSTER"):format(text))
  problems[i].text = text
end

local done = {}
local function run_cell(each, seed)
  each.made = each.made or each.problem()
  local key = ("%s %d "):format(each.text, seed)
  local real, told = hardware(each.made, seed)
  local cell = { name = each.name, seed = seed, curves = {} }
  cell.truth_us = runs.once(key .. "truth", function() return real:evaluate(auto(real, seed)).objective_us end)
  cell.told_us = runs.once(key .. "told", function() return real:evaluate(auto(told, seed)).objective_us end)
  for _, method in ipairs(ORDER) do
    cell.curves[method] = { runs.once(key .. method, function()
      return unpack(methods[method](each.made, real, seed, each.text), 1, options.measurements)
    end) }
  end
  done[#done + 1] = cell
end

for seed = 1, options.seeds do
  for _, each in ipairs(problems) do
    if not berth.should_stop() then
      berth.progress(("%s, seed %d"):format(each.name, seed))
      run_cell(each, seed)
    end
  end
end

-- 5. The tables.

local function at(cell, method, n)
  local curve = cell.curves[method]
  return curve[n] and curve[n] / cell.truth_us
end

local rows = {}
local function add_row(title, of)
  local all = {}
  for i, cell in ipairs(done) do
    all[i] = of(cell)
    if not all[i] then return end
  end
  rows[#rows + 1] = { what = title, mean = statistics.mean(all), median = statistics.median(all),
    worst = statistics.quantile(all, 1) }
end
add_row("blind", function(cell) return at(cell, "best of n", 1) end)
local COUNTS = options.measurements > 10 and { 5, 10, options.measurements } or { options.measurements }
for _, n in ipairs(COUNTS) do
  for _, method in ipairs(ORDER) do
    add_row(("%s, %d measured"):format(method, n), function(cell) return at(cell, method, n) end)
  end
end
add_row("told", function(cell) return cell.told_us / cell.truth_us end)
local write = options.format == "markdown" and tables.markdown or tables.text
local function ratio(value) return ("%.3f"):format(value) end
io.write(("%d graphs and seeds\n"):format(#done), write(rows, { { key = "what", title = "method" },
  { key = "mean", format = ratio }, { key = "median", format = ratio }, { key = "worst", format = ratio } }))

local tests = {}
for _, n in ipairs(COUNTS) do
  for _, method in ipairs { "tune", "runtimes" } do
    for _, other in ipairs { "best of n", "bandit", "mcmc" } do
      local names, ours, theirs = {}, {}, {}
      for i, cell in ipairs(done) do
        local x, y = at(cell, method, n), at(cell, other, n)
        names[i], ours[i], theirs[i] = cell.name, x and math.log(x), y and math.log(y)
      end
      if #done > 0 and #ours == #done then
        local found = statistics.sign_test(statistics.means_by(names, ours), statistics.means_by(names, theirs))
        tests[#tests + 1] = { what = ("%s against %s, %d measured"):format(method, other, n),
          better = found.n - found.positive, worse = found.positive, p = found.p }
      end
    end
  end
end
io.write("\n", write(tests, { { key = "what", title = "sign test, by graph" }, { key = "better" }, { key = "worse" },
  { key = "p", format = function(p) return ("%.4f"):format(p) end } }))
