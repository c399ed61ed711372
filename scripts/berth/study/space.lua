-- Which options the runs of a study get: every combination of listed values, or draws.

local berth = require "berth"

local space = {}

local Draw = {}

local function draw(what, pick) return setmetatable({ what = what, pick = pick }, Draw) end

local function ends(what, low, high, least)
  for _, value in ipairs { low, high } do
    if type(value) ~= "number" or value - value ~= 0 then
      error(("study.%s: two finite numbers expected, got %s and %s"):format(what, tostring(low),
        tostring(high)), 3)
    end
  end
  if low > high or low < least then
    error(("study.%s: from %g to %g is no range%s"):format(what, low, high,
      least > -math.huge and (" above " .. least) or ""), 3)
  end
end

-- A number between the two, each as likely.
function space.uniform(low, high)
  ends("uniform", low, high, -math.huge)
  return draw("uniform", function(random) return low + (high - low) * random:uniform() end)
end

-- The same on a logarithmic scale: for rates.
function space.log_uniform(low, high)
  ends("log_uniform", low, high, 5e-324)
  local a, b = math.log(low), math.log(high)
  return draw("log_uniform", function(random) return math.exp(a + (b - a) * random:uniform()) end)
end

-- A whole number from the one to the other, both included.
function space.integer(low, high)
  ends("integer", low, high, -math.huge)
  local least, most = low, high
  low, high = math.ceil(low), math.floor(high)
  if low > high then
    error(("study.integer: there is no whole number from %g to %g; give a range that holds one"):format(least, most), 2)
  end
  return draw("integer", function(random) return low - 1 + random:integer(high - low + 1) end)
end

-- One of the values of an array.
function space.choice(values)
  if type(values) ~= "table" or #values == 0 then error("study.choice: give an array of values", 2) end
  return draw("choice", function(random) return values[random:integer(#values)] end)
end

local function check_value(name, value)
  local kind = type(value)
  if kind == "string" and value ~= "true" and value ~= "false" or kind == "boolean" then return end
  if kind == "number" and value == value then return end
  error(("study: option '%s' may be %s; give numbers, texts or booleans (true, not \"true\")"):format(name,
    kind == "string" and ('"%s"'):format(value) or kind == "number" and tostring(value)
      or "a " .. kind), 0)
end

-- The names in order and, by name, the values or the draw.
local function read(given)
  if type(given) ~= "table" then error("study: space is a table: { name = { value, .. }, .. }", 0) end
  local names = {}
  for name, values in pairs(given) do
    if type(name) ~= "string" or name == "seed" then
      error(("study: '%s' is no option's name; seeds have their own option, seeds"):format(tostring(name)), 0)
    end
    if getmetatable(values) ~= Draw then
      if type(values) ~= "table" or #values == 0 then
        error(("study: option '%s' needs values: an array, or study.uniform, log_uniform, integer, choice")
          :format(name), 0)
      end
      for _, value in ipairs(values) do check_value(name, value) end
    end
    names[#names + 1] = name
  end
  table.sort(names)
  return names
end

local function grid(given, names)
  local choices = { {} }
  for _, name in ipairs(names) do
    if getmetatable(given[name]) == Draw then
      error(("study: option '%s' is drawn from a range; say search = \"random\" and count, or list values")
        :format(name), 0)
    end
    local longer = {}
    for _, choice in ipairs(choices) do
      for _, value in ipairs(given[name]) do
        local next_one = { [name] = value }
        for key, other in pairs(choice) do next_one[key] = other end
        longer[#longer + 1] = next_one
      end
    end
    choices = longer
  end
  return choices
end

local function drawn(given, names, random)
  local options = {}
  for _, name in ipairs(names) do
    local values = given[name]
    if getmetatable(values) ~= Draw then values = space.choice(values) end
    options[name] = values.pick(random)
    check_value(name, options[name])
  end
  return options
end

local function text_of(value) return type(value) == "number" and ("%.17g"):format(value) or tostring(value) end

-- Options as one text, names in order: what tells runs apart.
function space.key(options)
  local parts = {}
  for name, value in pairs(options) do
    parts[#parts + 1] = ("%s=%s"):format(name, type(value) == "string" and ("%q"):format(value)
      or text_of(value))
  end
  table.sort(parts)
  return table.concat(parts, " ")
end

-- So many draws in a row, for each choice that is known, that gave nothing new say that there is nothing new.
local FRUITLESS = 20

-- Different choices: a small space gives some of them several times. The first are the same however many are asked for.
local function random_search(given, names, count, seed)
  local random, choices, seen, fruitless = berth.random(seed), {}, {}, 0
  while #choices < count and fruitless <= FRUITLESS * #choices do
    local options = drawn(given, names, random)
    local key = space.key(options)
    fruitless = seen[key] and fruitless + 1 or 0
    if not seen[key] then choices[#choices + 1] = options end
    seen[key] = true
  end
  if #choices < count then
    error(("study: %d draws are asked for (count), and the space has %d choices of options; give count = %d, or "
      .. "search = \"grid\""):format(count, #choices, #choices), 0)
  end
  return choices
end

-- Options for people: "batch=8 rate=0.001"; a text that reads as a number is quoted.
function space.text(options)
  local parts = {}
  for name, value in pairs(options) do
    parts[#parts + 1] = ("%s=%s"):format(name, type(value) == "number" and ("%.6g"):format(value)
      or tonumber(value) and ("%q"):format(value) or tostring(value))
  end
  table.sort(parts)
  return table.concat(parts, " ")
end

-- The runs of a study: every choice of options with the first seed, then with the second, ..
--   ARGS    given  the options of study.run: space, search, count, search_seed, seeds
--   RETURN  array of { key, seed, options }
function space.runs(given)
  local names = read(given.space)
  local choices = given.search == "random"
    and random_search(given.space, names, given.count, given.search_seed) or grid(given.space, names)
  local runs, seen = {}, {}
  for _, seed in ipairs(given.seeds) do
    for _, options in ipairs(choices) do
      local key = ("seed=%d %s"):format(seed, space.key(options))
      if not seen[key] then runs[#runs + 1] = { key = key, seed = seed, options = options } end
      seen[key] = true
    end
  end
  return runs
end

return space
