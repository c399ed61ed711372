-- Plain Lua tables as text and back: what a checkpoint holds besides the weights.
--
-- Tables may hold numbers, booleans, texts and tables. Numbers are restored to the last bit. The text is
-- a Lua table constructor, which is parsed and never run: what other processes send is read the same way.

local notes = {}

local function write(value, out)
  local kind = type(value)
  if kind == "number" then
    if value ~= value then
      out[#out + 1] = "0/0"
    elseif value == math.huge then
      out[#out + 1] = "1/0"
    elseif value == -math.huge then
      out[#out + 1] = "-1/0"
    else
      out[#out + 1] = ("%.17g"):format(value)
    end
  elseif kind == "boolean" then
    out[#out + 1] = tostring(value)
  elseif kind == "string" then
    out[#out + 1] = ("%q"):format(value):gsub("\n", "n"):gsub("\r", "\\r"):gsub("%z", "\\0")
  elseif kind == "table" then
    out[#out + 1] = "{"
    local length = #value
    for i = 1, length do
      write(value[i], out)
      out[#out + 1] = ","
    end
    local keys = {}
    for key in pairs(value) do
      local listed = type(key) == "number" and key >= 1 and key <= length and key % 1 == 0
      if not listed then keys[#keys + 1] = key end
    end
    table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(keys) do
      out[#out + 1] = "["
      write(key, out)
      out[#out + 1] = "]="
      write(value[key], out)
      out[#out + 1] = ","
    end
    out[#out + 1] = "}"
  else
    error(("a %s cannot be kept in a checkpoint; keep numbers, texts, booleans and tables of them")
      :format(kind), 0)
  end
end

-- ARGS    value  a table
-- RETURN  text
function notes.write(value)
  local out = { "return " }
  write(value, out)
  return table.concat(out)
end

-- The end of the text that begins at a quotation mark, and its content.
local ESCAPES = { n = "\n", r = "\r", ["\n"] = "\n", ['"'] = '"', ["\\"] = "\\" }
local function read_text(text, at)
  local stop = at
  repeat
    stop = text:find('[\\"]', stop + 1)
    if not stop then error("a text has no end", 0) end
    local found = text:byte(stop)
    if found == 92 then stop = stop + 1 end
  until found == 34
  local content = text:sub(at + 1, stop - 1)
  if content:find("\\", 1, true) then
    local out, from = {}, 1
    while true do
      local slash = content:find("\\", from, true)
      if not slash then break end
      out[#out + 1] = content:sub(from, slash - 1)
      local digits = content:match("^%d%d?%d?", slash + 1)
      if digits and tonumber(digits) < 256 then
        out[#out + 1] = string.char(tonumber(digits))
        from = slash + 1 + #digits
      else
        local escaped = ESCAPES[content:sub(slash + 1, slash + 1)]
        if not escaped then error("a text has an escape that is none of ours", 0) end
        out[#out + 1] = escaped
        from = slash + 2
      end
    end
    out[#out + 1] = content:sub(from)
    content = table.concat(out)
  end
  return content, stop + 1
end

local WORDS = { ["true"] = true, ["false"] = false, ["0/0"] = 0 / 0, ["1/0"] = math.huge,
  ["-1/0"] = -math.huge }
local DEPTH = 64

-- The value that begins there, and where it ends.
local function read_value(text, at, depth)
  local first = text:byte(at)
  if first == 34 then return read_text(text, at) end
  if first ~= 123 then
    local word = text:match("^[%w%.%+%-/]+", at)
    local value = word and WORDS[word]
    if value == nil then value = word and word:find "^%-?%d[%d%.e%+%-]*$" and tonumber(word) end
    if value == nil or value == false and word ~= "false" then
      error(("%q is no value"):format(text:sub(at, at + 15)), 0)
    end
    return value, at + #word
  end
  if depth == 0 then error("its tables are nested too deeply", 0) end
  local result, count = {}, 0
  at = at + 1
  while text:byte(at) ~= 125 do
    local value
    if text:byte(at) == 91 then
      local key
      key, at = read_value(text, at + 1, depth - 1)
      if key ~= key or text:sub(at, at + 1) ~= "]=" then error("a key is none", 0) end
      value, at = read_value(text, at + 2, depth - 1)
      result[key] = value
    else
      value, at = read_value(text, at, depth - 1)
      count = count + 1
      result[count] = value
    end
    if text:byte(at) ~= 44 then error("a table has no end", 0) end
    at = at + 1
  end
  return result, at + 1
end

-- Nothing of the text is executed, whoever wrote it.
--   ARGS    text  of notes.write
--   RETURN  the table
function notes.read(text)
  local fine, value, stop = pcall(function()
    if text:sub(1, 7) ~= "return " then error("it is none of ours", 0) end
    return read_value(text, 8, DEPTH)
  end)
  if fine and stop ~= #text + 1 then fine, value = false, "something follows its end" end
  if not fine then error("the checkpoint's note cannot be read: " .. value, 2) end
  return value
end

-- A table with bytes behind it, as processes send each other.
function notes.pack(head, bytes)
  local text = notes.write(head)
  return ("%010d%s%s"):format(#text, text, bytes or "")
end

--   RETURN  the table, the bytes
function notes.unpack(text)
  local size = tonumber(text:sub(1, 10))
  if not size or size > #text - 10 then error("workers: a message is cut off", 0) end
  return notes.read(text:sub(11, 10 + size)), text:sub(11 + size)
end

return notes
