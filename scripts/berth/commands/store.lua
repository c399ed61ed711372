-- A store in a process of its own, which berth.workers starts:
--   store.lua ADDRESS PORT JOURNAL PORT_FILE PARENT
-- It writes its port into PORT_FILE, serves until it is interrupted, and ends with its parent.

local berth = require "berth"
local processes = require "berth.processes"
local store = require "berth.store"

local address, port, journal, port_file, parent = ...

if not processes.end_with(tonumber(parent)) then error("the process that the store is for has ended", 0) end
local server = store.listen { address = address, port = tonumber(port), journal = journal,
  secret = os.getenv "BERTH_SECRET" or "" }
local file = assert(io.open(port_file .. ".next", "w"))
file:write(server.port)
file:close()
assert(os.rename(port_file .. ".next", port_file))
while not berth.should_stop() do server.serve(0.1) end
server.stop()
