-- examples/lua/placeto.lua is the plugin `placeto` in its published form: values and gradients.
local check = require "check"
local berth = require "berth"
local models = require "models"

local found, torch = pcall(require, "berth.torch")
if not found then return end

local root = debug.getinfo(1, "S").source:sub(2):gsub("tests/lua/scripts/.*", "")
local folder = arg[1] or "/tmp"
local ROUNDS = 3

-- Branches of several depths, some of which nothing joins.
local function branching()
  local builder = berth.graph_builder "branching"
  local outputs = {}
  for i = 1, 12 do
    local op = builder:add_op("op" .. i, "Test")
    builder:set_cost(op, 10 * (i % 5 + 1))
    outputs[i] = builder:add_output(op, { bytes = i * 1000 }, "op" .. i .. ":0")
    if i > 3 then builder:add_input(op, outputs[i - 3]) end
    if i > 3 and i % 3 == 0 then builder:add_input(op, outputs[1]) end
  end
  return builder:build()
end

-- The plugin's weights under the names of the Lua network.
local function weights_of(saved, devices, prefix)
  local d, weights, at = 5 + devices, {}, 1
  local body = saved[prefix .. "body"]
  local function take(name, width)
    weights[prefix .. name .. ".weight"] = body:narrow(1, at, width * width):reshape { width, width }:clone()
    weights[prefix .. name .. ".bias"] = body:narrow(1, at + width * width, width):clone()
    at = at + width * width + width
  end
  for _, name in ipairs { "self_0", "self_1", "down_f", "down_g", "up_f", "up_g" } do take(name, d) end
  for _, set in ipairs { "ancestors", "descendants", "parallel" } do
    take(set .. "_l", 2 * d)
    take(set .. "_h", 2 * d)
  end
  check.equal(at - 1, body:numel())
  for ours, its in pairs { hidden = "classifier.0", out = "classifier.1" } do
    for _, kind in ipairs { ".weight", ".bias" } do
      weights[prefix .. ours .. kind] = saved[prefix .. its .. kind]
    end
  end
  return weights
end

local function largest_difference(a, b)
  return (a - b):abs():amax():item() / math.max(b:abs():amax():item(), 1e-6)
end

check.test("Placeto in Lua says for how many devices it is", function()
  local problem = berth.problem { graph = branching(), cluster = models.cluster(3), costs = "stated" }
  local policy = berth.policy(root .. "examples/lua/placeto.lua")
  check.fails("its weights are for 2 devices and the cluster has 3; give it that number: { devices = 3 }",
    policy.place, policy, problem)
end)

check.test("Placeto in Lua gives the plugin's probabilities and gradients", function()
  local problem = berth.problem { graph = branching(), cluster = models.cluster(3), costs = "stated" }
  local devices = problem:cluster():device_count()
  local plugin = berth.policy("placeto", { devices = "one_hot", aggregate = "sum", weights = "none",
    rounds = ROUNDS, init_seed = 5 })
  local ours = berth.policy(root .. "examples/lua/placeto.lua", { devices = devices, rounds = ROUNDS })
  local how = { greedy = true, initial = "contiguous" }
  plugin:rollout(problem, how)
  local path = folder .. "/placeto.weights"
  plugin:save(path)

  local state = weights_of(torch.load(path, ""), devices, "")
  local names = {}
  for name in pairs(state) do names[#names + 1] = name end
  for _, name in ipairs(names) do
    state["adam.mean." .. name] = torch.zeros_like(state[name])
    state["adam.square." .. name] = torch.zeros_like(state[name])
  end
  state["adam.steps"] = torch.zeros { 2 }
  torch.save(path .. ".lua", state, { kind = "placeto_lua" })
  ours:rollout(problem, how)
  ours:load(path .. ".lua")
  check.equal(ours:parameters(), plugin:parameters())

  local its, rollout = plugin:rollout(problem, how), ours:rollout(problem, how)
  local steps, advantages = its:steps(1), {}
  check.equal(rollout:steps(1), steps)
  for t = 1, steps do
    check.near(rollout:log_probability(1, t), its:log_probability(1, t), 1e-5)
    check.equal(rollout:evaluation(1, t).objective_us, its:evaluation(1, t).objective_us)
    advantages[t] = math.sin(t)
  end

  local learn = { learning_rate = 0, max_norm = 0, entropy_weight = 0.3 }
  local report, expected = ours:update(rollout, advantages, learn), plugin:update(its, advantages, learn)
  check.near(report.loss, expected.loss, 1e-5)
  check.near(report.gradient_norm, expected.gradient_norm, 1e-5)
  plugin:save(path)
  ours:save(path .. ".lua")
  -- After one step Adam's mean is a tenth of the gradient.
  local gradients = weights_of(torch.load(path, ""), devices, "adam.mean.")
  local own = torch.load(path .. ".lua", "placeto_lua")
  local compared = 0
  for name, gradient in pairs(gradients) do
    local difference = largest_difference(own[name], gradient)
    assert(difference < 1e-5, name .. " differs by " .. difference)
    compared = compared + 1
  end
  check.equal(compared, 28)
end)

check.finish()
