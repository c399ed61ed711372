-- `berth learn`: rules of `instant` from models of one's own.
--   learn.lua OUTPUT MACHINES DRAWS KEEP SEED RECORD MODEL..
-- An empty RECORD is an option that was not given. A MODEL with dynamic dimensions is FILE@batch=4,sequence=64.

local arguments = require "berth.arguments"
local berth = require "berth"
local files = require "berth.files"
local instant = require "berth.instant"

local output, machines, draws, keep, seed, record = ...
local models = { select(7, ...) }

local function say(...) io.stderr:write(string.format(...), "\n") end

local function tell(notes)
  local of_dimensions
  for _, note in ipairs(notes) do
    say("berth: note: %s", note)
    of_dimensions = of_dimensions or note:find("--dim", 1, true)
  end
  if of_dimensions then say "berth: note: `berth learn` takes dimensions with the model: FILE@NAME=SIZE,NAME=SIZE" end
end

local function problems_of(model)
  local file, dims = arguments.model(model)
  local graph, notes = berth.load(file, { dims = dims })
  tell(notes)
  local problems = {}
  for i, machine in ipairs(arguments.list(machines)) do
    problems[i] = berth.problem { graph = graph, cluster = machine }
    tell(problems[i]:notes())
  end
  return problems
end

local function show(at)
  say("%d of %d rules: %s%s", at.draw, at.draws, at.log_us and ("%.4g us"):format(math.exp(at.log_us)) or "none fits yet",
    at.log_us and at.unfit > 0 and (" (not fit by any pass: %d)"):format(at.unfit) or "")
end

-- The passes against one device, without the problems that have no such figure.
local function summary(rules, problems)
  local ratio, compared, fit = instant.ratio(rules, problems)
  local text = ("the best of %d passes: "):format(#rules)
  if ratio then
    text = text .. ("%.3f of one device's runtime (mean of %d problems)"):format(ratio, compared)
  else
    text = text .. "no runtime of one device"
  end
  if fit > compared then text = text .. ("; nothing to compare with: %d that one device does not hold"):format(fit - compared) end
  if #problems > fit then text = text .. ("; not fit by any pass: %d"):format(#problems - fit) end
  return text
end

local function learn()
  files.check_writable(output)  -- minutes later is too late to learn that it cannot be written
  local problems = {}
  for _, model in ipairs(models) do
    for _, problem in ipairs(problems_of(model)) do problems[#problems + 1] = problem end
  end
  local rules = instant.learn { problems = problems, draws = tonumber(draws), keep = tonumber(keep),
    seed = tonumber(seed), record = record ~= "" and record or nil, progress = show }
  instant.save(output, rules)
  say("%s", summary(rules, problems))
end

local fine, message = pcall(learn)
-- The position in the library is of no use to the person who typed the command.
if not fine then error((tostring(message):gsub("^[^\n]-%.lua:%d+: ", "")), 0) end
