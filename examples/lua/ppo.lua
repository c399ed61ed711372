-- Proximal policy optimisation with a value function (Schulman et al., 2017), on the same decisions as
-- Placeto: a small network sees every group and device, and serves any cluster.
--
--   berth run examples/lua/train.lua ppo
--
-- The host gives returns less a baseline as `advantages`. The value function learns them and takes its own
-- estimate away, so that what is left is what the decision itself did.

local berth = require "berth"
local torch = require "berth.torch"
local nn, learner = torch.nn, torch.learner

local WIDTH = 32
local GROUPS = { "cost", "output_bytes", "placed", "current", "speed", "remote_in", "remote_out", "load", "tail" }
local DEVICES = { "cost", "load", "near_in", "near_out", "transfer_in", "memory", "same_device", "ends_later" }

local ActorCritic = nn.class(function(self)
  self.group, self.device = nn.Linear(#GROUPS, WIDTH), nn.Linear(#DEVICES, WIDTH)
  self.state, self.norm = nn.Linear(2 * WIDTH, WIDTH), nn.LayerNorm(WIDTH)
  self.actor = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
  self.critic = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
end)

-- The state around the current group, [n, width]: what all groups are like, and that one.
function ActorCritic:embed(seen)
  local groups = self.group(seen.groups):relu()
  local own = torch.one_hot(seen.current, groups:size(2)):unsqueeze(2):matmul(groups):squeeze(2)
  return self.norm(self.state(torch.cat({ groups:mean(2), own }, -1)))
end

function ActorCritic:logits(seen)
  local state = self:embed(seen):unsqueeze(2)
  return self.actor((self.device(seen.devices) + state):relu()):squeeze(-1)
end

function ActorCritic:value(seen) return self.critic(self:embed(seen)):squeeze(-1) end

-- Several steps on the same rollout; the probability of a decision may move by a factor of 1 +- clip, no
-- further.
local function update(agent, tape, advantages, options)
  local settings, network, batches = agent.options, agent.network, {}
  for seen, problem, returns in learner.batches(tape, advantages, agent.spec.batch) do
    local batch = { seen = seen, problem = problem, returns = returns }
    torch.no_grad(function()
      batch.before = learner.evaluate(agent, seen, problem)
      batch.advantage = returns - network:value(seen)
    end)
    batches[#batches + 1] = batch
  end

  local report = { loss = 0, entropy = 0, gradient_norm = 0 }
  for _ = 1, settings.epochs do
    local loss, entropy, count = 0, 0, 0
    for _, batch in ipairs(batches) do
      local log_probability, entropies, exact = learner.evaluate(agent, batch.seen, batch.problem)
      local ratio = (log_probability - batch.before):exp()
      local clipped = ratio:clamp(1 - settings.clip, 1 + settings.clip)
      local gain = torch.minimum(ratio * batch.advantage, clipped * batch.advantage)
      local value_loss = (network:value(batch.seen) - batch.returns):square()
      local part = (value_loss * settings.value_weight - gain - entropies * options.entropy_weight):sum()
      part:backward()
      loss, entropy = loss + part:item(), entropy + exact:sum():item()
      count = count + entropies:numel()
    end
    report.loss, report.entropy = loss, entropy / math.max(count, 1)
    report.gradient_norm = learner.step(agent, options)
  end
  return report
end

return berth.register_policy {
  name = "ppo",
  description = "proximal policy optimisation with a value function (Lua)",
  options = {
    { name = "epochs", default = 4, meaning = "steps on each rollout", at_least = 1, at_most = 100 },
    { name = "clip", default = 0.2, meaning = "how far a step may move a probability", above = 0 },
    { name = "value_weight", type = "real", default = 0.5, meaning = "of the value function's loss",
      at_least = 0 },
    { name = "init_seed", default = 1, meaning = "seed of fresh weights", at_least = 0 },
  },
  learns = torch.learner {
    kind = "ppo",
    observe = { groups = GROUPS, devices = DEVICES },
    network = function() return ActorCritic() end,
    logits = ActorCritic.logits,
    update = update,
  },
}
