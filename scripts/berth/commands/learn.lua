-- `berth learn`: rules of `instant` from models of one's own.
--   learn.lua OUTPUT MACHINES DRAWS KEEP SEED RECORD MODEL..
-- An empty RECORD is an option that was not given.

local arguments = require "berth.arguments"
local berth = require "berth"
local instant = require "berth.instant"

local output, machines, draws, keep, seed, record = ...
local models = { select(7, ...) }

local function learn()
  local file = io.open(output, "ab")  -- minutes later is too late to learn that it cannot be written
  if not file then error(("cannot write '%s'; check the folder"):format(output), 0) end
  file:close()
  local problems = {}
  for _, model in ipairs(models) do
    local graph = berth.load(model)
    for _, machine in ipairs(arguments.list(machines)) do
      problems[#problems + 1] = berth.problem { graph = graph, cluster = machine }
    end
  end
  local rules = instant.learn { problems = problems, draws = tonumber(draws), keep = tonumber(keep),
    seed = tonumber(seed), record = record ~= "" and record or nil, progress = function(at)
      io.stderr:write(("%d of %d rules: %.4g us\n"):format(at.draw, at.draws, math.exp(at.log_us)))
    end }
  instant.save(output, rules)
  io.stderr:write(("the best of %d passes: %.3f of one device's runtime (mean of %d problems)\n"):format(#rules,
    instant.ratio(rules, problems), #problems))
end

local fine, message = pcall(learn)
-- The position in the library is of no use to the person who typed the command.
if not fine then error((tostring(message):gsub("^[^\n]-%.lua:%d+: ", "")), 0) end
