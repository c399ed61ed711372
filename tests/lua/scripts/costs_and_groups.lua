local berth = require "berth"
local check = require "check"
local models = require "models"
local folder = ...

check.test("costs come from the graph, from numbers and from a file", function()
  local graph, cluster = models.diamond(), models.cluster(2)
  local stated = berth.costs("stated", graph, cluster)
  check.equal(stated:source(), "stated")
  check.equal({ stated:op_us(1, 1), stated:op_us(2, 1) }, { 10, 30 })
  check.equal(stated:workspace_bytes(1), 0)

  local given = berth.costs({ us = { gpu = { 1, 2, math.huge, 4 } }, workspace_bytes = { 5, 6, 7, 8 } },
                            graph, cluster)
  check.equal(tostring(given), "costs 'script'")
  check.equal({ given:op_us(2, 1), given:op_us(3, 1), given:workspace_bytes(4) }, { 2, math.huge, 8 })

  local path = folder .. "/costs.graph.json"
  graph:save(path, stated, cluster)
  local read, notes = berth.costs(path, graph, cluster)
  check.equal({ read:source(), read:op_us(2, 1), notes }, { path, 30, {} })
end)

check.test("the roofline model asks for the devices' figures", function()
  local builder = berth.graph_builder "g"
  local op = builder:add_op("a", "A")
  builder:set_work(op, { flops = 1e9, class = "matmul" })
  local graph = builder:build()
  local cluster = berth.cluster { name = "c", devices = { { name = "d", kind = "k", flops = 1e12,
    memory_bandwidth = 1e11 } } }
  check.equal(berth.costs("roofline", graph, cluster):op_us(1, 1) >= 1000, true)
  check.fails("berth.costs: .", berth.costs, "roofline", graph, models.cluster(1))
end)

check.test("bad costs are refused", function()
  local graph, cluster = models.diamond(), models.cluster(2)
  check.fails("\"roofline\", \"stated\", a costs file's path or a table.*'rofline'", berth.costs,
              "rofline", graph, cluster)
  check.fails("argument 2 %(graph%): graph expected, got cluster", berth.costs, "stated", cluster,
              graph)
  check.fails("'gpu': a cost for each of 4 ops expected, got 2", berth.costs,
              { us = { gpu = { 1, 2 } } }, graph, cluster)
  local made, text = pcall(berth.problem, { graph = graph, cluster = cluster, gruops = 3 })
  check.equal(made, false)
  local named = select(2, text:gsub("%f[%a]groups,", ""))
  check.equal(named, 1)  -- a setting and a table of groups share the field
  check.fails("unknown field 'cpu'.*gpu", berth.costs,
              { us = { gpu = { 1, 2, 3, 4 }, cpu = {} } }, graph, cluster)
  check.fails("berth.costs: .", berth.costs, { us = { gpu = { 1, 2, -3, 4 } } }, graph, cluster)
  check.fails("berth.costs: .", berth.costs,
              { us = { gpu = { 1, 2, 3, 4 } }, workspace_bytes = { 1 } }, graph, cluster)
  check.fails("berth.costs: .*absent", berth.costs, folder .. "/absent.json", graph, cluster)
  local costs = berth.costs("stated", graph, cluster)
  check.fails("not of this graph", function()
    berth.graph_builder("empty"):add_op("a", "A")
    local builder = berth.graph_builder "one"
    builder:add_op("a", "A")
    builder:build():save(folder .. "/x.json", costs, cluster)
  end)
end)

check.test("groups map ops and tell the graph between them", function()
  local graph = models.diamond()
  local groups = berth.groups(graph, { 7, 7, 3, 9 })
  check.equal(tostring(groups), "groups (3 groups of 4 ops)")
  check.equal({ groups:count(), groups:acyclic() }, { 3, true })
  check.equal({ groups:of(1), groups:of(2), groups:of(3), groups:of(4) }, { 1, 1, 2, 3 })
  check.equal(groups:members(1), { 1, 2 })
  check.equal(groups:out_edges(1), { { src = 1, dst = 2, bytes = 1000, tensors = 1 },
                                     { src = 1, dst = 3, bytes = 1000, tensors = 1 } })
  check.equal(groups:in_edges(2), { { src = 1, dst = 2, bytes = 1000, tensors = 1 } })
  check.equal(groups:expand { 2, 1, 2 }, { 2, 2, 1, 2 })
  check.equal(berth.colocation(graph):count(), 4)
  local costs = berth.costs("stated", graph, models.cluster(2))
  check.equal(berth.coarsen(graph, costs, 2):count(), 2)
end)

check.test("groups by the name of how they are made", function()
  local graph = models.diamond()
  local cluster = models.cluster(2)
  local costs = berth.costs("stated", graph, cluster)
  check.equal(berth.make_groups(graph, costs, "colocation"):count(), 4)
  check.equal(berth.make_groups(graph, costs, "balanced", 2):count(), 2)
  check.equal(berth.make_groups(graph, costs, "placeto", 1):count(), 1)
  -- b and c have one consumer, a has two.
  local icml2017 = berth.make_groups(graph, costs, "icml2017")
  check.equal({ icml2017:of(1), icml2017:of(2), icml2017:of(3), icml2017:of(4) }, { 1, 2, 2, 2 })
  check.equal(berth.problem { graph = graph, cluster = cluster, grouping = "icml2017" }:groups():count(), 2)
  check.equal(berth.problem { graph = graph, cluster = cluster, grouping = "placeto", groups = 1 }
    :groups():count(), 1)
  check.fails("did you mean 'placeto'", berth.make_groups, graph, costs, "placetto", 2)
  check.fails("finds the number of groups itself", berth.make_groups, graph, costs, "icml2017", 2)
  check.fails("say how many", berth.make_groups, graph, costs, "placeto")
  check.fails("made already", berth.problem,
    { graph = graph, cluster = cluster, groups = icml2017, grouping = "placeto" })
end)

check.test("bad groups are refused", function()
  local graph = models.diamond()
  check.fails("berth.groups: .", berth.groups, graph, { 1, 2 })
  check.fails("entry 2: integer in 0%.%.%d+ expected, got %-1", berth.groups, graph, { 1, -1, 1, 1 })
  local costs = berth.costs("stated", graph, models.cluster(2))
  check.fails("count%): integer in 1%.%.", berth.coarsen, graph, costs, 0)
  local groups = berth.colocation(graph)
  check.fails("an array of 4 expected, got one of 1", groups.expand, groups, { 1 })
  check.fails("entry 1: integer in 1", groups.expand, groups, { 0, 1, 1, 1 })
  check.fails("group%): integer in 1%.%.4 expected, got 5", groups.members, groups, 5)
end)

check.finish()
