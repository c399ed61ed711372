local berth = require "berth"
local check = require "check"
local compare = require "berth.compare"
local models = require "models"
local tables = require "berth.tables"

local function register(name, place)
  berth.register_policy { name = name, options = { { name = "device", default = 1, meaning = "" } },
                          place = place }
end

check.test("rows come best first, infeasible ones after, failed ones last", function()
  register("apart", function() return { 1, 1, 2, 1 } end)
  register("on-one", function(_, _, context)
    local device = context:options().device
    return { device, device, device, device }
  end)
  register("broken", function() error "no\nidea" end)
  local problem = models.problem { cluster = models.cluster(2) }
  local rows = compare.policies {
    problem = problem,
    policies = { "broken", "on-one", "apart", { "on-one", { device = 2 } }, "no-such" },
  }
  local names = {}
  for i, row in ipairs(rows) do names[i] = row.policy end
  check.equal(names, { "apart", "on-one", "on-one", "broken", "no-such" })
  check.near(rows[1].objective_us, 45)
  check.near(rows[1].gap + 1, 1)
  check.near(rows[1].speedup, 65 / 45)
  check.equal({ rows[1].devices, rows[2].devices, rows[1].feasible }, { 2, 1, true })
  check.equal(rows[4].error:match "broken.*no" ~= nil and not rows[4].error:find "\n", true)
  check.equal(tables.text(rows, compare.columns):match "policy +ms" ~= nil, true)
end)

check.test("a table for programs has plain numbers", function()
  local columns = compare.columns
  local rows = { { policy = "a", objective_us = 45, feasible = true, gap = 0.478, speedup = 1.5 },
                 { policy = "b", objective_us = 45, feasible = true, gap = math.huge } }
  check.equal(tables.csv(rows, columns):match "\na,([^\n]*)", "0.045,yes,0.478,1.5,,,,")
  check.equal(tables.csv(rows, columns):match "\nb,([^\n]*)", "0.045,yes,,,,,,")
  check.equal(tables.text(rows, columns):find "47.8 %%" ~= nil, true)
end)

check.test("options that are none are told", function()
  local problem = models.problem()
  check.fails("unknown option 'budget'; did you mean 'budget_s'%? Known: budget_s, policies", compare.policies,
    { problem = problem, policies = {}, budget = 1 })
  check.fails("option 'policies' is a string", compare.policies,
    { problem = problem, policies = "single" })
  check.fails("option 'problem' is missing", compare.policies, { policies = {} })
end)

check.test("all policies by name", function()
  local names = {}
  for _, name in ipairs(compare.all_policies()) do names[name] = true end
  check.equal(names.single, true)
end)

check.finish()
