-- Does one command give every tool a plan that fits, as fast as the tool's own choice, and as simple?
--
--   python3 scripts/experiments/reach_models.py FOLDER
--   berth run scripts/experiments/reach.lua FOLDER [--pairs 1,2,..] [--tools a,b] [--cells FILE]
--      [--format text|markdown]
--
-- Twelve pairs of a model of FOLDER and a machine in words. For every tool: the plan of
-- `berth place MODEL --cluster MACHINE --for TOOL`, and the tool's own choices, simulated under the same rules:
-- llama.cpp's split of layers by memory and vLLM's partition, by their own rules; devices filled one after the other
-- (llama.cpp's users, accelerate's "sequential"); bytes by memory (accelerate's "balanced"; reach_accelerate.py runs its
-- own functions); as many layers to each device (DeepSpeed). A cell: how many times faster than the
-- fastest own choice that fits; its cuts / that choice's. "alone": no own choice fits. "-": the tool cannot have
-- the model or the machine, or nothing fits; --cells writes a table that says why, with times and seconds.

local arguments = require "berth.arguments"
local berth = require "berth"
local files = require "berth.files"
local tables = require "berth.tables"

local DECODER = { batch = 1, sequence_length = 1, past_sequence_length = 4095 }
local PAIRS = {
  { "7b", "rtx4090+rtx3060", DECODER },
  { "8b", "rtx3090+rtx3070", DECODER },
  { "8b-q4", "rtx3060+rtx4060", DECODER },
  { "13b", "rtx4090+rtx4070", DECODER },
  { "14b", "rtx3090+rtx3060", DECODER },
  { "34b-q4", "rtx4060ti:15.5GiB+rtx3080", DECODER },
  { "70b-q4", "2xrtx3090+rtx3060", DECODER },
  { "70b", "h100+a6000+a40+host", DECODER },
  { "8x7b-q4", "rtx4070+rtx3060+host:64GiB", DECODER },
  { "unet", "rtx4090+rtx3060", { batch = 2 } },
  { "whisper", "rtx3060:2GiB+t4", { batch = 1, sequence_length = 1 } },
  { "7b", "rtx4090+rtx4060:0B", DECODER },
}
local OWN = {
  accelerate = { { "even" }, { "fill" } },
  ["llama.cpp"] = { { "split" }, { "fill" } },
  vllm = { { "partition" } },
  deepspeed = { { "even", { by = "layers" } }, { "even" } },
  ["torch-pipelining"] = { { "even", { by = "layers" } }, { "even" } },
  onnxruntime = { { "fill" } },
  openvino = { { "fill" } },
}
local TOOLS = { "accelerate", "llama.cpp", "vllm", "deepspeed", "torch-pipelining", "onnxruntime", "openvino" }

local options = { format = "text", tools = TOOLS }
local folders = {}
local line = arguments.parser()
line.read({ ... }, folders, {
  ["--pairs"] = function(text)
    options.pairs = {}
    for _, number in ipairs(arguments.list(text)) do options.pairs[tonumber(number)] = true end
  end,
  ["--tools"] = line.list_into(options, "tools"),
  ["--cells"] = line.text_into(options, "cells"),
  ["--format"] = line.format_into(options),
})
if #folders ~= 1 then line.usage "one folder expected: that of reach_models.py" end

local function file_of(pair) return ("%s/%s.onnx"):format(folders[1], pair[1]) end

local function layer_count(pair)
  local graph, count = berth.load(file_of(pair), { dims = pair[3] }), 0
  for op = 1, graph:op_count() do
    count = math.max(count, (tonumber(graph:op_name(op):match "^/model/layers%.(%d+)/") or -1) + 1)
  end
  return count
end

-- The tools' rules: from the number of layers and the memory of the GPUs to the number of a GPU by layer, the head behind
-- them all. llama.cpp compares il / (layers + 1) with the cumulated shares of free memory; vLLM's get_pp_indices gives what is
-- left over to the parts before the last.
local RULES = {}
function RULES.split(layers, memory)
  local all, of = 0, {}
  for _, bytes in ipairs(memory) do all = all + bytes end
  for layer = 0, layers do
    local share, gpu = 0, 0
    repeat
      gpu = gpu + 1
      share = share + memory[gpu] / all
    until share > layer / (layers + 1) or gpu == #memory
    of[layer] = gpu
  end
  return of
end
function RULES.partition(layers, memory)
  local parts, of, layer = {}, {}, 0
  for gpu = 1, #memory do parts[gpu] = math.floor(layers / #memory) end
  for back = 1, layers % #memory do parts[#parts - back] = parts[#parts - back] + 1 end
  for gpu, count in ipairs(parts) do
    for _ = 1, count do
      of[layer] = gpu
      layer = layer + 1
    end
  end
  of[layers] = #memory
  return of
end

-- A rule's choice as constraints that leave nothing open. A GPU without memory is not seen.
local function pins(rule, pair)
  local cluster, names, memory = berth.cluster(pair[2]), {}, {}
  for device = 1, cluster:device_count() do
    local its = cluster:device(device)
    if not its.host and its.memory_bytes > 0 then
      names[#names + 1], memory[#memory + 1] = its.name, its.memory_bytes
    end
  end
  local layers = layer_count(pair)
  local of, list = rule(layers, memory), {}
  for layer = 0, layers - 1 do
    list[#list + 1] = { pin = ("/model/layers[.]%d/.*"):format(layer), to = names[of[layer]] }
  end
  list[#list + 1] = { pin = { "/model/norm/.*", "/lm_head/.*" }, to = names[of[layers]] }
  return list
end

local function placed(pair, tool, policy, of_policy)
  local rule = RULES[policy]
  local began = berth.clock()
  local done, placement, found = pcall(berth.place, file_of(pair), {
    cluster = pair[2], dims = pair[3], tool = tool, policy = rule and "stages" or policy, options = of_policy,
    bound = "none", within = policy and 0 or nil, constraints = rule and pins(rule, pair) })
  if not done then return nil, placement:match "[^\n]*" end
  found.seconds = berth.clock() - began
  if not found.feasible then return nil, "nothing fits" end
  return found
end

local rows, cells = {}, {}
for number, pair in ipairs(PAIRS) do
  if not options.pairs or options.pairs[number] then
    local row = { pair = ("%s on %s"):format(pair[1], pair[2]), slowest = 0 }
    for _, tool in ipairs(options.tools) do
      berth.progress(("%s, %s"):format(row.pair, tool))
      local plan, why = placed(pair, tool)
      local own
      for _, choice in ipairs(plan and OWN[tool] or {}) do
        local found = placed(pair, tool, choice[1], choice[2])
        if found and (not own or found.runtime_us < own.runtime_us) then own = found end
      end
      local cell = { pair = row.pair, tool = tool, why = why }
      if plan then
        row.slowest = math.max(row.slowest, plan.seconds)
        cell.seconds, cell.ms, cell.cuts = plan.seconds, plan.runtime_us / 1e3, plan.cuts
        if own then
          cell.own_ms, cell.own_cuts, cell.own = own.runtime_us / 1e3, own.cuts, own.policy
          row[tool] = ("%.2f, %d/%d"):format(own.runtime_us / plan.runtime_us, plan.cuts, own.cuts)
        else
          row[tool] = ("alone, %d"):format(plan.cuts)
        end
        if not row.best or plan.runtime_us < row.best then row.best = plan.runtime_us end
      end
      cells[#cells + 1] = cell
    end
    rows[#rows + 1] = row
  end
end

if options.cells then
  files.write(options.cells, tables.csv(cells, { { key = "pair" }, { key = "tool" }, { key = "ms", format = "%.3f" },
    { key = "cuts" }, { key = "own" }, { key = "own_ms", format = "%.3f" }, { key = "own_cuts" },
    { key = "seconds", format = "%.1f" }, { key = "why" } }))
end
local columns = { { key = "pair", title = "model on machine" } }
for _, tool in ipairs(options.tools) do columns[#columns + 1] = { key = tool } end
columns[#columns + 1] = { key = "slowest", title = "slowest, s", format = "%.1f" }
io.write(tables[options.format](rows, columns))
