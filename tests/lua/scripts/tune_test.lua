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
      seed = 2, record = path, again = 0 }
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
      record = path, again = 0 }
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
  -- The best three are measured again three times, at once too.
  check.equal(seen, { 3, 3, 1, 3, 3, 3 })
  check.equal(#found.measured, 7)
end)

-- Hardware that says of every placement what `say(us, placement, n)` returns for its true runtime, when it measures for
-- the n-th time; `asked` gets all keys.
local function saying(hardware, say, asked, of)
  local count = 0
  return berth.evaluator(of or hardware, { measures = true, evaluate = function(placements)
    local evaluations = {}
    for i, placement in ipairs(placements) do
      count = count + 1
      if asked then asked[count] = table.concat(placement, ",") end
      local us = say(hardware:evaluate(placement).objective_us, placement, count)
      evaluations[i] = type(us) == "table" and us or { objective_us = us }
    end
    return evaluations
  end })
end

check.test("no lucky measurement answers, and none that is slower than the reference", function()
  local hardware = problem_of(TYPES, TRUE)
  local all_on_b = { 2, 2, 2, 2, 2, 2 }
  for lucky = 2, 4 do
    local found = tune.run { problem = problem_of(TYPES, ASSUMED), measurements = 8, moves = 200, seed = 1,
      reference = all_on_b, evaluator = saying(hardware, function(us, _, n) return us * (n == lucky and 1e-3 or 1) end) }
    check.equal(found.evaluation.objective_us, hardware:evaluate(found.placement).objective_us)
    check.equal(found.evaluation.objective_us <= hardware:evaluate(all_on_b).objective_us, true)
    check.equal(#found.measured, 9)
  end
end)

check.test("what a record alone has is measured again by whoever runs the policy", function()
  local problem, hardware, path = problem_of(TYPES, ASSUMED), problem_of(TYPES, TRUE), folder .. "/lucky.record"
  for run = 1, 2 do
    local evaluator = saying(hardware, function(us, _, n) return run == 1 and n == 2 and us * 1e-3 or us end, nil, problem)
    local placement, outcome = berth.policy(tune.register(), { measurements = 4, moves = 50, record = path }):place(problem,
      { seed = 1, evaluator = evaluator })
    check.equal(outcome.objective_us, hardware:evaluate(placement).objective_us)
    check.equal(outcome.objective_us <= outcome.single.evaluation.objective_us, true)
  end
end)

check.test("a placement that was measured more often has its median", function()
  local hardware = problem_of({ "A" }, ASSUMED)
  local times = 0
  local found = tune.run { problem = hardware, measurements = 8, moves = 20, again = 0,
    evaluator = saying(hardware, function(us, placement)
      times = times + (placement[1] == 1 and 1 or 0)
      return placement[1] == 1 and times == 2 and us / 100 or us
    end) }
  check.equal(times >= 3, true)
  check.equal({ found.placement, found.evaluation.objective_us }, { { 1 }, 100 })
end)

check.test("hardware that fails is a failed measurement, which a record keeps and nobody repeats", function()
  local hardware, path = problem_of(TYPES, TRUE), folder .. "/failing.record"
  for _, failure in ipairs { "nan", "error" } do
    os.remove(path)
    local bad, asked
    local function run(measurements)
      asked = {}
      local evaluator = saying(hardware, function(us, placement, n)
        local key = table.concat(placement, ",")
        if n == 2 and not bad then bad = key end
        if key ~= bad then return us end
        return failure == "nan" and 0 / 0 or error("CUDA error:\ta\nb")
      end, asked)
      return tune.run { problem = problem_of(TYPES, ASSUMED), evaluator = evaluator, measurements = measurements,
        moves = 50, seed = 1, record = path, again = 0 }
    end
    local found = run(4)
    check.equal({ #found.measured, found.useless, #asked }, { 4, 1, 4 })
    check.equal(found.measured[2].failure:find(failure == "nan" and "nan" or "CUDA error") ~= nil, true)
    check.equal(found.failure, found.measured[2].failure)
    local again = run(7)
    check.equal({ #again.measured, again.useless, #asked }, { 7, 1, 3 })
    check.equal(again.measured[2].failure:find "[\t\n]", nil)
    for _, key in ipairs(asked) do check.equal(key ~= bad, true) end
  end
end)

check.test("several failures in a row end the search with what there is", function()
  local hardware, asked = problem_of(TYPES, TRUE), {}
  local function run(first)
    return tune.run { problem = problem_of(TYPES, ASSUMED), measurements = 20, moves = 50, seed = 1, batch = 2, again = 0,
      evaluator = saying(hardware, function(us, _, n) return n < first and us or error "the driver is gone" end, asked) }
  end
  local found = run(4)
  check.equal(found.useless >= 3 and #found.measured < 20 and found.evaluation.objective_us > 0, true)
  check.fails("the hardware failed %d times in a row, and no placement ran before: .*the driver is gone", run, 1)
end)

-- A chain of ops of 1000 bytes each, and devices said to hold 24 of them, which hold 18.
local function tight_problem()
  local builder, before = berth.graph_builder "chain"
  for i = 1, 20 do
    local op = builder:add_op("op" .. i, "A")
    if before then builder:add_input(op, before) end
    before = builder:add_output(op, { bytes = 4 })
    builder:set_param_bytes(op, 1000)
    builder:set_cost(op, 1000)
  end
  local function device(name) return { name = name, kind = "x", memory_bytes = 24000, flops = 1e9, memory_bandwidth = 1e12 } end
  return berth.problem { graph = builder:build(), cluster = berth.cluster { name = "two",
      devices = { device "a", device "b" }, links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9 } } } }
end

local function most_of(evaluation) return math.max(unpack(evaluation.peak_bytes)) end

check.test("a placement that did not fit says what devices hold, and is not measured again", function()
  local problem, asked = tight_problem(), {}
  local evaluator = saying(problem, function(us, placement)
    return most_of(problem:evaluate(placement)) <= 18000 and us or { objective_us = 0, feasible = false }
  end, asked)
  local found = tune.run { problem = problem, evaluator = evaluator, measurements = 6, moves = 100 }
  check.equal(most_of(problem:evaluate(found.placement)) <= 18000, true)
  check.equal(found.cluster:device(1).memory_bytes < 24000, true)
  local failed = {}
  for _, each in ipairs(found.measured) do
    local key = table.concat(each.placement, ",")
    check.equal(failed[key], nil)
    if each.evaluation.feasible == false then failed[key] = true end
  end
end)

check.test("beliefs about memory lie between what ran and what did not", function()
  local known = require("berth.tune.memory").new(tight_problem())
  local function placed(count)
    local placement = {}
    for op = 1, 20 do placement[op] = op <= count and 1 or 2 end
    return placement, tight_problem():evaluate(placement).peak_bytes
  end
  local whole, whole_peaks = placed(20)
  local half, half_peaks = placed(12)
  check.equal({ known:bytes(1), known:stated(1, 7) }, { 24000, 7 })
  known:overflowed(whole)
  -- The other device is alike.
  check.equal({ known:bytes(1), known:bytes(2) }, { math.floor(0.75 * whole_peaks[1]), math.floor(0.75 * whole_peaks[1]) })
  known:ran(half)
  check.equal(known:bytes(1), math.floor(half_peaks[1] + 0.75 * (whole_peaks[1] - half_peaks[1])))
  check.equal(known:stated(1, 48000), 2 * known:bytes(1))
  -- It held that much once: another reason made it fail.
  known:ran(whole)
  check.equal(known:bytes(1), 24000)
  known:overflowed(whole)
  check.equal(known:bytes(1), 24000)
end)

check.test("what does not fit is not the best", function()
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

check.test("an interrupt while a placement is looked for keeps what was measured", function()
  local policy, should_stop = berth.policy, berth.should_stop
  local problem = problem_of({ "A" }, ASSUMED)
  -- A policy that is interrupted returns what it has, here one that was measured; after that one raises.
  for interrupted_at = 2, 4 do
    local places, stopped = 0, false
    berth.policy = function()
      return { place = function()
        if stopped then error "policy:place: interrupted before this search began" end
        places = places + 1
        stopped = places == interrupted_at
        return { 1 }
      end }
    end
    berth.should_stop = function() return stopped end
    local fine, found = pcall(tune.run, { problem = problem, evaluator = runtimes(problem), measurements = 9 })
    -- An interrupt between the question whether to stop and the search makes that raise.
    places, stopped = 0, false
    berth.should_stop = function()
      local before = stopped
      stopped = stopped or places == interrupted_at - 1
      return before
    end
    local late, also_found = pcall(tune.run, { problem = problem, evaluator = runtimes(problem), measurements = 9 })
    berth.policy, berth.should_stop = policy, should_stop
    check.equal({ fine, late }, { true, true })
    check.equal({ found.placement, also_found.placement }, { { 1 }, { 1 } })
  end
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
