-- Numbers that LibTorch computes, a line each: "name<TAB>number ..". compare.lua compares those of two builds.

local berth = require "berth"
local torch = require "berth.torch"

local function row(name, numbers)
  local texts = {}
  for i, number in ipairs(numbers) do texts[i] = ("%.9g"):format(number) end
  print(name .. "\t" .. table.concat(texts, " "))
end

-- Policies with fixed weights, and after updates: a small graph on two devices.
local graph = berth.load "examples/models/tiny_cnn.onnx"
local problem = berth.problem { graph = graph, cluster = "k80x2" }
for _, name in ipairs { "seq2seq", "hdp", "doppler", "placeto" } do
  -- Not what imitates first: rates of 0.02 make much of rounding.
  local options = name == "placeto" and { weights = "none" } or name == "doppler" and { imitation = 0 } or {}
  local policy = berth.policy(name, options)
  policy:prepare(problem)
  for update = 1, 3 do
    local rollout = policy:rollout(problem, { samples = 4, seed = update })
    local numbers = {}
    for episode = 1, rollout:episodes() do
      numbers[#numbers + 1] = rollout:log_probability(episode, 1)
      numbers[#numbers + 1] = rollout:entropy(episode, 1)
    end
    row(("%s, update %d"):format(name, update), numbers)
    local advantages = {}
    for episode = 1, rollout:episodes() do
      for step = 1, rollout:steps(episode) do advantages[#advantages + 1] = (episode - 2.5) / (step + 1) end
    end
    local report = policy:update(rollout, advantages)
    row(("%s, report %d"):format(name, update), { report.loss, report.entropy, report.gradient_norm })
  end
end

-- Shipped weights.
local placement, outcome = berth.policy("placeto"):place(problem, { seed = 1 })
row("placeto, shipped weights", { outcome.objective_us, #placement })

-- The module of Lua: a step of Adam through a small network, its first weights drawn by a seed.
torch.manual_seed(1)
local numbers = {}
for i = 1, 3 do
  numbers[i] = {}
  for j = 1, 7 do numbers[i][j] = math.sin(i * j) end
end
local layers = torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.Tanh(), torch.nn.Linear(5, 4), torch.nn.LayerNorm(4))
local optimiser = torch.optim.Adam(layers:parameters(), { lr = 0.01 })
for step = 1, 3 do
  local out = layers(torch.tensor(numbers))
  row("network, step " .. step, out:reshape(12):totable())
  local loss = (out * out * out):sum()
  optimiser:zero_grad()
  loss:backward()
  optimiser:step()
end
