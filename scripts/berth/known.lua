-- Says of a name that is not known which one was probably meant, and all there are.

local known = {}

-- The fewest letters to insert, remove, change or swap with their neighbour (Damerau; optimal string alignment).
local function distance(a, b)
  local before, last, row = nil, {}, nil
  for j = 0, #b do last[j] = j end
  for i = 1, #a do
    row = { [0] = i }
    for j = 1, #b do
      local change = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + change)
      if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        row[j] = math.min(row[j], before[j - 2] + 1)
      end
    end
    before, last = last, row
  end
  return last[#b]
end

-- The name of an array that is most like another; nil where none is like it.
function known.nearest(name, names)
  local best, least = nil, math.max(1, math.floor(#name / 3)) + 1
  for _, each in ipairs(names) do
    local far = distance(name:lower(), each:lower())
    if far < least then best, least = each, far end
  end
  return best
end

-- The end of an error about a name.
--   ARGS    name, names  names: an array, or a table by name
--   RETURN  "; did you mean 'count'? Known: batch, count, .."
function known.text(name, names)
  local list = {}
  if #names > 0 then
    for i, each in ipairs(names) do list[i] = each end
  else
    for each in pairs(names) do list[#list + 1] = tostring(each) end
  end
  table.sort(list)
  local meant = known.nearest(tostring(name), list)
  if meant then return ("; did you mean '%s'? Known: %s"):format(meant, table.concat(list, ", ")) end
  return "; known: " .. table.concat(list, ", ")
end

-- A table of options that may have these names alone, or is left out; errors are those of the caller's caller.
--   ARGS    what, given, names  "statistics.bootstrap", the table, an array or a table by name
--           level               as of error, where it is not 3
--   RETURN  the table
function known.check(what, given, names, level)
  if given == nil then return {} end
  if type(given) ~= "table" then
    error(("%s: a table of options expected, got a %s"):format(what, type(given)), level or 3)
  end
  for name in pairs(given) do
    local found = #names == 0 and names[name] ~= nil
    for _, each in ipairs(names) do found = found or each == name end
    if not found then
      error(("%s: unknown option '%s'%s"):format(what, tostring(name), known.text(tostring(name), names)), level or 3)
    end
  end
  return given
end

-- Options over their defaults, which are all there are.
--   ARGS    as known.check's; defaults: by name
--   RETURN  another table
function known.over(what, given, defaults, level)
  local options = {}
  for name, default in pairs(defaults) do options[name] = default end
  for name, value in pairs(known.check(what, given, defaults, (level or 3) + 1)) do options[name] = value end
  return options
end

-- The options of a call, over their defaults, whose types they have; errors are those of the caller's caller.
function known.options(given, defaults)
  local options = {}
  for name, default in pairs(defaults) do options[name] = default end
  for name, value in pairs(given or {}) do
    if defaults[name] == nil then
      error(("unknown option '%s'%s"):format(tostring(name), known.text(name, defaults)), 3)
    end
    if type(value) ~= type(defaults[name]) then
      error(("option '%s': %s expected, got %s"):format(name, type(defaults[name]), type(value)), 3)
    end
    options[name] = value
  end
  return options
end

-- Raises where an argument is of another type; errors are those of the caller's caller.
local function check_argument(what, value, wanted)
  local kind = wanted == "numbers" and "table" or wanted
  if type(value) ~= kind then error(("%s: %s expected, got %s"):format(what, kind, type(value)), 3) end
  for i, each in ipairs(wanted == "numbers" and value or {}) do
    if type(each) ~= "number" then
      error(("%s: entry %d: number expected, got %s"):format(what, i, type(each)), 3)
    end
  end
end

-- Lets functions of a module refuse arguments of another type, by name.
--   ARGS    of, what  the module; how it is called: "berth.tables"
--           wanted    by function: "values: numbers, share: number?", its arguments in order. numbers: a table of them;
--                     ?: may be left out
--   RETURN  the module
function known.arguments(of, what, wanted)
  for name, list in pairs(wanted) do
    local arguments, call = {}, of[name]
    for argument, kind, optional in list:gmatch "([%w_]+): (%w+)(%??)" do
      arguments[#arguments + 1] = { name = argument, kind = kind, optional = optional ~= "" }
    end
    of[name] = function(...)
      for i, each in ipairs(arguments) do
        local value = (select(i, ...))
        if value ~= nil or not each.optional then
          check_argument(("%s.%s: argument %d (%s)"):format(what, name, i, each.name), value, each.kind)
        end
      end
      return call(...)
    end
  end
  return of
end

-- Lets a table of functions or classes say which name was meant, where it lacks one.
--   ARGS    of, what  the table; how it is called: "torch.nn"
function known.only(of, what)
  return setmetatable(of, { __index = function(_, name)
    if type(name) ~= "string" then return nil end
    error(("%s has no '%s'%s"):format(what, name, known.text(name, of)), 2)
  end })
end

return known
