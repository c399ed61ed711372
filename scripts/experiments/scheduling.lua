-- How good are `auto`, HEFT and the bounds on the benchmarks of the scheduling literature, whose links
-- carry any number of transfers at once?
--
--   berth run scripts/experiments/scheduling.lua [FILE..] [--policies a,b] [--count N]
--       [--budget SECONDS] [--seed N] [--devices N] [--slots N] [--figures FOLDER] [--format text|markdown]
--
-- Without FILE: families of random instances. Trees and chains as SAGA draws them (Coleman and
-- Krishnamachari, "PISA: An Adversarial Approach To Comparing Task Graph Scheduling Algorithms"):
-- in- and out-trees of 2 to 4 levels with 2 or 3 branches, 2 to 5 chains of 2 to 5 tasks, on 3 to 5
-- machines. Gaussian elimination and FFT as in Topcuoglu, Hariri and Wu, "Performance-Effective and
-- Low-Complexity Task Scheduling for Heterogeneous Computing", IEEE TPDS 2002. Weights of tasks,
-- dependencies, machines and links are normal with mean 1 and deviation 1/3, cut off at 0 and 2; a
-- task takes weight / speed.
-- A FILE is a HyperDAG of version 1 (a hyperedge is a tensor, its first pin the producer): on
-- --devices equal machines (default 4), work and communication of weight 1 take 1 unit each.
-- --slots: how many transfers a link carries, 0 (default: any number) or 1 (a transfer at a time).

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local tables = require "berth.tables"

-- 1. The command line.

local UNIT_US = 1000
local options = { files = {}, policies = { "heft", "auto" }, count = 20, budget_s = 0.5, seed = 0,
                  devices = 4, slots = 0, format = "text" }
local line = arguments.parser("scheduling.lua [FILE..] [--policies a,b] [--count N] "
  .. "[--budget SECONDS] [--seed N] [--devices N] [--slots N] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, options.files, {
  ["--policies"] = function(text) options.policies = arguments.list(text) end,
  ["--count"] = line.number_into(options, "count"),
  ["--budget"] = function(text) options.budget_s = line.number(text, "--budget") end,
  ["--seed"] = line.number_into(options, "seed"),
  ["--devices"] = line.number_into(options, "devices"),
  ["--slots"] = line.number_into(options, "slots"),
  ["--figures"] = line.text_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

-- 2. Instances: { tasks = { weight.. }, edges = { { src, dst, weight }.. } }, then a problem of each.

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

local function out_tree(random)
  local dag = drawing(random)
  local levels, branches = between(random, 2, 4), between(random, 2, 3)
  local level = { dag.task() }
  for _ = 1, levels do
    local below = {}
    for _, parent in ipairs(level) do
      for _ = 1, branches do
        below[#below + 1] = dag.task()
        dag.edge(parent, below[#below])
      end
    end
    level = below
  end
  local sink = dag.task(1e-9)
  for _, leaf in ipairs(level) do dag.edge(leaf, sink, 1e-9) end
  return dag
end

local families = { "in trees", "out trees", "chains", "gaussian elimination", "fft" }
local draw = {}

draw["out trees"] = out_tree
draw["in trees"] = function(random)
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

-- Of a matrix of 5 to 15 columns: pivot k, then the update of every later column by it.
draw["gaussian elimination"] = function(random)
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

-- Of 4 to 32 points: the recursive calls, then the butterflies.
function draw.fft(random)
  local dag = drawing(random)
  local points = 2 ^ between(random, 2, 5)
  local level = { dag.task() }
  while #level < points do
    local below = {}
    for _, parent in ipairs(level) do
      for _ = 1, 2 do
        below[#below + 1] = dag.task()
        dag.edge(parent, below[#below])
      end
    end
    level = below
  end
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

-- One tensor per dependency; equal ones of a HyperDAG are one.
local function problem_of(name, dag, speeds, cluster)
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
  return berth.problem { graph = builder:build(), cluster = cluster, costs = "stated" }
end

local function drawn_problem(family, index)
  local random = berth.random(options.seed * 1000 + index)
  local dag = draw[family](random)
  local speeds, widths = {}, {}
  for i = 1, between(random, 3, 5) do speeds[i] = weight(random) end
  local cluster = machine(speeds, function(i, j)
    local key = i .. "-" .. j
    widths[key] = widths[key] or weight(random)
    return widths[key]
  end)
  return problem_of(("%s_%d"):format(family, index), dag, speeds, cluster)
end

-- The numbers of each line that is no comment.
local function number_lines(path)
  local file = assert(io.open(path))
  return function()
    for text in file:lines() do
      if not text:match "^%s*%%" then
        local numbers = {}
        for number in text:gsub("%%.*", ""):gmatch "%S+" do numbers[#numbers + 1] = tonumber(number) end
        if #numbers > 0 then return numbers end
      end
    end
    file:close()
  end
end

local function hyperdag_problem(path)
  local next_line = number_lines(path)
  local head = assert(next_line(), path .. ": no HyperDAG")
  local dag = { tasks = {}, edges = {} }
  local bytes = {}
  for _ = 1, head[1] do
    local edge = next_line()
    bytes[edge[1]] = edge[2] or 1
  end
  for _ = 1, head[2] do
    local node = next_line()
    dag.tasks[node[1] + 1] = node[2] or 1
  end
  local edge_of = {}
  for _ = 1, head[3] do
    local pin = next_line()
    local edge = edge_of[pin[1]]
    if not edge then
      edge = { pin[2] + 1, nil, bytes[pin[1]] }
      edge_of[pin[1]] = edge
      dag.edges[#dag.edges + 1] = edge
      edge.readers = {}
    else
      edge.readers[#edge.readers + 1] = pin[2] + 1
    end
  end
  local edges = {}
  for _, edge in ipairs(dag.edges) do
    if #edge.readers > 0 then
      local entry = { edge[1], edge.readers[1], edge[3] }
      for i = 2, #edge.readers do entry[i + 2] = edge.readers[i] end
      edges[#edges + 1] = entry
    end
  end
  dag.edges = edges
  local speeds = {}
  for i = 1, options.devices do speeds[i] = 1 end
  return problem_of(path:match "[^/]+$", dag, { 1 }, machine(speeds, function() return 1 end))
end

-- 3. One row per family or file: means over its instances of what is divided by the bound.

local function new_row(name)
  local row = { name = name, instances = 0, ops = 0, proven = 0 }
  for _, policy in ipairs(options.policies) do row[policy] = 0 end
  return row
end

local function add(row, problem)
  local bound_us = problem:bound()
  local objective_us, best_us = {}, math.huge
  for _, name in ipairs(options.policies) do
    local _, outcome = berth.policy(name):place(problem, { seed = options.seed,
                                                           budget_s = options.budget_s })
    objective_us[name] = outcome.objective_us
    best_us = math.min(best_us, outcome.objective_us)
  end
  for _, name in ipairs(options.policies) do row[name] = row[name] + objective_us[name] / bound_us end
  row.instances = row.instances + 1
  row.ops = row.ops + problem:graph():op_count()
  if best_us <= bound_us * (1 + 1e-9) then row.proven = row.proven + 1 end
  if objective_us.heft then
    row.worst = math.max(row.worst or 0, objective_us.heft / best_us)
    row.mean = (row.mean or 0) + objective_us.heft / best_us
  end
end

local rows = {}
if #options.files > 0 then
  for _, path in ipairs(options.files) do
    if berth.should_stop() then break end
    rows[#rows + 1] = new_row(path:match "[^/]+$")
    add(rows[#rows], hyperdag_problem(path))
  end
else
  for _, family in ipairs(families) do
    rows[#rows + 1] = new_row(family)
    for i = 1, options.count do
      if berth.should_stop() then break end
      add(rows[#rows], drawn_problem(family, i))
    end
  end
end

local columns = { { key = "name", title = "instances of" }, { key = "instances", title = "n" },
                  { key = "ops", title = "mean ops", format = "%.0f" } }
for _, policy in ipairs(options.policies) do
  columns[#columns + 1] = { key = policy, title = policy .. " / bound", format = "%.3f" }
end
columns[#columns + 1] = { key = "proven", title = "proven optimal" }
columns[#columns + 1] = { key = "mean", title = "heft / best", format = "%.3f", optional = true }
columns[#columns + 1] = { key = "worst", title = "worst", format = "%.3f", optional = true }
for _, row in ipairs(rows) do
  row.ops = row.ops / row.instances
  if row.mean then row.mean = row.mean / row.instances end
  for _, policy in ipairs(options.policies) do row[policy] = row[policy] / row.instances end
end
local policies = {}
for i, policy in ipairs(options.policies) do policies[i] = { key = policy, title = policy } end
plots.keep(options.figures, "scheduling", plots.table_bars(rows, {
  title = "Benchmarks of the scheduling literature", y = "mean of objective / bound", name = "name",
  columns = policies }))
io.write(tables[options.format](rows, columns))
