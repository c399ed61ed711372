-- Runs of an experiment that are done, in a file: a run that is there is not made again, so that the same command goes
-- on where it was stopped.
--
--   local runs = record.open(path)             -- path nil: in memory alone
--   local us = runs.once("inception 2", function() return measure() end)
--
-- A line is a key, a tab, and numbers between tabs. Several processes may share a file where their keys differ.

local berth = require "berth"

local record = {}

-- The numbers of a line, or nil for what is no line of a record.
local function read(text)
  local key, rest = text:match "^([^\t]+)\t(.+)$"
  local numbers = {}
  for field in (rest or ""):gmatch "[^\t]+" do
    local number = tonumber(field)
    if not number then return nil end
    numbers[#numbers + 1] = number
  end
  return key, numbers
end

local function text_of(path)
  local file = path and io.open(path)
  local text = file and file:read "*a" or ""
  if file then file:close() end
  return text
end

--   RETURN  table: get(key): the numbers, or nil; keep(key, ..): numbers; once(key, make): those of the key, or what
--           make() returns, which is kept. An error where the file cannot be written; once() fails where a stop was
--           asked for while make() ran: what it returns then is what it had in a part of its time
function record.open(path)
  local done, runs = {}, {}
  local text = text_of(path)
  -- The last line may have been cut off.
  for each in text:gmatch "([^\n]*)\n" do
    local key, numbers = read(each)
    if key then done[key] = numbers end
  end
  local before = text:find "[^\n]$" and "\n" or ""

  function runs.get(key)
    if done[key] then return unpack(done[key]) end
  end

  function runs.keep(key, ...)
    done[key] = { ... }
    if not path then return end
    local out = assert(io.open(path, "a"))
    local fields = { key }
    for i, number in ipairs { ... } do fields[i + 1] = ("%.9g"):format(number) end
    out:write(before, table.concat(fields, "\t"), "\n")
    out:close()
    before = ""
  end

  function runs.once(key, make)
    if not done[key] then
      local numbers = { make() }
      if berth.should_stop() then error(("stopped within '%s', which is not kept"):format(key), 0) end
      runs.keep(key, unpack(numbers))
    end
    return runs.get(key)
  end

  return runs
end

return record
