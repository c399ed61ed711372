-- Writes random graphs of the scheduling literature, and large layered ones, each with its machine.
--
--   berth run scripts/experiments/instances.lua FOLDER [FILE..] [--families a,b] [--count N] [--seed N] [--slots N]
--       [--devices N] [--layers N] [--width N] [--nodes N] [--gpus N]
--
-- Prints FOLDER/NAME.graph.json:FOLDER/NAME.cluster.json for each, as compare.lua takes them.
--
-- --families  in_trees, out_trees, chains, gaussian, fft (these five where no FILE is given), layered
-- --count     instances of a family (20)
-- --slots     transfers that a link carries at once: 0 (default, any number) or 1
-- --devices   of the machine for a FILE (4)
-- --layers    of --width ops each (400 of 250), for a machine of --nodes with --gpus each (8 and 8)
--
-- Trees and chains are drawn as SAGA draws them (Coleman and Krishnamachari, "PISA: An Adversarial Approach To
-- Comparing Task Graph Scheduling Algorithms"): in- and out-trees of 2 to 4 levels with 2 or 3 branches, 2 to 5 chains
-- of 2 to 5 tasks, on 3 to 5 machines. Gaussian elimination and FFT are those of Topcuoglu, Hariri and Wu,
-- "Performance-Effective and Low-Complexity Task Scheduling for Heterogeneous Computing", IEEE TPDS 2002. Weights of
-- tasks, dependencies, machines and links are normal with mean 1 and deviation 1/3, cut off at 0 and 2; a task takes
-- weight / speed.
-- A FILE is a HyperDAG of version 1 (a hyperedge is a tensor, its first pin the producer): on equal machines, work and
-- communication of weight 1 take 1 unit each.
-- A layered graph: an op reads the op before it in its own column and one of the ten columns to either side. Costs
-- (5 to 50 us) and tensors (64 KiB to 1 MiB) are drawn. Within a node transfers run at 300 GB/s with 5 us, between
-- nodes at 25 GB/s with 15 us, and all that leaves or enters a node passes its one network card.

local arguments = require "berth.arguments"
local berth = require "berth"

-- 1. The command line.

local UNIT_US = 1000
local FAMILIES = { "in_trees", "out_trees", "chains", "gaussian", "fft" }
local options = { files = {}, count = 20, seed = 0, slots = 0, devices = 4, layers = 400, width = 250, nodes = 8,
                  gpus = 8 }
local line = arguments.parser()
local reads = { ["--families"] = line.list_into(options, "families") }
for _, key in ipairs { "count", "seed", "slots", "devices", "layers", "width", "nodes", "gpus" } do
  reads["--" .. key] = line.number_into(options, key)
end
line.read({ ... }, options.files, reads)
local folder = table.remove(options.files, 1) or line.usage "name a folder"

local function write(name, graph, cluster)
  local stem = ("%s/%s"):format(folder, name)
  graph:save(stem .. ".graph.json", berth.costs("stated", graph, cluster), cluster)
  cluster:save(stem .. ".cluster.json")
  print(("%s.graph.json:%s.cluster.json"):format(stem, stem))
end

-- Box and Muller's normal numbers, cut off as the benchmarks do.
local function weight(random)
  local radius = math.sqrt(-2 * math.log(1 - random:uniform()))
  local normal = radius * math.cos(2 * math.pi * random:uniform())
  return math.min(math.max(1 + normal / 3, 1e-9), 2)
end

local function between(random, least, most) return least - 1 + random:integer(most - least + 1) end

local function drawing(random)
  local dag = { tasks = {}, edges = {} }
  function dag.task(fixed)
    dag.tasks[#dag.tasks + 1] = fixed or weight(random)
    return #dag.tasks
  end
  function dag.edge(src, dst, fixed) dag.edges[#dag.edges + 1] = { src, dst, fixed or weight(random) } end
  return dag
end

-- Tasks below those of a level, so many for each.
local function level_below(dag, level, branches)
  local below = {}
  for _, parent in ipairs(level) do
    for _ = 1, branches do
      below[#below + 1] = dag.task()
      dag.edge(parent, below[#below])
    end
  end
  return below
end

local function out_tree(random)
  local dag = drawing(random)
  local levels, branches = between(random, 2, 4), between(random, 2, 3)
  local level = { dag.task() }
  for _ = 1, levels do level = level_below(dag, level, branches) end
  local sink = dag.task(1e-9)
  for _, leaf in ipairs(level) do dag.edge(leaf, sink, 1e-9) end
  return dag
end

local draw = { out_trees = out_tree }

function draw.in_trees(random)
  local dag = out_tree(random)
  for _, edge in ipairs(dag.edges) do edge[1], edge[2] = edge[2], edge[1] end
  return dag
end

function draw.chains(random)
  local dag = drawing(random)
  local source, ends = dag.task(), {}
  local length = between(random, 2, 5)
  for _ = 1, between(random, 2, 5) do
    local last = source
    for _ = 1, length do
      local task = dag.task()
      dag.edge(last, task)
      last = task
    end
    ends[#ends + 1] = last
  end
  local sink = dag.task()
  for _, last in ipairs(ends) do dag.edge(last, sink) end
  return dag
end

-- A matrix of 5 to 15 columns: pivot k, then the update of every later column by it.
function draw.gaussian(random)
  local dag = drawing(random)
  local columns = between(random, 5, 15)
  local before = {}
  for k = 1, columns - 1 do
    local pivot = dag.task()
    if before[k] then dag.edge(before[k], pivot) end
    local now = {}
    for j = k + 1, columns do
      now[j] = dag.task()
      dag.edge(pivot, now[j])
      if before[j] then dag.edge(before[j], now[j]) end
    end
    before = now
  end
  return dag
end

-- 4 to 32 points: the recursive calls, then the butterflies.
function draw.fft(random)
  local dag = drawing(random)
  local points = 2 ^ between(random, 2, 5)
  local level = { dag.task() }
  while #level < points do level = level_below(dag, level, 2) end
  local distance = 1
  while distance < points do
    local below = {}
    for i = 0, points - 1 do
      local other = i + (math.floor(i / distance) % 2 == 0 and distance or -distance)
      below[i + 1] = dag.task()
      dag.edge(level[i + 1], below[i + 1])
      dag.edge(level[other + 1], below[i + 1])
    end
    level = below
    distance = 2 * distance
  end
  return dag
end

local function machine(speeds, width_of)
  local devices, links = {}, {}
  for i = 1, #speeds do
    devices[i] = { name = "m" .. i, kind = "k" .. speeds[i] }
    for j = 1, #speeds do
      if i ~= j then
        links[#links + 1] = { src = "m" .. i, dst = "m" .. j, parallel = options.slots == 0,
                              bandwidth_bytes_per_s = width_of(math.min(i, j), math.max(i, j)) * 1e9 }
      end
    end
  end
  return berth.cluster { name = "machines", devices = devices, links = links }
end

-- One tensor per dependency: an edge is { source, reader, size, further readers .. }.
local function write_dag(name, dag, speeds, cluster)
  local builder = berth.graph_builder(name)
  for i, work in ipairs(dag.tasks) do
    local op = builder:add_op("t" .. i, "Task")
    for _, speed in ipairs(speeds) do builder:set_cost(op, work / speed * UNIT_US, "k" .. speed) end
  end
  for _, edge in ipairs(dag.edges) do
    local tensor = builder:add_output(edge[1], { bytes = math.ceil(edge[3] * UNIT_US * 1000) })
    for reader = 2, #edge do
      if reader ~= 3 then builder:add_input(edge[reader], tensor) end
    end
  end
  write(name, builder:build(), cluster)
end

local function write_drawn(family, index)
  local random = berth.random(options.seed * 1000 + index)
  local dag = draw[family](random)
  local speeds, widths = {}, {}
  for i = 1, between(random, 3, 5) do speeds[i] = weight(random) end
  write_dag(("%s_%d"):format(family, index), dag, speeds, machine(speeds, function(i, j)
    local key = i .. "-" .. j
    widths[key] = widths[key] or weight(random)
    return widths[key]
  end))
end

-- 3. HyperDAG files.

-- The numbers of each line that is no comment.
local function number_lines(path)
  local file = assert(io.open(path))
  return function()
    for text in file:lines() do
      local numbers = {}
      for number in text:gsub("%%.*", ""):gmatch "%S+" do numbers[#numbers + 1] = tonumber(number) end
      if #numbers > 0 then return numbers end
    end
    file:close()
  end
end

local function write_hyperdag(path)
  local next_line = number_lines(path)
  local head = next_line()
  if not head or #head < 3 then error(path .. ": no HyperDAG, which begins with the numbers of its parts", 0) end
  local dag, edges = { tasks = {}, edges = {} }, {}
  for _ = 1, head[1] do
    local edge = next_line()
    edges[edge[1]] = { bytes = edge[2] or 1 }
  end
  for _ = 1, head[2] do
    local node = next_line()
    dag.tasks[node[1] + 1] = node[2] or 1
  end
  for _ = 1, head[3] do
    local pin = next_line()
    local edge = edges[pin[1]]
    if #edge == 0 then
      edge[1] = pin[2] + 1
    elseif #edge == 1 then
      edge[2], edge[3] = pin[2] + 1, edge.bytes
      dag.edges[#dag.edges + 1] = edge
    else
      edge[#edge + 1] = pin[2] + 1
    end
  end
  local speeds = {}
  for i = 1, options.devices do speeds[i] = 1 end
  local name = path:match "([^/]+)$":gsub("%.[^.]*$", "")
  write_dag(name, dag, { 1 }, machine(speeds, function() return 1 end))
end

-- 4. Layered graphs.

local function layered_graph(layers, width, seed)
  local random = berth.random(seed)
  local builder = berth.graph_builder(("layered_%dx%d"):format(layers, width))
  local before = {}
  for layer = 1, layers do
    local outputs = {}
    for column = 1, width do
      local op = builder:add_op(("layer_%d/op_%d"):format(layer, column), "Layer")
      builder:set_cost(op, 5 + 45 * random:uniform())
      if layer > 1 then
        builder:add_input(op, before[column])
        local other = math.max(1, math.min(width, column + random:integer(21) - 11))
        if other ~= column then builder:add_input(op, before[other]) end
      end
      outputs[column] = builder:add_output(op, { bytes = 65536 * (random:integer(16)) })
    end
    before = outputs
  end
  return builder:build()
end

local function cluster_of(nodes, gpus)
  local devices, links = {}, {}
  for node = 0, nodes - 1 do
    for gpu = 0, gpus - 1 do
      devices[#devices + 1] = { name = ("n%d/gpu:%d"):format(node, gpu), kind = "gpu" }
    end
  end
  for src = 0, #devices - 1 do
    for dst = 0, #devices - 1 do
      local a, b = math.floor(src / gpus), math.floor(dst / gpus)
      if src ~= dst then
        links[#links + 1] = { src = devices[src + 1].name, dst = devices[dst + 1].name,
          bandwidth_bytes_per_s = a == b and 300e9 or 25e9, latency_us = a == b and 5 or 15,
          shares = a ~= b and { ("out:%d"):format(a), ("in:%d"):format(b) } or nil }
      end
    end
  end
  return berth.cluster { name = ("%d nodes of %d"):format(nodes, gpus), devices = devices, links = links }
end

function draw.layered()
  local graph = layered_graph(options.layers, options.width, options.seed)
  write(graph:name(), graph, cluster_of(options.nodes, options.gpus))
end

-- 5. What was asked for.

for _, path in ipairs(options.files) do write_hyperdag(path) end
for _, family in ipairs(options.families or #options.files == 0 and FAMILIES or {}) do
  line.one_of(family, "--families", draw, "one of in_trees, out_trees, chains, gaussian, fft, layered")
  if family == "layered" then
    draw.layered()
  else
    for index = 1, options.count do write_drawn(family, index) end
  end
end
