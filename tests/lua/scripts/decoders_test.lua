local berth = require "berth"
local check = require "check"
local decoders = require "berth.decoders"
local folder = ...

local tiny = { layers = 4, width = 64, heads = 4, kv_heads = 2, inner = 128, words = 100 }
local LAYER = 2 * (2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64)  -- bytes in f16
local CACHE = 8 * 2 * 32 * 2  -- 8 positions, keys and values of 32, f16
local EMBED = 2 * 100 * 64

-- A host and two GPUs with room for so many bytes.
local function machine(first, second)
  local function device(name, kind, bytes, host)
    return { name = name, kind = kind, memory_bytes = math.floor(bytes), host = host, flops = 1e12,
             memory_bandwidth = 1e11 }
  end
  return berth.cluster {
    name = "machine",
    devices = { device("cpu:0", "cpu", 1e9, true), device("gpu:0", "gpu", first), device("gpu:1", "gpu", second) },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e9, latency_us = 1 } },
  }
end

local function built() return decoders.build { size = tiny, prompt = 6, tokens = 2 } end

-- The devices of the layers' attention, and of the embedding and the head.
local function summary(model, placement)
  local devices = {}
  for _, module in ipairs(model.modules) do
    if module.name:find "q_proj" or not module.layer then
      devices[#devices + 1] = placement[module.ops[1]]
    end
  end
  return devices
end

check.test("a decoder has the parameters of its configuration, once for all steps", function()
  local model = built()
  check.equal(model.graph:op_count(), 1 + 3 * (4 * 10 + 3))
  check.equal(model.graph:total_param_bytes(), 4 * (LAYER + CACHE) + 2 * EMBED + 2 * 64)
  local q = assert(model.graph:find "token_2/model/layers/3/self_attn/q_proj/MatMul")
  check.equal(model.graph:work(q).flops, 2 * 64 * 64)
  check.equal(model.graph:colocation(q), "model.layers.3.self_attn.q_proj")
  local real = decoders.build { size = "7b", tokens = 1 }
  -- 6.74 billion parameters, as published, and the cache.
  check.near(real.graph:total_param_bytes() / 2, 6.738e9 + 513 * 4096 * 32 * 2, 0.002e9)
end)

check.test("llama.cpp's layers go to GPUs by their memory, as many as fit", function()
  local model = built()
  local problem = berth.problem { graph = model.graph, cluster = machine(1e9, 1e9) }
  local placement, count = decoders.llama_cpp(problem, model)
  check.equal(count, 5)
  check.equal(summary(model, placement), { 1, 2, 2, 2, 3, 3, 3 })  -- embedding, layers, norm, head
  problem = berth.problem { graph = model.graph, cluster = machine(2.2 * LAYER, 1.4 * LAYER) }
  placement, count = decoders.llama_cpp(problem, model)
  check.equal(count, 3)
  check.equal(summary(model, placement), { 1, 1, 2, 2, 3, 1, 1 })
end)

check.test("accelerate fills one GPU after the other, with room for a layer on the first", function()
  local model = built()
  local function chosen(first, second, balanced, room)
    local problem = berth.problem { graph = model.graph, cluster = machine(first, second) }
    return summary(model, decoders.accelerate(problem, model, balanced, room))
  end
  check.equal(chosen(1e9, 1e9, false), { 2, 2, 2, 2, 2, 2, 2 })
  check.equal(chosen(1e9, 1e9, true), { 2, 2, 2, 3, 3, 3, 3 })
  check.equal(chosen(3.5 * LAYER, 1.5 * LAYER, false), { 2, 2, 2, 3, 1, 1, 1 })
  check.equal(chosen(7 * LAYER, 3 * LAYER, false, 0.5), { 2, 2, 2, 3, 1, 1, 1 })
  -- The cache counts too where the choice must fit.
  local problem = berth.problem { graph = model.graph, cluster = machine(5.2 * LAYER, 1.2 * LAYER) }
  local placement, room = decoders.accelerate_that_fits(problem, model, false)
  check.equal(problem:evaluate(placement).feasible, true)
  check.equal(room <= 1, true)
end)

check.test("times are of the prompt and of a token after it", function()
  local model = built()
  local problem = berth.problem { graph = model.graph, cluster = machine(1e9, 1e9) }
  local placement = decoders.placement(problem, model, function() return 2 end)
  local prompt_us, token_us = decoders.times(problem, model, placement)
  check.near(prompt_us + 2 * token_us, problem:trace(placement).runtime_us, 1e-6)
end)

check.test("plans for other tools name a decoder's modules", function()
  local model = built()
  local problem = berth.problem { graph = model.graph, cluster = machine(1e9, 1e9) }
  local path = folder .. "/plan"
  local network, placement = decoders.network(problem, model, (decoders.llama_cpp(problem, model)))
  network:save_plan("llama.cpp", path, placement)
  local text = assert(io.open(path)):read "*a"
  check.equal(text:find("-ngl 5\n--tensor-split 3,2", 1, true) ~= nil, true)
  network, placement = decoders.network(problem, model, (decoders.accelerate(problem, model, true)))
  network:save_plan("device_map", path, placement)
  text = assert(io.open(path)):read "*a"
  check.equal(text:find('"model.layers.1": 0', 1, true) ~= nil, true)
end)

check.finish()
