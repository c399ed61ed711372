local berth = require "berth"
local check = require "check"
local models = require "models"

-- A graph of 40 ops in layers, on three devices of two kinds; one op in five cannot run on the second kind.
local function layered(options)
  local random, builder = berth.random(3), berth.graph_builder "layers"
  local outputs = {}
  for i = 1, 40 do
    local op = builder:add_op("op" .. i, "Op")
    builder:set_cost(op, 5 + random:integer(40), "fast")
    if i % 5 > 0 then builder:set_cost(op, 10 + random:integer(80), "slow") end
    builder:set_param_bytes(op, 5000)
    outputs[i] = builder:add_output(op, { bytes = 1000 * random:integer(50) })
    for _ = 1, i > 4 and 2 or 0 do builder:add_input(op, outputs[random:integer(i - 1)]) end
  end
  local cluster = berth.cluster { name = "mixed", devices = {
    { name = "f0", kind = "fast", memory_bytes = 8e4 }, { name = "f1", kind = "fast" },
    { name = "s0", kind = "slow" } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 2 } } }
  local fields = { graph = builder:build(), cluster = cluster, groups = 20 }
  for key, value in pairs(options or {}) do fields[key] = value end
  return berth.problem(fields)
end

-- A copy with the ops of a group on a device.
local function moved(problem, placement, group, device)
  local changed = {}
  for op, at in ipairs(placement) do changed[op] = at end
  for _, op in ipairs(problem:groups():members(group)) do changed[op] = device end
  return changed
end

for _, options in ipairs { {}, { semantics = "placeto" }, { objective = "throughput" } } do
  local what = (options.objective or "latency") .. ", " .. (options.semantics or "dataflow")
  check.test("moves give the figures of whole placements: " .. what, function()
    local problem, random = layered(options), berth.random(11)
    local tolerance = options.objective and 1e-12 or 0
    local placement = problem:one_device(2)
    local moves = berth.moves(problem):reset(placement)
    local rejections, overfull = 0, 0
    for _ = 1, 400 do
      local group, device = random:integer(20), random:integer(3)
      if problem:can_run(group, device) then
        local cutoff_us = random:integer(2) == 1 and moves:objective_us() or nil
        local us, excess, rejected = moves:propose_group(group, device, cutoff_us)
        local changed = moved(problem, placement, group, device)
        local whole = problem:evaluate(changed)
        if rejected then
          rejections = rejections + 1
          check.equal(us >= cutoff_us and us <= whole.objective_us * (1 + tolerance), true)
        else
          check.near(us, whole.objective_us, tolerance)
          check.equal(excess, whole.excess_bytes)
          if excess > 0 then overfull = overfull + 1 end
          if random:integer(3) > 1 then
            moves:accept()
            placement = changed
          end
        end
        check.near(moves:objective_us(), problem:evaluate(placement).objective_us, tolerance)
      end
    end
    check.equal(moves:placement(), placement)
    check.equal({ moves:device(7), moves:feasible() }, { placement[7], problem:evaluate(placement).feasible })
    check.equal({ rejections > 10, overfull > 10 }, { true, true })
    local evaluations, ops = moves:work()
    check.equal(evaluations > 100 and ops > evaluations, true)
    check.equal(#moves:loads_us(), options.objective and 3 or 0)
  end)
end

check.test("several ops move at once: both sides of an exchange, or all to one device", function()
  local problem = models.problem()
  local moves = berth.moves(problem):reset { 1, 1, 2, 1 }
  check.near((moves:propose({ 2, 3 }, { 2, 1 })), problem:evaluate({ 1, 2, 1, 1 }).objective_us)
  check.near((moves:propose({ 1, 2, 4 }, 2)), problem:evaluate({ 2, 2, 2, 2 }).objective_us)
  check.equal(moves:placement(), { 1, 1, 2, 1 })
  check.equal(moves:accept():placement(), { 2, 2, 2, 2 })
  check.near((moves:propose(3, 1)), problem:evaluate({ 2, 2, 1, 2 }).objective_us)
end)

check.test("moves that cannot be are told", function()
  local problem = layered()
  local moves = berth.moves(problem)
  for _, name in ipairs { "device", "objective_us", "excess_bytes", "feasible", "placement", "loads_us", "accept" } do
    check.fails("no placement is kept yet; call moves:reset first", moves[name], moves, 1)
  end
  check.fails("reset", moves.propose, moves, 1, 1)
  moves:reset(problem:one_device(1))
  local op5
  for group = 1, 20 do
    for _, op in ipairs(problem:groups():members(group)) do
      if op == 5 then op5 = group end
    end
  end
  check.fails("op 'op5' cannot be on device 's0'", moves.propose, moves, 5, 3)
  check.fails("cannot be on device 's0'", moves.propose_group, moves, op5, 3)
  check.fails("op%): integer in 1..40 expected, got 41", moves.propose, moves, 41, 1)
  check.fails("device%): integer in 1..3", moves.propose, moves, 1, 4)
  check.fails("an array of 2 expected, got one of 1", moves.propose, moves, { 1, 2 }, { 1 })
  check.fails("placement", moves.reset, moves, { 1 })
  check.fails("problem expected, got graph", berth.moves, problem:graph())
end)

check.test("a policy's moves are its evaluator's work", function()
  berth.register_policy { name = "mover", place = function(problem, evaluator)
    local moves = berth.moves(evaluator):reset(problem:one_device(2))
    for device = 1, 2 do moves:propose_group(1, device) end
    return moves:placement()
  end }
  local _, outcome = berth.policy("mover"):place(layered())
  check.equal(outcome.evaluations >= 2, true)
  local kept = berth.moves(berth.evaluator(models.problem())):reset { 1, 1, 1, 1 }
  check.near(kept:objective_us(), 65)
end)

check.test("the example finds what is best, again with the same seed", function()
  local root = package.searchpath("check", package.path):gsub("tests/lua/support/check.lua$", "")
  local policy = berth.policy(root .. "examples/lua/local_search.lua", { moves = 3000 })
  local problem = layered()
  local placement, outcome = policy:place(problem, { seed = 4 })
  check.equal((policy:place(problem, { seed = 4 })), placement)
  check.equal(outcome.objective_us < 0.9 * outcome.single.evaluation.objective_us, true)
  check.equal(outcome.evaluations > 1000, true)
  check.near(select(2, policy:place(models.problem())).objective_us, 45)
end)

check.finish()
