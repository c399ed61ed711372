-- Real execution from Lua, on two logical CPU devices.
local berth = require "berth"
local check = require "check"
local train = require "berth.train"

local root = package.searchpath("check", package.path):gsub("tests/lua/support/check.lua$", "")
local model = root .. "examples/models/tiny_cnn.onnx"

-- A build without LibTorch has no backend to test.
if not pcall(berth.backend, "cpu") then
  print "the CPU backend is not there: execution from Lua is not tested"
  return
end

local function everything_on(graph, device)
  local placement = {}
  for op = 1, graph:op_count() do placement[op] = device end
  return placement
end

local function alternating(graph)
  local placement = {}
  for i, op in ipairs(graph:topological_order()) do placement[op] = i % 2 + 1 end
  return placement
end

check.test("a program is profiled, measured and verified on a backend", function()
  local program = berth.program(model)
  local graph = program:graph()
  local backend = berth.backend("cpu", { devices = 2 })
  check.equal(backend:cluster():device_count(), 2)
  check.equal(backend:cannot_run(program), {})

  local costs, cluster = backend:open(program):profile { warm_up = 0, repeats = 3 }
  local problem = berth.problem { graph = graph, cluster = cluster, costs = costs }
  check.equal(problem:evaluate(everything_on(graph, 1)).runtime_us > 0, true)

  local session = backend:open(program, { problem = problem, seed = 3 })
  local measured = session:measure(alternating(graph), { warm_up = 1, repeats = 4 })
  check.equal(#measured.steps_us, 4)
  check.equal(measured.min_us <= measured.median_us and measured.median_us <= measured.max_us, true)
  check.equal(#measured.peak_bytes, 2)
  check.equal(#measured.trace.transfers > 0, true)
  for op = 1, graph:op_count() do
    check.equal(measured.trace.op_start_us[op] <= measured.trace.op_end_us[op], true)
  end
  check.equal({ session:verify(alternating(graph)) }, { true, {} })
end)

check.test("mistakes are told: backend, option, placement, repeats", function()
  local program = berth.program(model)
  check.fails("cup", berth.backend, "cup")
  check.fails("no option 'device'", berth.backend, "cpu", { device = 2 })
  local session = berth.backend("cpu"):open(program)
  check.fails("placement", session.measure, session, { 1 })
  check.fails("entry 1: integer in 1..2", session.measure, session, everything_on(program:graph(), 9))
  check.fails("repeats", session.measure, session, everything_on(program:graph(), 1),
    { repeats = -1 })
end)

check.test("a session of other devices is refused", function()
  local program = berth.program(model)
  local session = berth.backend("cpu", { devices = 2 }):open(program)
  local function problem(cluster) return berth.problem { graph = program:graph(), cluster = cluster } end
  check.fails("session.*runs on the devices cpu:0, cpu:1, and the problem has", berth.evaluator,
    problem "k80x4", { session = session })
  check.fails("cpu:0, cpu:1, cpu:2", berth.evaluator,
    problem(berth.backend("cpu", { devices = 3 }):cluster()), { session = session })
end)

check.test("what is measured has no bound", function()
  local program = berth.program(model)
  local backend = berth.backend("cpu", { devices = 2 })
  local problem = berth.problem { graph = program:graph(), cluster = backend:cluster() }
  local evaluator = berth.evaluator(problem, { session = backend:open(program), repeats = 1 })
  local _, outcome = berth.policy("single"):place(problem, { evaluator = evaluator })
  check.equal({ outcome.bound_us, outcome.gap, outcome.runtime_us > 0 }, { nil, nil, true })
end)

check.test("policies learn from real runtimes", function()
  local program = berth.program(model)
  local backend = berth.backend("cpu", { devices = 2 })
  local problem = berth.problem { graph = program:graph(), cluster = backend:cluster(), groups = 4 }
  local measuring = berth.evaluator(problem,
    { session = backend:open(program), warm_up = 1, repeats = 2 })
  local policy = berth.policy("seq2seq", { hidden = 32, groups = 4 })
  local result = train.episodes { policy = policy, problems = { problem }, count = 2, samples = 3,
                                  evaluators = { measuring } }
  check.equal(measuring:evaluations() >= 6, true)
  local best = result.best[1]
  check.equal({ measuring:measures(), #best.runs_us }, { true, 7 })
  check.equal(best.low_us <= best.evaluation.objective_us and best.evaluation.objective_us <= best.high_us,
    true)
  local other = berth.problem { graph = program:graph(), cluster = "k80x2" }
  check.fails("evaluators%[1%].*an evaluator of this problem", policy.rollout, policy, problem,
    { evaluators = { berth.evaluator(other) } })
end)

check.finish()
