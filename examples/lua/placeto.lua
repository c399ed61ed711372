-- Placeto, written again in Lua: the graph embedding and policy of Addanki et al., NeurIPS 2019, section on
-- the policy network, with the messages, sets and layers of the released code. On the same weights it
-- gives what `berth.policy("placeto", { devices = "one_hot", aggregate = "sum" })` gives; a test holds them equal.
--
--   berth run examples/lua/train.lua placeto
--
-- A researcher's copy of this file is where a new network begins.

local berth = require "berth"
local torch = require "berth.torch"
local nn = torch.nn

-- The edges of a problem's groups, and for each group which others come before it, after it, or neither.
local function view_of(problem)
  local groups = problem:groups()
  local count = groups:count()
  local before, parents, children = {}, {}, {}
  local view = { src = {}, dst = {}, groups = count }
  for v = 1, count do
    before[v], parents[v], children[v] = {}, {}, {}
    for _, edge in ipairs(groups:in_edges(v)) do  -- groups are in topological order
      view.src[#view.src + 1], view.dst[#view.dst + 1] = edge.src, v
      before[v][edge.src] = true
      for u in pairs(before[edge.src] or {}) do before[v][u] = true end
    end
  end
  local sets = { ancestors = {}, descendants = {}, parallel = {} }
  for v = 1, count do
    for _, set in pairs(sets) do set[v] = {} end
    for u = 1, count do
      local up, down = before[v][u] or false, before[u][v] or false
      sets.ancestors[v][u], sets.descendants[v][u] = up and 1 or 0, down and not up and 1 or 0
      sets.parallel[v][u] = (up or down or u == v) and 0 or 1
    end
  end
  for name, rows in pairs(sets) do view[name] = torch.tensor(rows) end
  local function has(ends)
    local marks = {}
    for v = 1, count do marks[v] = { 0 } end
    for _, v in ipairs(ends) do marks[v][1] = 1 end
    return torch.tensor(marks)
  end
  view.has_parents, view.has_children = has(view.dst), has(view.src)
  view.src = torch.tensor(view.src, { dtype = "int64" })
  view.dst = torch.tensor(view.dst, { dtype = "int64" })
  return view
end

local views = setmetatable({}, { __mode = "k" })
local function cached_view(problem)
  local key = problem:groups()
  views[key] = views[key] or view_of(problem)
  return views[key]
end

local function layer(inputs, outputs)
  local linear = nn.Linear(inputs, outputs)
  nn.init.xavier_uniform_(linear.weight)
  nn.init.zeros_(linear.bias)
  return linear
end

local Placeto = nn.class(function(self, devices, rounds)
  local d = 5 + devices  -- features per group
  self.devices, self.rounds = devices, rounds
  self.self_0, self.self_1 = layer(d, d), layer(d, d)
  self.down_f, self.down_g, self.up_f, self.up_g = layer(d, d), layer(d, d), layer(d, d), layer(d, d)
  for _, set in ipairs { "ancestors", "descendants", "parallel" } do
    self[set .. "_l"], self[set .. "_h"] = layer(2 * d, 2 * d), layer(2 * d, 2 * d)
  end
  self.hidden, self.out = layer(8 * d, 8 * d), layer(8 * d, devices)
end)

-- x <- h + relu(g(sum over N(v) of relu(f(x)))), where v has neighbours at all.
function Placeto:pass(h, f, g, sources, targets, has_any, count)
  local x = h
  for _ = 1, self.rounds do
    x = h + g(f(x):relu():edge_sum(sources, targets, count)):relu() * has_any
  end
  return x
end

-- seen: groups [episodes, groups, d], current [episodes]  ->  logits [episodes, devices]
function Placeto:forward(seen, view)
  local devices = seen.groups:size(-1) - 5
  if devices ~= self.devices then
    error(("its weights are for %d devices and the cluster has %d; give it that number: { devices = %d }, or --set "
      .. "devices=%d"):format(self.devices, devices, devices, devices), 0)
  end
  local h = self.self_1(self.self_0(seen.groups):relu())
  local down = self:pass(h, self.down_f, self.down_g, view.src, view.dst, view.has_parents, view.groups)
  local up = self:pass(h, self.up_f, self.up_g, view.dst, view.src, view.has_children, view.groups)
  local x = torch.cat({ down, up }, -1)
  local state = {}
  for i, set in ipairs { "ancestors", "descendants", "parallel" } do
    local members = view[set]:index_select(1, seen.current):unsqueeze(2)
    state[i] = self[set .. "_h"](members:matmul(self[set .. "_l"](x):relu()):squeeze(2)):relu()
  end
  local own = torch.one_hot(seen.current, view.groups):unsqueeze(2)
  state[4] = own:matmul(x):squeeze(2)
  return self.out(self.hidden(torch.cat(state, -1)):relu())
end

return berth.register_policy {
  name = "placeto_lua",
  description = "Placeto as published, in Lua",
  options = {
    { name = "devices", default = 2, meaning = "devices of the clusters it is for", at_least = 1 },
    { name = "rounds", default = 8, meaning = "rounds of message passing", at_least = 0 },
    { name = "init_seed", default = 1, meaning = "seed of fresh weights", at_least = 0 },
  },
  learns = torch.learner {
    kind = "placeto_lua",
    observe = { groups = { "cost", "output_bytes", "placed", "current", "start", "device" } },
    network = function(options) return Placeto(options.devices, options.rounds) end,
    logits = function(network, seen, problem) return network(seen, cached_view(problem)) end,
  },
}
