-- How much shorter is a training step that devices share, beside one whose ops are placed?
--
--   berth run scripts/experiments/replicas.lua [--rows 1,2,..] [--budget 30] [--format text|markdown]
--
-- Training graphs of examples/models/tf on four machines, the same total batch. Columns: one device; `auto` for
-- the plain step; the proven bound of whole ops; a replica per GPU with equal shares; what `--replicate auto` finds in the
-- budget, with its plan; the bound of plans; how many times faster than `auto`; and the best of an earlier trial
-- by other code, with linear costs.

local arguments = require "berth.arguments"
local berth = require "berth"
local tables = require "berth.tables"

local MIXED = "2xv100+2xk80+host"
local ROWS = {
  { "inception_v3_b64", "k80x4", 556.7 },
  { "inception_v3_b64", "v100x8", 88.7 },
  { "nmt_b64", "k80x4", 444.5 },
  { "nmt_b64", "v100x8", 113.5 },
  { "nmt_b256_sums", "k80x4", 1173.3 },
  { "rnnlm_b64", "k80x4", 332.1 },
  { "rnnlm_b64", "v100x8", 75.5 },
  { "inception_v3_b64", MIXED, 225.1 },
}

local options = { format = "text", budget = 30 }
local line = arguments.parser()
line.read({ ... }, {}, {
  ["--rows"] = function(text)
    options.rows = {}
    for _, number in ipairs(arguments.list(text)) do options.rows[tonumber(number)] = true end
  end,
  ["--budget"] = function(text) options.budget = tonumber(text) end,
  ["--format"] = line.format_into(options),
})

local function ms(us) return us and us > 0 and ("%.1f"):format(us / 1e3) or "-" end

local function place(row, settings)
  settings.cluster, settings.threads = row[2], 1
  local began = berth.clock()
  local done, placement, found = pcall(berth.place, ("examples/models/tf/%s.pb.gz"):format(row[1]), settings)
  if not done then
    berth.progress(placement)
    return nil
  end
  found.seconds = berth.clock() - began
  return found
end

local rows = {}
for number, row in ipairs(ROWS) do
  if not options.rows or options.rows[number] then
    berth.progress(("%s on %s"):format(row[1], row[2]))
    local single = place(row, { policy = "single", bound = "none" })
    local auto = place(row, { budget = options.budget })
    local each = row[2] == MIXED and "4" or row[2]:match "x(%d)$"
    local equal = place(row, { replicate = each, budget = options.budget, bound = "none" })
    local found = place(row, { replicate = "auto", budget = options.budget })
    rows[#rows + 1] = {
      graph = row[1], machine = row[2],
      single = single and single.feasible and ms(single.runtime_us) or "-",
      auto = auto and ms(auto.runtime_us), bound = auto and ms(auto.bound_us),
      equal = equal and (equal.feasible and ms(equal.runtime_us) or "does not fit") or "-",
      found = found and ms(found.runtime_us), plan = found and (found.replicas or "plain"),
      plans = found and ms(found.bound_us), seconds = found and found.seconds,
      times = found and auto and auto.runtime_us / found.runtime_us, trial = row[3],
      to_trial = found and ("%+.1f %%"):format((found.runtime_us / 1e3 / row[3] - 1) * 100),
    }
    local last = rows[#rows]
    berth.progress(("%s on %s: %s, auto %s, equal %s, found %s"):format(row[1], row[2], last.single,
      last.auto or "-", last.equal, last.found or "-"))
  end
end

io.write(tables[options.format](rows, {
  { key = "graph" }, { key = "machine" }, { key = "single", title = "one device" }, { key = "auto" },
  { key = "bound", title = "bound of whole ops" }, { key = "equal", title = "a replica per GPU" },
  { key = "found", title = "--replicate auto" }, { key = "seconds", title = "s", format = "%.0f" },
  { key = "plan" }, { key = "plans", title = "bound of plans" },
  { key = "times", title = "auto / found", format = "%.2f" },
  { key = "trial", format = "%.1f" }, { key = "to_trial", title = "to the trial" },
}))
