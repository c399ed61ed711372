-- The store of processes that train together: keys with values, and queues of tasks, in a Redis or Valkey
-- (berth.redis). One training's keys begin with "berth:JOB:".
--
--   local kept = store.connect { server = redis.server "unix:///run/redis.sock", job = "7", name = "rank 3" }
--   kept:set("weights", bytes, 17)
--   local bytes, number = kept:get("weights", { at_least = 18, wait_s = 1 })
--
-- A queue is a stream with a consumer group. A task belongs to its taker until the lease ends or the taker is no
-- longer connected; then it is the queue's last. After so many takers it is lost. The first result counts.
--
-- Values are texts of any bytes. A client whose server is gone tries to reach it again for `lost_s`, and goes on as
-- if nothing had happened; what it had asked for may then have been done twice, where that changes nothing.

local berth = require "berth"
local known = require "berth.known"
local processes = require "berth.processes"
local redis = require "berth.redis"

-- A payload, and a result that nobody fetches, are kept so long.
local TASK_S, RESULT_S = 86400, 3600
-- A waiting process looks for lost workers every SWEEP_S, and all together not more often than this: for each member a
-- millisecond, since that reads all of them.
local SWEEP_S, SWEEP_MS = 0.5, 100
local GROUP = "workers"

local store = {}
local Store = {}
Store.__index = Store

local DEFAULTS = {
  server = true,   -- of redis.server
  job = "local",   -- what tells this training from others in the same server
  name = "",       -- of this member, unique; empty = none
  timeout_s = 10,  -- for an answer that does not have to be waited for
  join_s = 30,     -- for the first connection
  lost_s = 30,     -- for the next ones
}

-- Scripts, which happen at once or not at all. Payloads do not pass through them: that takes twice the time.

-- KEYS: stream, payload, result, counts; ARGV: entry, member, result, expiry.
local DONE = [[
redis.call('XACK', KEYS[1], 'workers', ARGV[1])
redis.call('XDEL', KEYS[1], ARGV[1])
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('RPUSH', KEYS[3], '=' .. ARGV[3])
redis.call('EXPIRE', KEYS[3], ARGV[4])
redis.call('HINCRBY', KEYS[4], 'done:' .. ARGV[2], 1)
return 1]]

-- Gives back what is overdue, and what each of some members holds.
-- KEYS: stream, members, counts; ARGV: what payloads and results begin with, lease, expiry, then for each member its
-- name and whether that counts as a try.
local GIVE_BACK = [[
local given = 0
local function give(entry, member, counts)
  local found = redis.call('XRANGE', KEYS[1], entry, entry)[1]
  redis.call('XACK', KEYS[1], 'workers', entry)
  if not found then return end
  redis.call('XDEL', KEYS[1], entry)
  local id, most, taken, by = found[2][2], tonumber(found[2][4]), tonumber(found[2][6]), found[2][8]
  if redis.call('EXISTS', ARGV[1] .. id) == 0 then return end
  if counts then
    taken = taken + 1
    local known = redis.call('HGET', KEYS[2], member)
    if by ~= '' then by = by .. ', ' end
    by = by .. member .. (known and ' (' .. string.match(known, '^[^\t]*') .. ')' or '')
    redis.call('HINCRBY', KEYS[3], 'lost:' .. member, 1)
  end
  given = given + 1
  if taken < most then
    redis.call('XADD', KEYS[1], '*', 'id', id, 'most', most, 'taken', taken, 'by', by)
    return
  end
  redis.call('DEL', ARGV[1] .. id)
  redis.call('RPUSH', ARGV[2] .. id, '!' .. by)
  redis.call('EXPIRE', ARGV[2] .. id, ARGV[4])
end
for _, each in ipairs(redis.call('XPENDING', KEYS[1], 'workers', 'IDLE', ARGV[3], '-', '+', 1000)) do
  give(each[1], each[2], true)
end
for i = 5, #ARGV, 2 do
  for _, each in ipairs(redis.call('XPENDING', KEYS[1], 'workers', '-', '+', 1000, ARGV[i])) do
    give(each[1], ARGV[i], ARGV[i + 1] == '1')
  end
end
return given]]

-- Members are a hash of "identity\tconnection\tstart of the server\there or left\ttimes lost". One is set where it
-- is what it was read as.
-- KEYS: members; ARGV: name, as read, new.
local JOIN = [[
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1]]

local function member_of(text)
  local identity, connection, run, state, times_lost = text:match "^(.-)\t(.-)\t(.-)\t(.-)\t(.-)$"
  return { identity = identity, connection = connection, run = run, state = state, times_lost = tonumber(times_lost) }
end

local function text_of(member)
  return table.concat({ member.identity, member.connection, member.run, member.state, member.times_lost }, "\t")
end

-- This process as others tell it from one before it.
local function identity()
  local pid = processes.own_id()
  return ("%s:%d:%s"):format(processes.host(), pid, processes.began(pid) or "0")
end

-- A name as it may stand in keys, patterns and lists of clients.
local function plain(text) return (text:gsub("[^%w._-]", "-")) end
store.plain = plain

-- Connecting ------------------------------------------------------------------------------------------

-- Says who this is; nothing and why where the name is another's, who is there.
local function join(self, client)
  local options, timeout_s = self.options, self.options.timeout_s
  if options.name == "" then return true end
  local members = self.prefix .. "members"
  while true do
    local replies, why = client:exchange({ { "HGET", members, options.name } }, timeout_s)
    if not replies then return nil, why end
    local before = replies[1]
    local member = before and member_of(before)
    local other = member and member.identity ~= self.identity
    -- One of an earlier start of the server ended with it, or will be told so.
    local lost = other and member.state == "here" and member.run == client.run
    if lost then
      replies, why = client:exchange({ { "CLIENT", "LIST", "ID", member.connection } }, timeout_s)
      if not replies then return nil, why end
      if replies[1]:find("name=" .. self.connection .. " ", 1, true) then
        return nil, ("'%s' is already %s; two processes were given the same rank: look at RANK or SLURM_PROCID, "
          .. "and whether an older run is still there"):format(options.name, member.identity)
      end
    end
    local new = text_of { identity = self.identity, connection = client.id, run = client.run, state = "here",
      times_lost = (member and member.times_lost or 0) + (lost and 1 or 0) }
    replies, why = client:exchange({ { "EVAL", JOIN, 1, members, options.name, before or "", new },
      { "SMEMBERS", self.prefix .. "queues" } }, timeout_s)
    if not replies then return nil, why end
    if replies[1] == 1 then
      local commands = {}
      for i, queue in ipairs(other and replies[2] or {}) do
        commands[i] = self:giving_back(queue, 2 ^ 40, { { options.name, lost } })
      end
      if #commands == 0 then return true end
      return client:exchange(commands, timeout_s)
    end
  end
end

-- Tries for so long, more rarely with time.
function Store:reach(seconds)
  local until_s, pause_s, why = berth.clock() + seconds, 0.02, nil
  repeat
    local client, fine
    client, why = redis.connect(self.options.server, { name = self.connection,
      timeout_s = math.min(self.options.timeout_s, math.max(2, until_s - berth.clock())) })
    if client then
      fine, why = join(self, client)
      if fine then
        self.client = client
        -- Tasks given to this connection's forerunner may be on their way no more.
        self.cursors = {}
        return
      end
      client:close()
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
  local options = known.over("store.connect", given, DEFAULTS)
  local self = setmetatable({ options = options, identity = identity(), restarts = 0, later = {}, cursors = {},
    held = {}, sweep_ms = SWEEP_MS }, Store)
  self.prefix = ("berth:%s:"):format(plain(options.job))
  self.member = options.name ~= "" and options.name or self.identity
  self.connection = self.prefix .. plain(self.member)
  -- At the end of the state C's objects are finalised before others, so that a pointer would be of no use to
  -- whoever says goodbye then.
  self.guard = newproxy(true)
  getmetatable(self.guard).__gc = function() self:close() end
  self:reach(options.join_s)
  return self
end

-- The replies to commands, whatever connections break on the way.
--   ARGS    wait_s  that the server may take besides
--           again   function: what to send instead where it is not known whether that arrived, nil for nothing;
--                   optional
--           pattern of errors that are replies; optional
--   RETURN  array of replies; nil where `again` says so
function Store:request(commands, wait_s, again, pattern)
  while true do
    if self.client then
      local count = #self.later
      for _, command in ipairs(commands) do self.later[#self.later + 1] = command end
      local sent = self.later
      self.later = {}
      local replies = self.client:exchange(sent, (wait_s or 0) + self.options.timeout_s, pattern)
      if replies then
        local own = {}
        for i = count + 1, #sent do own[#own + 1] = replies[i] end
        return own
      end
      self.client:close()
      self.client = nil
      for i = 1, count do self.later[i] = sent[i] end
    end
    self:reach(self.options.lost_s)
    self.restarts = self.restarts + 1
    if again then
      commands, again = again(), nil
      if not commands then return nil end
    end
  end
end

-- Keys ------------------------------------------------------------------------------------------------

local function key_of(self, kind, name) return self.prefix .. kind .. name end

-- Sets a key. With a number, that others may wait for, it is another key than without, and numbers never fall.
function Store:set(key, value, number)
  if number then
    -- A stream of one entry, whose first half is the number and one more: that cannot be 0-0.
    self:request { { "XADD", key_of(self, "stream:", key), "MAXLEN", 1, ("%d-*"):format(number + 1), "v", value } }
  else
    self:request { { "SET", key_of(self, "key:", key), value } }
  end
end

-- The value of a key, and its number; nil where there is none.
--   ARGS    options  wait_s (default 0); at_least: of a key with numbers, the one to wait for
function Store:get(key, options)
  local wait_s = options and options.wait_s or 0
  if options and options.at_least then
    local command = { "XREAD", "COUNT", 1 }
    if wait_s > 0 then command[4], command[5] = "BLOCK", math.ceil(wait_s * 1000) end
    for _, part in ipairs { "STREAMS", key_of(self, "stream:", key), ("%d-18446744073709551615"):format(options.at_least) } do
      command[#command + 1] = part
    end
    local reply = self:request({ command }, wait_s)[1]
    if not reply then return nil end
    local entry = reply[1][2][1]
    return entry[2][2], tonumber(entry[1]:match "^%d+") - 1
  end
  local until_s, pause_s = berth.clock() + wait_s, 0.02
  while true do
    local value = self:request({ { "GET", key_of(self, "key:", key) } })[1]
    if value then return value end
    if berth.clock() >= until_s or berth.should_stop() then return nil end
    processes.sleep(pause_s)
    pause_s = math.min(0.5, pause_s * 1.5)
  end
end

-- Adds to a counter, which is a key that begins at 0.
--   RETURN  the sum
function Store:add(key, number) return self:request({ { "INCRBY", key_of(self, "key:", key), number or 1 } })[1] end

-- Sets a key that is not there.
--   RETURN  whether it was not, and this is its value now
function Store:claim(key, value)
  local before = self:request({ { "SET", key_of(self, "key:", key), value, "NX", "GET" } })[1]
  -- Its own where the reply to an earlier request did not arrive.
  return before == false or before == value
end

function Store:drop(key) self:request { { "UNLINK", key_of(self, "key:", key) } } end

-- Queues ----------------------------------------------------------------------------------------------

local function names(self, queue, id)
  return self.prefix .. "queue:" .. queue, ("%stask:%s:%s"):format(self.prefix, queue, id),
    ("%sresult:%s:%s"):format(self.prefix, queue, id)
end

-- Gives a task to a queue; one that is there already is left alone.
--   ARGS    takers  how many may take it, one after another, before it is lost; default 3
function Store:submit(queue, id, payload, takers)
  local stream, task, result = names(self, queue, id)
  local commands = { { "MULTI" }, { "SET", task, payload, "EX", TASK_S },
    { "XADD", stream, "*", "id", id, "most", takers or 3, "taken", 0, "by", "" }, { "EXEC" } }
  self:request(commands, 0, function()
    return self:request({ { "EXISTS", task, result } })[1] == 0 and commands or nil
  end)
end

function Store:giving_back(queue, lease_ms, members)
  local stream, task, result = names(self, queue, "")
  local command = { "EVAL", GIVE_BACK, 3, stream, self.prefix .. "members", self.prefix .. "counts", task, result,
    lease_ms, RESULT_S }
  for _, member in ipairs(members) do
    command[#command + 1], command[#command + 2] = member[1], member[2] and "1" or "0"
  end
  return command
end

-- Names of members that are connected.
local function connected(self, list)
  local here = {}
  for name in list:gmatch "name=(%S+)" do here[name] = true end
  return function(member) return here[self.prefix .. plain(member)] or false end
end

-- Gives back what lost members hold, and what is overdue.
--   RETURN  whether it was something
function Store:sweep(queue, lease_ms)
  local stream = names(self, queue, "")
  local replies = self:request { { "SET", self.prefix .. "sweep:" .. queue, 1, "NX", "PX", self.sweep_ms },
    { "XPENDING", stream, GROUP }, { "XPENDING", stream, GROUP, "IDLE", lease_ms, "-", "+", 1 } }
  if not replies[1] or replies[2][1] == 0 then return false end
  local overdue, holders, lost = #replies[3] > 0, replies[2][4], {}
  replies = self:request { { "CLIENT", "LIST" }, { "HGETALL", self.prefix .. "members" } }
  local is_here, runs, count = connected(self, replies[1]), {}, 0
  for i = 1, #replies[2], 2 do
    runs[replies[2][i]] = member_of(replies[2][i + 1]).run
    count = count + 1
  end
  self.sweep_ms = math.max(SWEEP_MS, count)
  for _, holder in ipairs(holders) do
    -- A process that has not come back since the server was started again may be busy.
    if not is_here(holder[1]) then lost[#lost + 1] = { holder[1], (runs[holder[1]] or self.client.run) == self.client.run } end
  end
  if not overdue and #lost == 0 then return false end
  return self:request({ self:giving_back(queue, lease_ms, lost) })[1] > 0
end

-- The next entry of a queue for this member, first of those that it was given and does not know of; whether it is
-- none of those.
local function next_entry(self, queue, wait_s)
  local stream = names(self, queue, "")
  if not self.cursors[queue] then
    -- The first time, and after every connection, whose server may have lost all.
    self:request({ { "XGROUP", "CREATE", stream, GROUP, "0", "MKSTREAM" },
      { "SADD", self.prefix .. "queues", queue } }, 0, nil, "^BUSYGROUP")
    self.cursors[queue] = "0"
  end
  local cursor = self.cursors[queue]
  local command = { "XREADGROUP", "GROUP", GROUP, self.member, "COUNT", 1 }
  if cursor == ">" and wait_s > 0 then command[7], command[8] = "BLOCK", math.ceil(wait_s * 1000) end
  for _, part in ipairs { "STREAMS", stream, cursor } do command[#command + 1] = part end
  -- Nothing where the connection is another one by now: one begins again.
  local replies = self:request({ command }, wait_s, function() return nil end, "^NOGROUP")
  local reply = replies and replies[1]
  if not replies or reply and reply.failed then
    self.cursors[queue] = nil
    return nil, false
  end
  local entry = reply and reply[1][2][1]
  if cursor == ">" then return entry, true end
  self.cursors[queue] = entry and entry[1] or ">"
  return entry, false
end

-- The next task of a queue; nil where there is none within `wait_s`.
--   ARGS    lease_s  after which somebody else gets it
--   RETURN  id, payload, how many have taken it by now
function Store:take(queue, lease_s, wait_s)
  local until_s = berth.clock() + (wait_s or 0)
  while true do
    local left_s = math.min(math.max(0, until_s - berth.clock()), SWEEP_S)
    local entry, new = next_entry(self, queue, left_s)
    local fields = entry and entry[2]
    local id = fields and fields[2]
    if not entry then
      if new and not self:sweep(queue, math.ceil(lease_s * 1000)) and berth.clock() >= until_s then return nil end
    elseif not id or self.held[queue .. "\n" .. id] ~= entry[1] then
      local stream, task = names(self, queue, id or "")
      local payload = id and self:request({ { "GET", task } })[1]
      if payload then
        self.held[queue .. "\n" .. id] = entry[1]
        return id, payload, tonumber(fields[6]) + 1
      end
      -- Somebody else has done it.
      self:request { { "XACK", stream, GROUP, entry[1] }, { "XDEL", stream, entry[1] } }
    end
  end
end

-- Gives the result of a task.
--   RETURN  false where somebody else's came first
function Store:done(queue, id, result)
  local stream, task, at = names(self, queue, id)
  local held = queue .. "\n" .. id
  local first = self:request({ { "EVAL", DONE, 4, stream, task, at, self.prefix .. "counts", self.held[held] or "0-1",
    self.member, result, RESULT_S } })[1] == 1
  self.held[held] = nil
  return first
end

-- The result of a task, which is then forgotten.
--   RETURN  the result; or nil and "late" (not within wait_s), "absent" (no such task: the server has lost it) or
--           "lost", and who took it
function Store:result(queue, id, wait_s)
  local _, task, at = names(self, queue, id)
  wait_s = wait_s or 0
  -- Moved to where it is, so that none is lost where a connection breaks.
  local command = wait_s > 0 and { "BLMOVE", at, at, "LEFT", "LEFT", wait_s } or { "LINDEX", at, 0 }
  local replies = self:request({ command, { "EXISTS", task, at } }, wait_s)
  local result = replies[1]
  if not result then return nil, replies[2] == 0 and "absent" or "late" end
  self.later[#self.later + 1] = { "DEL", at }
  if result:sub(1, 1) == "=" then return result:sub(2) end
  return nil, "lost", result:sub(2)
end

-- Members ---------------------------------------------------------------------------------------------

-- The members and the waiting tasks.
--   RETURN  table by name of { name, identity, state ("here", "left", "lost"), done, lost (tasks that it took and did
--           not do), times_lost }; table by queue of { waiting, taken }
function Store:members()
  local replies = self:request { { "HGETALL", self.prefix .. "members" }, { "HGETALL", self.prefix .. "counts" },
    { "CLIENT", "LIST" }, { "SMEMBERS", self.prefix .. "queues" } }
  local is_here, counts, members, queues = connected(self, replies[3]), {}, {}, {}
  for i = 1, #replies[2], 2 do counts[replies[2][i]] = tonumber(replies[2][i + 1]) end
  for i = 1, #replies[1], 2 do
    local name, member = replies[1][i], member_of(replies[1][i + 1])
    if member.state == "here" and not is_here(name) then
      member.state, member.times_lost = "lost", member.times_lost + 1
    end
    members[name] = { name = name, identity = member.identity, state = member.state, times_lost = member.times_lost,
      done = counts["done:" .. name] or 0, lost = counts["lost:" .. name] or 0 }
  end
  for _, queue in ipairs(replies[4]) do
    local stream = names(self, queue, "")
    local found = self:request { { "XLEN", stream }, { "XPENDING", stream, GROUP } }
    queues[queue] = { waiting = found[1] - found[2][1], taken = found[2][1] }
  end
  return members, queues
end

-- Whether a member is connected, also where the server has lost all since.
function Store:is_here(name)
  local text = self:request({ { "HGET", self.prefix .. "members", name } })[1]
  local member = text and member_of(text)
  local list = { "CLIENT", "LIST" }
  -- All connections are read where the one is not known.
  if member and member.run == self.client.run then list = { "CLIENT", "LIST", "ID", member.connection } end
  return connected(self, self:request({ list })[1])(name)
end

-- Removes all that this training has in the server.
function Store:forget()
  local cursor = "0"
  repeat
    local found = self:request({ { "SCAN", cursor, "MATCH", self.prefix .. "*", "COUNT", 1000 } })[1]
    cursor = found[1]
    if #found[2] > 0 then self:request { { "UNLINK", unpack(found[2]) } } end
  until cursor == "0"
end

-- Leaves, and is not lost.
function Store:close()
  local client = self.client
  if not client then return end
  self.client = nil
  if self.options.name ~= "" then
    pcall(function()
      local members = self.prefix .. "members"
      local commands = self.later
      commands[#commands + 1] = { "HGET", members, self.options.name }
      local replies = client:exchange(commands, self.options.timeout_s)
      local before = replies and replies[#replies]
      local member = before and member_of(before)
      if member and member.identity == self.identity then
        member.state = "left"
        client:exchange({ { "EVAL", JOIN, 1, members, self.options.name, before, text_of(member) } },
          self.options.timeout_s)
      end
    end)
  end
  client:close()
end

return store
