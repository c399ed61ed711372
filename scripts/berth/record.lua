-- Runs of an experiment that are done, in a file: a run that is there is not made again, so that the same command goes
-- on where it was stopped.
--
--   local runs = record.open(path, { seconds = options.seconds })  -- path nil: in memory alone
--   local us = runs.once("inception 2", function() return measure() end)
--
-- A line is a key, a tab, and numbers between tabs. Several processes may share a file where their keys differ. A key
-- begins with the settings: what was run with others is another run.

local berth = require "berth"
local files = require "berth.files"

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

-- Settings as one text, names in order.
local function text_of_settings(settings)
  local texts = {}
  for name, value in pairs(settings or {}) do
    local text = type(value) == "table" and table.concat(value, ",") or tostring(value)
    texts[#texts + 1] = ("%s=%s "):format(name, text:gsub("[\t\n]", " "))
  end
  table.sort(texts)
  return table.concat(texts)
end

--   ARGS    settings  table, optional: everything besides the keys that the runs depend on
--   RETURN  table: get(key): the numbers, or nil; keep(key, ..): numbers; once(key, make, possible): those of the key,
--           or what make() returns, which is kept. possible(..), optional: whether numbers can be of a run; those of the
--           file that cannot are made again. An error where the file is none of runs or cannot be written; once() fails
--           where a stop was asked for while make() ran: what it returns then is what it had in a part of its time
function record.open(path, settings)
  local done, runs, prefix = {}, {}, text_of_settings(settings)
  local text = path and files.read(path) or ""
  -- The last line may have been cut off.
  for each in text:gmatch "([^\n]*)\n" do
    local key, numbers = read(each)
    if key then done[key] = numbers end
  end
  -- Lines of runs are added to nothing else: it may be somebody's model.
  local cut_off = text:find "^[%g ]+\t[%w.+\t-]*$"
  if text ~= "" and not next(done) and not cut_off then
    error(("%s is no file of runs; name another file, or remove it"):format(path), 0)
  end
  local before = text:find "[^\n]$" and "\n" or ""

  function runs.get(key)
    local numbers = done[prefix .. key]
    if numbers then return unpack(numbers) end
  end

  function runs.keep(key, ...)
    done[prefix .. key] = { ... }
    if not path then return end
    local fields = { prefix .. key }
    for i, number in ipairs { ... } do fields[i + 1] = ("%.17g"):format(number) end
    files.append(path, before, table.concat(fields, "\t"), "\n")
    before = ""
  end

  function runs.once(key, make, possible)
    if not done[prefix .. key] or possible and not possible(runs.get(key)) then
      local numbers = { make() }
      if berth.should_stop() then error(("stopped within '%s', which is not kept"):format(key), 0) end
      runs.keep(key, unpack(numbers))
    end
    return runs.get(key)
  end

  return runs
end

return record
