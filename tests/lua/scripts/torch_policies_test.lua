-- berth.environment, and policies that learn written in Lua: the host treats them as any other.
local check = require "check"
local berth = require "berth"
local models = require "models"
local compare = require "berth.compare"
local train = require "berth.train"

local root = debug.getinfo(1, "S").source:sub(2):gsub("tests/lua/scripts/.*", "")
local folder = arg[1] or "/tmp"

local function problem_of(options)
  options = options or {}
  options.graph, options.cluster = models.diamond(), options.cluster or models.cluster(2)
  options.costs = "stated"
  return berth.problem(options)
end

check.test("an environment steps, and shows what an evaluator measures", function()
  local problem = problem_of()
  local environment = berth.environment(problem, { groups = { "cost" }, look_ahead = true })
  check.fails("call environment:reset", environment.step, environment, { 1 })
  environment:reset { samples = 2, initial = "zero" }
  check.equal(environment:episodes(), 2)
  local steps = 0
  repeat
    steps = steps + 1
    local done = environment:step { 1, 2 }
    for e = 1, 2 do
      check.equal(environment:evaluation(e).objective_us,
        problem:evaluate(environment:placement(e)).objective_us)
    end
  until done
  check.equal(steps, problem:groups():count())
  check.equal(environment:placement(2), { 2, 2, 2, 2 })
  environment:reset()
  check.equal(environment:done(), false)
  check.fails("one device for each of 1 episodes", environment.step, environment, { 1, 1 })
  check.fails("devices", environment.step, environment, { 3 })
  check.fails("'speeed' is no feature of groups; known: cost,", berth.environment, problem,
    { groups = { "speeed" } })
  local groups, devices = berth.features()
  check.equal(type(groups.cost) == "string" and type(devices.worse) == "string", true)
end)

check.test("a look ahead says what the step will be", function()
  local found, torch = pcall(require, "berth.torch")
  if not found then return end
  local environment = berth.environment(problem_of(), { groups = { "cost" }, look_ahead = true }):reset { samples = 2 }
  local seen = torch.observe(environment)
  repeat
    local ahead, now = seen.alternatives:totable(), seen.objective_us:totable()
    local done = environment:step { 1, 2 }
    for e = 1, 2 do
      local us = environment:evaluation(e).objective_us
      check.equal(ahead[e][e], us > 1.1 * now[e] and math.huge or us)
    end
  until done
end)

check.test("every feature is a number that is finite", function()
  local groups, devices = berth.features()
  local names = { groups = {}, devices = {} }
  for name in pairs(groups) do table.insert(names.groups, name) end
  for name in pairs(devices) do table.insert(names.devices, name) end
  local environment = berth.environment(problem_of { cluster = models.cluster(2, 1e6) }, names)
  environment:reset { samples = 3, seed = 4 }
  local ffi = require "ffi"
  repeat
    for _, name in ipairs { "groups", "devices" } do
      local address, c_type, shape = environment:observation():view(name)
      local values = ffi.cast(c_type .. "*", address)
      for i = 0, shape[1] * shape[2] * shape[3] - 1 do
        assert(values[i] >= -4 and values[i] <= 4, name)
      end
    end
  until environment:step { 1, 2, 1 }
end)

check.test("constraints are told, and repair keeps them", function()
  local problem = berth.problem { graph = models.diamond(), cluster = models.cluster(2, 1e6),
    costs = "stated", constraints = { { separate = { "left", "right" } }, { memory_margin = "10%" } } }
  check.equal(#problem:separations(), 1)
  check.equal(#problem:separations()[1], 2)
  check.near(problem:memory_bytes(1), 9e5)
  local repaired = berth.evaluator(problem):repair { 1, 1, 1, 1 }
  problem:validate(repaired)
  assert(repaired[2] ~= repaired[3])
  check.equal(problem_of():memory_bytes(1), math.huge)
  check.equal(problem_of():separations(), {})
end)

-- Learns which device each episode's group was best on, with a table instead of a network.
local function register_table_policy()
  return berth.register_policy {
    name = "table_learner",
    options = { { name = "first", default = 1, meaning = "the device at first" } },
    learns = {
      make = function(options) return { device = options.first, updates = 0 } end,
      act = function(agent, environment, options, tape)
        local devices, log_probabilities, entropies = {}, {}, {}
        for e = 1, environment:episodes() do
          devices[e] = options.greedy and agent.device or (e + agent.updates) % 2 + 1
          log_probabilities[e], entropies[e] = -1, 0.5
        end
        tape[#tape + 1] = devices
        return devices, log_probabilities, entropies
      end,
      update = function(agent, tape, advantages, options)
        agent.updates = agent.updates + 1
        assert(#tape == #advantages[1] and options.learning_rate > 0)
        return { loss = 1, entropy = 0.5, gradient_norm = 2 }
      end,
      save = function(agent, path, note)
        local file = assert(io.open(path, "w"))
        file:write(agent.device, "\n", note)
        file:close()
      end,
      load = function(agent, path)
        local file = assert(io.open(path))
        agent.device = file:read "*n"
        local note = file:read "*a":sub(2)
        file:close()
        return note
      end,
      parameters = function() return 1 end,
    },
  }
end

check.test("a policy is compared by its own placement, and place says whose it gives", function()
  register_table_policy()
  -- The second device is ten times slower, so that where its episodes start is better.
  local builder = berth.graph_builder "chain"
  local last
  for i = 1, 6 do
    local op = builder:add_op("op" .. i, "Op")
    builder:set_cost(op, 100, "fast")
    builder:set_cost(op, 1000, "slow")
    if last then builder:add_input(op, last) end
    last = builder:add_output(op, { bytes = 8 })
  end
  local problem = berth.problem { graph = builder:build(), costs = "stated", cluster = berth.cluster {
    name = "two", devices = { { name = "a", kind = "fast" }, { name = "b", kind = "slow" } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 1 } } } }
  for _, starts in ipairs { "known", "none" } do
    local options = { first = 2, starts = starts, episodes = 2 }
    local placement, outcome = berth.policy("table_learner", options):place(problem)
    check.equal(outcome.own.placement, { 2, 2, 2, 2, 2, 2 })
    check.near(outcome.own.evaluation.objective_us, 6000)
    check.equal(outcome.whose, starts == "known" and "start" or "passed")
    check.equal(placement == outcome.own.placement, false)
    local row = compare.policies { problem = problem, policies = { { "table_learner", options } } }[1]
    check.near(row.objective_us, 6000)
    check.near(row.gap, 9)
    check.equal(row.placement, outcome.own.placement)
    check.near(row.best_us, outcome.objective_us)
    if starts == "known" then
      check.near(outcome.start.evaluation.objective_us, 600)
      check.equal(row.note:match "^saw 0%.600 ms: the start" ~= nil, true)
    else
      check.equal(outcome.start, nil)
    end
  end
  -- The greedy figure of training is of what episodes end with, too.
  local result = train.episodes { policy = berth.policy("table_learner", { first = 2 }), problems = { problem },
    count = 1, samples = 2 }
  check.near(result.greedy[1].evaluation.objective_us, 6000)
  check.near(result.start[1].objective_us, 600)
  check.near(result.best[1].evaluation.objective_us, 600)
  local whole = train.episodes { policy = berth.policy("table_learner", { first = 2 }), problems = { problem },
    count = 1, samples = 1, initial = "none" }
  check.near(whole.best[1].evaluation.objective_us, 6000)
end)

check.test("a policy that moves nothing is compared by its start, and the row says so", function()
  local ffi = require "ffi"
  berth.register_policy { name = "keeper", learns = {
    observe = { devices = { "same_device" } },
    make = function() return {} end,
    act = function(_, environment)
      local address, c_type, shape = environment:observation():view "devices"
      local same = ffi.cast(c_type .. "*", address)
      local devices, zeros = {}, {}
      for e = 1, shape[1] do
        for d = 1, shape[2] do
          if same[(e - 1) * shape[2] + d - 1] == 1 then devices[e] = d end
        end
        zeros[e] = 0
      end
      return devices, zeros, zeros
    end,
    update = function() return { loss = 0, entropy = 0, gradient_norm = 0 } end,
    save = function() end, load = function() return "" end, parameters = function() return 1 end,
  } }
  local row = compare.policies { problem = problem_of(), policies = { "keeper" } }[1]
  check.equal({ row.whose, row.best_us, row.start_us }, { "start", row.objective_us, row.objective_us })
  check.equal(row.note:match "^moved nothing: the start, " ~= nil, true)
end)

check.test("a policy of one pass: a draw of every group, a simulation per placement", function()
  local drawn, learned = 0, {}
  berth.register_policy {
    name = "whole",
    options = { { name = "wrong", default = "", meaning = "what it does wrong" } },
    learns = {
      make = function(options) return { wrong = options.wrong } end,
      whole = function(agent, environment, options, tape)
        local seen = environment:observation()
        check.equal(select(3, seen:view "groups")[1], 1)
        check.equal(select(3, seen:view "able"), { 4, 2 })
        local placements, logs = {}, {}
        for e = 1, options.samples * environment:problem_count() do
          placements[e] = options.greedy and { 2, 2, 2, 2 } or { 1, 2, e % 2 + 1, 1 }
          logs[e] = agent.wrong == "nan" and 0 / 0 or -4
        end
        if agent.wrong == "short" then placements[1] = { 1 } end
        if agent.wrong == "few" then placements[#placements] = nil end
        drawn, tape.placements = drawn + #placements, placements
        return placements, logs
      end,
      update = function(_, tape, advantages)
        learned[#learned + 1] = { #tape.placements, #advantages, #advantages[1] }
        return { loss = 0, entropy = 0, gradient_norm = 0 }
      end,
      save = function(_, path) assert(io.open(path, "w")):close() end, load = function() return "" end,
      parameters = function() return 0 end,
    },
  }
  local problem = problem_of()
  local policy = berth.policy "whole"
  local rollout = policy:rollout({ problem, problem }, { samples = 3 })
  check.equal({ rollout:episodes(), rollout:steps(1), rollout:measured(1), rollout:problem(4) }, { 6, 1, 1, 2 })
  check.equal(rollout:last(1), { 1, 2, 2, 1 })
  check.equal(rollout:evaluation(2, 1).objective_us, problem:evaluate({ 1, 2, 1, 1 }).objective_us)
  check.equal(rollout:evaluation(2, 0).objective_us, problem:single().evaluation.objective_us)
  check.equal(rollout:log_probability(1, 1), -4)
  drawn = 0
  local result = train.episodes { policy = policy, problems = { problem }, count = 2, samples = 4 }
  check.equal({ drawn, learned }, { 9, { { 4, 4, 1 }, { 4, 4, 1 } } })
  check.equal(result.greedy[1].placement, { 2, 2, 2, 2 })
  -- It has no start: what it is placed with is what it drew.
  local placement, outcome = policy:place(problem)
  check.equal({ placement, outcome.whose, outcome.start }, { { 2, 2, 2, 2 }, "own" })
  for wrong, pattern in pairs { nan = "that of episode 1 is NaN", short = "placement 1, devices by group",
    few = "one placement for each of 1 episodes expected, got 0" } do
    check.fails(pattern, function() berth.policy("whole", { wrong = wrong }):rollout(problem) end)
  end
  check.fails("give `act` or `whole`", berth.register_policy, { name = "both", learns = {
    make = print, act = print, whole = print, update = print, save = print, load = print, parameters = print } })
end)

check.test("an environment that is done takes no step; an evaluator's runtime is no less than 0", function()
  local problem = problem_of()
  local environment = berth.environment(problem)
  environment:reset()
  repeat until environment:step { 1 }
  check.fails("every episode is done", environment.step, environment, { 1 })
  local negative = berth.evaluator(problem, { evaluate = function() return { { objective_us = -5 } } end })
  check.fails("a time is negative", negative.evaluate, negative, { 1, 1, 1, 1 })
end)

check.test("the host runs, places, saves and compares a policy that learns", function()
  register_table_policy()
  local problem = problem_of { constraints = { { separate = { "left", "right" } } } }
  local policy = berth.policy("table_learner", { first = 2, passes = 1 })
  check.equal(policy:learns(), true)
  check.equal(policy:parameters(), 1)
  local rollout = policy:rollout(problem, { samples = 2 })
  check.equal({ rollout:episodes(), rollout:steps(1) }, { 2, 4 })
  check.equal(rollout:log_probability(1, 3), -1)
  check.equal(rollout:evaluation(2, 4).objective_us,
    problem:evaluate((rollout:last(2))).objective_us)
  check.fails("8 decisions", policy.update, policy, rollout, { 1 })
  check.fails("not a finite number", policy.update, policy, rollout,
    { 1, 1, 1, 1, 1, 1, 1, math.huge })
  check.fails("max_norm is %-1", policy.update, policy, rollout, { 1, 1, 1, 1, 1, 1, 1, 1 },
    { max_norm = -1 })
  check.equal(policy:update(rollout, { 1, 1, 1, 1, 1, 1, 1, 1 }).gradient_norm, 2)
  check.fails("every update changes them", policy.update, policy, rollout,
    { 1, 1, 1, 1, 1, 1, 1, 1 })
  local other = berth.policy "table_learner"
  check.fails("there is nothing to learn from", other.update, other, rollout,
    { 1, 1, 1, 1, 1, 1, 1, 1 })
  -- What its episodes find is repaired: left and right are apart.
  local placement = policy:place(problem)
  assert(placement[2] ~= placement[3])
  policy:save(folder .. "/table", "the note")
  check.equal(other:load(folder .. "/table"), "the note")
  local result = train.episodes { policy = policy, problems = { problem_of() }, count = 3, samples = 2 }
  check.equal(result.updates, 3)
  compare.policies { problem = problem_of(), policies = { "single", "table_learner" } }
end)

check.test("a policy that learns takes the options of those in C++", function()
  register_table_policy()
  local problem = problem_of()
  local function place(options)
    local policy = berth.policy("table_learner", options)
    local _, outcome = policy:place(problem)
    return policy, outcome
  end
  -- Of more groups than that it makes coarser ones, and says so.
  local _, coarse = place { groups = 2 }
  -- Fresh weights have a note, as those of policies in C++ have.
  local fresh = "the weights are fresh: nothing was learned"
  check.equal({ coarse.notes[1], coarse.notes[2] }, { fresh, "4 groups were placed as 2" })
  check.equal(select(2, place { starts = "none" }).notes, { fresh })
  local policy = berth.policy "table_learner"
  train.episodes { policy = policy, problems = { problem }, count = 1, samples = 2 }
  local _, taught = policy:place(problem)
  check.equal(table.concat(taught.notes):find(fresh, 1, true), nil)
  -- Updates on the very graph, which this one counts.
  local learned = place { episodes = 3, samples = 2 }
  learned:save(folder .. "/learned", "after three")
  local file = assert(io.open(folder .. "/first", "w"))
  file:write "2\n"
  file:close()
  local given = berth.policy("table_learner", { weights = folder .. "/first" })
  local greedy = given:rollout(problem, { greedy = true })
  check.equal(greedy:last(1), { 2, 2, 2, 2 })
  check.equal(berth.policy("table_learner", { weights = "none" }):parameters(), 1)
  check.fails("option 'samples' takes", berth.policy, "table_learner", { samples = 0 })
  check.fails("option 'groups'.*the host reads it", berth.register_policy, { name = "other_groups",
    options = { { name = "groups", default = "many", meaning = "of its own" } },
    learns = { make = function() end, act = function() end, update = function() end,
      save = function() end, load = function() end, parameters = function() return 0 end } })
end)

check.test("what a policy that learns does wrong is told by its name", function()
  local function broken(name, act)
    berth.register_policy { name = name, learns = { make = function() return {} end, act = act,
      update = function() end, save = function() end, load = function() end,
      parameters = function() return 0 end } }
    local policy = berth.policy(name)
    return policy.rollout, policy, problem_of()
  end
  check.fails("'few'.*one device for each of 1 episodes", broken("few", function() return {} end))
  check.fails("'none'.*`act`.*devices", broken("none", function() end))
  check.fails("'far'.*device", broken("far", function() return { 9 } end))
  check.fails("'raises'.*torch_policies_test.lua:%d+: no idea",
    broken("raises", function() error "no idea" end))
  check.fails("give `learns` or `place`", berth.register_policy, { name = "both",
    place = function() end, learns = {} })
  check.fails("make", berth.register_policy, { name = "empty", learns = {} })
  local kept
  local run, policy, problem = broken("keeps", function(_, environment)
    kept = environment
    return { 1 }
  end)
  run(policy, problem)
  check.fails("lent to a policy for one rollout", kept.step, kept, { 1 })
  kept = nil
end)

local found = pcall(require, "berth.torch")
if found then
  check.test("a network decides in eval mode, and learns in train mode", function()
    local torch, modes = require "berth.torch", {}
    local function register(name, more)
      local learns = { kind = name, observe = { groups = { "cost" }, devices = { "load" } },
        network = function()
          return torch.nn.Sequential(torch.nn.Linear(1, 4), torch.nn.Dropout(0.9), torch.nn.Linear(4, 1))
        end }
      for key, value in pairs(more) do learns[key] = value end
      berth.register_policy { name = name, learns = torch.learner(learns) }
    end
    local function note(network)
      assert(network.training == network[2].training)
      modes[#modes + 1] = network.training
    end
    local function logits(network, seen)
      note(network)
      return network(seen.devices):squeeze(-1)
    end
    register("modes_step", { logits = logits })
    register("modes_whole", { group_logits = function(network, seen)
      note(network)
      return network(seen.groups:squeeze(1)):expand { -1, seen.able:size(2) }
    end })
    register("modes_own", { logits = logits, update = function(agent, tape, advantages, options)
      note(agent.network)
      return torch.learner.update(agent, tape, advantages, options)
    end })
    for _, name in ipairs { "modes_step", "modes_whole", "modes_own" } do
      local policy, problem = berth.policy(name), problem_of()
      modes = {}
      local rollout = policy:rollout(problem, { samples = 2, seed = 1 })
      local acted = #modes
      for k = 1, acted do check.equal(modes[k], false) end
      local advantages = {}
      for e = 1, 2 do
        for _ = 1, rollout:steps(e) do advantages[#advantages + 1] = 1 end
      end
      policy:update(rollout, advantages, { learning_rate = 1e-3 })
      check.equal(#modes > acted and acted > 0, true)
      for k = acted + 1, #modes do check.equal(modes[k], true) end
      check.equal(policy:rollout(problem, { greedy = true, initial = "single", seed = 1 }):last(1),
        policy:rollout(problem, { greedy = true, initial = "single", seed = 2 }):last(1))
      check.equal(modes[#modes], false)
    end
  end)

  check.test("logits of another shape are refused, which LibTorch would repeat", function()
    local torch = require "berth.torch"
    local problem = problem_of()
    local function run(name, logits)
      local learns = { kind = name, observe = { groups = { "cost" }, devices = { "load" } },
        network = function() return torch.nn.Linear(1, 1) end }
      learns[name:match "^group_logits" or "logits"] = logits
      berth.register_policy { name = name, learns = torch.learner(learns) }
      local policy = berth.policy(name)
      return policy.rollout, policy, problem, { samples = 3, seed = 1 }
    end
    local function of(...)
      local shape = { ... }
      return function() return torch.zeros(shape) end
    end
    check.fails("`logits` gave %[3, 1%]; it gives %[3, 2%] %(episodes, devices%)", run("logits_column", of(3, 1)))
    check.fails("`logits` gave %[1, 2%]; it gives %[3, 2%]", run("logits_row", of(1, 2)))
    check.fails("`logits` gave %[3, 2, 1%]; it gives %[3, 2%]", run("logits_deep", of(3, 2, 1)))
    check.fails("`logits` gave a nil; it gives a tensor %[3, 2%]", run("logits_none", function() end))
    check.fails("`group_logits` gave %[4, 1%]; it gives %[4, 2%] %(groups, devices%)", run("group_logits_column", of(4, 1)))
    run("logits_right", of(3, 2))
  end)

  check.test("a rollout's entropies are those of the policy, in nats", function()
    local torch = require "berth.torch"
    local problem = problem_of()
    -- Both devices alike; the first alone.
    for name, second in pairs { even = 0, sure = -math.huge } do
      local function logits(_, rows) return torch.tensor({ 0, second }):expand { rows, -1 } end
      local learns = { observe = { groups = { "cost" }, devices = { "load" } },
        network = function() return torch.nn.Linear(1, 1) end }
      learns.kind, learns.logits = name .. "_step", function(of, seen) return logits(of, seen.allowed:size(1)) end
      berth.register_policy { name = learns.kind, learns = torch.learner(learns) }
      learns.logits = nil
      learns.kind, learns.group_logits = name .. "_whole", function(of, seen) return logits(of, seen.able:size(1)) end
      berth.register_policy { name = learns.kind, learns = torch.learner(learns) }
      local nats = name == "even" and math.log(2) or 0
      local steps = berth.policy(name .. "_step"):rollout(problem, { seed = 1 })
      for s = 1, steps:steps(1) do
        check.near(steps:entropy(1, s), nats, 1e-6)
        check.near(steps:log_probability(1, s), -nats, 1e-6)
      end
      local whole = berth.policy(name .. "_whole"):rollout(problem, { seed = 1 })
      check.near(whole:entropy(1, 1), nats * problem:groups():count(), 1e-6)
    end
  end)

  check.test("an update reports the exact entropy, and not the smooth one that its gradient follows", function()
    local torch = require "berth.torch"
    local problem = problem_of()
    local learns = { observe = { groups = { "cost" }, devices = { "load" } },
      network = function() return torch.nn.Linear(1, 1) end }
    local function logits(net, rows) return net.weight:expand { rows, 2 } end
    learns.kind, learns.logits = "even_update", function(net, seen) return logits(net, seen.allowed:size(1)) end
    berth.register_policy { name = learns.kind, learns = torch.learner(learns) }
    learns.logits = nil
    learns.kind, learns.group_logits = "even_whole_update", function(net, seen) return logits(net, seen.able:size(1)) end
    berth.register_policy { name = learns.kind, learns = torch.learner(learns) }
    for name, count in pairs { even_update = 1, even_whole_update = problem:groups():count() } do
      local policy = berth.policy(name)
      local rollout = policy:rollout(problem, { seed = 1, samples = 2 })
      local advantages = {}
      for e = 1, rollout:episodes() do
        for _ = 1, rollout:steps(e) do advantages[#advantages + 1] = e - 1 end
      end
      local _, report = policy:gradient(rollout, advantages, { entropy_weight = 0.1 })
      check.near(report.entropy, count * math.log(2), 1e-5)
    end
  end)

  for _, name in ipairs { "placeto", "ppo", "evolution", "one_pass" } do
    check.test(name .. " learns, goes on where it stopped, and places", function()
      local problem = problem_of()
      local checkpoint = folder .. "/" .. name .. ".checkpoint"
      local function new()
        return berth.policy(root .. "examples/lua/" .. name .. ".lua",
          name == "placeto" and { rounds = 2 } or nil)
      end
      local function learn(policy, count, path)
        return train.episodes { policy = policy, problems = { problem }, count = count, samples = 4,
          learning_rate = 0.01, entropy_weight = 0.01, checkpoint = path }
      end
      local whole = new()
      learn(whole, 6, checkpoint .. ".whole")
      learn(new(), 3, checkpoint)
      local resumed = new()
      local result = learn(resumed, 6, checkpoint)
      check.equal(result.updates, 6)
      -- Killed and gone on is the same as never stopped.
      local how = { samples = 2, seed = 9 }
      local a, b = whole:rollout(problem, how), resumed:rollout(problem, how)
      for e = 1, 2 do
        for t = 1, a:steps(e) do
          check.equal(a:evaluation(e, t).objective_us, b:evaluation(e, t).objective_us)
          check.equal(a:log_probability(e, t), b:log_probability(e, t))
        end
      end
      local _, outcome = resumed:place(problem)
      check.equal(outcome.feasible, true)
      -- A policy of one pass starts from nothing, so that a single device is not among its states.
      assert(name == "one_pass" or outcome.objective_us <= problem:single().evaluation.objective_us)
      if name ~= "evolution" then
        local kept = whole:rollout(problem, how)
        local advantages = name == "one_pass" and { 1, -1 } or { 1, -1, 1, -1, 1, -1, 1, -1 }
        check.fails("leads too far", whole.update, whole, kept, advantages, { learning_rate = 1e38 })
        local c = whole:rollout(problem, how)
        check.equal(c:log_probability(1, 1), a:log_probability(1, 1))
      end
    end)
  end
end

-- Runs a script with these arguments; the last text that it prints.
local function run_script(path, ...)
  local given, say, said = arg, print, nil
  arg = { [0] = path, ... }
  print = function(text) said = text end
  local ok, message = pcall(dofile, path)
  arg, print = given, say
  assert(ok, message)
  return assert(said)
end

-- Runs the scripts of a page one after the other, as its reader would; the first may be a policy.
local function run_page(name)
  local file = assert(io.open(root .. "scripts/recipes/" .. name .. ".md"))
  local page = file:read "*a"
  file:close()
  local last
  for block in page:gmatch "```lua\n(.-)```" do
    local script = block:match "^%-%- (%S+%.lua)"
    local path = folder .. "/" .. script
    -- Pages name files of the working directory.
    local text = block:gsub('"(new_network%.%w+)"', ("%q"):format(folder .. "/%1"))
    local out = assert(io.open(path, "w"))
    out:write(text)
    out:close()
    last = path
  end
  assert(run_script(last, root .. "examples/lua/branches.graph.json", "2"):find "ms")
end

check.test("the recipe 'a new reward' runs", function() run_page "new_reward" end)
if found then
  check.test("the example's command runs", function()
    for _, name in ipairs { "placeto", "ppo", "evolution", "one_pass" } do
      assert(run_script(root .. "examples/lua/train.lua", name, root .. "examples/lua/branches.graph.json",
        "k80x2", "1"):find "placed")
    end
  end)
  check.test("the recipe 'a new network' runs", function() run_page "new_network" end)
end

check.finish()
