local berth = require "berth"
local check = require "check"
local models = require "models"
local folder = ...

local function register(place, options)
  return berth.register_policy { name = "test", description = "of this test", options = options,
                                 place = place }
end

check.test("a plugin places a problem, with everything one asks next", function()
  local problem = models.problem()
  local policy = berth.policy("single", { seed = 4 })
  check.equal(tostring(policy), "policy 'single'")
  check.equal({ policy:name(), policy:options() }, { "single", {} })
  local placement, outcome = policy:place(problem)
  check.equal(#placement, 4)
  check.near(outcome.objective_us, 65)
  check.equal({ outcome.policy, outcome.seed, outcome.feasible }, { "single", 4, true })
  check.near(outcome.bound_us, 45)
  check.near(outcome.gap, 65 / 45 - 1)
  check.near(outcome.single.evaluation.objective_us, 65)
  check.equal(tostring(outcome), "runtime 65 us, feasible")
  check.equal(outcome.wall_s >= 0, true)
  check.near(problem:evaluate(policy:place(problem)).objective_us, 65)
  local _, again = policy:place(problem, { seed = 9, budget_s = 10, threads = 2,
                                           evaluator = berth.evaluator(problem) })
  check.equal(again.seed, 9)
end)

check.test("auto starts from a policy in Lua, with its options", function()
  local problem, calls = models.problem(), {}
  register(function(given, evaluator, context)
    calls[#calls + 1] = context:options().device
    return given:one_device(context:options().device)
  end, { { name = "device", default = 1, meaning = "for all" } })
  local told = {}
  local placement, outcome = berth.policy("auto", { from = "test:device=2,test", moves = 1, threads = 1 })
    :place(problem)
  check.equal(calls, { 2, 1 })
  check.equal(outcome.feasible, true)
  problem:validate(placement)
  -- What it raises is one start less.
  register(function() error "no idea" end)
  check.equal(select(2, berth.policy("auto", { from = "single,test", moves = 1 }):place(problem)).feasible,
    true)
  check.fails("no policy 'tset'", function()
    berth.policy("auto", { from = "tset" }):place(problem)
  end)
  -- It places with itself: the host ends that.
  register(function(given)
    return (berth.policy("auto", { from = "test", moves = 1 }):place(given))
  end)
  check.equal(select(2, berth.policy("auto", { from = "single,test", moves = 1 }):place(problem)).feasible,
    true)
end)

check.test("plugins are listed with what they take", function()
  local plugins, problems = berth.plugins()
  local single
  for _, plugin in ipairs(plugins) do
    if plugin.name == "single" then single = plugin end
  end
  check.equal(single.kind, "policy")
  check.equal({ type(single.description), type(single.options), type(problems) },
              { "string", "table", "table" })
  check.equal(single.file:match "policy_single" ~= nil, true)
end)

check.test("a policy in Lua sees the problem, an evaluator and its context", function()
  local seen = {}
  register(function(problem, evaluator, context)
    seen.problem, seen.seed, seen.options = tostring(problem), context:seed(), context:options()
    seen.stop = context:should_stop()
    seen.draw = context:random():integer(1000)
    context:progress(evaluator:evaluate({ 1, 1, 1, 1 }).objective_us, "all on one")
    return { 1, 1, 2, 1 }
  end, {
    { name = "rounds", default = 8, meaning = "how often" },
    { name = "rate", default = 0.5, meaning = "how fast" },
    { name = "scale", type = "real", default = 1, meaning = "how much" },
    { name = "mode", default = "slow", meaning = "how" },
    { name = "loud", default = false, meaning = "whether" },
  })
  local problem = models.problem()
  local reports = {}
  local policy = berth.policy("test", { rounds = 3, scale = "2", seed = 5 })
  local placement, outcome = policy:place(problem, {
    progress = function(best_us, text) reports[#reports + 1] = { best_us, text } end,
  })
  check.equal(placement, { 1, 1, 2, 1 })
  check.near(outcome.objective_us, 45)
  check.equal(seen.problem, tostring(problem))
  check.equal({ seen.seed, seen.stop }, { 5, false })
  check.equal(seen.options, { rounds = 3, rate = 0.5, scale = 2, mode = "slow", loud = false })
  check.equal(seen.draw, berth.random(5):integer(1000))
  check.equal(reports, { { 65, "all on one" } })
  check.equal(outcome.evaluations >= 1, true)
end)

check.test("a spent budget stops a policy", function()
  register(function(_, _, context)
    while not context:should_stop() do end
    return { 1, 1, 1, 1 }
  end)
  check.equal((berth.policy("test"):place(models.problem(), { budget_s = 0.01 })), { 1, 1, 1, 1 })
end)

check.test("errors of a Lua policy carry its line through the engine", function()
  local problem = models.problem()
  local function fails(pattern, place)
    register(place)
    local policy = berth.policy "test"
    check.fails(pattern, function() local _ = policy:place(problem) end)
  end
  fails("policies.lua:%d+: policy:place: the policy 'test': .*policies.lua:%d+: .*arithmetic",
        function() return nil + 1 end)
  fails("the policy 'test': .*no room", function() berth.infeasible "no room" end)
  fails("field 'placement': table expected, got nothing", function() end)
  fails("array of 4 expected, got one of 1", function() return { 1 } end)
  fails("entry 1: integer in 1%.%.2 expected, got 3", function() return { 3, 1, 1, 1 } end)
  fails("policies.lua:%d+: evaluator:evaluate: .*array of 4",
        function(_, evaluator) return evaluator:evaluate {} end)
  fails("a number", function() error(setmetatable({}, { __tostring = function() return "a number" end })) end)
end)

check.test("a loan ends with the call", function()
  local kept = {}
  register(function(problem, evaluator, context)
    kept.problem, kept.evaluator, kept.context = problem, evaluator, context
    return { 1, 1, 1, 1 }
  end)
  berth.policy("test"):place(models.problem())
  check.near(kept.problem:evaluate({ 1, 1, 1, 1 }).objective_us, 65)
  check.fails("lent to a policy for one call", kept.evaluator.evaluate, kept.evaluator, { 1, 1, 1, 1 })
  check.fails("a policy that has ended", kept.context.should_stop, kept.context)
  check.fails("a policy that has ended", kept.context.options, kept.context)
  register(function() end)  -- lets go of what the one above kept
end)

check.test("policies may use each other, but not without end", function()
  register(function(problem) return (berth.policy("single"):place(problem)) end)
  check.near(select(2, berth.policy("test"):place(models.problem())).objective_us, 65)
  register(function(problem) return (berth.policy("test"):place(problem)) end)
  check.fails("policies call each other", function()
    local _ = berth.policy("test"):place(models.problem())
  end)
end)

check.test("a policy places inside a coroutine", function()
  register(function(problem, evaluator)
    evaluator:evaluate { 1, 1, 1, 1 }
    return (berth.policy("single"):place(problem))
  end)
  local problem = models.problem()
  local thread = coroutine.wrap(function()
    coroutine.yield(select(2, berth.policy("test"):place(problem)).objective_us)
    error "inside"
  end)
  check.near(thread(), 65)
  check.fails("policies.lua:%d+: inside", thread)
end)

check.test("a policy is told where to start", function()
  local starts
  register(function(_, _, context)
    starts = context:initial()
    return { 1, 1, 1, 1 }
  end)
  local problem = models.problem()
  berth.policy("test"):place(problem, { initial = { { 2, 2, 2, 2 }, { 1, 2, 1, 2 } } })
  check.equal(starts, { { 2, 2, 2, 2 }, { 1, 2, 1, 2 } })
  berth.policy("test"):place(problem)
  check.equal(starts, {})
end)

check.test("a policy comes from a script by its path", function()
  local path = folder .. "/mine.lua"
  local file = io.open(path, "w")
  file:write [[
    assert(select("#", ...) == 0 and arg[0]:match "mine.lua")
    require("berth").register_policy { name = "mine", place = function(problem)
      return problem:single().placement
    end }]]
  file:close()
  local before = arg[0]
  local policy = berth.policy(path)
  check.equal(arg[0], before)
  check.near(select(2, policy:place(models.problem())).objective_us, 65)
  check.equal(berth.policy("mine"):name(), "mine")
end)

check.test("bad registrations and requests are refused", function()
  local function nothing() end
  check.fails("policy%): table expected, got nothing", berth.register_policy)
  check.fails("'name': text expected", berth.register_policy, { place = nothing })
  check.fails("'name': lower%-case letters", berth.register_policy, { name = "My", place = nothing })
  check.fails("'place': function expected, got nothing", berth.register_policy, { name = "x" })
  check.fails("unknown field 'run'", berth.register_policy, { name = "x", place = nothing, run = 1 })
  check.fails("'default': boolean, number or text expected", berth.register_policy,
              { name = "x", place = nothing, options = { { name = "a", meaning = "?" } } })
  check.fails("'int' is not a type; known: boolean, integer", berth.register_policy,
              { name = "x", place = nothing,
                options = { { name = "a", type = "int", default = 1, meaning = "?" } } })
  check.fails("berth.register_policy: .*'a'", berth.register_policy,
              { name = "x", place = nothing,
                options = { { name = "a", type = "integer", default = "many", meaning = "?" } } })

  check.fails("berth.policy: .*'sngle'.*single", berth.policy, "sngle")
  check.fails("berth.policy: .*absent.lua", berth.policy, folder .. "/absent.lua")
  check.fails("berth.policy: .*'rounds'", berth.policy, "single", { rounds = 1 })
  check.fails("'seed': integer >= 0 expected", berth.policy, "single", { seed = -1 })
  local policy, problem = berth.policy "single", models.problem()
  check.fails("problem%): problem expected, got graph", policy.place, policy, problem:graph())
  check.fails("'budget_s': seconds >= 0 expected, got %-1", policy.place, policy, problem,
              { budget_s = -1 })
  check.fails("'threads': integer in 0%.%.1024 expected, got %-1", policy.place, policy, problem,
              { threads = -1 })
  check.fails("unknown field 'budget'.*budget_s", policy.place, policy, problem, { budget = 1 })
  check.fails("'progress': function expected, got 1", policy.place, policy, problem, { progress = 1 })
  check.fails("'evaluator': an evaluator of this problem expected", policy.place, policy, problem,
              { evaluator = berth.evaluator(models.problem()) })
end)

check.test("a failing progress ends a search, whatever the policy was at", function()
  local problem, policy = models.problem(), berth.policy "auto"
  for _, value in ipairs { "text", {}, 5, io.stdout } do
    local ok, message = pcall(policy.place, policy, problem, { budget_s = 0.05, progress = function() error(value) end })
    check.equal({ ok, type(message) }, { false, "string" })
  end
end)

check.test("auto tells which of the policies named to it failed", function()
  register(function() error "out of ideas" end)
  local _, outcome = berth.policy("auto", { from = "test,heft" }):place(models.problem(), { budget_s = 0.1 })
  check.equal(table.concat(outcome.notes, "\n"):find("some failed:.*test: .*out of ideas") ~= nil, true)
end)

check.test("a NUL character in a name is refused, and cuts no message", function()
  check.fails("NUL characters expected; one follows 'au'", berth.policy, "au\0to")
  check.fails("NUL characters expected; one follows 'mo'", berth.policy, "auto", { from = "mo\0re" })
end)

check.finish()
