-- `berth run --workers N SCRIPT ARGS`: a script in N + 1 processes of this machine, which train together.
--   launch.lua N THREADS OUTPUT SCRIPT ARGS...
-- OUTPUT is the descriptor that rank 0 prints on.
-- It keeps them and their store alive until rank 0 has ended: who was killed is started again, who failed by
-- itself ends all.

local berth = require "berth"
local processes = require "berth.processes"
local redis = require "berth.redis"
local store = require "berth.store"
local workers = require "berth.workers"

local count, threads, output, script = tonumber((...)), select(2, ...)
local script_arguments = { select(5, ...) }

local folder = processes.temporary_folder "berth-workers-"
-- A server that is there, where this training is one of many; or one for it alone.
local url, job = os.getenv "BERTH_STORE", os.getenv "BERTH_JOB" or processes.random_text(8)
local server = not url and workers.start_store { folder = folder } or nil

-- A process that is killed this often right after its start would be killed for ever.
local SOON_S, SOON_MOST = 2, 5
-- For the others to end after rank 0 has.
local END_S = 5

local running, by_rank = {}, {}

local function output_of(rank) return ("%s/rank-%d.log"):format(folder, rank) end

local function start(rank)
  local command = { processes.program(), "run", "--threads", threads, script }
  for _, text in ipairs(script_arguments) do command[#command + 1] = text end
  local each = by_rank[rank] or { rank = rank, soon = 0 }
  each.began_s = berth.clock()
  each.pid = processes.start(command, {
    output = rank > 0 and output_of(rank) or nil, print_on = tonumber(output), environment = {
    BERTH_RANK = tostring(rank), BERTH_SIZE = tostring(count + 1), BERTH_STORE = url or "unix://" .. server.server.path,
    BERTH_JOB = job, BERTH_PARENT = tostring(processes.own_id()),
    OMP_NUM_THREADS = os.getenv "OMP_NUM_THREADS" or threads } })
  running[each.pid], by_rank[rank] = each, each
end

local failure
local function fail(text) failure = failure or text end

local function say_signal(each, code, what)
  io.stderr:write(("workers: rank %d (process %d) was ended by signal %d and %s\n"):format(each.rank, each.pid, code,
    what))
end

-- A process that has ended, by itself or not.
local function conclude(each, how, code)
  running[each.pid] = nil
  each.ended = true
  if how == "signal" then
    each.soon = berth.clock() - each.began_s < SOON_S and each.soon + 1 or 0
    if each.soon >= SOON_MOST then
      return fail(("rank %d was ended by signal %d %d times, each time within %d s"):format(each.rank, code,
        SOON_MOST, SOON_S))
    end
    say_signal(each, code, "is started again")
    each.ended = false
    return start(each.rank)
  end
  if code ~= 0 then
    fail(("rank %d ended with status %d%s"):format(each.rank, code, each.rank == 0 and ""
      or ": " .. processes.reason(output_of(each.rank))))
  end
end

local function collect()
  for pid, each in pairs(running) do
    local how, code = processes.ended(pid)
    if how then
      conclude(each, how, code)
      return true
    end
  end
  return false
end

for rank = 0, count do start(rank) end
local interrupted = false
while not failure and not by_rank[0].ended do
  local fine, message = pcall(function() if server then server:check() end end)
  if not fine then fail(message) end
  if berth.should_stop() and not interrupted then
    interrupted = true
    for pid in pairs(running) do processes.interrupt(pid) end
  end
  if not collect() then processes.sleep(0.02) end
end

-- The others have the result, or an error, and end.
local until_s = berth.clock() + (failure and 2 or END_S)
while next(running) and berth.clock() < until_s do
  for pid, each in pairs(running) do
    local how, code = processes.ended(pid)
    if how then
      running[pid] = nil
      -- Rank 0 can have ended before its death was seen: the others have measured what it lost.
      if how == "signal" and not failure then say_signal(each, code, "is not needed any more") end
    end
  end
  processes.sleep(0.02)
end
for pid in pairs(running) do
  processes.kill(pid)
  while not processes.ended(pid) do processes.sleep(0.01) end
end
if server then
  server:stop()
elseif not failure or not os.getenv "BERTH_JOB" then
  store.connect({ server = redis.server(url), job = job }):forget()
end
if failure then error(("%s; what each process printed is in %s"):format(failure, folder), 0) end
for rank = 1, count do os.remove(output_of(rank)) end
processes.remove_folder(folder)
