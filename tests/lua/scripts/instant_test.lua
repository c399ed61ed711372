-- Rules of `instant` learned from small problems.
local folder = ...
local berth = require "berth"
local check = require "check"
local instant = require "berth.instant"

-- Two chains of `count` ops that end in one, on two devices.
local function problem_of(count, bytes, memory_bytes)
  local builder = berth.graph_builder "chains"
  local last = builder:add_op("last", "Op")
  for chain = 1, 2 do
    local tensor
    for i = 1, count do
      local op = builder:add_op(("op%d_%d"):format(chain, i), "Op")
      if tensor then builder:add_input(op, tensor) end
      tensor = builder:add_output(op, { bytes = bytes })
    end
    builder:add_input(last, tensor)
  end
  local cluster = berth.cluster { name = "two", devices = { { name = "a", kind = "x", memory_bytes = memory_bytes },
      { name = "b", kind = "x", memory_bytes = memory_bytes } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e6 } } }
  local graph, us = builder:build(), {}
  for op = 1, graph:op_count() do us[op] = 10 end
  return berth.problem { graph = graph, cluster = cluster, costs = berth.costs({ us = { x = us } }, graph, cluster) }
end

local function lines_of(path)
  local count = 0
  for _ in io.lines(path) do count = count + 1 end
  return count
end

check.test("rules are learned, kept in a file and used", function()
  local problems, path = { problem_of(5, 1), problem_of(1, 1000) }, folder .. "/some.weights"
  local seen = 0
  local options = { problems = problems, draws = 20, keep = 3, seed = 4, record = folder .. "/runs.record",
    progress = function(at)
      seen = seen + 1
      check.equal(at.draws, 20)
    end }
  local rules = instant.learn(options)
  check.equal(#rules, 3)
  check.equal(#rules[1], 11)
  for i = 1, 3 do check.equal(table.concat(rules[i], " ") == table.concat(rules[i % 3 + 1], " "), false) end
  check.equal(seen, 2)
  check.equal(lines_of(options.record), 40)
  -- Finished work is not done again, and the same draws give the same rules.
  check.equal(instant.learn(options), rules)
  check.equal(lines_of(options.record), 40)

  -- Runtimes that no pass can take are measured again, whatever the file says.
  local path_of_damaged = folder .. "/damaged.record"
  local impossible, number = { "-5", "nan", "0", "1e-300", "-inf", "1e300" }, 0
  local damaged = assert(io.open(path_of_damaged, "w"))
  for line in io.lines(options.record) do
    number = number + 1
    damaged:write(impossible[number] and line:gsub("\t.*", "\t" .. impossible[number]) or line, "\n")
  end
  damaged:close()
  check.equal(instant.learn { problems = problems, draws = 20, keep = 3, seed = 4, record = path_of_damaged }, rules)
  check.equal(lines_of(path_of_damaged), 40 + #impossible)
  check.equal(instant.learn { problems = problems, draws = 20, keep = 3, seed = 4, record = path_of_damaged }, rules)
  check.equal(lines_of(path_of_damaged), 40 + #impossible)

  -- Other problems have none of it, also where they stand at the same place.
  local others = { record = options.record, draws = 20, keep = 3, seed = 4, problems = { problem_of(3, 7), problems[2] } }
  local fresh = instant.learn { problems = others.problems, draws = 20, keep = 3, seed = 4 }
  check.equal(instant.learn(others), fresh)
  check.equal(lines_of(options.record) > 40, true)

  instant.save(path, rules)
  for i, problem in ipairs(problems) do
    local _, outcome = berth.policy("instant", { weights = path, passes = 8 }):place(problem)
    -- Each chain on its own device; or all on one, where what the last op reads takes too long to send.
    check.near(outcome.objective_us, i == 1 and 61 or 30)
  end
  check.equal(instant.ratio(rules, problems) <= instant.ratio({ rules[1] }, problems), true)
end)

check.test("what fits nowhere is no runtime, and what one device does not hold is compared with none", function()
  local fits, nowhere = problem_of(2, 1), problem_of(5, 100, 50)
  local seen
  local rules = instant.learn { problems = { fits, nowhere }, draws = 10, keep = 2, progress = function(at) seen = at end }
  check.equal({ seen.unfit, seen.log_us < math.log(100) }, { 1, true })
  check.equal({ select(2, instant.ratio(rules, { fits, nowhere })) }, { 1, 1 })
  check.near((instant.ratio(rules, { fits, nowhere })), (instant.ratio(rules, { fits })))
  check.fails("no pass fits any of the problems.*give devices with more memory .*memory is short", instant.learn,
    { problems = { nowhere }, draws = 3 })
  -- Both devices together hold what one does not.
  local builder = berth.graph_builder "weights"
  for i = 1, 2 do builder:set_param_bytes(builder:add_op("op" .. i, "Op"), 40) end
  local graph, cluster = builder:build(), problem_of(1, 1, 70):cluster()
  local apart = berth.problem { graph = graph, cluster = cluster, costs = berth.costs({ us = { x = { 1, 1 } } }, graph, cluster) }
  check.equal(apart:single(), nil)
  check.equal({ instant.ratio(rules, { apart }) }, { nil, 0, 1 })
end)

check.test("rules need problems", function()
  check.equal(#instant.learn { problems = { problem_of(2, 1) }, draws = 1 }, 1)
  check.fails("at least one problem", instant.learn, { problems = {} })
end)

check.finish()
