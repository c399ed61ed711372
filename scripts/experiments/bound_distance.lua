-- How far is the lower bound from the best placement, where the best is known? Steps in few parts are searched to the
-- end; their distance is the bound's alone.
--
--   berth run scripts/experiments/bound_distance.lua GRAPH:CLUSTER.. [--parts 12,16,20] [--seconds 60] [--record FILE]
--       [--format text|markdown]
--
-- --parts    coarse groups of a step; each becomes as many ops as leave no cycle, which stay together
-- --seconds  for each exact search, on one thread; where it does not end, the best known and what is proven are given
--
-- Parts have the time and the bytes of their ops, and send when all of them are done.

local arguments = require "berth.arguments"
local berth = require "berth"
local record = require "berth.record"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

local options = { parts = { 12, 16, 20 }, seconds = 60, format = "text" }
local line = arguments.parser()
local models = {}
line.read({ ... }, models, {
  ["--parts"] = line.numbers_into(options, "parts"),
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--record"] = line.text_into(options, "record"),
  ["--format"] = line.format_into(options),
})
if #models == 0 then line.usage "name at least one GRAPH:CLUSTER" end

-- The part of every op, numbered as they can be executed: of each group all that is ready at once.
local function parts_of(graph, groups)
  local waiting, ready, part_of, parts, left = {}, {}, {}, 0, graph:op_count()
  local function make_ready(op)
    local group = groups:of(op)
    ready[group] = ready[group] or {}
    table.insert(ready[group], op)
  end
  for op = 1, graph:op_count() do
    waiting[op] = #graph:in_edges(op)
    if waiting[op] == 0 then make_ready(op) end
  end
  while left > 0 do
    for group = 1, groups:count() do
      local ops = ready[group] or {}
      if #ops > 0 then parts = parts + 1 end
      while #ops > 0 do
        local op = table.remove(ops)
        part_of[op], left = parts, left - 1
        for _, edge in ipairs(graph:out_edges(op)) do
          waiting[edge.dst] = waiting[edge.dst] - 1
          if waiting[edge.dst] == 0 then make_ready(edge.dst) end
        end
      end
    end
  end
  return part_of, parts
end

-- The problem with an op per part.
local function contracted(problem, count)
  local graph, costs, cluster = problem:graph(), problem:costs(), problem:cluster()
  local groups = berth.coarsen(graph, costs, count)
  local part_of, parts = parts_of(graph, groups)
  local builder, us, group_of, params = berth.graph_builder(graph:name()), {}, {}, {}
  for op = 1, graph:op_count() do
    local part = part_of[op]
    group_of[part] = groups:of(op)
    params[part] = (params[part] or 0) + graph:param_bytes(op)
  end
  for kind, name in ipairs(cluster:kinds()) do
    us[name] = {}
    for part = 1, parts do us[name][part] = 0 end
    for op = 1, graph:op_count() do us[name][part_of[op]] = us[name][part_of[op]] + costs:op_us(op, kind) end
  end
  for part = 1, parts do
    builder:set_param_bytes(builder:add_op(tostring(part), "Part"), params[part])
    builder:set_colocation(part, tostring(group_of[part]))
  end
  for op = 1, graph:op_count() do
    local sent = {}
    for _, edge in ipairs(graph:out_edges(op)) do
      local from, to = part_of[op], part_of[edge.dst]
      if from ~= to and not edge.tensor then
        builder:add_control_edge(from, to)
      elseif from ~= to then
        sent[edge.tensor] = sent[edge.tensor] or { output = builder:add_output(from, { bytes = graph:tensor_bytes(edge.tensor) }) }
        if not sent[edge.tensor][to] then builder:add_input(to, sent[edge.tensor].output) end
        sent[edge.tensor][to] = true
      end
    end
  end
  local built = builder:build()
  return berth.problem { graph = built, cluster = cluster, costs = berth.costs({ us = us }, built, cluster) }, groups:count()
end

local runs, rows, proven = record.open(options.record), {}, {}
for _, text in ipairs(models) do
  local asked = line.problem(text)
  local whole
  for _, count in ipairs(options.parts) do
    local row = { name = asked.name }
    row.groups, row.ops, row.bound_us, row.best_us, row.proven_us = runs.once(("%s %d parts %gs"):format(text, count, options.seconds), function()
      whole = whole or asked.problem()
      local problem, groups = contracted(whole, count)
      local bound_us = problem:bound()
      local placement = berth.policy("auto", { threads = 1 }):place(problem, { seed = 1, threads = 1, budget_s = options.seconds / 10 })
      local _, outcome = berth.policy "exact":place(problem, { seed = 1, threads = 1, budget_s = options.seconds, initial = { placement } })
      return groups, problem:graph():op_count(), bound_us, outcome.objective_us, math.max(outcome.bound_us or 0, bound_us)
    end)
    row.distance = row.best_us / row.bound_us - 1
    row.optimal = row.proven_us >= row.best_us * (1 - 1e-6)
    rows[#rows + 1] = row
    if row.optimal then proven[#proven + 1] = row.distance end
  end
end
local function percent(value) return ("%.1f %%"):format(100 * value) end
local function ms(us) return ("%.2f"):format(us / 1e3) end
io.write(tables[options.format](rows, { { key = "name", title = "step" }, { key = "groups" }, { key = "ops" },
  { key = "bound_us", title = "bound, ms", format = ms }, { key = "best_us", title = "best, ms", format = ms },
  { key = "proven_us", title = "proven, ms", format = ms }, { key = "distance", title = "above the bound", format = percent },
  { key = "optimal", format = tostring } }), "\n")
if #proven > 0 then
  print(("%d proven optimal: %s above the bound in the median, %s at most"):format(#proven, percent(statistics.median(proven)),
    percent(math.max(unpack(proven)))))
end
