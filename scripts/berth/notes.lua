-- Plain Lua tables as text and back: what a checkpoint holds besides the weights.
--
-- Tables may hold numbers, booleans, texts and tables. Numbers are restored to the last bit. The text is
-- a Lua table constructor, and is read without access to anything else.

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

-- ARGS    text  of notes.write
-- RETURN  the table
function notes.read(text)
  local chunk, problem = loadstring(text, "=note")
  if not chunk then error("the checkpoint's note cannot be read: " .. problem, 2) end
  return setfenv(chunk, {})()
end

return notes
