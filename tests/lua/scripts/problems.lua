local berth = require "berth"
local check = require "check"
local models = require "models"
local folder = ...

local together, apart = { 1, 1, 1, 1 }, { 1, 1, 2, 1 }

check.test("a problem tells its parts, the same objects each time", function()
  local problem = models.problem { groups = 2, objective = "latency" }
  check.equal(tostring(problem), "problem (diamond on pair, 2 groups, latency, placeto)")
  check.equal({ problem:objective(), problem:semantics() }, { "latency", "placeto" })
  check.equal(problem:graph():name(), "diamond")
  check.equal(rawequal(problem:graph(), problem:graph()), true)
  check.equal(problem:cluster():device_count(), 2)
  check.equal(problem:costs():source(), "stated")
  check.equal(problem:groups():count(), 2)
  check.equal({ problem:cost_us(2, 1), problem:can_run(1, 2) }, { 30, true })
  local sum = problem:group_cost_us(1, 1) + problem:group_cost_us(2, 2)
  check.equal({ sum, problem:group_param_bytes(1) }, { 65, 0 })
end)

check.test("parts may be objects or names, and have defaults", function()
  local graph = models.diamond()
  local problem = berth.problem { graph = graph, cluster = "k80x4" }
  check.equal({ problem:semantics(), problem:objective() }, { "dataflow", "latency" })
  check.equal({ problem:costs():source(), problem:groups():count() }, { "stated", 4 })
  local cluster = models.cluster(2)
  local costs = berth.costs({ us = { gpu = { 1, 1, 1, 1 } } }, graph, cluster)
  problem = berth.problem { graph = graph, cluster = cluster, costs = costs,
                            groups = berth.groups(graph, { 1, 1, 1, 1 }) }
  check.equal({ problem:costs(), problem:groups():count() }, { costs, 1 })
end)

check.test("a placement is evaluated: serial on one device, branches at once on two", function()
  local problem = models.problem()
  local evaluation = problem:evaluate(together)
  check.near(evaluation.runtime_us, 65)
  check.near(evaluation.objective_us, 65)
  check.equal({ evaluation.feasible, evaluation.excess_bytes, evaluation.max_load_us }, { true, 0, 0 })
  check.equal(evaluation.worst_device, nil)
  check.near(evaluation.busy_us[1], 65)
  check.equal(#evaluation.peak_bytes, 2)
  check.equal(tostring(evaluation), "runtime 65 us, feasible")
  -- in 10, then left 30 here while the input takes 1 us to the other device; out 5.
  check.near(problem:evaluate(apart).runtime_us, 45)
end)

check.test("too little memory is told with the device and the bytes", function()
  local problem = models.problem { cluster = models.cluster(2, 500) }
  local evaluation = problem:evaluate(together)
  check.equal({ evaluation.feasible, evaluation.worst_device }, { false, 1 })
  check.equal(evaluation.excess_bytes, evaluation.peak_bytes[1] - 500)
  check.equal(tostring(evaluation):match "out of memory by %d+ bytes on device 1" ~= nil, true)
  check.equal(problem:single(), nil)
end)

check.test("a placement that breaks a separation says so", function()
  local problem = models.problem { constraints = { { separate = { "left", "right" } } } }
  check.equal(tostring(problem:evaluate(together)), "runtime 65 us, not apart what is separated on device 1")
end)

check.test("a problem says which devices stay idle", function()
  check.equal(models.problem():notes(), {})
  local builder = berth.graph_builder "k80"
  builder:set_cost(builder:add_op("a", "Test"), 1, "gpu")
  local cluster = berth.cluster { name = "mixed",
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 0 } },
    devices = { { name = "gpu:0", kind = "gpu" }, { name = "tpu:0", kind = "tpu" } } }
  local notes = berth.problem { graph = builder:build(), cluster = cluster }:notes()
  check.equal(#notes, 1)
  check.equal(notes[1]:match "no op has a cost on device kind 'tpu'" ~= nil, true)

  local other = berth.graph_builder "any"
  other:set_cost(other:add_op("a", "Test"), 1)
  local choosy = berth.cluster { name = "choosy",
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 0 } },
    devices = { { name = "gpu:0", kind = "gpu" },
                { name = "npu:0", kind = "npu", runs = { types = { "Conv" } } } } }
  notes = berth.problem { graph = other:build(), cluster = choosy }:notes()
  check.equal(#notes, 1)
  check.equal(notes[1]:match "device kind 'npu' runs no op of the graph by its \"runs\"" ~= nil, true)
end)

check.test("throughput asks for the largest load", function()
  local problem = models.problem { objective = "throughput", semantics = "dataflow" }
  local evaluation = problem:evaluate(together)
  check.near(evaluation.max_load_us, 65)
  check.equal(evaluation.runtime_us, 0)
  check.equal(tostring(evaluation), "largest load 65 us, feasible")
end)

check.test("the best single device and the bounds", function()
  local problem = models.problem()
  local single = problem:single()
  check.equal(single.placement, { single.device, single.device, single.device, single.device })
  check.near(single.evaluation.objective_us, 65)
  local us, source = problem:bound()
  check.near(us, 45)  -- the critical path: 10 + 30 + 5
  check.equal(type(source), "string")
  local bounds = problem:bounds()
  check.equal(bounds[1], { us = us, source = source })
end)

check.test("one device: what it cannot run is on the host", function()
  local builder = berth.graph_builder "hosted"
  for i = 1, 3 do
    local op = builder:add_op("op" .. i, "Test")
    builder:set_cost(op, 50, "cpu")
    if i ~= 2 then builder:set_cost(op, 1, "gpu") end
  end
  local problem = berth.problem {
    graph = builder:build(),
    cluster = berth.cluster {
      name = "hosted",
      devices = { { name = "gpu:0", kind = "gpu" }, { name = "cpu:0", kind = "cpu", host = true } },
      links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 0 } },
    },
  }
  check.equal(problem:one_device(1), { 1, 2, 1 })
  check.equal(problem:one_device(2), { 2, 2, 2 })
  check.fails("integer in 1..2 expected", problem.one_device, problem, 3)
  local single = problem:single()
  check.equal({ single.device, single.placement }, { 1, { 1, 2, 1 } })
  check.equal(single.text, "gpu:0 for all that it can run, cpu:0 for 1 op")
  local rows = require "berth.compare".policies { problem = problem, policies = { "single" } }
  check.equal({ rows[1].single, rows[1].speedup }, { single.text, 1 })
end)

check.test("a trace tells the whole step", function()
  local problem = models.problem()
  local trace = problem:trace(apart)
  check.near(trace.runtime_us, 45)
  check.equal({ trace.op_start_us[1], trace.op_end_us[1], trace.op_start_us[3] }, { 0, 10, 11 })
  check.equal(#trace.transfers, 2)
  local first = trace.transfers[1]
  check.equal({ first.producer, first.src, first.dst, first.bytes }, { 1, 1, nil, 1000 })
  check.equal({ first.start_us, first.end_us }, { 10, 11 })
  check.equal(#trace.devices, 2)
  check.near(trace.devices[1].busy_us, 45)
  check.equal(#trace.links >= 1, true)
  check.equal(trace.critical_path[1].op, 1)
  check.equal(trace.critical_path[1].reason, "start")
  problem:save_trace(folder .. "/step.json", apart)
  problem:save_report(folder .. "/report.html", apart)
  local page = assert(io.open(folder .. "/report.html")):read("*a")
  check.equal(page:sub(1, 15), "<!DOCTYPE html>")
  problem:save_report(folder .. "/report.html", apart, apart, { "mine", "theirs" })
  page = assert(io.open(folder .. "/report.html")):read("*a")
  check.equal({ page:find('"label":"mine"', 1, true) ~= nil, page:find('"label":"theirs"', 1, true) ~= nil },
    { true, true })
  check.fails("two texts", problem.save_report, problem, folder .. "/x.html", apart, apart, { "one" })
  check.equal(io.open(folder .. "/step.json"):close(), true)
  problem:save_plan("csv", folder .. "/plan.csv", apart)
  local plan = assert(io.open(folder .. "/plan.csv")):read("*a")
  check.equal(plan:sub(1, 28), "op,type,device,device_number")
end)

check.test("a placement is explained, and an op in it", function()
  local problem = models.problem()
  local why = problem:explain(apart)
  check.near(why.runtime_us, 45)
  check.near(why.compute_us + why.transfer_us + why.pause_us, 45)
  check.equal({ #why.gap > 0, #why.waits > 0, #why.advice > 0, why.full_devices }, { true, true, true, {} })
  local ops = 0
  for _, stretch in ipairs(why.stretches) do
    check.equal(stretch.transfer == nil and stretch.device or stretch.receiver ~= nil, 1)
    ops = ops + stretch.ops
  end
  check.equal(ops, 3)  -- in, left, out
  local right = problem:explain(apart, 3)
  check.equal({ right.device, right.together, right.critical, right.rules }, { 2, { 3 }, false, {} })
  check.equal({ #right.why > 0, right.bound == "contention", right.runner_up }, { true, true, 1 })
  check.equal(#right.alternatives, 1)
  check.near(right.alternatives[1].evaluation.runtime_us, 65)
  local kept = models.problem { constraints = { { pin = "right", to = "gpu:1" } } }:explain(apart, 3)
  check.equal({ #kept.rules, kept.alternatives[1].refused ~= nil, kept.bound }, { 1, true, "constraint" })
  check.fails("op%): integer in 1..4 expected", problem.explain, problem, apart, 5)
end)

check.test("the step is a picture", function()
  local problem, path = models.problem(), folder .. "/step.svg"
  problem:save_timeline(path, apart)
  local svg = io.open(path):read "*a"
  check.equal({ svg:sub(1, 5), svg:match "gpu:1", svg:match "left" }, { "<svg ", "gpu:1", "left" })
  check.fails("nowhere", problem.save_timeline, problem, folder .. "/nowhere/step.svg", apart)
end)

check.test("placements are written and read", function()
  local problem = models.problem()
  local path = folder .. "/placement.json"
  problem:save_placement(path, apart, { policy = "hand", seed = 3, options = { rounds = 8 } })
  check.equal(problem:load_placement(path), apart)
  problem:save_placement(path, together)
  check.equal(problem:load_placement(path), together)
  -- Commands simulate it on the machine, and under the rules, that it was made for.
  local text = io.open(path):read "*a"
  check.equal({ text:match '"provenance"', text:match '"settings": {%s*"cluster"' ~= nil }, { nil, true })
  check.fails("problem:load_placement: .*absent", problem.load_placement, problem,
              folder .. "/absent.json")
  check.fails("unknown field 'polcy'.*policy", problem.save_placement, problem, path, apart,
              { policy = "x", polcy = "y" })
end)

check.test("a neighbourhood keeps the placement that it is drawn around", function()
  local problem = models.problem()
  for seed = 0, 9 do
    local groups = problem:neighbourhood(apart, 2, seed)
    for group = 1, groups:count() do
      local devices = {}
      for _, op in ipairs(groups:members(group)) do devices[apart[op]] = true end
      local first = next(devices)
      check.equal(next(devices, first), nil)
    end
    check.equal(problem:neighbourhood(apart, 2, seed):count(), groups:count())
  end
  check.fails("count%): integer in 1", problem.neighbourhood, problem, apart, 0, 1)
  check.fails("an array of 4 expected", problem.neighbourhood, problem, { 1 }, 2, 1)
end)

check.test("bad placements are refused everywhere", function()
  local problem = models.problem()
  local evaluator = berth.evaluator(problem)
  local bad = {
    { { 1, 1, 1 }, "an array of 4 expected, got one of 3" },
    { { 1, 1, 1, 3 }, "entry 4: integer in 1%.%.2 expected, got 3" },
    { { 0, 1, 1, 1 }, "entry 1: integer in 1%.%.2 expected, got 0" },
    { { 1, 1.5, 1, 1 }, "entry 2: .*got 1.5" },
    { { 1, 0 / 0, 1, 1 }, "entry 2: .*got %-?nan" },
    { { 1, 1e300, 1, 1 }, "entry 2: .*got 1e%+300" },
    { { 1, "2", 1, 1 }, "entry 2: .*got '2'" },
    { "gpu:0", "table expected, got 'gpu:0'" },
  }
  for _, case in ipairs(bad) do
    local placement, pattern = case[1], case[2]
    check.fails(pattern, problem.evaluate, problem, placement)
    check.fails(pattern, problem.validate, problem, placement)
    check.fails(pattern, problem.trace, problem, placement)
    check.fails(pattern, problem.save_trace, problem, folder .. "/no", placement)
    check.fails(pattern, problem.save_placement, problem, folder .. "/no", placement)
    check.fails(pattern, evaluator.evaluate, evaluator, placement)
    check.fails(pattern, evaluator.evaluate_into, evaluator, {}, placement)
    check.fails(pattern, evaluator.batch, evaluator, { together, placement })
  end
  check.equal(rawequal(problem:validate(together), problem), true)
end)

check.test("a placement that splits what belongs together is refused with the class", function()
  local builder = berth.graph_builder "g"
  for _, name in ipairs { "a", "b" } do
    local op = builder:add_op(name, "A")
    builder:set_cost(op, 1):set_colocation(op, "pair")
  end
  local problem = models.problem { graph = builder:build() }
  check.fails("problem:validate: .*pair", problem.validate, problem, { 1, 2 })
  check.fails("evaluator:evaluate: .*pair", function()
    berth.evaluator(problem):evaluate { 1, 2 }
  end)
  check.equal(problem:validate { 2, 2 }, problem)
end)

check.test("bad problems are refused", function()
  local graph = models.diamond()
  check.fails("problem%): table expected, got nothing", berth.problem)
  check.fails("'graph': graph expected, got nothing", berth.problem, {})
  check.fails("'graph': graph expected, got 'x.onnx'", berth.problem, { graph = "x.onnx" })
  check.fails("no cluster is named", berth.problem, { graph = graph })
  check.fails("berth.problem: .*k80y5.*k80x4", berth.problem, { graph = graph, cluster = "k80y5" })
  check.fails("unknown field 'group'.*groups", berth.problem,
              { graph = graph, cluster = "k80x4", group = 3 })
  check.fails("berth.problem: .*latency", berth.problem,
              { graph = graph, cluster = "k80x4", objective = "speed" })
  check.fails("berth.problem: .*dataflow", berth.problem,
              { graph = graph, cluster = "k80x4", semantics = "magic" })
  check.fails("at groups: expected a whole number from 1", berth.problem, { graph = graph, cluster = "k80x4", groups = 0 })
  local problem = models.problem()
  check.fails("op%): integer in 1%.%.4 expected, got 5", problem.cost_us, problem, 5, 1)
  check.fails("device%): integer in 1%.%.2 expected, got 3", problem.cost_us, problem, 1, 3)
  check.fails("group%): integer in 1%.%.4 expected, got 5", problem.can_run, problem, 5, 1)
end)

check.test("an evaluator gives one or many, into new tables or an old one", function()
  local problem = models.problem()
  local evaluator = berth.evaluator(problem, { threads = 2 })
  check.equal(tostring(evaluator), "evaluator of diamond on pair")
  check.equal(rawequal(evaluator:problem(), problem), true)
  check.near(evaluator:evaluate(together).runtime_us, 65)
  local results = evaluator:batch { together, apart, together }
  check.equal(#results, 3)
  check.near(results[2].runtime_us, 45)
  check.equal(evaluator:batch {}, {})

  local result = {}
  check.equal(rawequal(evaluator:evaluate_into(result, apart), result), true)
  local busy = result.busy_us
  check.near(result.runtime_us, 45)
  evaluator:evaluate_into(result, together)
  check.near(result.runtime_us, 65)
  check.equal(rawequal(result.busy_us, busy), true)
  check.equal(evaluator:evaluations(), 6)
  check.fails("result%): table expected, got nothing", evaluator.evaluate_into, evaluator)
  check.fails("'threads': integer in 0", berth.evaluator, problem, { threads = -1 })
end)

check.finish()
