-- Training curves: TensorBoard event files and CSV.
--
-- An event file is a sequence of records (length, masked CRC-32C of it, data, masked CRC-32C of the
-- data), each the Protobuf message `Event` of TensorFlow's event.proto:
--   1 wall_time double, 2 step int64, 3 file_version string,
--   5 summary { 1 value { 1 tag string, 2 simple_value float } }

local bit = require "bit"
local ffi = require "ffi"
local files = require "berth.files"
local known = require "berth.known"
local processes = require "berth.processes"

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

-- Those below 0 are ten bytes of an int64, as Protobuf has it.
local function varint(value)
  local out, rest = {}, ffi.cast("uint64_t", ffi.cast("int64_t", value))
  repeat
    local low = tonumber(rest % 128)
    rest = rest / 128
    out[#out + 1] = string.char(rest > 0 and low + 128 or low)
  until rest == 0
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

local function content_of(path) return files.read(path) or "" end

-- Opens `path` for appending with `kept` as its content.
local function reopened(path, kept)
  local file = files.stream(path, kept == content_of(path) and "a" or "w")
  if kept ~= "" and file.size() == 0 then file.write(kept) end
  return file
end

local function number_at(text, at, size)
  local value = 0
  for i = size, 1, -1 do value = value * 256 + text:byte(at + i - 1) end
  return value
end

-- The step of an event as `event` and `log.write` make it; nil where it has none.
local function step_of(data)
  if #data < 11 or data:byte(10) ~= 16 then return nil end
  local step, factor, at = 0ULL, 1ULL, 11
  repeat
    local byte = data:byte(at)
    if not byte then return nil end
    step, factor, at = step + (byte % 128) * factor, factor * 128, at + 1
  until byte < 128
  return tonumber(ffi.cast("int64_t", step))
end

-- The records up to step `last`, without one that was cut off in writing.
local function records_until(content, last)
  local kept, at = {}, 1
  while at + 11 < #content do
    local size = number_at(content, at, 4)
    local stop = at + 15 + size
    if stop > #content then break end
    local step = step_of(content:sub(at + 12, at + 11 + size))
    if not step or step <= last then kept[#kept + 1] = content:sub(at, stop) end
    at = stop + 1
  end
  return table.concat(kept)
end

-- The header and the rows whose first column is at most `last`, without one that was cut off.
local function rows_until(content, last)
  local kept = {}
  for line in content:gmatch "[^\n]*\n" do
    local first = tonumber(line:match "^[^,\n]*")
    if #kept == 0 or first and first <= last then kept[#kept + 1] = line end
  end
  return table.concat(kept)
end

-- Refuses to write into a file that begins otherwise: it is somebody's, and its rows would be dropped.
local function refuse_foreign(path, is_own, what)
  if is_own then return end
  error(("%s is there, and is no %s; it was left as it is: give another name, or move it away"):format(path, what), 3)
end

local IN_FOLDER = "events.out.tfevents.berth"

-- TensorBoard looks into folders, for files with "tfevents" in their names.
local function event_file(path)
  if path:match "([^/]*)$":find("tfevents", 1, true) then return path end
  local fine, why = pcall(processes.make_folder, path)
  if not fine then error(("the folder of events cannot be made: %s"):format(why), 3) end
  return path .. "/" .. IN_FOLDER
end

-- Opens an event file for appending; an error where the file is another's.
--   ARGS    path     of the file, with "tfevents" in its name; another name is that of a folder, which gets one
--           last     the last step to keep of what is there; default: all
--   RETURN  table with
--             write(step, values, time_s)  a whole number, values by tag; time_s defaults to the clock
--             close()
function events.tensorboard(path, last)
  path = event_file(path)
  local content = content_of(path)
  refuse_foreign(path, content == "" or content:sub(9, 12) == fixed32(masked_crc(content:sub(1, 8))),
    "file of TensorBoard's events")
  local file = reopened(path, records_until(content, last or math.huge))
  local log = {}
  if file.size() == 0 then file.write(event(os.time(), message(3, "brain.Event:2"))) end
  function log.write(step, values, time_s)
    if type(step) ~= "number" or step % 1 ~= 0 or math.abs(step) > 2 ^ 53 then
      error(("events.tensorboard: step %s; give a whole number"):format(tostring(step)), 2)
    end
    local tags = {}
    for tag in pairs(values) do tags[#tags + 1] = tag end
    table.sort(tags)
    local summary = {}
    for _, tag in ipairs(tags) do
      summary[#summary + 1] = message(1,
        message(1, tag) .. field(2, 5, bytes_of("float[1]", { values[tag] })))
    end
    file.write(event(time_s or os.time(),
      field(2, 0, varint(step)) .. message(5, table.concat(summary))))
  end
  log.close = file.close
  return log
end

-- Opens a CSV file for appending, with a header where it is new; an error where it has another header.
--   ARGS    path, columns  array of names
--           last           the last row to keep of what is there, by the first column; default: all
--   RETURN  table with write(values by name), close()
function events.csv(path, columns, last)
  local content, header = content_of(path), table.concat(columns, ",") .. "\n"
  -- A header may have been cut off in writing.
  refuse_foreign(path, content:sub(1, #header) == header:sub(1, #content), "curve with the columns " .. header:sub(1, -2))
  if #content < #header then content = "" end
  local file = reopened(path, last and rows_until(content, last) or content)
  if file.size() == 0 then file.write(header) end
  local log = {}
  function log.write(values)
    local row = {}
    for i, column in ipairs(columns) do
      local value = values[column]
      row[i] = type(value) == "number" and ("%.9g"):format(value) or tostring(value or "")
    end
    file.write(table.concat(row, ","), "\n")
  end
  log.close = file.close
  return log
end

return known.arguments(events, "events", {
  tensorboard = "path: string, last: number?", csv = "path: string, columns: table, last: number?",
})
