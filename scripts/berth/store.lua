-- The store of processes that train together: keys with values, and queues of tasks. One process serves it
-- (`commands/store.lua`), all others are its clients. What it promises is in plugins/store/server.h.
--
--   local kept = store.connect { address = "127.0.0.1", port = 29500, name = "rank 3" }
--   kept:set("weights", bytes, 17)
--   local bytes, number = kept:get("weights", { at_least = 18, wait_s = 1 })
--
-- Values are texts of any bytes. A client whose store is gone tries to reach it again for `lost_s`, and goes
-- on as if nothing had happened; what it had asked for may then have been done twice.

local ffi = require "ffi"
local berth = require "berth"
local processes = require "berth.processes"

local INTERFACE = 1
ffi.cdef [[
typedef struct berth_store_server berth_store_server;
typedef struct berth_store_client berth_store_client;
typedef struct { int32_t status; int64_t number; const char* key; int64_t key_bytes; const char* value;
  int64_t value_bytes; } berth_store_reply;
int berth_store_interface(void);
const char* berth_store_error(void);
berth_store_server* berth_store_listen(const char* address, int port, const char* secret,
                                       const char* journal, double most_bytes, double most_stored,
                                       int grace_ms);
int berth_store_port(berth_store_server* server);
int berth_store_serve(berth_store_server* server, int ms);
void berth_store_stop(berth_store_server* server);
int berth_store_connect(const char* address, int port, const char* secret, int timeout_ms,
                        berth_store_client** out);
int berth_store_request(berth_store_client* client, int operation, const char* key, int64_t key_bytes,
                        const char* value, int64_t value_bytes, int64_t number, int wait_ms,
                        int timeout_ms, berth_store_reply* reply);
void berth_store_close(berth_store_client* client);
]]

local C
local function library()
  if C then return C end
  local fine, file = pcall(berth.module_file, "store")
  if not fine then
    error("this berth was built without what training by many processes needs; install libssl-dev and build it "
      .. "again", 0)
  end
  C = ffi.load(file)
  if C.berth_store_interface() ~= INTERFACE then
    error("berth.store: module_store.so and scripts/berth/store.lua are of two versions of Berth; build or "
      .. "install both together", 0)
  end
  return C
end

-- Of plugins/store/protocol.h.
local HELLO, SET, GET, ADD, COMPARE_SET, ERASE, SUBMIT, TAKE, DONE, RESULT, MEMBERS, BYE =
  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12
local OK, LATE, ABSENT, DIFFERENT, LOST, FAILED = 0, 1, 2, 3, 4, 5
local UNREACHABLE = 1
-- The server waits no longer in one request.
local LONGEST_WAIT_S = 60

local store = {}
local Store = {}
Store.__index = Store

local DEFAULTS = {
  address = "127.0.0.1", port = true,
  secret = "",     -- the same for all; see BERTH_SECRET
  name = "",       -- of this member, unique; empty = none
  timeout_s = 10,  -- for an answer that does not have to be waited for
  join_s = 30,     -- for the first connection
  lost_s = 30,     -- for the next ones
}

local function message() return ffi.string(C.berth_store_error()) end

-- This process as others tell it from one before it.
local function identity()
  local pid = processes.own_id()
  return ("%s:%d:%s"):format(processes.host(), pid, processes.began(pid) or "0")
end

-- A connection, or nothing and why; an error where it is refused.
local function open(options)
  local out = ffi.new "berth_store_client*[1]"
  local code = library().berth_store_connect(options.address, options.port, options.secret,
    math.min(options.timeout_s, options.join_s) * 1000, out)
  if code == 0 then return out[0] end
  if code ~= UNREACHABLE then error("store: " .. message(), 0) end
  return nil, message()
end

local reply = nil

local function raw_request(client, options, operation, key, value, number, wait_s)
  reply = reply or ffi.new "berth_store_reply"
  local code = C.berth_store_request(client, operation, key, #key, value, #value, number, wait_s * 1000,
    options.timeout_s * 1000, reply)
  if code ~= 0 then return nil, message() end
  if reply.status == FAILED then error("store: " .. ffi.string(reply.value, reply.value_bytes), 0) end
  return reply.status
end

local function value_of() return ffi.string(reply.value, reply.value_bytes) end

-- Says who this is; nothing and why where the connection or the name is not to be had.
local function greet(client, self)
  if self.options.name == "" then return true end
  local status, why = raw_request(client, self.options, HELLO, self.options.name, self.identity, 0, 0)
  if status == OK then return true end
  return nil, why or ("'%s' is already %s; two processes were given the same rank: look at RANK or SLURM_PROCID, "
    .. "and whether an older run is still there"):format(self.options.name, value_of())
end

-- Tries for so long, more rarely with time.
function Store:reach(seconds)
  local until_s, pause_s, why = berth.clock() + seconds, 0.02, nil
  repeat
    local client, fine
    client, why = open(self.options)
    if client then
      fine, why = greet(client, self)
      if fine then
        self.client = client
        return
      end
      C.berth_store_close(client)
    end
    if berth.should_stop() then break end
    processes.sleep(pause_s)
    pause_s = math.min(0.5, pause_s * 1.5)
  until berth.clock() > until_s
  error(("store: %s (tried for %g s)"):format(why, seconds), 0)
end

-- Connects.
--   ARGS    given  table of DEFAULTS
--   RETURN  a client, with the functions below
function store.connect(given)
  local options = {}
  for name, default in pairs(DEFAULTS) do options[name] = default end
  for name, value in pairs(given) do
    if DEFAULTS[name] == nil then error(("store.connect: unknown option '%s'"):format(tostring(name)), 2) end
    options[name] = value
  end
  local self = setmetatable({ options = options, identity = identity(), restarts = 0 }, Store)
  -- At the end of the state C's objects are finalised before others, so that a pointer would be of no use to
  -- whoever says goodbye then.
  self.guard = newproxy(true)
  getmetatable(self.guard).__gc = function() self:close() end
  self:reach(options.join_s)
  return self
end

function Store:request(operation, key, value, number, wait_s)
  while true do
    if self.client then
      local status, why = raw_request(self.client, self.options, operation, key, value, number,
        math.min(wait_s, LONGEST_WAIT_S))
      if status then return status end
      C.berth_store_close(self.client)
      self.client, self.why = nil, why
    end
    self:reach(self.options.lost_s)
    self.restarts = self.restarts + 1
  end
end

-- ARGS    number  kept with the value, for `get` to wait for
function Store:set(key, value, number) self:request(SET, key, value, number or 0, 0) end

-- The value of a key and its number; nil where there is none.
--   ARGS    options  wait_s (default 0), at_least (the number to wait for, default any)
function Store:get(key, options)
  local status = self:request(GET, key, "", options and options.at_least or -2 ^ 53,
    options and options.wait_s or 0)
  if status ~= OK then return nil end
  return value_of(), tonumber(reply.number)
end

-- Adds to the number of a key, which is 0 where it is not there.
--   RETURN  the sum
function Store:add(key, number)
  self:request(ADD, key, "", number or 1, 0)
  return tonumber(reply.number)
end

-- Sets a key that holds `expected` (nil: that is not there).
--   RETURN  true; or false and what it holds, nil where it is not there
function Store:compare_set(key, expected, value)
  local status = self:request(COMPARE_SET, key, (expected or "") .. value, expected and #expected or -1, 0)
  if status == OK then return true end
  return false, status == DIFFERENT and value_of() or nil
end

-- Removes all keys that begin with `prefix`.
--   RETURN  how many
function Store:erase(prefix)
  self:request(ERASE, prefix, "", 0, 0)
  return tonumber(reply.number)
end

-- Gives a task to a queue; one that is there already is left alone.
--   ARGS    takers  how many may take it, one after another, before it is lost; default 3
function Store:submit(queue, id, payload, takers) self:request(SUBMIT, queue .. "\n" .. id, payload, takers or 3, 0) end

-- The next task of a queue; nil where there is none within `wait_s`.
--   ARGS    lease_s  after which somebody else gets it
--   RETURN  id, payload, how many have taken it by now
function Store:take(queue, lease_s, wait_s)
  if self:request(TAKE, queue, "", math.ceil(lease_s * 1000), wait_s or 0) ~= OK then return nil end
  return ffi.string(reply.key, reply.key_bytes), value_of(), tonumber(reply.number)
end

-- Gives the result of a task.
--   RETURN  false where somebody else's came first
function Store:done(queue, id, result)
  self:request(DONE, queue .. "\n" .. id, result, 0, 0)
  return reply.number == 1
end

-- The result of a task, which is then forgotten.
--   RETURN  the result; or nil and "late" (not within wait_s), "absent" (no such task: the store was
--           restarted) or "lost", and who took it
function Store:result(queue, id, wait_s)
  local status = self:request(RESULT, queue .. "\n" .. id, "", 0, wait_s or 0)
  if status == OK then return value_of() end
  if status == LOST then return nil, "lost", value_of() end
  return nil, status == ABSENT and "absent" or "late"
end

-- Who is there, and what waits.
--   RETURN  table by name of { name, identity, state ("here", "left", "lost"), heard_s (ago), done, lost (tasks
--           that it took and did not do), times_lost }; table by queue of { waiting, taken, done }
function Store:members()
  self:request(MEMBERS, "", "", 0, 0)
  local members, queues = {}, {}
  for line in value_of():gmatch "[^\n]+" do
    local fields = {}
    for field in (line .. "\t"):gmatch "([^\t]*)\t" do fields[#fields + 1] = field end
    if fields[1] == "member" then
      members[fields[2]] = { name = fields[2], identity = fields[3], state = fields[4],
        heard_s = tonumber(fields[5]) / 1000, done = tonumber(fields[6]), lost = tonumber(fields[7]),
        times_lost = tonumber(fields[8]) }
    else
      queues[fields[2]] = { waiting = tonumber(fields[3]), taken = tonumber(fields[4]),
        done = tonumber(fields[5]) }
    end
  end
  return members, queues
end

-- Leaves, and is not lost.
function Store:close()
  if not self.client then return end
  pcall(raw_request, self.client, self.options, BYE, "", "", 0, 0)
  C.berth_store_close(self.client)
  self.client = nil
end

-- Listens as a store.
--   ARGS    options  address, port (0: one that is free), secret, journal (file; "" = none), most_bytes (of a
--                    request), most_stored (of all), grace_s (for tasks of clients that are gone)
--   RETURN  table: port, serve(seconds), stop()
function store.listen(options)
  local server = library().berth_store_listen(options.address or "127.0.0.1", options.port or 0,
    options.secret or "", options.journal or "", options.most_bytes or 2 ^ 28, options.most_stored or 2 ^ 33,
    (options.grace_s or 60) * 1000)
  if server == nil then error(message(), 0) end
  local self = { port = C.berth_store_port(server), guard = newproxy(true) }
  function self.serve(seconds)
    if C.berth_store_serve(server, seconds * 1000) ~= 0 then error(message(), 0) end
  end
  function self.stop()
    if server then C.berth_store_stop(server) end
    server = nil
  end
  getmetatable(self.guard).__gc = self.stop
  return self
end

return store
