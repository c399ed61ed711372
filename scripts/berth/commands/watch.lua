-- `berth watch URL`: the trainings whose processes meet in a server.
--   watch.lua URL again|once
-- Shows the members, the waiting tasks, and how far the one who learns has come; again each second until none is left.

local berth = require "berth"
local processes = require "berth.processes"
local redis = require "berth.redis"
local store = require "berth.store"
local tables = require "berth.tables"

local url, how = ...
local server = redis.server(url)
local client, why = redis.connect(server, { name = "berth:watch", timeout_s = 10 })
if not client then error("store: " .. why, 0) end

-- Names of the trainings.
local function trainings()
  local found, names, cursor = {}, {}, "0"
  repeat
    local replies, lost = client:exchange({ { "SCAN", cursor, "MATCH", "berth:*:members", "COUNT", 1000 } }, 10)
    if not replies then error("store: " .. lost, 0) end
    cursor = replies[1][1]
    for _, key in ipairs(replies[1][2]) do found[key:match "^berth:(.*):members$"] = true end
  until cursor == "0"
  for name in pairs(found) do names[#names + 1] = name end
  table.sort(names)
  return names
end

-- Texts of others are shown, and do nothing to a terminal.
local function printable(text) return (text:gsub("%c", "?")) end

local kept = {}
local function shown(name)
  kept[name] = kept[name] or store.connect { server = server, job = name, lost_s = 10 }
  local members, queues = kept[name]:members()
  local rows, lines = {}, { ("training %s: %s"):format(name, printable(kept[name]:get "status" or "has not begun")) }
  for _, member in pairs(members) do
    rows[#rows + 1] = { name = printable(member.name), who = printable(member.identity), state = member.state,
      done = member.done, lost = member.lost, times = member.times_lost }
  end
  table.sort(rows, function(a, b)
    local x, y = tonumber(a.name:match "%d+$") or -1, tonumber(b.name:match "%d+$") or -1
    if x ~= y then return x < y end
    return a.name < b.name
  end)
  local names = {}
  for queue in pairs(queues) do names[#names + 1] = queue end
  table.sort(names)
  for _, queue in ipairs(names) do
    lines[#lines + 1] = ("queue %s: %d wait, %d are being done"):format(printable(queue), queues[queue].waiting,
      queues[queue].taken)
  end
  return table.concat(lines, "\n") .. "\n" .. tables.text(rows, { { key = "name", title = "process" },
    { key = "who", title = "host, process and its start" }, { key = "state" }, { key = "done", title = "tasks done" },
    { key = "lost", title = "tasks lost" }, { key = "times", title = "times lost" } })
end

local lines = 0
repeat
  local names, texts = trainings(), {}
  for i, name in ipairs(names) do texts[i] = shown(name) end
  local text = #names > 0 and table.concat(texts, "\n") or "no training is in this server\n"
  if lines > 0 then io.write(("\27[%dF\27[J"):format(lines)) end
  io.write(text)
  io.stdout:flush()
  lines = select(2, text:gsub("\n", ""))
  for _ = 1, how == "again" and #names > 0 and 10 or 0 do
    if not berth.should_stop() then processes.sleep(0.1) end
  end
until how ~= "again" or #names == 0 or berth.should_stop()
