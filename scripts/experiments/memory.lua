-- Finds what fits where of the translation network of the placement papers: with its gradients kept until one AddN
-- sums them, with sums that run as they come, and in the size that no device holds.
--
--   berth run scripts/experiments/memory.lua [--models FOLDER] [--format text|markdown]
--
-- One GPU: the peak of a step in which all ops run on it, in three orders: that of priority (the simulator's: the
-- op with the longest way to the end first), first in, first out (TensorFlow's), and that of the file. The expert's:
-- the fullest of two and of four GPUs, by priority. Peaks hold the variables, and every tensor from its production
-- to its last use.

local arguments = require "berth.arguments"
local berth = require "berth"
local tables = require "berth.tables"

local options = { folder = "examples/models/tf", format = "text" }
local line = arguments.parser()
line.read({ ... }, nil, {
  ["--models"] = line.text_into(options, "folder"),
  ["--format"] = line.format_into(options),
})

local graphs = {
  { name = "rnnlm_b64", form = "running sums" },
  { name = "nmt_b64", form = "one AddN" },
  { name = "nmt_b64_sums", form = "running sums" },
  { name = "nmt_b256", form = "one AddN" },
  { name = "nmt_b256_sums", form = "running sums" },
  { name = "nmt_large", form = "running sums" },
}

-- 1. Orders of the ops of one device.

-- Ops by the time at which their last input was there; at equal times by number.
local function first_in_first_out(graph)
  local waiting, queue = {}, {}
  for op = 1, graph:op_count() do
    waiting[op] = #graph:in_edges(op)
    if waiting[op] == 0 then queue[#queue + 1] = op end
  end
  local next = 1
  while next <= #queue do
    for _, edge in ipairs(graph:out_edges(queue[next])) do
      waiting[edge.dst] = waiting[edge.dst] - 1
      if waiting[edge.dst] == 0 then queue[#queue + 1] = edge.dst end
    end
    next = next + 1
  end
  return queue
end

local function peak_gb(graph, order)
  local uses = {}
  for op = 1, graph:op_count() do
    for _, edge in ipairs(graph:in_edges(op)) do
      if edge.tensor then uses[edge.tensor] = (uses[edge.tensor] or 0) + 1 end
    end
  end
  local held = graph:total_param_bytes()
  local peak = held
  for _, op in ipairs(order) do
    local outputs = graph:outputs(op)
    for _, tensor in ipairs(outputs) do held = held + graph:tensor_bytes(tensor) end
    peak = math.max(peak, held)
    for _, tensor in ipairs(outputs) do
      if not uses[tensor] then held = held - graph:tensor_bytes(tensor) end
    end
    for _, edge in ipairs(graph:in_edges(op)) do
      if edge.tensor then
        uses[edge.tensor] = uses[edge.tensor] - 1
        if uses[edge.tensor] == 0 then held = held - graph:tensor_bytes(edge.tensor) end
      end
    end
  end
  return peak / 1e9
end

-- 2. Placements.

local function fullest_gb(evaluation, cluster)
  local most = 0
  for device, bytes in ipairs(evaluation.peak_bytes) do
    if not cluster:device(device).host then most = math.max(most, bytes) end
  end
  return most / 1e9
end

local function expert(graph, gpus)
  local problem = berth.problem { graph = graph, cluster = "k80x" .. gpus }
  local placement = berth.policy("expert", { recipe = "layers", repair = false }):place(problem, { seed = 0 })
  return fullest_gb(problem:evaluate(placement), problem:cluster())
end

local rows, limit = {}, nil
for _, entry in ipairs(graphs) do
  local graph = berth.load(("%s/%s.pb.gz"):format(options.folder, entry.name))
  local problem = berth.problem { graph = graph, cluster = "k80x2" }
  local cluster = problem:cluster()
  limit = problem:memory_bytes(cluster:find "gpu:0") / 1e9
  rows[#rows + 1] = {
    graph = entry.name, form = entry.form, parameters = graph:total_param_bytes() / 1e9,
    priority = fullest_gb(problem:evaluate((problem:one_device(cluster:find "gpu:0"))), cluster),
    fifo = peak_gb(graph, first_in_first_out(graph)),
    file = peak_gb(graph, graph:topological_order()),
    expert_2 = expert(graph, 2), expert_4 = expert(graph, 4),
  }
end

-- 3. The table.

local function gb(value) return ("%.1f%s"):format(value, value <= limit and "" or " OOM") end
print(("GB at the peak; a GPU of the K80 machines holds %.1f\n"):format(limit))
io.write(tables[options.format](rows, {
  { key = "graph" }, { key = "form", title = "sums of gradients" },
  { key = "parameters", title = "variables", format = "%.1f" },
  { key = "priority", title = "1 GPU, by priority", format = gb },
  { key = "fifo", title = "1 GPU, first in, first out", format = gb },
  { key = "file", title = "1 GPU, order of the file", format = gb },
  { key = "expert_2", title = "expert, 2 GPUs", format = gb },
  { key = "expert_4", title = "expert, 4 GPUs", format = gb },
}))
