-- Writes the pages of `require "berth"` as Markdown, from the types in meta.lua.
--
--   luajit scripts/docs/lua_pages.lua scripts/berth/meta.lua FOLDER
--
-- One page per class and one for the module. Doxygen makes the site from them (see Doxyfile).

local source, folder = ...
assert(source and folder, "usage: lua_pages.lua META.lua FOLDER")

-- 1. Reading: a block of `---` lines, and the line of code that it documents.

-- A type and what follows it: types hold spaces only inside brackets and around `|`.
local function split_type(text)
  local depth, i = 0, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c:find "[{(<%[]" then depth = depth + 1 end
    if c:find "[})>%]]" then depth = depth - 1 end
    if c == " " and depth == 0 then
      local union = text:match("^ *| *()", i)
      local colon = text:sub(i - 1, i - 1) == ":" and i + 1
      if not union and not colon then break end
      i = union or colon
    else
      i = i + 1
    end
  end
  return text:sub(1, i - 1), text:sub(i + 1)
end

local readers = {
  class = function(entry, text)
    local name, parent = text:match "^(%S+):%s*(%S+)$"
    entry.class, entry.parent = name or text, parent
  end,
  alias = function(entry, text)
    local name, rest = text:match "^(%S+)%s+(.*)$"
    entry.alias, entry.type = name, rest
  end,
  field = function(entry, text)
    local name, rest = text:match "^(%S+)%s+(.*)$"
    local kind, meaning = split_type(rest)
    table.insert(entry.fields, { name = name, type = kind, meaning = meaning })
  end,
  param = function(entry, text)
    local name, rest = text:match "^(%S+)%s+(.*)$"
    local kind, meaning = split_type(rest)
    table.insert(entry.params, { name = name, type = kind, meaning = meaning })
  end,
  ["return"] = function(entry, text)
    local kind, rest = split_type(text)
    local name, meaning = rest:match "^([%a_][%w_]*)%s*(.*)$"
    table.insert(entry.returns, { name = name, type = kind, meaning = meaning or rest })
  end,
  meta = function() end,
}

local function new_entry() return { text = {}, fields = {}, params = {}, returns = {} } end

local function read(path)
  local entries, entry, last = {}, nil, nil
  for line in io.lines(path) do
    local tag, rest = line:match "^%-%-%-@(%a+)%s*(.*)$"
    local text = line:match "^%-%-%-([^@].*)$" or line == "---" and ""
    if tag then
      entry = entry or new_entry()
      local read_tag = assert(readers[tag], path .. ": unknown tag @" .. tag)
      read_tag(entry, rest)
      last = entry[tag .. "s"] and entry[tag .. "s"][#entry[tag .. "s"]]
    elseif text and last then  -- a tag's text goes on
      last.meaning = last.meaning .. " " .. text
    elseif text then
      entry = entry or new_entry()
      table.insert(entry.text, text)
    elseif entry then
      entry.owner, entry.separator, entry.name, entry.arguments =
        line:match "^function ([%w_]+)([.:])([%w_]+)(%b())"
      entry["local"] = line:match "^local ([%w_]+) ="
      table.insert(entries, entry)
      entry, last = nil, nil
    end
  end
  return entries
end

-- 2. Writing.

local function code(text) return "`" .. text .. "`" end

local function item(name, kind, meaning)
  local line = "- " .. (name and code(name) .. ": " or "") .. code(kind)
  return meaning:find "%S" and line .. ", " .. meaning:match "^%s*(.*)$" or line
end

local function append(out, ...)
  for _, line in ipairs { ... } do out[#out + 1] = line end
end

local function write_function(out, entry)
  append(out, ("## %s%s%s%s {#lua_%s_%s}"):format(entry.owner, entry.separator, entry.name,
    entry.arguments, entry.owner, entry.name), "")
  if #entry.text > 0 then append(out, table.concat(entry.text, "\n"), "") end
  if #entry.params > 0 then
    append(out, "Arguments:", "")
    for _, param in ipairs(entry.params) do append(out, item(param.name, param.type, param.meaning)) end
    append(out, "")
  end
  if #entry.returns > 0 then
    append(out, "Returns:", "")
    for _, result in ipairs(entry.returns) do append(out, item(result.name, result.type, result.meaning)) end
    append(out, "")
  end
end

local function write_class(out, entry)
  append(out, ("# %s {#lua_%s}"):format(entry.class, entry.class:gsub("%.", "_")), "")
  if #entry.text > 0 then append(out, table.concat(entry.text, "\n"), "") end
  if entry.parent and entry.parent ~= "berth.Object" then
    append(out, "It has all fields of " .. code(entry.parent) .. ".", "")
  end
  if #entry.fields > 0 then
    append(out, "Fields:", "")
    for _, field in ipairs(entry.fields) do append(out, item(field.name, field.type, field.meaning)) end
    append(out, "")
  end
end

local function save(name, out)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  assert(file:write(table.concat(out, "\n"), "\n"))
  assert(file:close())
end

-- Classes in the order of the file; a class whose variable has functions holds them.
local entries, functions, pages = read(source), {}, {}
for _, entry in ipairs(entries) do
  if entry.name then
    functions[entry.owner] = functions[entry.owner] or {}
    table.insert(functions[entry.owner], entry)
  end
end
local records, aliases = {}, {}
for _, entry in ipairs(entries) do
  if entry.class and entry["local"] then
    local out = {}
    write_class(out, entry)
    for _, one in ipairs(functions[entry["local"]] or {}) do write_function(out, one) end
    save(entry.class .. ".md", out)
    table.insert(pages, entry)
  elseif entry.class then
    table.insert(records, entry)
  elseif entry.alias then
    table.insert(aliases, entry)
  end
end

-- The page of all pages, with the plain tables that functions take and return.
local out = { "# Lua API {#lua}", "",
  "What `require \"berth\"` offers to scripts that `berth run` executes.", "",
  "Ids (of ops, tensors, devices, groups) count from 1, so that they index arrays. Times are in",
  "microseconds, sizes in bytes, bandwidths in bytes per second, compute in FLOP/s. A function that",
  "fails raises an error: a text that starts with the script's line and the function's name.", "" }
for _, page in ipairs(pages) do
  append(out, ("- \\subpage lua_%s"):format(page.class:gsub("%.", "_")))
end
append(out, "- \\subpage lua_tables", "")
save("index.md", out)

out = { "# Tables {#lua_tables}", "", "Plain tables that functions take and return.", "" }
for _, entry in ipairs(records) do
  local class = {}
  write_class(class, entry)
  class[1] = "#" .. class[1]
  append(out, table.concat(class, "\n"))
end
for _, entry in ipairs(aliases) do
  append(out, ("## %s {#lua_%s}"):format(entry.alias, entry.alias:gsub("%.", "_")), "",
    table.concat(entry.text, "\n"), "", code(entry.type), "")
end
save("berth.tables.md", out)
