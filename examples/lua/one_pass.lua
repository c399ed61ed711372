-- A policy of one pass: a network looks at the whole graph once and gives every group its probabilities. A
-- placement is one draw for every group and costs one simulation; nothing is decided step by step.
--
--   berth run examples/lua/train.lua one_pass
--   berth place MODEL --cluster k80x4 --policy examples/lua/one_pass.lua --set weights=FILE
--
-- Attention along the edges between groups (as in GDP, Zhou et al., 2019), then a score for each device, whose
-- embedding is learned: the weights are for the machine that they were trained on.

local berth = require "berth"
local torch = require "berth.torch"
local nn = torch.nn

local MOST_DEVICES = 64
local GROUPS = { "cost", "output_bytes", "speed", "remote_in", "remote_out", "tail" }

local Network = nn.class(function(self, width, rounds)
  self.group, self.norm = nn.Linear(#GROUPS, width), nn.LayerNorm(width)
  self.rounds = {}
  for i = 1, rounds do self.rounds[i] = nn.GraphAttention(width, 2) end
  self.device = nn.Embedding(MOST_DEVICES, width)
end)

-- The edges between groups, both ways: what comes later matters as much as what came before.
local edges = setmetatable({}, { __mode = "k" })
local function edges_of(groups)
  if not edges[groups] then
    local sources, targets = {}, {}
    local function add(source, target)
      sources[#sources + 1], targets[#targets + 1] = source, target
    end
    for group = 1, groups:count() do
      add(group, group)  -- every group hears itself
      for _, edge in ipairs(groups:out_edges(group)) do
        add(edge.src, edge.dst)
        add(edge.dst, edge.src)
      end
    end
    edges[groups] = { torch.tensor(sources), torch.tensor(targets) }
  end
  return unpack(edges[groups])
end

-- Logits [groups, devices].
function Network:forward(seen, problem)
  local sources, targets = edges_of(problem:groups())
  local x = self.norm(self.group(seen.groups:squeeze(1)))
  for _, attention in ipairs(self.rounds) do x = attention(x, sources, targets) end
  local devices = self.device(torch.arange(1, seen.able:size(2)))
  return x:matmul(devices:transpose()) / math.sqrt(x:size(2))
end

return berth.register_policy {
  name = "one_pass",
  description = "every group's probabilities in one pass of attention along edges (Lua)",
  options = {
    { name = "width", default = 32, meaning = "of the hidden layers", at_least = 2, multiple_of = 2 },
    { name = "rounds", default = 4, meaning = "of attention", at_least = 0, at_most = 64 },
    { name = "init_seed", default = 1, meaning = "seed of fresh weights", at_least = 0 },
  },
  learns = torch.learner {
    kind = "one_pass",
    observe = { groups = GROUPS },
    network = function(options) return Network(options.width, options.rounds) end,
    group_logits = function(network, seen, problem) return network(seen, problem) end,
  },
}
