-- The file of measurements that `tune` goes on from.
--
-- A line that says of what they are, then one for each: runtime, 1 if it teaches something, the runtime that was predicted
-- ("-" for none), busy times, devices by op, and where the hardware failed, what it said. Numbers are kept to the last bit,
-- so that a search that goes on is the one that was not interrupted.

local files = require "berth.files"
local fingerprints = require "berth.fingerprints"
local notes = require "berth.notes"

local measured = {}

local FORMAT = "berth.tune/2"

-- Whether an evaluation is a runtime: the placement fits, and the hardware says how long it took.
function measured.usable(evaluation)
  local us = evaluation.objective_us
  return evaluation.feasible ~= false and us > 0 and us < math.huge
end

local function numbers_of(text, most)
  local numbers = {}
  for item in text:gmatch "[^,]+" do
    local number = tonumber(item)
    if not number or not (number >= 0 and number < math.huge) then return nil end
    numbers[#numbers + 1] = number
  end
  return #numbers <= most and numbers or nil
end

-- The measurement of a line; nil for what is none.
local function read_line(line, problem)
  local us, usable, predicted, busy, devices, failure = line:match "^(%S+)\t([01])\t(%S+)\t([^\t]*)\t([^\t]+)\t?(.*)$"
  local placement = devices and numbers_of(devices, problem:graph():op_count())
  local busy_us = placement and numbers_of(busy, problem:cluster():device_count())
  local evaluation = { objective_us = tonumber(us), feasible = usable == "1", busy_us = busy_us }
  if not busy_us or not evaluation.objective_us or evaluation.feasible and not measured.usable(evaluation) then return nil end
  if not pcall(problem.validate, problem, placement) then return nil end
  return { placement = placement, evaluation = evaluation, predicted_us = tonumber(predicted),
    failure = failure ~= "" and failure or nil }
end

local function write_line(each)
  local busy, usable = {}, measured.usable(each.evaluation)
  for d, us in ipairs(each.evaluation.busy_us or {}) do busy[d] = ("%.17g"):format(us) end
  return ("%.17g\t%d\t%s\t%s\t%s%s\n"):format(usable and each.evaluation.objective_us or 0, usable and 1 or 0,
    each.predicted_us and ("%.17g"):format(each.predicted_us) or "-", table.concat(busy, ","),
    table.concat(each.placement, ","), each.failure and "\t" .. each.failure:gsub("%s+", " ") or "")
end

local OTHERWISE = "name another file, or remove it"

local function read(path, of, problem)
  local text = files.read(path)
  if not text or text == "" then return {} end
  local head, rest = text:match "^([^\n]*)\n(.*)$"
  local format, fingerprint = (head or ""):match "^([^\t]*)\t(.*)$"
  if format ~= FORMAT then
    error(("tune: %s is no file of measurements of this format (%s); %s"):format(path, FORMAT, OTHERWISE), 0)
  end
  local fine, then_ = pcall(notes.read, fingerprint)
  if not fine then error(("tune: %s: line 1 is damaged; %s"):format(path, OTHERWISE), 0) end
  local name, one, other = fingerprints.difference(then_, of)
  if name then
    error(("tune: %s has measurements of something else: %s is %s there, and %s here; %s"):format(path, name,
      tostring(one), tostring(other), OTHERWISE), 0)
  end
  local found = {}
  -- The last line may have been cut off.
  for line in rest:gmatch "([^\n]*)\n" do
    found[#found + 1] = read_line(line, problem)
      or error(("tune: %s: line %d is no measurement; remove it or the file"):format(path, #found + 2), 0)
  end
  return found
end

-- Opens a file.
--   ARGS    path      nil or "": in memory alone
--           problem   that is measured
--           settings  table: what the measurements depend on besides
--   RETURN  array of { placement, evaluation, predicted_us, failure }: what is there; keep(such a table)
function measured.open(path, problem, settings)
  if not path or path == "" then return {}, function() end end
  local of = { settings = settings, problems = { fingerprints.of_measured(problem) } }
  local found = read(path, of, problem)
  local lines = { FORMAT .. "\t" .. notes.write(of) .. "\n" }
  for _, each in ipairs(found) do lines[#lines + 1] = write_line(each) end
  -- Written anew, so that a line that was cut off is no part of the next.
  files.write(path, table.concat(lines))
  return found, function(each) files.append(path, write_line(each)) end
end

return measured
