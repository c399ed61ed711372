-- Compares files of results.lua: compare.lua ONE OTHER. Numbers agree to 1e-5 of the largest of their row.

local one, other = ...
local TOLERANCE = 1e-5

local function read(path)
  local rows, order = {}, {}
  for line in io.lines(path) do
    local name, rest = line:match "^(.-)\t(.*)$"
    rows[name], order[#order + 1] = {}, name
    for number in rest:gmatch "%S+" do table.insert(rows[name], tonumber(number)) end
  end
  return rows, order
end

local a, order = read(one)
local b = read(other)
local worst, failures = 0, 0
for _, name in ipairs(order) do
  local mine, theirs, scale = a[name], b[name] or {}, 1e-12
  for _, number in ipairs(mine) do scale = math.max(scale, math.abs(number)) end
  local difference = #mine == #theirs and 0 or math.huge
  for i, number in ipairs(mine) do
    difference = math.max(difference, math.abs(number - (theirs[i] or math.huge)) / scale)
  end
  worst = math.max(worst, difference)
  if not (difference <= TOLERANCE) then
    failures = failures + 1
    print(("%s: differs by %g"):format(name, difference))
  end
end
print(("%d rows of %d agree to %g; the largest difference is %.2g"):format(#order - failures, #order, TOLERANCE, worst))
if failures > 0 or #order == 0 then error("results differ", 0) end
