local check = require "check"
local rewards = require "berth.rewards"

local function evaluation(seconds, peaks, excess)
  return { objective_us = seconds * 1e6, feasible = (excess or 0) == 0, excess_bytes = excess or 0,
           peak_bytes = peaks or { 0, 0 } }
end

check.test("a step to a faster placement is rewarded", function()
  local reward = rewards.improvement()
  check.near(reward(evaluation(3), evaluation(2), false), 1)
  check.near(reward(evaluation(2), evaluation(3), true), -1)
end)

check.test("the rewards of an episode add up to its improvement", function()
  local reward, runtimes, sum = rewards.improvement(), { 5, 3, 4, 1 }, 0
  for i = 2, #runtimes do sum = sum + reward(evaluation(runtimes[i - 1]), evaluation(runtimes[i])) end
  check.near(sum, 4)
end)

check.test("memory over the limit costs seconds per GB, up to the clamp", function()
  local cost = rewards.cost { memory_penalty = 2, memory_limit_bytes = 8e9 }
  check.near(cost(evaluation(1, { 7e9, 8e9 })), 1)
  check.near(cost(evaluation(1, { 7e9, 9.5e9 })), 4)
  check.near(cost(evaluation(1, { 20e9, 0 })), 10)
  check.near(rewards.cost { clamp_s = 4 }(evaluation(7)), 4)
  check.near(rewards.cost {}(evaluation(1, nil, 5e8)), 2)
  check.near(rewards.cost { memory_penalty = 0 }(evaluation(1, nil, 5e8)), 1)
  check.near(rewards.cost { log = true }(evaluation(2)), math.log(2))
  check.near(rewards.cost { log = true, memory_penalty = 1 }(evaluation(1, nil, 1e9)), math.log(2))
end)

check.test("a step that takes no time has a logarithm", function()
  check.near(rewards.cost { log = true }(evaluation(0)), math.log(1e-15))
  check.equal(rewards.improvement { log = true }(evaluation(0), evaluation(0)), 0)
end)

check.test("a logarithm needs no clamp, and keeps one that is given", function()
  check.near(rewards.improvement { log = true }(evaluation(30), evaluation(15)), math.log(2))
  check.near(rewards.terminal { log = true }(nil, evaluation(1, nil, 9e9), true), -math.log(19))
  check.equal(rewards.improvement { log = true, clamp_s = 10 }(evaluation(30), evaluation(15)), 0)
  check.equal(rewards.improvement()(evaluation(30), evaluation(15)), 0)
end)

check.test("what breaks a rule costs as if a GB lacked", function()
  local apart = evaluation(1)
  apart.feasible = false
  check.near(rewards.cost {}(apart), 3)
  check.near(rewards.improvement()(evaluation(1.5), apart), -1.5)
end)

check.test("terminal rewards come at the end", function()
  local terminal, root = rewards.terminal(), rewards.sqrt { failing = -7 }
  check.equal({ terminal(evaluation(9), evaluation(4), false), root(nil, evaluation(4), false) },
              { 0, 0 })
  check.near(terminal(evaluation(9), evaluation(4), true), -4)
  check.near(root(nil, evaluation(4), true), -2)
  check.near(root(nil, evaluation(4, nil, 1), true), -7)
  check.near(rewards.sqrt()(nil, evaluation(4, nil, 1), true), -10)
end)

check.test("options are checked", function()
  check.fails("rewards_test.lua:%d+: unknown option 'memory'; known: clamp_s, log", function()
    rewards.improvement { memory = 1 }
  end)
  check.fails("option 'clamp_s': number expected, got string", rewards.cost, { clamp_s = "10" })
end)

-- The JIT's own words on what it does while f runs: traces made, and why others were given up.
local function compiled(f)
  local jit, vmdef = require "jit", require "jit.vmdef"
  jit.flush()
  local traces, reasons = 0, {}
  local function watch(what, _, _, _, reason)
    if what == "stop" then traces = traces + 1 end
    if what == "abort" then reasons[#reasons + 1] = vmdef.traceerr[reason] or tostring(reason) end
  end
  jit.attach(watch, "trace")
  f()
  jit.attach(watch)
  return traces, table.concat(reasons, "; ")
end

check.test("a reward is compiled, with nothing that the JIT cannot do", function()
  local cases = {
    improvement = rewards.improvement { memory_penalty = 2, memory_limit_bytes = 8e9 },
    logarithm = rewards.improvement { log = true },
    terminal = rewards.terminal(),
    sqrt = rewards.sqrt(),
  }
  for name, reward in pairs(cases) do
    local before, after = evaluation(3, { 1e9, 9e9 }), evaluation(2, { 2e9, 1e9 })
    local sum = 0
    local traces, reasons = compiled(function()
      for i = 1, 10000 do sum = sum + reward(before, after, i % 10 == 0) end
    end)
    if traces == 0 or reasons:find "NYI" then
      error(("%s: %d traces, given up: %s"):format(name, traces, reasons))
    end
  end
end)

check.finish()
