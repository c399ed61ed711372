-- Placements and costs from a few measured steps, on problems whose answer can be counted out.
local folder = ...
local beliefs = require "berth.tune.beliefs"
local berth = require "berth"
local check = require "check"
local tune = require "berth.tune"

-- Ops of these types that depend on nothing, and two devices of unlike kinds.
local function problem_of(types, us, overhead_us)
  local builder = berth.graph_builder "independent"
  for i, name in ipairs(types) do
    builder:add_output(builder:add_op("op" .. i, name), { bytes = 4 })
  end
  local cluster = berth.cluster { name = "two", devices = {
      { name = "a", kind = "fast", memory_bytes = 1000, op_overhead_us = overhead_us },
      { name = "b", kind = "slow", memory_bytes = 1000, op_overhead_us = overhead_us } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9 } } }
  local graph = builder:build()
  local costs = { fast = {}, slow = {} }
  for i, name in ipairs(types) do costs.fast[i], costs.slow[i] = us[name][1], us[name][2] end
  return berth.problem { graph = graph, cluster = cluster, costs = berth.costs({ us = costs }, graph, cluster) }
end

-- A problem's simulation as hardware that tells runtimes alone; policies ask for an evaluator of `of`.
local function runtimes(problem, seen, of)
  return berth.evaluator(of or problem, { evaluate = function(placements)
    local evaluations = {}
    for i, placement in ipairs(placements) do
      evaluations[i] = { objective_us = problem:evaluate(placement).objective_us }
    end
    if seen then seen[#seen + 1] = #placements end
    return evaluations
  end })
end

local TYPES = { "A", "A", "B", "B", "C", "C" }
local ASSUMED = { A = { 100, 200 }, B = { 100, 200 }, C = { 100, 200 } }
-- What is fast where is another thing than assumed.
local TRUE = { A = { 40, 900 }, B = { 500, 90 }, C = { 100, 200 } }

local function best_us(problem)
  local best = math.huge
  for code = 0, 2 ^ #TYPES - 1 do
    local placement = {}
    for op = 1, #TYPES do placement[op] = math.floor(code / 2 ^ (op - 1)) % 2 + 1 end
    best = math.min(best, problem:evaluate(placement).objective_us)
  end
  return best
end

check.test("one op: what a runtime says of it is what normal variables say", function()
  local prior = { noise = 0.1, overhead = 1e-9 }
  local known = beliefs.new(problem_of({ "A" }, ASSUMED), prior)
  known:learn({ 1 }, { objective_us = 300 })
  local variance = 0
  for _, name in ipairs { "all", "kind", "type", "both", "op" } do
    variance = variance + beliefs.PRIOR[name] ^ 2
  end
  local share = variance / (variance + prior.noise ^ 2)
  check.near(known:posed():evaluate({ 1 }).objective_us, 100 * 3 ^ share, 1e-9)
  -- The other kind shares only what is common to both.
  local common = (beliefs.PRIOR.all ^ 2 + beliefs.PRIOR.type ^ 2) / (variance + prior.noise ^ 2)
  check.near(known:posed():evaluate({ 2 }).objective_us, 200 * 3 ^ common, 1e-9)
end)

check.test("a device's busy time says what the runtime does not", function()
  local problem = problem_of({ "A", "B" }, ASSUMED)
  local hardware = problem_of({ "A", "B" }, { A = { 100, 200 }, B = { 100, 20 } })
  local known = beliefs.new(problem)
  known:learn({ 1, 2 }, hardware:evaluate { 1, 2 })
  check.near(known:posed():cost_us(2, 2), 20, 0.05)
end)

check.test("overheads and links are learnt from what they alone explain", function()
  local cluster = berth.cluster { name = "two", devices = { { name = "a", kind = "x", op_overhead_us = 5 },
      { name = "b", kind = "x", op_overhead_us = 5 } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9 } } }
  local builder = berth.graph_builder "chain"
  local last
  for i = 1, 4 do
    local op = builder:add_op("op" .. i, "A")
    if last then builder:add_input(op, last) end
    last = builder:add_output(op, { bytes = 1000000 })
  end
  local graph = builder:build()
  local function posed(us, machine)
    return berth.problem { graph = graph, cluster = machine, costs = berth.costs({ us = { x = { us, us, us, us } } },
      graph, machine) }
  end
  local slow = berth.cluster { name = "two", devices = { { name = "a", kind = "x", op_overhead_us = 5 },
      { name = "b", kind = "x", op_overhead_us = 5 } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 2.5e8 } } }
  local hardware = posed(50, slow)
  local known = beliefs.new(posed(50, cluster), { noise = 0.001 })
  for _, placement in ipairs { { 1, 1, 1, 1 }, { 1, 2, 2, 2 }, { 1, 1, 2, 2 }, { 2, 1, 1, 1 } } do
    known:learn(placement, { objective_us = hardware:evaluate(placement).objective_us })
  end
  local _, learnt = known:figures()
  check.near(learnt:route(1, 2).bandwidth_bytes_per_s, 2.5e8, 0.01)
  check.near(learnt:route(2, 1).bandwidth_bytes_per_s, 2.5e8, 0.01)
end)

check.test("the best placement of hardware that is unlike the assumption is found", function()
  local hardware = problem_of(TYPES, TRUE)
  local found = tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = berth.evaluator(hardware),
    measurements = 8, moves = 200, seed = 1 }
  check.equal(found.evaluation.objective_us, best_us(hardware))
  check.equal(#found.measured, 8)
  check.equal(hardware:evaluate(found.placement).objective_us, found.evaluation.objective_us)
  check.equal(found.predicted_error < found.assumed_error, true)
end)

check.test("runtimes alone do too", function()
  local hardware = problem_of(TYPES, TRUE)
  local found = tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = runtimes(hardware), measurements = 12,
    moves = 200, seed = 1 }
  check.equal(found.evaluation.objective_us, best_us(hardware))
end)

check.test("the same seed measures the same placements", function()
  local keys = {}
  for run = 1, 2 do
    local found = tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = runtimes(problem_of(TYPES, TRUE)),
      measurements = 5, moves = 200, seed = 3 }
    keys[run] = {}
    for i, each in ipairs(found.measured) do keys[run][i] = table.concat(each.placement) end
  end
  check.equal(keys[1], keys[2])
end)

check.test("a record is gone on from, also where its last line is cut off", function()
  local path = folder .. "/tune.record"
  local problem, hardware = problem_of(TYPES, ASSUMED), problem_of(TYPES, TRUE)
  local function run(measurements, seen)
    return tune.run { problem = problem, evaluator = runtimes(hardware, seen), measurements = measurements, moves = 200,
      seed = 2, record = path }
  end
  local whole = tune.run { problem = problem, evaluator = runtimes(hardware), measurements = 5, moves = 200, seed = 2 }
  run(3)
  local file = io.open(path, "a")
  file:write "123.5\t1\t\t1,2"
  file:close()
  local seen = {}
  local found = run(5, seen)
  check.equal(seen, { 1, 1 })
  for i, each in ipairs(found.measured) do check.equal(each.placement, whole.measured[i].placement) end
  check.equal(#run(5).measured, 5)
  check.equal({ found.predicted_error, found.assumed_error }, { whole.predicted_error, whole.assumed_error })
  for op = 1, #TYPES do check.equal(found.problem:cost_us(op, 1), whole.problem:cost_us(op, 1)) end
end)

check.test("a record of something else is refused with what differs", function()
  local path = folder .. "/other.record"
  local problem, hardware = problem_of(TYPES, ASSUMED), problem_of(TYPES, TRUE)
  local function run(other, more)
    local given = { problem = other, evaluator = runtimes(hardware), measurements = 2, moves = 50, record = path }
    for name, value in pairs(more or {}) do given[name] = value end
    return tune.run(given)
  end
  run(problem)
  local function refused(what, ...)
    check.fails("other.record has measurements of something else: " .. what .. " is .*; name another file, or remove it",
      run, ...)
  end
  refused("problem 1, groups", problem_of({ "A" }, ASSUMED))
  refused("problem 1, the costs", problem_of(TYPES, TRUE))
  refused("problem 1, the links and memory", problem_of(TYPES, ASSUMED, 7))
  refused("problem 1, the groups and what constraints allow", berth.problem { graph = problem:graph(),
    cluster = problem:cluster(), costs = problem:costs(), constraints = { { pin = "op1", to = "a" } } })
  refused("option seed", problem, { seed = 5 })
  check.equal(#run(problem).measured, 2)
end)

check.test("what is no measurement is told by its line", function()
  local path, files = folder .. "/damaged.record", require "berth.files"
  local problem = problem_of({ "A", "B" }, ASSUMED)
  local function run()
    return tune.run { problem = problem, evaluator = runtimes(problem), measurements = 1, moves = 50, record = path }
  end
  run()
  local head = files.read(path):match "^[^\n]*\n"
  for _, line in ipairs { "0\t1\t-\t\t1,1", "nan\t1\t-\t\t1,1", "-5\t1\t-\t\t1,1", "inf\t1\t-\t\t1,1", "9\t1\t-\t\t1,3",
    "9\t1\t-\t\t1", "9\t1\t-\tnan,1\t1,1", "9\t1\t-\t1,1,1\t1,1", "9\t2\t-\t\t1,1", "nothing" } do
    files.write(path, head, line, "\n")
    check.fails("damaged.record: line 2 is no measurement; remove it or the file", run)
  end
  files.write(path, "berth.tune/1\tx\n")
  check.fails("damaged.record is no file of measurements of this format %(berth.tune/2%)", run)
  check.fails("cannot read '.*': Is a directory; name a file, and no folder", tune.run, { problem = problem,
    evaluator = runtimes(problem), record = folder })
end)

check.test("a runtime that is none teaches nothing, and the search goes on", function()
  local hardware, count = problem_of(TYPES, TRUE), 0
  local path = folder .. "/useless.record"
  local function run()
    local evaluator = berth.evaluator(hardware, { evaluate = function(placements)
      count = count + 1
      return { { objective_us = ({ math.huge, 0 })[count] or hardware:evaluate(placements[1]).objective_us } }
    end })
    return tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = evaluator, measurements = 6, moves = 50,
      record = path }
  end
  local found = run()
  check.equal({ #found.measured, found.useless, found.evaluation.objective_us > 0 }, { 6, 2, true })
  local again = run()
  check.equal({ count, again.useless, again.placement }, { 6, 2, found.placement })
end)

check.test("several are measured at once where that is asked, and none twice among them", function()
  local seen = {}
  local found = tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = runtimes(problem_of(TYPES, TRUE), seen),
    measurements = 7, batch = 3, moves = 200, seed = 4 }
  check.equal(seen, { 3, 3, 1 })
  check.equal(#found.measured, 7)
end)

check.test("what does not fit is not the best and teaches nothing", function()
  local hardware = problem_of(TYPES, TRUE)
  local refusing = berth.evaluator(hardware, { evaluate = function(placements)
    local evaluations = {}
    for i in ipairs(placements) do
      evaluations[i] = { objective_us = 1, feasible = false, worst_device = 1, excess_bytes = 5 }
    end
    return evaluations
  end })
  check.equal(tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = refusing, measurements = 3, moves = 50 }, nil)
end)

check.test("a stop keeps what was measured", function()
  local found = tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = runtimes(problem_of(TYPES, TRUE)),
    measurements = 9, moves = 50, should_stop = function() return true end }
  check.equal(#found.measured, 1)
end)

check.test("as a policy it writes the costs and the machine, and says how far off they were", function()
  local problem, hardware = problem_of(TYPES, ASSUMED), problem_of(TYPES, TRUE)
  local costs, machine = folder .. "/costs.json", folder .. "/machine.json"
  local placement, outcome = berth.policy(tune.register(), { measurements = 6, moves = 200, costs = costs,
      machine = machine }):place(problem, { seed = 1, evaluator = runtimes(hardware, nil, problem) })
  check.equal(outcome.policy, "tune")
  check.equal(outcome.objective_us, hardware:evaluate(placement).objective_us)
  check.equal(outcome.notes[1]:find "^6 placements were measured, and one device %(a%); the assumed costs predict them %d+ %% off" ~= nil, true)
  local cluster = berth.cluster(machine)
  local learnt = berth.problem { graph = problem:graph(), cluster = cluster,
    costs = berth.costs(costs, problem:graph(), cluster) }
  -- The files have what the same search learns.
  local found = tune.run { problem = problem, evaluator = runtimes(hardware), measurements = 6, moves = 200, seed = 1,
    reference = problem:single().placement }
  check.near(learnt:evaluate(placement).objective_us, found.problem:evaluate(placement).objective_us, 1e-9)
end)

check.test("as a policy it gives one device where that was measured to be the fastest", function()
  -- Two chains that the links are assumed to let run side by side.
  local function posed(bandwidth)
    local builder, tensors = berth.graph_builder "chains", {}
    for i = 1, 4 do
      local op = builder:add_op("op" .. i, "A")
      if i > 1 then builder:add_input(op, tensors[i == 3 and 1 or i - 1]) end
      if i == 4 then builder:add_input(op, tensors[2]) end
      tensors[i] = builder:add_output(op, { bytes = 1000 })
    end
    local cluster = berth.cluster { name = "two", devices = { { name = "a", kind = "x" }, { name = "b", kind = "x" } },
      links = { { src = "*", dst = "*", bandwidth_bytes_per_s = bandwidth } } }
    local graph = builder:build()
    return berth.problem { graph = graph, cluster = cluster, costs = berth.costs({ us = { x = { 1, 50, 50, 1 } } }, graph,
      cluster) }
  end
  local problem, hardware, seen = posed(1e9), posed(1e6), {}
  local placement, outcome = berth.policy("tune", { measurements = 1, moves = 100, record = folder .. "/single.record" })
    :place(problem, { seed = 1, evaluator = runtimes(hardware, seen, problem) })
  check.equal(placement, problem:single().placement)
  check.equal(outcome.notes[1]:find "^1 placements were measured, and one device %(a%);" ~= nil, true)
  -- The record has both, and what a policy has placed is measured once more.
  local before = #seen
  berth.policy("tune", { measurements = 1, moves = 100, record = folder .. "/single.record" })
    :place(problem, { seed = 1, evaluator = runtimes(hardware, seen, problem) })
  check.equal({ #seen - before, before }, { before - 2, before })
end)

check.test("factors are sorted by their assumed time, and lie in their intervals", function()
  local found = tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = berth.evaluator(problem_of(TYPES, TRUE)),
    measurements = 8, moves = 200, seed = 1 }
  check.equal(#found.factors, 6)
  for i, row in ipairs(found.factors) do
    check.equal(row.low <= row.high, true)
    check.equal(i == 1 or found.factors[i - 1].us >= row.us, true)
  end
end)

check.test("mistakes are told", function()
  local problem = problem_of(TYPES, ASSUMED)
  local evaluator = runtimes(problem)
  check.fails("unknown option 'measurement'", tune.run, { problem = problem, evaluator = evaluator, measurement = 3 })
  check.fails("option 'measurements': a whole number from 1 on", tune.run, { problem = problem, evaluator = evaluator,
    measurements = 0 })
  check.fails("'problem' and 'evaluator'", tune.run, { problem = problem })
  local load = berth.problem { graph = problem:graph(), cluster = problem:cluster(), costs = problem:costs(),
    objective = "throughput" }
  check.fails("the problem's objective is throughput", tune.run, { problem = load, evaluator = berth.evaluator(load) })
end)

check.finish()
