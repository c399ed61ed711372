local berth = require "berth"
local check = require "check"
local models = require "models"

check.test("one C++ object is one Lua object", function()
  local problem = models.problem()
  local seen = { [problem:graph()] = "graph" }
  check.equal(seen[problem:graph()], "graph")
  check.equal(problem:graph() == problem:graph(), true)
  check.equal(problem:graph() == problem:cluster(), false)
  check.equal(models.diamond() == models.diamond(), false)
end)

check.test("a released object is gone, and nothing else", function()
  local problem = models.problem()
  local graph = problem:graph()
  local before = berth.live_objects()
  graph:release()
  check.equal(berth.live_objects(), before - 1)
  check.equal(tostring(graph), "graph (released)")
  check.fails("objects.lua:%d+: graph:name: this graph was released", function() graph:name() end)
  check.fails("graph%): this graph was released", berth.colocation, graph)
  check.equal(graph == graph, true)
  graph:release()
  check.equal(problem:graph():name(), "diamond")
end)

check.test("methods refuse another object, a plain value and nothing as self", function()
  local graph, cluster = models.diamond(), models.cluster(1)
  check.fails("graph:name: graph expected before the colon, got cluster", graph.name, cluster)
  check.fails("graph:name: graph expected before the colon, got table", graph.name, {})
  check.fails("graph:name: graph expected before the colon, got no value", graph.name)
  check.fails("graph:name: graph expected before the colon, got userdata", graph.name, io.stdout)
  check.fails("object:release: ", graph.release, io.stdout)
end)

check.test("scripts cannot reach the metatables", function()
  local graph = models.diamond()
  check.equal(getmetatable(graph), "graph")
  check.fails("index", function() graph.name = 1 end)
end)

check.test("a garbage cycle through C++ is collected", function()
  local problem = models.problem()
  local keep = {}
  keep.evaluator, keep.problem = berth.evaluator(problem), problem
  keep.self = keep
end)

check.test("objects that nobody keeps never become many", function()
  local most = 0
  for i = 1, 1000 do
    local problem = models.problem()
    if i % 3 == 0 then problem:release() end
    most = math.max(most, berth.live_objects())
  end
  check.equal(most < 200, true)
end)

check.test("the generator is the same everywhere, and seeded", function()
  local random = berth.random(42)
  check.equal(tostring(random), "random generator")
  check.equal({ random:integer(100), random:integer(100), random:integer(100) }, { 75, 16, 28 })
  local draw = random:uniform()
  check.equal(draw >= 0 and draw < 1, true)
  check.equal(random:split():uniform() ~= random:uniform(), true)
  check.equal(berth.random(1):integer(1), 1)
  check.fails("seed%): integer >= 0 expected, got %-1", berth.random, -1)
  check.fails("most%): integer >= 1 expected, got 0", random.integer, random, 0)
end)

check.test("the module's small things", function()
  check.equal(berth.version:match "^%d+%.%d+%.%d+$" ~= nil, true)
  local before = berth.clock()
  check.equal(berth.clock() >= before, true)
  check.equal(berth.should_stop(), false)
  check.fails("berth.infeasible: too big", berth.infeasible, "too big")
  check.fails("message%): text expected, got nothing", berth.infeasible)
  check.equal(berth.live_objects() >= 0, true)
end)

check.finish()
