local berth = require "berth"
local check = require "check"
local models = require "models"
local folder = ...

check.test("a builder makes ops, tensors and edges, and a graph tells them back", function()
  local builder = berth.graph_builder("net", "onnx")
  local a, b = builder:add_op("a", "Conv"), builder:add_op("b", "Relu")
  check.equal({ a, b, builder:op_count() }, { 1, 2, 2 })
  local weight = builder:add_parameter({ dtype = "f32", shape = { 3, 5 } }, "w")
  local out = builder:add_output(a, { dtype = "f32", shape = { 2, 4 } }, "a:0")
  local unknown = builder:add_output(b)
  builder:add_input(a, weight):add_input(a, nil):add_input(b, out):add_input(b, out)
  builder:set_param_bytes(b, 7):set_colocation(a, "together"):set_requested_device(b, "gpu:0")
  builder:set_cost(a, 3):set_cost(a, 9, "cpu")
  builder:set_work(b, { flops = 10, bytes = 20, class = "elementwise", dtype = "f16" })
  for name, value in pairs { i = 3, d = 0.5, s = "text", is = { 1, 2 }, ds = { 1, 0.5 },
                             ss = { "x", "y" }, flag = true } do
    builder:set_attribute(a, name, value)
  end
  local c = builder:add_op("c", "End")
  builder:add_control_edge(b, c)
  local graph = builder:build()

  check.equal(tostring(graph), "graph 'net' (3 ops, 2 edges)")
  check.equal({ graph:name(), graph:dialect() }, { "net", "onnx" })
  check.equal({ graph:op_count(), graph:tensor_count(), graph:edge_count() }, { 3, 3, 2 })
  check.equal({ graph:find "b", graph:find "none" }, { 2 })
  check.equal({ graph:op_name(1), graph:op_type(1) }, { "a", "Conv" })
  check.equal(graph:inputs(a), { weight, 0 })
  check.equal(graph:inputs(b), { out, out })
  check.equal(graph:outputs(a), { out })
  check.equal(graph:in_edges(b), { { src = a, dst = b, tensor = out } })
  check.equal(graph:out_edges(b), { { src = b, dst = c } })
  check.equal({ graph:output_bytes(a), graph:output_bytes(b) }, { 32, 0 })
  check.equal({ graph:param_bytes(a), graph:param_bytes(b) }, { 60, 7 })
  check.equal(graph:total_param_bytes(), 67)
  check.equal({ graph:colocation(a), graph:colocation(b) }, { "together" })
  check.equal({ graph:requested_device(b), graph:requested_device(a) }, { "gpu:0" })
  check.equal(graph:stated_costs(a), { ["*"] = 3, cpu = 9 })
  check.equal(graph:stated_costs(b), {})
  local work = graph:work(b)
  check.equal({ work.flops, work.bytes, work.class, work.dtype, work.launches, work.has_rule },
              { 10, 20, "elementwise", "f16", 1, true })
  check.equal(graph:attribute(a, "i"), 3)
  check.equal(graph:attribute(a, "d"), 0.5)
  check.equal(graph:attribute(a, "s"), "text")
  check.equal(graph:attribute(a, "is"), { 1, 2 })
  check.equal(graph:attribute(a, "ds"), { 1, 0.5 })
  check.equal(graph:attribute(a, "ss"), { "x", "y" })
  check.equal(graph:attribute(a, "flag"), 1)
  check.equal(graph:attribute(a, "none"), nil)
  check.equal({ graph:producer(out), graph:producer(weight) }, { a })
  check.equal({ graph:tensor_name(weight), graph:tensor_name(unknown) }, { "w" })
  check.equal({ graph:dtype(out), graph:dtype(unknown) }, { "f32", "unknown" })
  check.equal({ graph:shape(out), graph:shape(unknown) }, { { 2, 4 } })
  check.equal({ graph:tensor_bytes(out), graph:tensor_bytes(unknown) }, { 32 })
  check.equal(graph:topological_order(), { 1, 2, 3 })
end)

check.test("a tensor's description can be replaced", function()
  local builder = berth.graph_builder "g"
  local tensor = builder:add_output(builder:add_op("a", "A"), { dtype = "f32", shape = { -1, 2 } })
  builder:set_tensor(tensor, { bytes = 5 })
  check.equal(builder:build():tensor_bytes(tensor), 5)
end)

check.test("an invalid graph is refused with the op", function()
  local builder = berth.graph_builder "g"
  local a, b = builder:add_op("first", "A"), builder:add_op("second", "B")
  builder:add_input(b, builder:add_output(a)):add_input(a, builder:add_output(b))
  check.fails("graphs.lua:%d+: graph_builder:build: .*first", function() builder:build() end)
end)

check.test("a builder that has built is empty, and says so or starts anew", function()
  local builder = berth.graph_builder "g"
  builder:add_op("a", "A")
  builder:build()
  check.equal(builder:op_count(), 0)
  check.equal(pcall(builder.add_output, builder, 1), false)
end)

check.test("bad arguments of a builder are refused", function()
  local builder = berth.graph_builder "g"
  builder:add_op("a", "A")
  check.fails("argument 1 %(op%): integer in 1%.%.%d+ expected, got 0", builder.add_output, builder, 0)
  check.fails("add_output: .", builder.add_output, builder, 2)
  check.fails("add_input: .", builder.add_input, builder, 1, 9)
  check.fails("'dtype': 'float' is not an element type", builder.add_output, builder, 1,
              { dtype = "float" })
  check.fails("unknown field 'shpe'.*shape", builder.add_output, builder, 1, { shpe = {} })
  check.fails("'shape': entry 2: integer >= %-1 expected, got 'x'", builder.add_output, builder, 1,
              { shape = { 1, "x" } })
  check.fails("'bytes': integer >= 0 expected, got %-1", builder.add_output, builder, 1,
              { bytes = -1 })
  check.fails("set_cost: .", builder.set_cost, builder, 1, -1)
  check.fails("us%): number expected, got %-?nan", builder.set_cost, builder, 1, 0 / 0)
  check.fails("'mat' is no class of ops.*matmul", builder.set_work, builder, 1, { class = "mat" })
  check.fails("value%): boolean, number or text expected, got function", builder.set_attribute,
              builder, 1, "x", print)
  check.fails("entry 2: number expected, got 'b'", builder.set_attribute, builder, 1, "x",
              { 1, "b" })
end)

check.test("a graph file is loaded, pruned and written", function()
  local cluster = models.cluster(2)
  local graph = models.diamond()
  local path = folder .. "/saved.graph.json"
  graph:save(path, berth.costs("stated", graph, cluster), cluster)
  local again, notes = berth.load(path)
  check.equal(type(notes), "table")
  check.equal(again:op_count(), 4)
  check.equal(again:op_name(2), "left")
  check.equal(again:stated_costs(2), { gpu = 30 })

  local pruned = berth.prune(again, { "left" })
  check.equal({ pruned:op_count(), pruned:find "left", pruned:find "right" }, { 2, 2 })
  check.equal(berth.prune(again):op_count(), 4)
  check.fails("berth.prune: .*'lift'", berth.prune, again, { "lift" })
  check.equal(berth.load(path, { fetches = { "left" } }):op_count(), 2)
  check.fails("saved.graph.json: .*'lift'", berth.load, path, { fetches = { "lift" } })
end)

check.test("a file that is not there, or not a graph, is named", function()
  check.fails("berth.load: .*absent", berth.load, folder .. "/absent.graph.json")
  local path = folder .. "/bad.graph.json"
  local file = io.open(path, "w")
  file:write '{"format": "berth.graph/1"'
  file:close()
  check.fails("berth.load: .*bad.graph.json", berth.load, path)
  check.fails("at dims.batch: expected a whole number", berth.load, path, { dims = { batch = "x" } })
  check.fails("at shapes.x%[1%]: expected a whole number", berth.load, path, { shapes = { x = { "1" } } })
  check.fails("unknown field 'dim'.*dims", berth.load, path, { dim = {} })
end)

check.finish()
