-- Files that are read and written to the last byte, or an error says which file it is and why: a disk that is full takes
-- what is written to it and says so when it is asked.

local berth = require "berth"

local files = {}

local ENOENT = 2

-- "No such file or directory" of "x.txt: No such file or directory".
local function reason(path, problem)
  problem = problem or "nothing was written"
  return problem:sub(1, #path + 2) == path .. ": " and problem:sub(#path + 3) or problem
end

local function cannot(verb, path, problem, fix)
  error(("cannot %s '%s': %s; %s"):format(verb, path, reason(path, problem), fix), 0)
end

local function cannot_write(path, problem) cannot("write", path, problem, "make room, or name another file") end

-- The content of a file; nil where there is none.
function files.read(path)
  local file, problem, code = io.open(path, "rb")
  if not file then
    if code == ENOENT then return nil end
    cannot("read", path, problem, "name another file")
  end
  local text, why = file:read "*a"
  file:close()
  if not text then cannot("read", path, why, "name a file, and no folder") end
  return text
end

-- The content of a file; nil where it cannot be read, for whatever reason.
function files.content(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local content = file:read "*a"  -- nil for a folder
  file:close()
  return content
end

-- Opens a file for writing.
--   ARGS    mode  "w": anew; "a": after what is there
--   RETURN  table: write(..) texts, which are in the file when it returns; size(); close()
function files.stream(path, mode)
  local file, problem = io.open(path, mode .. "b")
  if not file then cannot("write", path, problem, "name a file in a folder that you may write to") end
  local stream = {}
  local function checked(done, why)
    if done then return end
    file:close()
    cannot_write(path, why)
  end
  function stream.write(...)
    checked(file:write(...))
    checked(file:flush())
  end
  function stream.size() return file:seek "end" end
  function stream.close()
    local done, why = file:close()
    if not done then cannot_write(path, why) end
  end
  return stream
end

local function write_to(path, mode, ...)
  local stream = files.stream(path, mode)
  stream.write(...)
  stream.close()
end

-- Writes texts behind what a file has.
function files.append(path, ...) write_to(path, "a", ...) end

-- Writes a file anew, whole or not at all: it is made beside the one that is there, behind links, which it then
-- replaces. A pipe or a device is written in place.
function files.write(path, ...)
  local target = berth.replaced_file(path)
  if not target then return write_to(path, "a", ...) end  -- standard output may be a file that others write, too
  local part = target .. ".part"
  local beside = io.open(part, "wb")
  if not beside then return write_to(path, "w", ...) end
  beside:close()
  local fine, problem = pcall(write_to, part, "w", ...)
  if fine then
    local renamed, why = os.rename(part, target)
    if renamed then return end
    problem = ("cannot write '%s': %s; name another file"):format(path, reason(part, why))
  end
  os.remove(part)
  error((problem:gsub(part:gsub("%p", "%%%0"), (path:gsub("%%", "%%%%")))), 0)
end

-- Tells at once that a file cannot be written, and leaves none behind. A pipe is not tried: its reader would take the
-- end of the trial for the end of all.
function files.check_writable(path)
  if not berth.replaced_file(path) then return end
  local there = io.open(path, "rb")
  if there then there:close() end
  files.stream(path, "a").close()
  if not there then os.remove(path) end
end

return files
