-- What tells that results belong together: of problems, and of the evaluators of a training.
local berth = require "berth"
local check = require "check"
local fingerprints = require "berth.fingerprints"
local train = require "berth.train"
local folder = ...

local function posed(bytes, more)
  local builder = berth.graph_builder "sizes"
  local tensor
  for i = 1, 4 do
    local op = builder:add_op("op" .. i, "Op")
    if tensor then builder:add_input(op, tensor) end
    tensor = builder:add_output(op, { bytes = bytes })
  end
  local cluster = berth.cluster { name = "two", devices = { { name = "a", kind = "x" }, { name = "b", kind = "x" } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e6 } } }
  local graph = builder:build()
  local given = { graph = graph, cluster = cluster, costs = berth.costs({ us = { x = { 5, 5, 5, 5 } } }, graph, cluster) }
  for name, value in pairs(more or {}) do given[name] = value end
  return berth.problem(given)
end

check.test("a fingerprint is of sizes, gaps and steps in flight", function()
  local function differ(a, b)
    return (fingerprints.difference({ settings = {}, problems = { fingerprints.of_problem(a) } },
      { settings = {}, problems = { fingerprints.of_problem(b) } }))
  end
  check.equal(differ(posed(8), posed(8)), nil)
  check.equal(differ(posed(8), posed(9)), "problem 1, the sizes and edges of the graph")
  local function gaps(transfer, device)
    return posed(8, { semantics = "placeto", transfer_gap_us = transfer, device_gap_us = device })
  end
  check.equal(differ(gaps(25, 5), gaps(26, 5)), "problem 1, what a step takes")
  check.equal(differ(gaps(25, 5), gaps(25, 6)) ~= nil, true)
  local function flights(count) return posed(8, { objective = "throughput", in_flight = count }) end
  check.equal(differ(flights(1), flights(4)), "problem 1, what a step takes")
  check.equal(fingerprints.key_of(posed(8)) == fingerprints.key_of(posed(8)), true)
  check.equal(fingerprints.key_of(posed(8)) == fingerprints.key_of(posed(9)), false)
end)

check.test("a checkpoint is of what a function of evaluators holds", function()
  local path, problem = folder .. "/held.berth", posed(8)
  local function evaluators(times)
    return function() return berth.evaluator(problem, { evaluate = function(placements)
      local found = {}
      for i, placement in ipairs(placements) do found[i] = { objective_us = times * problem:evaluate(placement).objective_us } end
      return found
    end }) end
  end
  local function run(times)
    return train.episodes { policy = berth.policy("doppler", { weights = "none" }), problems = { problem }, count = 2,
      samples = 2, checkpoint = path, evaluators = evaluators(times) }
  end
  run(1)
  check.equal(run(1).updates, 2)
  check.fails("option evaluators = a function", run, 1000)
end)

check.finish()
