-- The server that the processes of a training meet at, which berth.workers starts:
--   store.lua FOLDER PROGRAM PARENT
-- It ends with its parent. The program is called redis-server whatever its file: Debian's redis-tools has it as
-- redis-check-rdb, which does what its name says.

local processes = require "berth.processes"
local workers = require "berth.workers"

local folder, program, parent = ...

if not processes.end_with(tonumber(parent)) then error("the process that the store is for has ended", 0) end
if not processes.lock(folder .. "/lock") then error(workers.taken(folder), 0) end
os.remove(folder .. "/store.log")  -- of a server before, whose errors are not this one's
processes.become(program, { "redis-server", folder .. "/redis.conf" })
