-- Compares policies on one problem.

local berth = require "berth"
local known = require "berth.known"

local compare = {}

local function milliseconds(us) return ("%.3f"):format(us / 1e3) end

local function percent(ratio)
  if ratio == math.huge then return "-" end
  return ("%.1f %%"):format(100 * ratio)
end

-- As a program reads it; empty where there is no bound.
local function ratio(value) return value < math.huge and ("%.9g"):format(value) or "" end

-- The columns of tables.* for the rows of compare.policies.
compare.columns = {
  { key = "policy" },
  { key = "objective_us", title = "ms", format = milliseconds },
  { key = "feasible", title = "fits", format = function(fits) return fits and "yes" or "NO" end },
  { key = "gap", format = percent, csv = ratio },
  { key = "speedup", title = "vs one device", format = "%.2fx", csv = ratio },
  { key = "devices" },
  { key = "evaluations", title = "tried" },
  { key = "simulated_ops", title = "ops simulated" },
  { key = "wall_s", title = "s", format = "%.2f" },
  { key = "error", title = "failure", optional = true },
  { key = "note", optional = true },
}

local function devices_used(placement)
  local seen, count = {}, 0
  for _, device in ipairs(placement) do
    if not seen[device] then
      seen[device] = true
      count = count + 1
    end
  end
  return count
end

-- The evaluation of what is called the policy's: the own placement of one that learns, else what it found. nil
-- where the time ended before it had one.
--   ARGS    outcome  of policy:place
function compare.of_policy(outcome)
  if outcome.whose then return outcome.own and outcome.own.evaluation end
  return outcome
end

local function run(problem, entry, options)
  local name, policy_options = entry, nil
  if type(entry) == "table" then
    name, policy_options = entry[1], entry[2]
  end
  local row = { policy = name }
  local ok, placement, outcome = pcall(function()
    local policy = berth.policy(name, policy_options)
    return policy:place(problem, { seed = options.seed, budget_s = options.budget_s })
  end)
  if not ok then
    row.error = tostring(placement):match "^[^\n]*"  -- what a table has room for
    return row
  end
  local of = outcome
  if outcome.whose then
    if not outcome.own then
      row.error = "the time ended before it had placed all groups by itself; give it more"
      return row
    end
    row.best_us, row.whose = outcome.objective_us, outcome.whose
    row.start_us = outcome.start and outcome.start.evaluation.objective_us
    if outcome.whose ~= "own" then
      local source = outcome.whose == "start" and "the start, " .. outcome.start.name or outcome.whose
      row.note = outcome.own.evaluation.objective_us == outcome.objective_us and "moved nothing: " .. source
        or ("saw %s ms: %s"):format(milliseconds(outcome.objective_us), source)
    end
    placement, of = outcome.own.placement, outcome.own.evaluation
  end
  row.placement = placement
  row.objective_us = of.objective_us
  row.feasible = of.feasible
  row.gap = outcome.bound_us and outcome.bound_us > 0 and of.objective_us / outcome.bound_us - 1 or math.huge
  row.devices = devices_used(placement)
  row.evaluations = outcome.evaluations
  row.simulated_ops = outcome.simulated_ops
  row.wall_s = outcome.wall_s
  if outcome.single then
    row.speedup = outcome.single.evaluation.objective_us / of.objective_us
    row.single = outcome.single.text
  end
  return row
end

-- Feasible before infeasible before failed; then the smaller objective; then the name.
local function better(a, b)
  local function rank(row) return row.error and 3 or row.feasible and 1 or 2 end
  if rank(a) ~= rank(b) then return rank(a) < rank(b) end
  if a.objective_us ~= b.objective_us then return a.objective_us < b.objective_us end
  return a.policy < b.policy
end

local KNOWN = { problem = "userdata", policies = "table", seed = "number", budget_s = "number" }

local function check(options)
  options = known.check("compare.policies", options, KNOWN, 4)
  for name, value in pairs(options) do
    if type(value) ~= KNOWN[name] then
      error(("compare.policies: option '%s' is a %s, and a %s is expected"):format(name, type(value),
        name == "problem" and "problem" or KNOWN[name]), 3)
    end
  end
  for _, name in ipairs { "problem", "policies" } do
    if not options[name] then error(("compare.policies: option '%s' is missing"):format(name), 3) end
  end
end

-- Runs each policy on the problem.
--   ARGS    options   table:
--             problem   what to place
--             policies  array of names, or of { name, options of the policy }
--             seed      of every policy, default: its own
--             budget_s  seconds for each policy, default: without end
--   RETURN  rows best first: { policy, objective_us, feasible, gap (to the lower bound), speedup (of
--           one device's objective over this one), single (that device, and what runs elsewhere),
--           devices (how many are used), evaluations, simulated_ops, wall_s, placement };
--           of a policy that learns these are of its own placement, and best_us, whose, start_us say what it
--           passed: the best it saw, whose that is, and the best of its starts;
--           of a policy that failed { policy, error }
function compare.policies(options)
  check(options)
  local rows = {}
  for i, entry in ipairs(options.policies) do
    if berth.should_stop() then break end
    rows[i] = run(options.problem, entry, options)
  end
  table.sort(rows, better)
  return rows
end

-- The names of all policies there are, for `policies`.
function compare.all_policies()
  local names = {}
  for _, plugin in ipairs((berth.plugins())) do
    if plugin.kind == "policy" then names[#names + 1] = plugin.name end
  end
  return names
end

return compare
