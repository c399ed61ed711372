-- Files are whole, or an error names them.
local check = require "check"
local events = require "berth.events"
local files = require "berth.files"
local instant = require "berth.instant"
local plots = require "berth.plots"
local record = require "berth.record"
local train = require "berth.train"
local folder = ...

-- What f does on a disk that is full: files open, and take nothing.
local function on_full_disk(f)
  local open = io.open
  io.open = function(_, mode)
    if mode == "rb" then return nil, "No such file or directory", 2 end
    local function full() return nil, "No space left on device", 28 end
    return { write = function(self) return self end, flush = full, close = full, seek = function() return 0 end }
  end
  local result = { pcall(f) }
  io.open = open
  if not result[1] then error(result[2], 0) end
  return unpack(result, 2)
end

check.test("arguments of another type are refused by name", function()
  check.fails("events.tensorboard: argument 1 %(path%): string expected, got nil", events.tensorboard)
  check.fails("events.csv: argument 2 %(columns%): table expected, got nil", events.csv, folder .. "/a.csv")
end)

check.test("a content that cannot be read is none", function()
  files.write(folder .. "/content", "a\0b\n")
  check.equal(files.content(folder .. "/content"), "a\0b\n")
  check.equal(files.content(folder .. "/nowhere"), nil)
  check.equal(files.content(folder), nil)
end)

check.test("a full disk is told by everything that writes, with the file", function()
  local function told(path, f)
    check.fails("^cannot write '" .. path:gsub("%p", "%%%0") .. "': No space left on device; make room, or name another",
      on_full_disk, f)
  end
  told("x.weights", function() instant.save("x.weights", { { 1, 2 } }) end)
  told("x.record", function() record.open("x.record").keep("a", 1) end)
  told("x.csv", function() events.csv("x.csv", { "a" }).write { a = 1 } end)
  told("x.tfevents", function() events.tensorboard("x.tfevents").write(1, { a = 1 }) end)
  told("x.jsonl", function() train.log_progress("x.jsonl", "x") end)
  told("x.svg", function() plots.save("x.svg", "<svg/>") end)
  if io.open("/dev/full", "rb") then
    check.fails("cannot write '/dev/full': No space left on device", files.write, "/dev/full", "a")
  end
end)

check.test("a file that cannot be replaced stays as it was, and nothing lies beside it", function()
  local path = folder .. "/kept"
  files.write(path, "a", "b")
  files.append(path, "c")
  check.equal(files.read(path), "abc")
  local rename = os.rename
  os.rename = function(from) return nil, from .. ": no luck" end
  check.fails("cannot write '.*kept': no luck; name another file", files.write, path, "d")
  os.rename = rename
  check.equal({ files.read(path), files.read(path .. ".part") }, { "abc" })
  files.write(path, "d")
  check.equal(files.read(path), "d")
end)

check.test("a link stays, and the file behind it is made or replaced", function()
  local link = folder .. "/link"
  assert(os.execute("ln -s behind '" .. link .. "'") == 0)
  for _, text in ipairs { "made", "replaced" } do
    files.write(link, text)
    check.equal(files.read(folder .. "/behind"), text)
    check.equal(os.execute("test -L '" .. link .. "'"), 0)
  end
end)

check.test("a pipe is written in place, and opened once", function()
  local pipe = folder .. "/pipe"
  assert(os.execute("mkfifo '" .. pipe .. "'") == 0)
  local open, opened = io.open, 0
  io.open = function(...)
    opened = opened + 1
    return open(...)
  end
  local reader = open(pipe, "r+b")  -- on a pipe this waits for nobody
  local fine, problem = pcall(function()
    files.check_writable(pipe)
    check.equal(opened, 0)
    files.write(pipe, "a", "b\n")
    check.equal(opened, 1)
    check.equal(os.execute("test -p '" .. pipe .. "'"), 0)
    check.equal(reader:read "*l", "ab")
  end)
  io.open = open
  reader:close()
  if not fine then error(problem, 0) end
end)

check.test("folders and files that are not there are told apart", function()
  check.equal(files.read(folder .. "/absent"), nil)
  check.fails("cannot read '.-': Is a directory; name a file, and no folder", files.read, folder)
  check.fails("cannot write '.-': Is a directory", files.append, folder, "a")
  check.fails("cannot write '.-': Is a directory", files.write, folder, "a")
  check.fails("cannot write '.-nowhere/a': No such file or directory; name a file in a folder", files.write,
    folder .. "/nowhere/a", "a")
  check.fails("Is a directory", record.open, folder)
  files.check_writable(folder .. "/later")
  check.equal(files.read(folder .. "/later"), nil)
  check.fails("cannot write", files.check_writable, folder .. "/nowhere/a")
  check.fails("cannot write '.-': Is a directory", files.check_writable, folder)
end)

check.finish()
