-- Some twenty graphs as today's exporters write them: loaded whole, and placed by every policy.
--
--   FOLDER  the graphs and their index, unpacked

local berth = require "berth"

local folder = ...

-- Policies that need no training. Those that would go on until a budget ends get a number of
-- proposals, nodes or pairs, so that nothing depends on time.
local POLICIES = {
  single = {}, topo = {}, round_robin = {}, random = {}, expert = {}, heft = {}, scotch = {},
  mincut = {}, metis = {}, ["m-topo"] = {}, ["m-etf"] = {}, ["m-sct"] = {},
  dp = { pairs = 20000 }, exact = { nodes = 50 }, mcmc = { moves = 20, chains = 1 },
}
local AUTO = { moves = 300 }
local MACHINES = { "k80x2", "h100x8" }
local MOST_OPS = 1500  -- of graphs that are placed: for a test, the larger ones take too long

local function rows(path)
  local names, found = nil, {}
  for line in io.lines(path) do
    local fields = {}
    for field in (line .. "\t"):gmatch "(.-)\t" do fields[#fields + 1] = field end
    if names then
      local row = {}
      for i, name in ipairs(names) do row[name] = fields[i] end
      found[#found + 1] = row
    else
      names = fields
    end
  end
  return found
end

local function expect(condition, graph, message, ...)
  if not condition then error(graph .. ": " .. message:format(...), 0) end
end

local function check_loaded(row, graph)
  local unsized, flops, bytes, ruled_flops, ruled_bytes = 0, 0, 0, 0, 0
  for tensor = 1, graph:tensor_count() do
    if not graph:tensor_bytes(tensor) then unsized = unsized + 1 end
  end
  for op = 1, graph:op_count() do
    local work = graph:work(op)
    flops, bytes = flops + work.flops, bytes + work.bytes
    if work.has_rule then
      ruled_flops, ruled_bytes = ruled_flops + work.flops, ruled_bytes + work.bytes
    end
  end
  expect(unsized <= 0.01 * graph:tensor_count(), row.name, "%d of %d tensors without a size",
    unsized, graph:tensor_count())
  expect(flops > 0 and ruled_flops >= 0.99 * flops, row.name, "FLOPs under a rule: %g of %g",
    ruled_flops, flops)
  expect(ruled_bytes >= 0.99 * bytes, row.name, "bytes under a rule: %g of %g", ruled_bytes, bytes)
  -- All but what no op reads.
  local held, counted = tonumber(row.held), graph:total_param_bytes()
  expect(counted <= held and counted >= held * (1 - 1e-5), row.name,
    "%d bytes of parameters, %d expected", counted, held)
end

local function placed(row, problem, machine, name, options)
  local ok, placement, outcome = pcall(function()
    return berth.policy(name, options):place(problem, { seed = 1 })
  end)
  local where = name .. " on " .. machine
  expect(ok, row.name, "%s: %s", where, placement)
  local valid, evaluation = pcall(problem.evaluate, problem, placement)
  expect(valid, row.name, "%s: %s", where, evaluation)
  expect(evaluation.objective_us == outcome.objective_us, row.name, "%s: %.17g us, then %.17g",
    where, outcome.objective_us, evaluation.objective_us)
  return outcome
end

local available = {}
for _, plugin in ipairs(berth.plugins()) do available[plugin.name] = true end

for _, row in ipairs(rows(folder .. "/index.tsv")) do
  local dims = {}
  for name, size in row.dims:gmatch "([%w_]+)=(%d+)" do dims[name] = tonumber(size) end
  local graph = berth.load(folder .. "/" .. row.file, { dims = next(dims) and dims or nil, fold = false })
  check_loaded(row, graph)
  for _, machine in ipairs(graph:op_count() <= MOST_OPS and MACHINES or {}) do
    local problem = berth.problem { graph = graph, cluster = machine }
    local best = available.auto and placed(row, problem, machine, "auto", AUTO)
    for name, options in pairs(POLICIES) do
      if available[name] then
        local outcome = placed(row, problem, machine, name, options)
        -- A placement that does not fit is behind any that does. `exact` may find more in its
        -- nodes than `auto` in so few proposals.
        local ahead = best and name ~= "exact" and outcome.feasible
          and (not best.feasible or outcome.objective_us < best.objective_us)
        expect(not ahead, row.name, "%s on %s: %.17g us, auto %.17g us", name, machine,
          outcome.objective_us, best and best.objective_us or 0)
      end
    end
  end
end
