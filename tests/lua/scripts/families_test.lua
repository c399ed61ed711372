local berth = require "berth"
local check = require "check"
local families = require "berth.families"

-- Two graphs of each family: { graph, family }.
local samples = {}
for _, family in ipairs(families.names) do
  for _, graph in ipairs(families[family] { count = 2, seed = 3 }) do
    samples[#samples + 1] = { graph, family }
  end
end

local function each_sample(f)
  for _, sample in ipairs(samples) do f(sample[1], sample[2]) end
end

local function fingerprint(graph)
  local ops = {}
  for op = 1, graph:op_count() do
    local shapes = {}
    for i, tensor in ipairs(graph:outputs(op)) do shapes[i] = table.concat(graph:shape(tensor), "x") end
    ops[op] = table.concat({ graph:op_name(op), graph:op_type(op), graph:colocation(op) or "-",
                             table.concat(graph:inputs(op), ","), table.concat(shapes, ",") }, " ")
  end
  return table.concat(ops, "\n")
end

check.test("the same seed gives the same graphs, whatever the count", function()
  for i, family in ipairs(families.names) do
    local first, second = samples[2 * i - 1][1], samples[2 * i][1]
    local again = families[family] { count = 1, seed = 3 }
    local other = families[family] { count = 1, seed = 4 }
    check.equal({ #again, again[1]:name(), second:name() }, { 1, family .. "_3_1", family .. "_3_2" })
    check.equal(fingerprint(again[1]) == fingerprint(first), true)
    check.equal(fingerprint(second) == fingerprint(first), false)
    check.equal(fingerprint(other[1]) == fingerprint(first), false)
  end
end)

check.test("a family has 32 graphs of different size and names of their own", function()
  local graphs, names, sizes, different = families.cifar10(), {}, {}, 0
  check.equal(#graphs, 32)
  for _, graph in ipairs(graphs) do
    local ops = graph:op_count()
    check.equal({ names[graph:name()], ops > 300, ops < 6000 }, { nil, true, true })
    names[graph:name()] = true
    if not sizes[ops] then different = different + 1 end
    sizes[ops] = true
  end
  check.equal(different > 24, true)
end)

check.test("architectures are of their space and use all of it", function()
  local random, seen = berth.random(1), {}
  local function expect_input(input, count)
    check.equal({ input >= 1, input <= count }, { true, true })
    seen[("%d of %d"):format(input, count)] = true
  end
  for _ = 1, 60 do
    local image = require("berth.families.cifar10").sample(random)
    check.equal({ #image.normal, #image.reduction }, { image.nodes, image.nodes })
    seen["nodes " .. image.nodes], seen["cells " .. image.cells] = true, true
    for node, sides in ipairs(image.reduction) do
      for side = 1, 2 do
        expect_input(sides[side].input, node + 1)
        seen[sides[side].operation] = true
      end
    end
    local language = require("berth.families.ptb").sample(random)
    check.equal({ #language.nodes, language.nodes[1].input }, { 12, nil })
    for node = 2, 12 do expect_input(language.nodes[node].input, node - 1) end
    for node = 1, 12 do seen[language.nodes[node].activation] = true end
    local wide = require("berth.families.towers").sample(random)
    seen["blocks " .. #wide.blocks] = true
    for _, block in ipairs(wide.blocks) do
      seen["towers " .. #block] = true
      for _, tower in ipairs(block) do seen["depth " .. tower.depth], seen["units " .. tower.units] = true, true end
    end
    local translation = require("berth.families.nmt").sample(random)
    seen["long"] = seen["long"] or translation.source > 35
    seen["short"] = seen["short"] or translation.target < 15
  end
  for _, expected in ipairs {
    "nodes 5", "nodes 7", "cells 1", "cells 3", "separable_3x3", "separable_5x5", "average_pool",
    "max_pool", "identity", "tanh", "relu", "sigmoid", "1 of 1", "5 of 5", "1 of 11", "11 of 11", "long",
    "short", "blocks 2", "blocks 4", "towers 2", "towers 6", "depth 1", "depth 4", "units 512", "units 2048",
  } do
    if not seen[expected] then error("no " .. expected) end
  end
end)

check.test("every size is known, every type has a rule, and work costs something", function()
  each_sample(function(graph)
    local cluster = berth.cluster "k80x2"
    for tensor = 1, graph:tensor_count() do
      if not graph:tensor_bytes(tensor) then
        error(("tensor %d of %s has no size"):format(tensor, graph:name()))
      end
    end
    local costs = berth.costs("roofline", graph, cluster)
    for op = 1, graph:op_count() do
      local work = graph:work(op)
      local named = graph:op_name(op) .. " of " .. graph:name()
      if not work.has_rule then error(named .. " has no rule") end
      for kind = 1, #cluster:kinds() do
        local us = costs:op_us(op, kind)
        local free = work.class == "none" or graph:is_constant(op)
        if free ~= (us == 0) or us == math.huge then
          error(("%s (%s) costs %g us"):format(named, work.class, us))
        end
      end
    end
  end)
end)

-- Gradients of a product are two products as large, one for each operand that has a gradient.
check.test("the backward pass has twice the products of the forward pass", function()
  local forward = { Conv2D = true, DepthwiseConv2dNative = true, MatMul = true, BatchMatMulV2 = true,
                    LSTMBlockCell = true }
  local backward = { Conv2DBackpropInput = true, Conv2DBackpropFilter = true,
                     DepthwiseConv2dNativeBackpropInput = true,
                     DepthwiseConv2dNativeBackpropFilter = true, MatMul = true, BatchMatMulV2 = true }
  each_sample(function(graph, family)
    local sums = { forward = 0, backward = 0 }
    for op = 1, graph:op_count() do
      local type, flops = graph:op_type(op), graph:work(op).flops
      if graph:op_name(op):find "^gradients/" then
        sums.backward = sums.backward + (backward[type] and flops or 0)
      else
        sums.forward = sums.forward + (forward[type] and flops or 0)
      end
    end
    local stem = graph:find "stem/conv_3x3" or graph:find "stem/MatMul"  -- its input is fed
    local expected = 2 * sums.forward - (stem and graph:work(stem).flops or 0)
    check.equal(stem ~= nil, family == "cifar10" or family == "towers")
    check.near(sums.backward, expected)
  end)
end)

check.test("each weight is updated once by a gradient of its shape", function()
  each_sample(function(graph)
    local updated, bytes = {}, 0
    for op = 1, graph:op_count() do
      local type, inputs = graph:op_type(op), graph:inputs(op)
      if type:find "^Apply" or type == "ScatterSub" then
        local weight = inputs[1]
        check.equal(updated[weight], nil)
        updated[weight] = true
        local gradient = inputs[#inputs]
        local shape = graph:shape(weight)
        if type == "ScatterSub" then shape[1] = graph:shape(inputs[2])[1] end
        check.equal(graph:shape(gradient), shape)
        local elements = 4
        for _, dim in ipairs(graph:shape(weight)) do elements = elements * dim end
        bytes = bytes + elements * (type == "ApplyMomentum" and 2 or 1)
      end
    end
    -- What is computed before the step and read in it resides like a weight, once where it is the same.
    local read, kept = {}, {}
    for op = 1, graph:op_count() do
      if not graph:is_constant(op) then
        for _, tensor in ipairs(graph:inputs(op)) do read[tensor] = true end
      end
    end
    for op = 1, graph:op_count() do
      for _, tensor in ipairs(graph:is_constant(op) and graph:outputs(op) or {}) do
        local from = graph:inputs(op)
        local made = #from > 0 and graph:op_type(op) .. " " .. table.concat(from, ",") or tensor
        if read[tensor] and not kept[made] then
          kept[made] = true
          bytes = bytes + graph:tensor_bytes(tensor)
        end
      end
    end
    check.equal(bytes, graph:total_param_bytes())
  end)
end)

check.test("gradients and updates are free, and no grouping has a cycle", function()
  each_sample(function(graph)
    for op = 1, graph:op_count() do
      local name = graph:op_name(op)
      if name:find "^gradients/" or name:find "^train/" then check.equal(graph:colocation(op), nil) end
    end
    local costs = berth.costs("roofline", graph, berth.cluster "k80x2")
    check.equal(berth.make_groups(graph, costs, "icml2017"):acyclic(), true)
    for _, grouping in ipairs { "placeto", "balanced" } do
      local groups = berth.make_groups(graph, costs, grouping, 64)
      check.equal({ groups:count(), groups:acyclic() }, { 64, true })
    end
  end)
end)

check.test("where it is told to, a gradient shares the device of its op, an update that of its weight", function()
  for _, family in ipairs(families.names) do
    local graph = families[family]({ count = 1, seed = 3, colocate_gradients = true })[1]
    local seen = 0
    for op = 1, graph:op_count() do
      local of = graph:op_name(op):match "^gradients/(.*)_grad/"
      if of then
        seen = seen + 1
        local class = graph:colocation(graph:find(of))
        check.equal(class ~= nil, true)
        check.equal(graph:colocation(op), class)
      end
      local weight = graph:op_type(op):find "^Apply" and graph:producer(graph:inputs(op)[1])
      if weight then check.equal(graph:colocation(op), graph:colocation(weight)) end
    end
    check.equal(seen > 100, true)
  end
end)

check.test("a step ends with the loss and the updates, and takes what real ones take", function()
  each_sample(function(graph, family)
    local ends = {}
    for op = 1, graph:op_count() do
      if #graph:out_edges(op) == 0 and not graph:is_constant(op) then ends[#ends + 1] = graph:op_name(op) end
    end
    check.equal(ends, { "loss/Mean", "train/train_op" })
    local problem = berth.problem { graph = graph, cluster = "k80x2", groups = families.groups[family], inputs = "any" }
    check.equal(problem:groups():count(), families.groups[family])
    local gpu, placement = problem:cluster():find "gpu:0", {}
    for op = 1, graph:op_count() do placement[op] = gpu end
    local seconds = problem:evaluate(placement).runtime_us / 1e6
    check.equal({ seconds > 0.01, seconds < 5 }, { true, true })
  end)
end)

check.test("a split is disjoint, complete, in order and by seed", function()
  local items = {}
  for i = 1, 32 do items[i] = i end
  local train, test = families.split(items, { test = 0.25, seed = 1 })
  check.equal({ #train, #test }, { 24, 8 })
  local seen = {}
  for _, part in ipairs { train, test } do
    for i, item in ipairs(part) do
      check.equal(seen[item], nil)
      seen[item] = true
      check.equal(i == 1 or part[i - 1] < item, true)
    end
  end
  check.equal(#seen, 32)
  check.equal({ families.split(items) }, { train, test })
  local _, other = families.split(items, { seed = 2 })
  check.equal(table.concat(other, " ") == table.concat(test, " "), false)
  check.equal({ families.split(items, { test = 0 }) }, { items, {} })
  check.equal({ families.split(items, { test = 1 }) }, { {}, items })
  check.equal({ families.split({}) }, { {}, {} })
end)

check.test("bad options are refused", function()
  check.fails("families_test.lua:%d+: option 'count'", function()
    local graphs = families.ptb { count = 0 }
    return graphs
  end)
  check.fails("families_test.lua:%d+: unknown option 'size'", function()
    local graphs = families.nmt { size = 0 }
    return graphs
  end)
  check.fails("unknown option 'size'; known: colocate_gradients, count, seed", families.ptb, { size = 3 })
  check.fails("'count': number expected, got string", families.ptb, { count = "3" })
  check.fails("'count': integer >= 1 expected, got 0", families.ptb, { count = 0 })
  check.fails("'count': integer >= 1 expected, got 1.5", families.ptb, { count = 1.5 })
  check.fails("seed", families.ptb, { seed = -1 })
  check.fails("'test': 0 .. 1 expected, got 2", families.split, {}, { test = 2 })
  check.fails("unknown option 'share'; known: seed, test", families.split, {}, { share = 0.5 })
end)

-- The JIT's traces may hold what a loop once saw.
each_sample(function(graph) graph:release() end)

check.finish()
