-- Training curves: TensorBoard event files and CSV.
--
-- An event file is a sequence of records (length, masked CRC-32C of it, data, masked CRC-32C of the
-- data), each the Protobuf message `Event` of TensorFlow's event.proto:
--   1 wall_time double, 2 step int64, 3 file_version string,
--   5 summary { 1 value { 1 tag string, 2 simple_value float } }

local bit = require "bit"
local ffi = require "ffi"

local events = {}

local CRC_TABLE = {}
for i = 0, 255 do
  local c = i
  for _ = 1, 8 do
    local shifted = bit.rshift(c, 1)
    c = bit.band(c, 1) == 1 and bit.bxor(shifted, 0x82f63b78) or shifted
  end
  CRC_TABLE[i] = c
end

local function masked_crc(data)
  local c = bit.bnot(0)
  for i = 1, #data do
    c = bit.bxor(CRC_TABLE[bit.band(bit.bxor(c, data:byte(i)), 255)], bit.rshift(c, 8))
  end
  c = bit.bnot(c)
  return bit.tobit(bit.bor(bit.rshift(c, 15), bit.lshift(c, 17)) + 0xa282ead8)
end

local function fixed32(value)
  return string.char(bit.band(value, 255), bit.band(bit.rshift(value, 8), 255),
    bit.band(bit.rshift(value, 16), 255), bit.band(bit.rshift(value, 24), 255))
end

local function bytes_of(ctype, value)
  return ffi.string(ffi.new(ctype, value), ffi.sizeof(ctype))
end

local function varint(value)
  local out = {}
  repeat
    local low = value % 128
    value = (value - low) / 128
    out[#out + 1] = string.char(value > 0 and low + 128 or low)
  until value == 0
  return table.concat(out)
end

local function field(number, wire, payload)
  return varint(number * 8 + wire) .. payload
end
local function message(number, payload)
  return field(number, 2, varint(#payload) .. payload)
end

local function record(data)
  local length = fixed32(#data) .. fixed32(0)
  return length .. fixed32(masked_crc(length)) .. data .. fixed32(masked_crc(data))
end

local function event(time_s, body)
  return record(field(1, 1, bytes_of("double[1]", { time_s })) .. body)
end

-- Opens an event file for appending.
--   ARGS    path     of the file; TensorBoard finds names that contain "tfevents"
--   RETURN  table with
--             write(step, values, time_s)  values by tag; time_s defaults to the clock
--             close()
function events.tensorboard(path)
  local existing = io.open(path, "rb")
  local fresh = existing == nil or existing:seek("end") == 0
  if existing then existing:close() end
  local file, problem = io.open(path, "ab")
  if not file then error(("the event file cannot be opened: %s"):format(problem), 2) end
  local log = {}
  if fresh then file:write(event(os.time(), message(3, "brain.Event:2"))) end
  function log.write(step, values, time_s)
    local tags = {}
    for tag in pairs(values) do tags[#tags + 1] = tag end
    table.sort(tags)
    local summary = {}
    for _, tag in ipairs(tags) do
      summary[#summary + 1] = message(1,
        message(1, tag) .. field(2, 5, bytes_of("float[1]", { values[tag] })))
    end
    file:write(event(time_s or os.time(),
      field(2, 0, varint(step)) .. message(5, table.concat(summary))))
    file:flush()
  end
  function log.close() file:close() end
  return log
end

-- Opens a CSV file for appending, with a header where it is new.
--   ARGS    path, columns  array of names
--   RETURN  table with write(values by name), close()
function events.csv(path, columns)
  local existing = io.open(path, "rb")
  local fresh = existing == nil or existing:seek("end") == 0
  if existing then existing:close() end
  local file, problem = io.open(path, "ab")
  if not file then error(("the table cannot be opened: %s"):format(problem), 2) end
  if fresh then file:write(table.concat(columns, ","), "\n") end
  local log = {}
  function log.write(values)
    local row = {}
    for i, column in ipairs(columns) do
      local value = values[column]
      row[i] = type(value) == "number" and ("%.9g"):format(value) or tostring(value or "")
    end
    file:write(table.concat(row, ","), "\n")
    file:flush()
  end
  function log.close() file:close() end
  return log
end

return events
