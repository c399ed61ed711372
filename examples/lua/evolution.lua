-- Evolution strategies (Salimans et al., 2017): no gradient. Every episode plays with weights of its own,
-- drawn around the mean; the mean moves towards those that did better than the baseline.
--
--   berth run examples/lua/train.lua evolution
--
-- The policy is linear in the features of devices. It is written on the bare functions of `learns`, without
-- torch.learner, to show what the host asks of any policy. Processes that train it together send each other the
-- seed of their draws and what the episodes gained, as published: whoever learns draws the same again.

local berth = require "berth"
local ffi = require "ffi"
local notes = require "berth.notes"
local torch = require "berth.torch"

local DEVICES = { "cost", "load", "near_in", "near_out", "transfer_in", "transfer_out", "memory", "host",
  "same_device", "ends_later" }

local function make(options)
  return { mean = torch.zeros { #DEVICES }, deviation = options.deviation, spread = options.spread }
end

-- Episodes come in pairs that try a draw and its opposite, which halves the noise. Greedy ones play the mean.
local function draws_of(count, seed)
  torch.manual_seed(seed)
  local half = torch.randn { math.ceil(count / 2), #DEVICES }
  return torch.cat { half, -half }:narrow(1, 1, count)
end

local function act(agent, environment, options, tape)
  local problems = environment:problem_count()
  if not tape.draws then
    tape.episodes, tape.seed = environment:episodes(), options.seed % 2 ^ 53
    tape.draws = options.greedy and torch.zeros { tape.episodes, #DEVICES } or draws_of(tape.episodes, tape.seed)
    tape.weights = agent.mean + tape.draws * agent.deviation
  end
  local devices, per_problem = {}, environment:episodes() / problems
  for p = 1, problems do
    local seen = torch.observe(environment, p)
    local weights = tape.weights:narrow(1, (p - 1) * per_problem + 1, per_problem)
    local logits = torch.einsum("edf,ef->ed", { seen.devices, weights })
    local best = logits:masked_fill(seen.allowed:eq(0), -math.huge):argmax()
    for _, device in ipairs(best:totable()) do devices[#devices + 1] = device end
  end
  return devices
end

local function update(agent, tape, advantages, options)
  -- The advantage of the first decision is that of the episode.
  local gains = {}
  for e, of in ipairs(advantages) do gains[e] = of[1] end
  local gain = torch.tensor(gains)
  local slope = (tape.draws * gain:unsqueeze(2)):mean(1) / agent.deviation
  local norm = slope:norm():item()
  local scale = options.max_norm > 0 and math.min(1, options.max_norm / math.max(norm, 1e-12)) or 1
  agent.mean = agent.mean + slope * (scale * agent.spread * options.learning_rate)
  return { loss = -gain:mean():item(), entropy = 0, gradient_norm = norm }
end

local function pack(_, tape, advantages)
  local gains = {}
  for e, of in ipairs(advantages) do gains[e] = { of[1] } end
  return notes.write { episodes = tape.episodes, seed = tape.seed, gains = gains }
end

local function unpack_all(_, packed)
  local draws, gains = {}, {}
  for i, text in ipairs(packed) do
    local message = notes.read(text)
    draws[i] = draws_of(message.episodes, message.seed)
    for _, each in ipairs(message.gains) do gains[#gains + 1] = each end
  end
  return { draws = torch.cat(draws) }, gains
end

local function weights(agent)
  local values, count = agent.mean:contiguous():cdata()
  return ffi.string(values, 4 * count)
end

local function set_weights(agent, bytes)
  local values = ffi.new("float[?]", #DEVICES)
  ffi.copy(values, bytes, 4 * #DEVICES)
  agent.mean = torch.from_cdata(values)
end

local function save(agent, path, note)
  torch.save(path, { mean = agent.mean }, { kind = "evolution", note = note })
end

local function load(agent, path)
  local state, note = torch.load(path, "evolution")
  if not state.mean or state.mean:numel() ~= #DEVICES then
    error(path .. ": it holds no weights of this policy")
  end
  agent.mean = state.mean
  return note
end

return berth.register_policy {
  name = "evolution",
  description = "evolution strategies on a linear policy (Lua)",
  options = {
    { name = "deviation", default = 0.5, meaning = "of the weights that episodes draw", above = 0 },
    { name = "spread", type = "real", default = 100, meaning = "factor of the learning rate", above = 0 },
  },
  learns = {
    observe = { devices = DEVICES },
    make = make, act = act, update = update, save = save, load = load,
    pack = pack, unpack = unpack_all, weights = weights, set_weights = set_weights,
    parameters = function() return #DEVICES end,
  },
}
