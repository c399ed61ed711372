-- Knowledge of a machine from step times: which costs of ops, links and overheads would explain them.
--
-- The time of op i of type t on device kind k is the assumed one times exp(all + kind[k] + type[t] + both[t, k] +
-- op[i, k]); links, latencies and overheads have factors likewise. All these are independent and normal beforehand. A
-- measured runtime says one thing of the sum of what lies on the step's critical path, and a device's busy time,
-- where the hardware tells it, one of the sum of its ops. The most likely values are found by Gauss-Newton steps:
-- simulate every measured placement, take the parts of its sums as derivatives, and solve the linear problem in as
-- many unknowns as there are measured figures. Draws from the posterior are those of the linear problem at the most
-- likely values, by Matheron's rule: a draw from beforehand, corrected by what the measurements say.

local berth = require "berth"
local ffi = require "ffi"
local memory = require "berth.tune.memory"
local statistics = require "berth.statistics"

local beliefs = {}

-- Standard deviations of the logarithms beforehand. `noise` is that of a measured runtime.
beliefs.PRIOR = { all = 0.5, kind = 0.3, type = 0.4, both = 0.5, op = 0.25, overhead = 1, links = 0.5, link = 0.3,
  latency = 0.5, noise = 0.02 }

-- The scale of an op's overhead on devices that state none, us.
local OVERHEAD_US = 2
-- Factors beyond e^4 say that something else is wrong.
local MOST = 4
local ROUNDS, HALVINGS = 4, 4
-- Less than so much better ends the rounds.
local ENOUGH = 0.01

local Beliefs = {}
Beliefs.__index = Beliefs

-- Knowledge before anything was measured.
--   ARGS    problem  berth.Problem with the assumed costs and cluster
--           prior    table, optional: over PRIOR
function beliefs.new(problem, prior)
  local self = setmetatable({ problem = problem, prior = {}, values = {}, rows = {}, targets = {}, measured = {},
    memory = memory.new(problem) }, Beliefs)
  for name, value in pairs(beliefs.PRIOR) do self.prior[name] = prior and prior[name] or value end
  local graph, cluster, costs = problem:graph(), problem:cluster(), problem:costs()
  self.ops, self.kinds = graph:op_count(), cluster:kinds()
  self.kind_of, self.devices, self.routes = {}, {}, {}
  local number_of = {}
  for k, name in ipairs(self.kinds) do number_of[name] = k end
  for d = 1, cluster:device_count() do
    self.devices[d] = cluster:device(d)
    self.kind_of[d] = number_of[self.devices[d].kind]
    self.routes[d] = {}
    for e = 1, cluster:device_count() do self.routes[d][e] = e ~= d and cluster:route(d, e) or nil end
  end
  self.stated_us, self.overhead_us = {}, {}
  for d, device in ipairs(self.devices) do
    local k, us = self.kind_of[d], device.op_overhead_us
    self.stated_us[k], self.overhead_us[k] = us, us > 0 and us or OVERHEAD_US
  end
  self.type_of, self.us, self.workspace = {}, {}, {}
  for k in ipairs(self.kinds) do
    self.us[k] = {}
    for op = 1, self.ops do self.us[k][op] = costs:op_us(op, k) end
  end
  for op = 1, self.ops do self.type_of[op], self.workspace[op] = graph:op_type(op), costs:workspace_bytes(op) end
  self:name_features()
  return self
end

-- The features of every op on every kind, and of links, once: numbers index `scale` and `values`.
function Beliefs:name_features()
  local numbers, count = {}, 0
  self.scale = {}
  local function feature(class, name)
    local key = class .. "\0" .. name
    if not numbers[key] then
      count = count + 1
      numbers[key], self.scale[count], self.values[count] = count, self.prior[class], 0
    end
    return numbers[key]
  end
  self.of_op = {}
  for k, kind in ipairs(self.kinds) do
    self.of_op[k] = {}
    for op = 1, self.ops do
      local us = self.us[k][op]
      if us > 0 and us < math.huge then
        local t = self.type_of[op]
        self.of_op[k][op] = { feature("all", ""), feature("kind", kind), feature("type", t),
          feature("both", t .. "\0" .. kind), feature("op", op .. "\0" .. kind) }
      end
    end
  end
  self.of_overhead = {}
  for k, kind in ipairs(self.kinds) do self.of_overhead[k] = feature("overhead", kind) end
  self.of_link, self.of_latency = {}, feature("latency", "")
  for src in ipairs(self.devices) do
    self.of_link[src] = {}
    for dst in ipairs(self.devices) do
      if src ~= dst then
        self.of_link[src][dst] = { feature("links", ""), feature("link", src .. "\0" .. dst) }
      end
    end
  end
  self.features = count
end

local function factor(values, features)
  local sum = 0
  for _, f in ipairs(features) do sum = sum + values[f] end
  return math.exp(math.max(-MOST, math.min(MOST, sum)))
end

local function copy(fields)
  local result = {}
  for key, value in pairs(fields) do result[key] = value end
  return result
end

-- Costs and machine by the values.
--   ARGS    values  array by feature; default the most likely
--   RETURN  berth.Costs, berth.Cluster
function Beliefs:figures(values)
  values = values or self.values
  local us = {}
  for k, kind in ipairs(self.kinds) do
    local of_kind = {}
    for op = 1, self.ops do
      local features = self.of_op[k][op]
      of_kind[op] = features and self.us[k][op] * factor(values, features) or self.us[k][op]
    end
    us[kind] = of_kind
  end
  local devices, links = {}, {}
  for d, device in ipairs(self.devices) do
    devices[d] = copy(device)
    devices[d].op_overhead_us = self:overhead(values, self.kind_of[d])
    devices[d].memory_bytes = self.memory:stated(d, device.memory_bytes)
  end
  for src, routes in ipairs(self.routes) do
    for dst in ipairs(self.devices) do
      local route = routes[dst]
      if route then
        local link, times = copy(route), factor(values, { self.of_latency })
        link.latency_us, link.receiver_us = link.latency_us * times, link.receiver_us and link.receiver_us * times
        link.bandwidth_bytes_per_s = link.bandwidth_bytes_per_s / factor(values, self.of_link[src][dst])
        links[#links + 1] = link
      end
    end
  end
  local cluster = berth.cluster { name = self.problem:cluster():name(), devices = devices, links = links }
  return berth.costs({ us = us, workspace_bytes = self.workspace }, self.problem:graph(), cluster), cluster
end

-- A kind that states no overhead has none until a measurement says so.
function Beliefs:overhead(values, k)
  local times = factor(values, { self.of_overhead[k] })
  return self.stated_us[k] > 0 and self.stated_us[k] * times or math.max(0, OVERHEAD_US * (times - 1))
end

-- The problem under the values.
function Beliefs:posed(values)
  local costs, cluster = self:figures(values)
  return self.problem:with(costs, cluster)
end

-- Figures of a placement's step as logarithms, and their derivatives by feature over the features' deviations: its
-- runtime, by its critical path, and the busy time of each device in `busy`, by the device's ops.
function Beliefs:simulated(problem, values, measured, logs, rows)
  local trace, placement = problem:trace(measured.placement), measured.placement
  local overhead, latency = {}, factor(values, { self.of_latency })
  for k in ipairs(self.kinds) do
    overhead[k] = self.overhead_us[k] * factor(values, { self.of_overhead[k] })
  end
  local function new_row(us)
    local row = ffi.new("double[?]", self.features)
    logs[#logs + 1], rows[#rows + 1] = math.log(us), row
    return function(f, part_us) row[f - 1] = row[f - 1] + part_us / us * self.scale[f] end
  end
  local function add_op(add, op)
    local k = self.kind_of[placement[op]]
    local features = self.of_op[k][op]
    if not features then return end
    local us = problem:cost_us(op, placement[op])
    for i = 1, #features do add(features[i], us) end
    add(self.of_overhead[k], overhead[k])
  end
  local add = new_row(trace.runtime_us)
  for _, element in ipairs(trace.critical_path) do
    if element.op then
      add_op(add, element.op)
    else
      local transfer = trace.transfers[element.transfer]
      local us, dst = element.end_us - element.start_us, transfer.dst
      if dst then
        local route = self.routes[transfer.src][dst]
        local waits_us = math.min(us, (route.latency_us + (route.receiver_us or 0)) * latency)
        add(self.of_latency, waits_us)
        for _, f in ipairs(self.of_link[transfer.src][dst]) do add(f, us - waits_us) end
      end
    end
  end
  for d in pairs(measured.busy) do
    -- Nothing is busy there under these figures, where the measurement says that something is.
    local us = math.max(trace.devices[d].busy_us, 1e-3)
    local add_busy = new_row(us)
    for op = 1, self.ops do
      if placement[op] == d then add_op(add_busy, op) end
    end
  end
end

-- Solves K x = b for a positive definite K, which it overwrites.
local function solve(K, b)
  local n = #b
  for j = 1, n do
    for i = j, n do
      local sum = K[i][j]
      for k = 1, j - 1 do sum = sum - K[i][k] * K[j][k] end
      K[i][j] = i == j and math.sqrt(math.max(sum, 1e-12)) or sum / K[j][j]
    end
  end
  local x = {}
  for i = 1, n do
    local sum = b[i]
    for k = 1, i - 1 do sum = sum - K[i][k] * x[k] end
    x[i] = sum / K[i][i]
  end
  for i = n, 1, -1 do
    local sum = x[i]
    for k = i + 1, n do sum = sum - K[k][i] * x[k] end
    x[i] = sum / K[i][i]
  end
  return x
end

local function dot(a, b, count)
  local sum = 0
  for f = 0, count - 1 do sum = sum + a[f] * b[f] end
  return sum
end

-- The smallest change of features, in deviations, for which rows * change = wanted, as far as noise lets it.
function Beliefs:correction(rows, wanted)
  local n, K = #rows, {}
  for i = 1, n do K[i] = {} end
  for i = 1, n do
    for j = 1, i do
      local sum = dot(rows[i], rows[j], self.features) + (i == j and self.prior.noise ^ 2 or 0)
      K[i][j], K[j][i] = sum, sum
    end
  end
  local change = ffi.new("double[?]", self.features)
  for i, weight in ipairs(solve(K, wanted)) do
    local row = rows[i]
    for f = 0, self.features - 1 do change[f] = change[f] + weight * row[f] end
  end
  return change
end

-- The values in deviations.
function Beliefs:whitened(values)
  local array = ffi.new("double[?]", self.features)
  for f = 1, self.features do array[f - 1] = values[f] / self.scale[f] end
  return array
end

-- Minus the logarithm of the posterior, but for a constant and a factor.
function Beliefs:misfit(values, logs)
  local array = self:whitened(values)
  local sum = dot(array, array, self.features)
  for i, target in ipairs(self.targets) do sum = sum + ((target - logs[i]) / self.prior.noise) ^ 2 end
  return sum
end

function Beliefs:linearized(values)
  local problem, logs, rows = self:posed(values), {}, {}
  for _, measured in ipairs(self.measured) do self:simulated(problem, values, measured, logs, rows) end
  return logs, rows
end

-- Adds a measurement and finds the most likely values.
--   ARGS    placement   that was measured
--           evaluation  its runtime (objective_us), and busy_us by device where the hardware says so
function Beliefs:learn(placement, evaluation)
  local busy = {}
  self.targets[#self.targets + 1] = math.log(evaluation.objective_us)
  for d, us in ipairs(evaluation.busy_us or {}) do
    if us > 0 then
      busy[d] = true
      self.targets[#self.targets + 1] = math.log(us)
    end
  end
  self.measured[#self.measured + 1] = { placement = placement, busy = busy }
  local logs, rows = self:linearized(self.values)
  local misfit = self:misfit(self.values, logs)
  for _ = 1, ROUNDS do
    local now, wanted = self:whitened(self.values), {}
    for i, target in ipairs(self.targets) do wanted[i] = target - logs[i] + dot(rows[i], now, self.features) end
    local found = self:correction(rows, wanted)
    -- Another path may be critical there: half the step, until it is better.
    local share, better = 1, false
    for _ = 1, HALVINGS do
      local values = {}
      for f = 1, self.features do
        values[f] = self.values[f] + share * (found[f - 1] * self.scale[f] - self.values[f])
      end
      local new_logs, new_rows = self:linearized(values)
      local new_misfit = self:misfit(values, new_logs)
      if new_misfit < misfit then
        better = misfit - new_misfit > ENOUGH * misfit
        self.values, logs, rows, misfit = values, new_logs, new_rows, new_misfit
        break
      end
      share = share / 2
    end
    if not better then break end
  end
  self.rows = rows
end

local function normal(random)
  return math.sqrt(-2 * math.log(1 - random:uniform())) * math.cos(2 * math.pi * random:uniform())
end

-- Values drawn from what is known now; with `beforehand` from what was known before any measurement.
function Beliefs:draw(random, beforehand)
  local drawn, wanted, values = ffi.new("double[?]", self.features), {}, {}
  for f = 0, self.features - 1 do drawn[f] = normal(random) end
  if beforehand then
    for f = 1, self.features do values[f] = drawn[f - 1] * self.scale[f] end
    return values
  end
  for i, row in ipairs(self.rows) do
    wanted[i] = self.prior.noise * normal(random) - dot(row, drawn, self.features)
  end
  local change = self:correction(self.rows, wanted)
  for f = 1, self.features do values[f] = self.values[f] + (drawn[f - 1] + change[f - 1]) * self.scale[f] end
  return values
end

-- How much longer the ops of a type take on a kind than assumed.
--   ARGS    random  berth.Random
--           count   draws for the intervals
--   RETURN  array of { type, kind, factor, low, high, us }, the largest `us` first: their time under the assumed costs;
--           `low` and `high` hold 80 % of the draws
function Beliefs:factors(random, count)
  local draws, rows, by_name = {}, {}, {}
  for i = 1, count do draws[i] = self:draw(random) end
  for k, kind in ipairs(self.kinds) do
    for op = 1, self.ops do
      local features = self.of_op[k][op]
      if features then
        local name = self.type_of[op] .. "\0" .. kind
        local row = by_name[name]
        if not row then
          -- All but the op's own.
          row = { type = self.type_of[op], kind = kind, us = 0, features = { unpack(features, 1, 4) } }
          by_name[name], rows[#rows + 1] = row, row
        end
        row.us = row.us + self.us[k][op]
      end
    end
  end
  table.sort(rows, function(a, b)
    if a.us ~= b.us then return a.us > b.us end
    return a.type .. a.kind < b.type .. b.kind
  end)
  for _, row in ipairs(rows) do
    local all = {}
    for i, values in ipairs(draws) do all[i] = factor(values, row.features) end
    row.factor, row.low, row.high = factor(self.values, row.features), statistics.quantile(all, 0.1),
      statistics.quantile(all, 0.9)
    row.features = nil
  end
  return rows
end

return beliefs
