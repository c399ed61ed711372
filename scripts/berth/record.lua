-- Runs of an experiment that are done, in a file: a run that is there is not made again, so that the same command goes
-- on where it was stopped.
--
--   local runs = record.open(path)             -- path nil: in memory alone
--   local us = runs.once("inception 2", function() return measure() end)
--
-- A line is a key, a tab, and numbers between tabs. Several processes may share a file where their keys differ.

local record = {}

-- The numbers of a line, or nil for what is cut off or no line of a record.
local function read(text)
  local key, rest = text:match "^([^\t]+)\t(.+)$"
  local numbers = {}
  for field in (rest or ""):gmatch "[^\t]+" do
    numbers[#numbers + 1] = tonumber(field)
    if not numbers[#numbers] then return nil end
  end
  return key, numbers
end

--   RETURN  table: get(key): the numbers, or nil; keep(key, ..): numbers; once(key, make): those of the key, or what
--           make() returns, which is kept. An error where the file cannot be written
function record.open(path)
  local done, runs = {}, {}
  local file = path and io.open(path)
  for text in file and file:lines() or function() end do
    local key, numbers = read(text)
    if key and numbers then done[key] = numbers end
  end
  if file then file:close() end

  function runs.get(key)
    if done[key] then return unpack(done[key]) end
  end

  function runs.keep(key, ...)
    done[key] = { ... }
    if not path then return end
    local out = assert(io.open(path, "a"))
    local fields = { key }
    for i, number in ipairs { ... } do fields[i + 1] = ("%.9g"):format(number) end
    out:write(table.concat(fields, "\t"), "\n")
    out:close()
  end

  function runs.once(key, make)
    if not done[key] then runs.keep(key, make()) end
    return runs.get(key)
  end

  return runs
end

return record
