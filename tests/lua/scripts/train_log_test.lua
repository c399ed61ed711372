local check = require "check"
local train = require "berth.train"
local folder = ...

check.test("training writes who it is, and a line of JSON per update", function()
  local path = folder .. "/log.jsonl"
  local log = train.log_progress(path, 'nmt "4 GPUs"')
  local record = { update = 1, count = 2, runtime_us = 5e3, fits = 0.25, best_us = math.huge, reward = 0.5,
                   entropy = 1, left_s = 3 }
  log(record)
  record.update, record.fits, record.best_us = 2, 1, 4321.5
  log(record)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line:gsub('"time_s": [%d.]+', '"time_s": 0') end
  check.equal(#lines, 3)
  local start = table.remove(lines, 1)
  check.equal(start:find([[{"format": "berth.events/1", "event": "start", "policy": "nmt \u00224 GPUs\u0022", ]], 1,
    true), 1)
  check.equal(tonumber(start:match '"pid": (%d+)'), require "berth.processes".own_id())
  check.equal(start:match '"host": "([^"]*)"', require "berth.processes".host())
  check.equal(lines[1]:find([[{"event": "progress", "policy": "nmt \u00224 GPUs\u0022", "time_s": 0, ]]
    .. [["text": "update 1/2  runtime 5.000 ms, 25 % fit  best]], 1, true), 1)
  check.equal({ lines[1]:find("best_us", 1, true), lines[1]:find("best none that fits", 1, true) ~= nil }, { nil, true })
  check.equal(lines[2]:match '"event": "end".*"best_us": 4321.5,' ~= nil, true)
  check.equal(lines[2]:find("% fit", 1, true), nil)
  check.fails("absent", train.log_progress, folder .. "/absent/log", "x")
end)

check.finish()
