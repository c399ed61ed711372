-- Tells what code results come from: the files that this process has loaded, and functions with what they hold.
-- Results of other code are results of another experiment.

local berth = require "berth"
local content = require("berth.files").content
local ffi = require "ffi"

local sources = {}

local OFFSET, PRIME = 14695981039346656037ULL, 1099511628211ULL

-- The 64-bit FNV-1a hash (Fowler, Noll, Vo) of a text, in hexadecimal.
function sources.hash(text)
  local bytes, hash = ffi.cast("const uint8_t*", text), ffi.new("uint64_t", OFFSET)
  for i = 0, #text - 1 do hash = bit.bxor(hash, ffi.cast("uint64_t", bytes[i])) * PRIME end
  return bit.tohex(hash)
end

-- Hashes by path, as of when this process first looked: an edit after that is not of what ran.
local seen = {}

local function hash_of(path)
  if seen[path] == nil then
    local text = content(path)
    seen[path] = text and sources.hash(text) or false
  end
  return seen[path]
end

-- The files of the modules that are loaded, a script, and what the host has run besides: policies' files.
--   ARGS    script  its path; may be nil
--   RETURN  array by name of { name = "script", "module NAME" or "file NAME", path, hash }
function sources.loaded(script)
  local found = {}
  local function add(name, path)
    local hash = path and hash_of(path)
    if hash then found[#found + 1] = { name = name, path = path, hash = hash } end
  end
  add("script", script)
  for _, path in ipairs(berth.scripts_run()) do
    if path ~= script then add("file " .. path:match "[^/]+$", path) end
  end
  for name in pairs(package.loaded) do
    add("module " .. name, type(name) == "string" and package.searchpath(name, package.path) or nil)
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

-- The same as a text for a file, and back.
function sources.text(files)
  local lines = {}
  for i, each in ipairs(files) do lines[i] = ("%s\t%s\t%s"):format(each.name, each.hash, each.path) end
  return table.concat(lines, "; ")
end

function sources.read(text)
  local files = {}
  for line in ((text or "") .. "; "):gmatch "(.-); " do
    local name, hash, path = line:match "^(.-)\t(%x+)\t(.+)$"
    if name then files[#files + 1] = { name = name, hash = hash, path = path } end
  end
  return files
end

-- The first file that is another one now than it was.
--   ARGS    files   of sources.read
--           script  the path of "script" here; default: where it was
--   RETURN  { name, path, hash }, with the hash of now; nil where all are as they were, or are gone
function sources.changed(files, script)
  for _, each in ipairs(files) do
    local module = each.name:match "^module (.+)$"
    local path = module and package.searchpath(module, package.path) or each.name == "script" and script
      or each.path
    local text = content(path) or content(each.path)
    local now = text and sources.hash(text)
    if now and now ~= each.hash then return { name = each.name, path = path, hash = now } end
  end
end

-- Functions ---------------------------------------------------------------------------------------------

-- Lines of a file; false where it cannot be read.
local lines_of = {}

local function read_lines(path)
  if lines_of[path] == nil then
    local text, lines = content(path), {}
    for line in (text or ""):gmatch "([^\n]*)\n?" do lines[#lines + 1] = line end
    lines_of[path] = text and lines or false
  end
  return lines_of[path]
end

-- The text of a Lua function; nil where it is not to be had.
local function source_of(info)
  if info.what == "C" then return nil end
  local path = info.source:match "^@(.+)$"
  if not path then return info.source end
  local lines = read_lines(path)
  return lines and table.concat(lines, "\n", info.linedefined, math.min(info.lastlinedefined, #lines))
end

local DEEPEST, MOST = 8, 4096

local module_names

local function describe(value, out, depth, known)
  local kind = type(value)
  if kind == "number" or kind == "string" or kind == "boolean" or kind == "nil" then
    out[#out + 1] = kind .. " " .. tostring(value)
    return
  end
  if module_names[value] then
    out[#out + 1] = "module " .. module_names[value]
    return
  end
  if kind ~= "function" and kind ~= "table" or known[value] or depth == DEEPEST or #out > MOST then
    out[#out + 1] = kind
    return
  end
  known[value] = true
  if kind == "function" then
    local info = debug.getinfo(value, "S")
    out[#out + 1] = "function " .. (source_of(info) or info.what)
    for i = 1, math.huge do
      local name, held = debug.getupvalue(value, i)
      if not name then return end
      out[#out + 1] = name
      describe(held, out, depth + 1, known)
    end
  end
  local keys = {}
  for key in pairs(value) do
    if type(key) == "string" or type(key) == "number" then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b) return type(a) .. tostring(a) < type(b) .. tostring(b) end)
  for _, key in ipairs(keys) do
    out[#out + 1] = tostring(key)
    describe(rawget(value, key), out, depth + 1, known)
  end
end

-- "a function (train.lua:12, 7f3a..)", with the hash of what is compared.
local function named(info, text)
  local file = info.source:match "([^/]+)$" or "?"
  return ("a function (%s:%d, %s)"):format(file, info.linedefined, sources.hash(text))
end

-- The source of a function and what it holds, the functions and tables among it too, as one text.
function sources.held_by(f)
  module_names = {}
  for name, module in pairs(package.loaded) do
    if type(module) == "table" or type(module) == "function" then module_names[module] = tostring(name) end
  end
  local out = {}
  describe(f, out, 0, {})
  return table.concat(out, "\n")
end

-- A text that differs for functions that do something else: by their source and by what they hold. A function moved
-- within its file is the same.
--   RETURN  "a function (train.lua:12, 7f3a..)"
function sources.of_function(f) return named(debug.getinfo(f, "S"), sources.held_by(f)) end

-- The same by its source alone, for functions that hold what is of their process.
function sources.of_text(f)
  local info = debug.getinfo(f, "S")
  return named(info, source_of(info) or "C")
end

-- The same without where it stands, for comparing.
function sources.same_function(a, b)
  local function hash(text) return type(text) == "string" and text:match "^a function %(.*, (%x+)%)$" end
  local one = hash(a)
  return one and one == hash(b) or false
end

return sources
