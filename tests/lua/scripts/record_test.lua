local berth = require "berth"
local check = require "check"
local record = require "berth.record"
local folder = ...

check.test("what is done is read, and not made again", function()
  local path = folder .. "/runs"
  local made = 0
  local function make()
    made = made + 1
    return 1.5, made
  end
  local first = record.open(path)
  check.equal({ first.once("a", make) }, { 1.5, 1 })
  check.equal({ first.once("a", make) }, { 1.5, 1 })
  first.keep("b", 7)
  local again = record.open(path)
  check.equal({ again.once("a", make) }, { 1.5, 1 })
  check.equal(again.get "b", 7)
  check.equal(again.get "c", nil)
  check.equal(made, 1)
end)

check.test("what was run with other settings is another run, and numbers stay as they were to the last bit", function()
  local path = folder .. "/settings"
  local third = 1 / 3
  record.open(path, { seconds = 1, shares = { 1, 2 } }).keep("a", third)
  check.equal(record.open(path, { shares = { 1, 2 }, seconds = 1 }).get "a", third)
  check.equal(record.open(path, { seconds = 2, shares = { 1, 2 } }).get "a", nil)
  check.equal(record.open(path, { seconds = 1, shares = { 1 } }).get "a", nil)
  check.equal(record.open(path, { seconds = 1, shares = { 1, 2 }, groups = 8 }).get "a", nil)
  check.equal(record.open(path).get "a", nil)
end)

check.test("what was cut off is made again, and spoils no other line", function()
  local path = folder .. "/cut"
  local file = assert(io.open(path, "w"))
  file:write("a\t1\nno number\t2\t3e\nb\t2\t3")
  file:close()
  local runs = record.open(path)
  check.equal(runs.get "a", 1)
  check.equal(runs.get "no number", nil)
  check.equal(runs.get "b", nil)
  runs.keep("c", 4, 5)
  check.equal({ record.open(path).get "c" }, { 4, 5 })
end)

check.test("lines are added to no file of another kind", function()
  for name, text in pairs { model = "\8\9onnx", json = '{\n "format": "berth.costs/1"\n}\n' } do
    local path = folder .. "/" .. name
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
    check.fails("is no file of runs; name another file, or remove it", record.open, path)
  end
  local path = folder .. "/first"  -- cut off in the first line
  local file = assert(io.open(path, "w"))
  file:write("a\t1")
  file:close()
  check.equal(record.open(path).get "a", nil)
end)

check.test("what a stop cut short is not kept", function()
  local path = folder .. "/stopped"
  local stopped, should_stop = false, berth.should_stop
  berth.should_stop = function() return stopped end
  local runs = record.open(path)
  runs.once("whole", function() return 1 end)
  check.fails("stopped within 'part', which is not kept", runs.once, "part", function()
    stopped = true
    return 2
  end)
  check.equal(runs.get "whole", 1)
  check.equal(runs.get "part", nil)
  check.equal(record.open(path).get "part", nil)
  berth.should_stop = should_stop
end)

check.finish()
