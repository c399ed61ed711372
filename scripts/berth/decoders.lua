-- Decoders of language models as their users run them: a prompt at once, then token after token, with
-- the keys and values of all layers kept.
--
--   local decoders = require "berth.decoders"
--   local model = decoders.build { size = "13b", bits = 16, prompt = 512, tokens = 16 }
--   local problem = berth.problem { graph = model.graph, cluster = decoders.unequal_gpus() }
--   local network, placement = decoders.network(problem, model, decoders.llama_cpp(problem, model))
--   network:save_plan("llama.cpp", "plan.txt", placement)
--
-- The prompt and the tokens are one graph: a placement holds for both, because a weight is read by
-- ops of every step, and the cache of a layer by its attention in every step. Parameters have the
-- names of Llama's modules, so that plans can be written for other tools.
--
-- `llama_cpp` and `accelerate` choose as those tools do when nothing is set; their results are placements
-- like any other, and may not fit.

local berth = require "berth"

local decoders = {}

-- Llama 2 7B, 13B and 70B, and Code Llama 34B, by their published configurations.
decoders.sizes = {
  ["7b"] = { layers = 32, width = 4096, heads = 32, kv_heads = 32, inner = 11008, words = 32000 },
  ["13b"] = { layers = 40, width = 5120, heads = 40, kv_heads = 40, inner = 13824, words = 32000 },
  ["34b"] = { layers = 48, width = 8192, heads = 64, kv_heads = 8, inner = 22016, words = 32000 },
  ["70b"] = { layers = 80, width = 8192, heads = 64, kv_heads = 8, inner = 28672, words = 32000 },
}

local GB, GiB = 1e9, 2 ^ 30
local ACTIVATION_BYTES = 2  -- of an element of what ops hand on, and of the cache: f16

-- A desktop: a GPU of 24 GB, one of 8 GB, and a host with twice their memory. Figures are of
-- NVIDIA's white papers on GA102 and GA104 (RTX 3090, RTX 3070; tensor cores with f32 accumulation) and of
-- a processor of 8 cores at 3.8 GHz with two channels of DDR4-3200. Each GPU has PCIe 4.0 x8, of which 0.8
-- are reached; these GPUs copy to each other through the host's memory, at half that.
function decoders.unequal_gpus()
  local function gpu(name, kind, multiprocessors, bytes, flops, flops_16, bandwidth)
    -- A CUDA context with its libraries takes this from the model.
    return { name = name, kind = kind, multiprocessors = multiprocessors, memory_bytes = bytes - 0.5 * GiB,
             flops = flops, flops_16 = flops_16, memory_bandwidth = bandwidth, op_overhead_us = 4 }
  end
  local pcie = 0.8 * 15.75 * GB
  local function link(src, dst, share)
    return { src = src, dst = dst, bandwidth_bytes_per_s = pcie * share, latency_us = 12 }
  end
  return berth.cluster {
    name = "unequal_gpus",
    devices = {
      { name = "cpu:0", kind = "cpu", host = true, memory_bytes = 64 * GiB, flops = 8 * 3.8e9 * 32,
        memory_bandwidth = 51.2 * GB, op_overhead_us = 2 },
      gpu("gpu:0", "rtx3090", 82, 24 * GiB, 35.6e12, 71e12, 936 * GB),
      gpu("gpu:1", "rtx3070", 46, 8 * GiB, 20.3e12, 40.6e12, 448 * GB),
    },
    links = { link("*", "*", 1), link("gpu:0", "gpu:1", 0.5), link("gpu:1", "gpu:0", 0.5) },
  }
end

-- Building -----------------------------------------------------------------------------------------

-- spec: size ("7b") or its record, bits per weight (16; 4.5 is llama.cpp's Q4_K), prompt and tokens
-- (counts), context (positions that the cache has room for; default: what is used).
-- Returns { graph, spec, modules }: modules in the network's order, each { name, bytes, layer, ops },
-- where layer counts from 0 and is nil outside of the layers; the cache of a layer is one, without a
-- parameter's name.
function decoders.build(spec)
  local size = decoders.sizes[spec.size] or spec.size
  assert(type(size) == "table", "no size " .. tostring(spec.size) .. "; there are 7b, 13b, 34b, 70b")
  local bits, prompt, tokens = spec.bits or 16, spec.prompt or 512, spec.tokens or 16
  local context = spec.context or prompt + tokens
  local builder = berth.graph_builder(("decoder of %s, %g bits"):format(
    type(spec.size) == "string" and spec.size or "its own size", bits), "onnx")
  local model = { spec = { bits = bits, prompt = prompt, tokens = tokens, context = context, size = size },
                  modules = {} }
  local by_name = {}

  local function module(name, bytes, layer, parameter)
    if not by_name[name] then
      local found = { name = name, bytes = bytes, layer = layer, ops = {} }
      if parameter then
        found.tensor = builder:add_parameter({ dtype = "f16", bytes = bytes }, name .. ".weight")
      end
      by_name[name] = found
      model.modules[#model.modules + 1] = found
    end
    return by_name[name]
  end

  -- An op of a step that reads `inputs` and, with a name of a module, its weights.
  local function op(step, name, type, inputs, out_bytes, work, owner)
    local id = builder:add_op(("%s/%s"):format(step.name, name), type)
    for _, tensor in ipairs(inputs) do builder:add_input(id, tensor) end
    if owner then
      if owner.tensor then builder:add_input(id, owner.tensor) end
      builder:set_colocation(id, owner.name)
      owner.ops[#owner.ops + 1] = id
    end
    builder:set_work(id, work)
    return builder:add_output(id, { dtype = "f16", bytes = out_bytes }), id
  end

  local function matmul(step, name, layer, inputs, rows, columns, positions)
    local owner = module(name, math.floor(rows * columns * bits / 8), layer, true)
    return op(step, name:gsub("%.", "/") .. "/MatMul", "MatMul", inputs,
      positions * columns * ACTIVATION_BYTES,
      { flops = 2 * positions * rows * columns, class = "matmul", dtype = "f16",
        bytes = owner.bytes + positions * (rows + columns) * ACTIVATION_BYTES }, owner)
  end

  local function norm(step, name, layer, inputs, positions)
    local owner = module(name, size.width * ACTIVATION_BYTES, layer, true)
    local bytes = positions * size.width * ACTIVATION_BYTES
    return op(step, name:gsub("%.", "/") .. "/Norm", "SimplifiedLayerNormalization", inputs, bytes,
      { flops = 4 * positions * size.width, bytes = 2 * bytes, dtype = "f16" }, owner)
  end

  local function attention(step, layer, q, k, v, positions)
    local name = ("model.layers.%d.self_attn.cache"):format(layer)
    local kv = size.kv_heads * size.width / size.heads
    local kept = 2 * kv * ACTIVATION_BYTES  -- by position
    local owner = module(name, context * kept, layer, false)
    local tensor, id = op(step, ("model/layers/%d/self_attn/Attention"):format(layer), "Attention",
      { q, k, v }, positions * size.width * ACTIVATION_BYTES,
      { flops = 4 * positions * step.seen * size.width, class = "matmul", dtype = "f16",
        bytes = step.seen * kept + 2 * positions * size.width * ACTIVATION_BYTES }, owner)
    -- The room of the cache, counted once: its ops share a device.
    if #owner.ops == 1 then builder:set_param_bytes(id, owner.bytes) end
    return tensor
  end

  -- The tensor of the next word.
  local function run(step, word)
    local n = step.positions
    local embed = module("model.embed_tokens", math.floor(size.words * size.width * bits / 8), nil, true)
    local x = op(step, "model/embed_tokens/Gather", "Gather", { word }, n * size.width * ACTIVATION_BYTES,
      { bytes = 2 * n * size.width * ACTIVATION_BYTES, dtype = "f16" }, embed)
    local kv = size.kv_heads * size.width / size.heads
    for layer = 0, size.layers - 1 do
      local prefix = ("model.layers.%d."):format(layer)
      local function linear(name, inputs, rows, columns)
        return (matmul(step, prefix .. name, layer, inputs, rows, columns, n))
      end
      local normed = norm(step, prefix .. "input_layernorm", layer, { x }, n)
      local mixed = attention(step, layer, linear("self_attn.q_proj", { normed }, size.width, size.width),
        linear("self_attn.k_proj", { normed }, size.width, kv),
        linear("self_attn.v_proj", { normed }, size.width, kv), n)
      x = linear("self_attn.o_proj", { mixed, x }, size.width, size.width)  -- and what it is added to
      normed = norm(step, prefix .. "post_attention_layernorm", layer, { x }, n)
      x = linear("mlp.down_proj", { linear("mlp.gate_proj", { normed }, size.width, size.inner),
        linear("mlp.up_proj", { normed }, size.width, size.inner), x }, size.inner, size.width)
    end
    x = norm(step, "model.norm", nil, { x }, n)
    return (matmul(step, "lm_head", nil, { x }, size.width, size.words, 1))
  end

  local source = builder:add_op("prompt/words", "Input")
  builder:set_work(source, { bytes = 0 })
  local word = builder:add_output(source, { dtype = "i64", bytes = 8 * prompt })
  word = run({ name = "prompt", positions = prompt, seen = prompt }, word)
  for token = 1, tokens do
    word = run({ name = ("token_%d"):format(token), positions = 1, seen = prompt + token }, word)
  end
  model.source = source
  model.graph = builder:build()
  return model
end

-- Placements ---------------------------------------------------------------------------------------

local function hosts_and_gpus(cluster)
  local host, gpus = nil, {}
  for device = 1, cluster:device_count() do
    if cluster:device(device).host then
      host = host or device
    else
      gpus[#gpus + 1] = device
    end
  end
  return assert(host, "a decoder's host is missing from the cluster"), gpus
end

-- The placement by device of each module: on(module) -> device. What belongs to no module goes to the host.
function decoders.placement(problem, model, on)
  local host = hosts_and_gpus(problem:cluster())
  local placement = {}
  for op = 1, problem:graph():op_count() do placement[op] = host end
  for _, module in ipairs(model.modules) do
    local device = on(module)
    for _, op in ipairs(module.ops) do placement[op] = device end
  end
  return placement
end

-- llama.cpp: the last `count` layers, of which the head is one more, on GPUs, each GPU a run of them in
-- the share that its memory is of all GPUs'; the rest, and always the embedding, on the host
-- (llama-model.cpp, load_tensors).
local function by_layers(problem, model, count)
  local cluster, layers = problem:cluster(), model.spec.size.layers
  local host, gpus = hosts_and_gpus(cluster)
  local ends, sum = {}, 0
  for i, gpu in ipairs(gpus) do
    sum = sum + cluster:device(gpu).memory_bytes
    ends[i] = sum
  end
  local first = math.max(layers - count, 0)
  local function device_of(layer)
    if layer < first or layer - first >= count then return host end
    for i, gpu in ipairs(gpus) do
      if (layer - first) / count < ends[i] / sum then return gpu end
    end
    return gpus[#gpus]
  end
  return decoders.placement(problem, model, function(module)
    if module.name == "model.embed_tokens" then return host end
    return device_of(module.layer or layers)  -- the last norm goes with the head
  end)
end

-- With as many layers on GPUs as fit, which its users find by trying. Returns the placement and the
-- count, -ngl; nil if nothing fits.
function decoders.llama_cpp(problem, model)
  for count = model.spec.size.layers + 1, 0, -1 do
    local placement = by_layers(problem, model, count)
    if problem:evaluate(placement).feasible then return placement, count end
  end
end

-- The problem of the network by itself and its part of `placement`, for plans: they name each module once,
-- and every step of the graph has all modules.
function decoders.network(problem, model, placement)
  local spec = {}
  for key, value in pairs(model.spec) do spec[key] = value end
  spec.tokens = 0
  local graph = decoders.build(spec).graph
  local own = {}
  for op = 1, graph:op_count() do own[op] = placement[model.graph:find(graph:op_name(op))] end
  return berth.problem { graph = graph, cluster = problem:cluster() }, own
end

-- accelerate (utils/modeling.py): modules in the network's order into one device after the other, a
-- layer never split, room for the largest module kept on the first GPU. `balanced` is what "auto"
-- means: no GPU but the last gets more than its equal share and a quarter over the largest module.
-- Weights alone count, not the cache, so that it may not fit. `room` scales what GPUs have (1), as
-- its users do by max_memory.
function decoders.accelerate(problem, model, balanced, room)
  local cluster = problem:cluster()
  local host, gpus = hosts_and_gpus(cluster)
  local units, by_unit, total, largest, largest_layer = {}, {}, 0, 0, 0
  for _, module in ipairs(model.modules) do
    if module.tensor then
      local name = module.layer and "layer " .. module.layer or module.name
      if not by_unit[name] then
        by_unit[name] = { bytes = 0, layer = module.layer }
        units[#units + 1] = by_unit[name]
      end
      by_unit[name].bytes = by_unit[name].bytes + module.bytes
      total = total + module.bytes
    end
  end
  for _, unit in ipairs(units) do
    largest = math.max(largest, unit.bytes)
    if unit.layer then largest_layer = math.max(largest_layer, unit.bytes) end
  end
  local devices, rooms = {}, {}
  for i, gpu in ipairs(gpus) do
    devices[i], rooms[i] = gpu, cluster:device(gpu).memory_bytes * (room or 1)
    if balanced and i < #gpus then
      rooms[i] = math.min(rooms[i], math.floor(total / #gpus) + math.floor(1.25 * largest_layer))
    end
  end
  devices[#devices + 1], rooms[#rooms + 1] = host, math.huge
  local at, used = 1, 0
  for i, unit in ipairs(units) do
    local remaining = 0  -- the largest module that is still to be placed
    for j = i, #units do remaining = math.max(remaining, units[j].bytes) end
    while used + unit.bytes > rooms[at] - (at == 1 and remaining or 0) do
      at, used = at + 1, 0
    end
    unit.device, used = devices[at], used + unit.bytes
  end
  return decoders.placement(problem, model, function(module)
    return by_unit[module.layer and "layer " .. module.layer or module.name].device
  end)
end

-- The first room, in steps of 2 %, in which accelerate's choice fits with the cache; nil if none does.
function decoders.accelerate_that_fits(problem, model, balanced)
  for percent = 100, 2, -2 do
    local placement = decoders.accelerate(problem, model, balanced, percent / 100)
    if problem:evaluate(placement).feasible then return placement, percent / 100 end
  end
end

-- Time of the prompt and of a token after it, simulated.
function decoders.times(problem, model, placement)
  local trace = problem:trace(placement)
  local heads
  for _, module in ipairs(model.modules) do
    if module.name == "lm_head" then heads = module.ops end
  end
  local prompt_us = trace.op_end_us[heads[1]]
  return prompt_us, (trace.op_end_us[heads[#heads]] - prompt_us) / math.max(#heads - 1, 1)
end

return decoders
