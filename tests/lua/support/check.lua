-- A small test helper for the scripts in tests/lua/scripts.
--
--   check.test("what holds", function() ... end)   runs one test; a failure does not end the rest
--   check.finish()                                 raises where a test failed, with all messages
--   check.installed(policy), check.torch()         what a build may lack; see below
--
-- Inside a test:
--   check.equal(actual, expected)                  deep for tables
--   check.near(actual, expected [, relative])      1e-12 relative
--   check.fails(pattern, f, ...)                   f(...) raises a text that matches the pattern
--
-- Each test also hunts leaks: the C++ objects that it made must be free once it is over.

local berth = require "berth"

local check = {}
local failures, passed = {}, 0

local function show(value)
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for key, entry in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. show(entry) end
  table.sort(parts)
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function same(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then return a == b end
  for key, value in pairs(a) do
    if not same(value, b[key]) then return false end
  end
  for key in pairs(b) do
    if a[key] == nil then return false end
  end
  return true
end

function check.equal(actual, expected)
  if not same(actual, expected) then
    error("expected " .. show(expected) .. ", got " .. show(actual), 2)
  end
end

function check.near(actual, expected, relative)
  if not (math.abs(actual - expected) <= (relative or 1e-12) * math.abs(expected)) then
    error(("expected %.17g, got %.17g"):format(expected, actual), 2)
  end
end

function check.fails(pattern, f, ...)
  local ok, message = pcall(f, ...)
  if ok then error("expected an error that matches '" .. pattern .. "'", 2) end
  if type(message) ~= "string" or not message:find(pattern) then
    error("expected an error that matches '" .. pattern .. "', got: " .. tostring(message), 2)
  end
end

-- Whether a policy is there to be tested.
function check.installed(name)
  for _, plugin in ipairs((berth.plugins())) do
    if plugin.name == name then return true end
  end
  print(("policy '%s' is not installed: its tests are left out"):format(name))
  return false
end

-- berth.torch; nil in a build without LibTorch, which is told by one clear error that names what to install.
function check.torch()
  local found, torch = pcall(require, "berth.torch")
  if found then return torch end
  assert(torch:find("libtorch-dev", 1, true), torch)
end

-- An object that another one holds is free one collection later than that; one that a tensor holds, two.
local function collect()
  local before
  repeat
    before = berth.live_objects()
    jit.flush()  -- compiled code keeps what was a constant when it was compiled
    for _ = 1, 4 do collectgarbage() end
  until berth.live_objects() == before
end

function check.test(name, f)
  collect()
  local before = berth.live_objects()
  local ok, message = xpcall(f, debug.traceback)
  collect()
  if ok and berth.live_objects() ~= before then
    ok, message = false, ("leaks %d C++ objects"):format(berth.live_objects() - before)
  end
  if ok then
    passed = passed + 1
  else
    failures[#failures + 1] = name .. ": " .. message
  end
end

function check.finish()
  if passed == 0 and #failures == 0 then error("no test ran") end
  if #failures > 0 then
    error(#failures .. " failed:\n" .. table.concat(failures, "\n"), 0)
  end
end

return check
