-- Files of other programs: NumPy's .npz (torch.save_npz, torch.load_npz) and safetensors
-- (torch.save_safetensors, torch.load_safetensors). Both hold tensors by name; what they hold is data, and
-- nothing in it is executed.

local bit = require "bit"
local ffi = require "ffi"
local files = require "berth.files"

-- Numbers of both formats are little-endian, as is every machine that LuaJIT and LibTorch share here.
assert(ffi.abi "le", "berth.torch: files are read on little-endian machines alone")

local NUMPY = { float32 = "<f4", float64 = "<f8", int64 = "<i8", int32 = "<i4", uint8 = "|u1", bool = "|b1" }
local SAFE = { float32 = "F32", float64 = "F64", int64 = "I64", int32 = "I32", uint8 = "U8", bool = "BOOL" }

local function inverted(of)
  local names = {}
  for name, text in pairs(of) do names[text] = name end
  return names
end
local FROM_NUMPY, FROM_SAFE = inverted(NUMPY), inverted(SAFE)

local function number_at(text, at, size)
  local value = 0
  for i = size, 1, -1 do value = value * 256 + (text:byte(at + i - 1) or error("the file is cut off", 0)) end
  return value
end

local function little(value, size)
  local bytes = {}
  for i = 1, size do
    bytes[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(bytes)
end

local CRC = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do c = bit.bxor(bit.rshift(c, 1), bit.band(c, 1) == 1 and 0xedb88320 or 0) end
  CRC[i] = c
end
local function crc32(text)
  local c, bytes = -1, ffi.cast("const uint8_t*", text)
  for i = 0, #text - 1 do c = bit.bxor(CRC[bit.band(bit.bxor(c, bytes[i]), 255)], bit.rshift(c, 8)) end
  return bit.bnot(c) % 2 ^ 32
end

return function(torch)
  local bytes = require "berth.torch.bytes" (torch)

  local function read_file(path)
    return files.read(path) or error(path .. ": No such file or directory", 0)
  end

  local function write_file(path, parts) files.write(path, table.concat(parts)) end

  local function sorted_names(tensors, what)
    local names = {}
    for name, tensor in pairs(tensors) do
      if type(name) ~= "string" or not torch.is_tensor(tensor) then
        error(("torch.%s: tensors by name expected, got a %s under %s"):format(what, type(tensor),
          tostring(name)), 3)
      end
      names[#names + 1] = name
    end
    table.sort(names)
    return names
  end

  -- NumPy's format 1.0 of one array (NEP 1).
  local function npy(tensor)
    local shape = table.concat(tensor:shape(), ", ") .. (#tensor:shape() == 1 and "," or "")
    local head = ("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }"):format(NUMPY[tensor:dtype()], shape)
    head = head .. (" "):rep(-(#head + 11) % 64) .. "\n"
    return "\147NUMPY\1\0" .. little(#head, 2) .. head .. bytes.of(tensor)
  end

  local function read_npy(text)
    if text:sub(1, 6) ~= "\147NUMPY" then error("it is no array of NumPy", 0) end
    local wide = text:byte(7) > 1 and 4 or 2
    local length = number_at(text, 9, wide)
    local head = text:sub(9 + wide, 8 + wide + length)
    local descr = head:match "'descr': *'([^']*)'"
    local dtype = FROM_NUMPY[descr or ""]
    if not dtype then
      error(("values of type %s; known: float32, float64, int64, int32, uint8, bool"):format(descr or "?"), 0)
    end
    if head:match "'fortran_order': *True" then
      error("it is stored column by column; save numpy.ascontiguousarray of it", 0)
    end
    local shape = {}
    for size in (head:match "'shape': *%(([^)]*)%)" or ""):gmatch "%d+" do shape[#shape + 1] = tonumber(size) end
    return bytes.tensor(text:sub(9 + wide + length), dtype, shape)
  end

  -- Writes tensors by name for numpy.load.
  function torch.save_npz(path, tensors)
    local parts, directory, at = {}, {}, 0
    for _, name in ipairs(sorted_names(tensors, "save_npz")) do
      local content, file = npy(tensors[name]), name .. ".npy"
      -- Versions, flags (names are UTF-8), method 0 (stored), time and date, CRC, sizes (the ZIP application note, 4.4).
      local common = little(20, 2) .. little(2048, 2) .. little(0, 2) .. little(0, 2) .. little(33, 2)
        .. little(crc32(content), 4) .. little(#content, 4) .. little(#content, 4) .. little(#file, 2)
      local entry = "PK\3\4" .. common .. little(0, 2) .. file .. content
      parts[#parts + 1] = entry
      directory[#directory + 1] = "PK\1\2" .. little(20, 2) .. common .. little(0, 2) .. little(0, 2)
        .. little(0, 2) .. little(0, 2) .. little(0, 4) .. little(at, 4) .. file
      at = at + #entry
      if at >= 2 ^ 32 then error("torch.save_npz: more than 4 GiB; save parts, or safetensors", 2) end
    end
    local index = table.concat(directory)
    parts[#parts + 1] = index .. "PK\5\6" .. little(0, 4) .. little(#directory, 2) .. little(#directory, 2)
      .. little(#index, 4) .. little(at, 4) .. little(0, 2)
    write_file(path, parts)
  end

  -- The tensors by name of a file of numpy.savez. One of numpy.savez_compressed is refused.
  function torch.load_npz(path)
    local function fail(why) error(("torch.load_npz: %s: %s"):format(path, why), 3) end
    local text, tensors = read_file(path), {}
    -- The end of the directory stands last, before a comment of at most 65,535 bytes.
    local last, found = nil, text:find("PK\5\6", math.max(1, #text - 65600), true)
    while found do last, found = found, text:find("PK\5\6", found + 1, true) end
    if not last then fail "it is no file of numpy.savez" end
    local fine, why = pcall(function()
      local count, at = number_at(text, last + 10, 2), number_at(text, last + 16, 4) + 1
      for _ = 1, count do
        if text:sub(at, at + 3) ~= "PK\1\2" then error("its directory is damaged", 0) end
        local method, sum, size = number_at(text, at + 10, 2), number_at(text, at + 16, 4),
          number_at(text, at + 24, 4)
        local name_length = number_at(text, at + 28, 2)
        local name = text:sub(at + 46, at + 45 + name_length)
        local entry = number_at(text, at + 42, 4) + 1
        if method ~= 0 then error(name .. " is compressed; save it with numpy.savez", 0) end
        local from = entry + 30 + number_at(text, entry + 26, 2) + number_at(text, entry + 28, 2)
        local content = text:sub(from, from + size - 1)
        if #content ~= size or crc32(content) ~= sum then error(name .. " is damaged", 0) end
        local read, tensor = pcall(read_npy, content)
        if not read then error(("%s: %s"):format(name, tensor), 0) end
        tensors[name:gsub("%.npy$", "")] = tensor
        at = at + 46 + name_length + number_at(text, at + 30, 2) + number_at(text, at + 32, 2)
      end
    end)
    if not fine then fail(why) end
    return tensors
  end

  -- JSON as safetensors' head has it: objects, arrays, texts and whole numbers.
  local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }
  local function parse_json(text)
    local at, depth, value = 1, 0, nil
    local function wrong() error(("its head is no JSON at byte %d"):format(at), 0) end
    local function skip() at = text:match("^%s*()", at) end
    local function take(pattern)
      local found, after = text:match("^(" .. pattern .. ")%s*()", at)
      if found then at = after end
      return found
    end
    local function read_text()
      local parts = {}
      at = at + 1
      while true do
        local plain, after = text:match('^([^"\\]*)()', at)
        parts[#parts + 1], at = plain, after
        local c = text:sub(at, at)
        if c == '"' then break end
        local escaped = text:sub(at + 1, at + 1)
        if c ~= "\\" or escaped == "" then wrong() end
        local code = escaped == "u" and text:match("^%x%x%x%x", at + 2)
        if escaped == "u" and (not code or tonumber(code, 16) > 127) then wrong() end
        parts[#parts + 1] = code and string.char(tonumber(code, 16)) or ESCAPES[escaped] or escaped
        at = at + (code and 6 or 2)
      end
      at = at + 1
      skip()
      return table.concat(parts)
    end
    local function list(close, each)
      depth, at = depth + 1, at + 1
      if depth > 16 then wrong() end
      skip()
      if take(close) then
        depth = depth - 1
        return
      end
      repeat each() until not take ","
      if not take(close) then wrong() end
      depth = depth - 1
    end
    function value()
      local c = text:sub(at, at)
      if c == '"' then return read_text() end
      if c == "[" then
        local array = {}
        list("%]", function() array[#array + 1] = value() end)
        return array
      end
      if c == "{" then
        local object = {}
        list("}", function()
          if text:sub(at, at) ~= '"' then wrong() end
          local key = read_text()
          if not take ":" then wrong() end
          object[key] = value()
        end)
        return object
      end
      return tonumber(take "%d+") or wrong()
    end
    skip()
    local read = value()
    if at <= #text then wrong() end
    return read
  end

  local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
  end

  -- Writes tensors by name for the library safetensors.
  --   ARGS  path, tensors; metadata  texts by name, optional
  function torch.save_safetensors(path, tensors, metadata)
    local entries, parts, at = {}, {}, 0
    local facts = {}
    for name, text in pairs(metadata or {}) do facts[#facts + 1] = quoted(name) .. ":" .. quoted(tostring(text)) end
    table.sort(facts)
    if #facts > 0 then entries[1] = '"__metadata__":{' .. table.concat(facts, ",") .. "}" end
    for _, name in ipairs(sorted_names(tensors, "save_safetensors")) do
      local tensor = tensors[name]
      local content = bytes.of(tensor)
      entries[#entries + 1] = ('%s:{"dtype":"%s","shape":[%s],"data_offsets":[%d,%d]}'):format(quoted(name),
        SAFE[tensor:dtype()], table.concat(tensor:shape(), ","), at, at + #content)
      parts[#parts + 1], at = content, at + #content
    end
    local head = "{" .. table.concat(entries, ",") .. "}"
    head = head .. (" "):rep(-#head % 8)
    write_file(path, { little(#head, 8), head, unpack(parts) })
  end

  -- The tensors by name of a safetensors file, and its metadata.
  function torch.load_safetensors(path)
    local function fail(why) error(("torch.load_safetensors: %s: %s"):format(path, why), 3) end
    local text, tensors, metadata = read_file(path), {}, {}
    local fine, why = pcall(function()
      local length = number_at(text, 1, 8)
      if length > 1e8 or 8 + length > #text then error("it is no safetensors file, or cut off", 0) end
      local head = parse_json(text:sub(9, 8 + length))
      for name, entry in pairs(type(head) == "table" and head or {}) do
        if name == "__metadata__" then
          metadata = entry
        else
          local dtype = FROM_SAFE[entry.dtype]
          if not dtype then
            error(("%s has values of type %s; known: F32, F64, I64, I32, U8, BOOL"):format(name,
              tostring(entry.dtype)), 0)
          end
          local from, to = unpack(entry.data_offsets or {})
          if type(from) ~= "number" or type(to) ~= "number" or from > to or 8 + length + to > #text then
            error(name .. " lies outside of the file", 0)
          end
          local read, tensor = pcall(bytes.tensor, text:sub(9 + length + from, 8 + length + to), dtype,
            entry.shape or {})
          if not read then error(("%s: %s"):format(name, tensor), 0) end
          tensors[name] = tensor
        end
      end
    end)
    if not fine then fail(why) end
    return tensors, metadata
  end
end
