-- Training by many processes, on one machine or on many: who this process is, and the store they meet at.
--
-- The first one (rank 0) learns. Of the others some sample episodes and send gradients, or what they saw ("controllers"), the
-- rest measure placements for them ("workers"); with no workers every controller measures its own samples, and
-- is what the literature calls an actor. The form is that of Mirhoseini et al., ICML 2017, section on
-- distributed training; a script asks for it by train.episodes { workers = { .. } }.
--
-- Ranks come from torchrun's environment, else from Slurm's, else from `berth run --workers N`. A process that
-- has none of them trains alone. A placement is found in the same way by workers.place.

local berth = require "berth"
local files = require "berth.files"
local known = require "berth.known"
local notes = require "berth.notes"
local processes = require "berth.processes"
local redis = require "berth.redis"
local store = require "berth.store"

local workers = {}

workers.DEFAULTS = {
  controllers = 0,         -- how many processes sample and learn; 0 = all but the first, and nobody else measures
  mode = "asynchronous",   -- a gradient changes the weights when it comes (as published), or "synchronous":
                           -- the mean of one gradient from each controller does
  staleness = 0,           -- asynchronous: a gradient is dropped whose weights are more updates old; 0 = four
                           -- times the number of controllers
  takers = 3,              -- how many workers may lose a placement before it is an error
  -- Seconds
  lease_s = 300,           -- for one measurement; then another worker is asked too
  join_s = 60,             -- for the first connection
  lost_s = 30,             -- for one that was lost, and for a controller that does not answer in synchronous mode; rank 0
                           -- may be gone for the longer one of both
  keep_s = 5,              -- between the states that the one who learns keeps in the store
  -- Machines that measure
  calibrate = true,        -- compares machines by measuring one placement first, where evaluators measure
  slow = 3,                -- what is called slow: so many times the median machine
}

local RANGES = {
  controllers = { 0, 2 ^ 20, whole = true }, staleness = { 0, math.huge }, takers = { 1, 1000, whole = true },
  lease_s = { 0.01, 1e9 }, join_s = { 0, 1e9 }, lost_s = { 0, 1e9 }, keep_s = { 0, 1e9 },
  slow = { 1, math.huge },
}

-- ARGS    given  table of DEFAULTS
-- RETURN  the options; an error of level `level` for what is none
function workers.read_options(given, level)
  local options = known.over("train: workers", given, workers.DEFAULTS, level + 2)
  for name, range in pairs(RANGES) do
    local value = options[name]
    if type(value) ~= "number" or not (value >= range[1] and value <= range[2])
      or range.whole and value % 1 ~= 0 then
      error(("train: workers: option '%s' is %s; give a %snumber from %g to %g"):format(name, tostring(value),
        range.whole and "whole " or "", range[1], range[2]), level + 1)
    end
  end
  if options.mode ~= "asynchronous" and options.mode ~= "synchronous" then
    error(("train: workers: option 'mode' is %s; give \"asynchronous\" or \"synchronous\""):format(
      tostring(options.mode)), level + 1)
  end
  if type(options.calibrate) ~= "boolean" then
    error("train: workers: option 'calibrate' is no boolean", level + 1)
  end
  return options
end

-- This process -------------------------------------------------------------------------------

-- "node[003-005,7],x" -> "node003"
local function first_host(list)
  local name, rest = list:match "^([^%[,]*)%[?(.*)$"
  return name .. (rest:match "^%d+" or "")
end

local function reader(get, what)
  return function(name, least)
    local text = get(name)
    local value = tonumber(text)
    if not value or value % 1 ~= 0 or value < least then
      error(("workers: %s says %s=%s; a whole number from %d on is expected"):format(what, name,
        tostring(text), least), 0)
    end
    return value
  end
end

-- Whether an address is that of the machine itself, which no other reaches.
local function is_loopback(address)
  return address ~= nil and (address == "localhost" or address == "::1" or address:find "^127%.[%d.]+$" ~= nil)
end

-- Reads the environment's variables.
--   ARGS    get     function(name): a variable; default os.getenv
--   RETURN  nil where it says nothing; or { by ("berth", "torchrun", "slurm"), rank, size, id (of the job), local_rank,
--           node; url (of a server that is there), or address and port (of the one that rank 0 starts) and alone
--           (whether all processes are on one machine, and it is reached from there only) }
function workers.environment(get)
  get = get or os.getenv
  local function port(otherwise)
    local text = get "BERTH_STORE_PORT"
    if not text then return otherwise end
    local value = tonumber(text)
    if not value or value % 1 ~= 0 or value < 1 or value > 65535 then
      error(("workers: BERTH_STORE_PORT=%s is no port"):format(text), 0)
    end
    return value
  end
  local function place(by, names, id, default_port, others)
    local read = reader(get, by == "berth" and "berth run --workers" or by)
    local rank, size = read(names.rank, 0), read(names.size, 1)
    if rank >= size then
      error(("workers: rank %d of %d processes; ranks count from 0"):format(rank, size), 0)
    end
    local found = { by = by, rank = rank, size = size, id = get "BERTH_JOB" or id, url = get "BERTH_STORE",
      local_rank = tonumber(get(names.local_rank)), node = tonumber(names.node and get(names.node) or 0) }
    if found.url then return found end
    -- The processes of one machine need no address that others can reach.
    local named = get "BERTH_STORE_ADDRESS"
    found.alone = not named and not others
    found.address, found.port = named or others or "127.0.0.1", port(default_port)
    return found
  end
  if get "BERTH_RANK" then
    local found = place("berth", { rank = "BERTH_RANK", size = "BERTH_SIZE", local_rank = "BERTH_RANK" }, "local", 0)
    found.parent = reader(get, "berth run --workers")("BERTH_PARENT", 1)
    return found
  end
  if get "RANK" and get "WORLD_SIZE" then
    local master_address = get "MASTER_ADDR"
    local alone = tonumber(get "LOCAL_WORLD_SIZE") == tonumber(get "WORLD_SIZE") or is_loopback(master_address)
    if not alone and not master_address and not get "BERTH_STORE" then
      error("workers: RANK is set and MASTER_ADDR is not; start all processes by torchrun, or set both", 0)
    end
    -- The next port: torchrun's own store has the one that it names.
    local master = get "MASTER_PORT" and reader(get, "torchrun")("MASTER_PORT", 1) or 29500
    return place("torchrun", { rank = "RANK", size = "WORLD_SIZE", local_rank = "LOCAL_RANK", node = "GROUP_RANK" },
      get "TORCHELASTIC_RUN_ID" or "none", master < 65535 and master + 1 or master - 1,
      not alone and master_address)
  end
  if get "SLURM_PROCID" and get "SLURM_NTASKS" then
    local list = get "SLURM_STEP_NODELIST" or get "SLURM_NODELIST" or get "SLURM_JOB_NODELIST"
    if not list and not get "BERTH_STORE" then
      error("workers: SLURM_PROCID is set and SLURM_NODELIST is not; start it by srun", 0)
    end
    local job = tonumber(get "SLURM_JOB_ID") or 0
    return place("slurm", { rank = "SLURM_PROCID", size = "SLURM_NTASKS", local_rank = "SLURM_LOCALID",
      node = "SLURM_NODEID" }, tostring(job), 20000 + (job * 7 + (tonumber(get "SLURM_STEP_ID") or 0)) % 12000,
      list and list:find "[,%[]" and first_host(list))
  end
  return nil
end

-- The server ----------------------------------------------------------------------------------------

-- Requests of a process of a training to the server.
workers.COMMANDS = "+hello +auth +info +client|list +client|setname +multi +exec +eval +exists +get +set +incrby "
  .. "+del +unlink +expire +scan +sadd +smembers +hget +hset +hgetall +hincrby +xadd +xread +xreadgroup "
  .. "+xgroup|create +xack +xdel +xrange +xpending +xlen +rpush +blmove +lindex"

-- A text as the server's configuration reads it.
local function quoted(text)
  return '"' .. text:gsub("[^%w/._-]", function(c) return ("\\x%02x"):format(c:byte()) end) .. '"'
end

-- The server's own files, of which rm may remove all.
local SERVER_FILES = { "appendonlydir", "redis.sock", "redis.conf", "certificate.pem", "key.pem", "secret", "lock",
  "store.log" }

-- The program that is started; nil where none is installed.
function workers.server_program()
  return processes.find_program { "redis-server", "valkey-server", "redis-check-rdb", "valkey-check-rdb" }
end

-- Two servers would write one journal.
function workers.taken(folder)
  return ("another store has the folder %s; set BERTH_STORE_FOLDER to another for each training, or BERTH_JOB"):format(
    folder)
end

local Server = {}
Server.__index = Server

-- Starts a server in a process of its own, which is this one's to keep alive.
--   ARGS    options  folder (of its files); address, port, secret and job: with them it is reached there, by TLS and
--                    the secret; without them through a Unix socket in that folder
--   RETURN  table: server (of berth.redis), pid, check(), stop(); an error with the server's own where it cannot
--           listen
function workers.start_store(options)
  local self = setmetatable({ folder = options.folder, restarts = 0 }, Server)
  processes.make_private_folder(self.folder)
  if processes.is_locked(self.folder .. "/lock") then error(workers.taken(self.folder), 0) end
  self.program = workers.server_program()
  if not self.program then
    error("training by many processes needs a server of Redis 7 or Valkey, and none is installed; install redis-tools "
      .. "(Debian), or name one that runs in BERTH_STORE", 0)
  end
  -- A server that syncs its journal each second answers while that lasts, and writes what it answered only then: a kill
  -- would lose it. The system syncs it; what a machine loses that loses power is lost with rank 0 there.
  local lines = { "dir " .. quoted(self.folder), "logfile store.log", "appendonly yes", "appendfsync no", 'save ""',
    "maxclients 20000", "tcp-backlog 511", "tcp-keepalive 15" }
  if options.address then
    redis.write_certificate(options.secret, self.folder .. "/certificate.pem", self.folder .. "/key.pem")
    for _, each in ipairs { "port 0", "tls-port " .. options.port, "bind " .. options.address, "protected-mode no",
      "tls-cert-file certificate.pem", "tls-key-file key.pem", "tls-auth-clients no", "user default off",
      ("user berth on %s ~berth:%s:* resetchannels -@all %s"):format(quoted(">" .. options.secret),
        store.plain(options.job), workers.COMMANDS) } do
      lines[#lines + 1] = each
    end
    self.server = workers.server_of(options, options.secret)
  else
    for _, each in ipairs { "port 0", "unixsocket redis.sock", "unixsocketperm 700" } do lines[#lines + 1] = each end
    self.server = { path = self.folder .. "/redis.sock" }
  end
  os.remove(self.folder .. "/redis.conf")
  processes.write_private(self.folder .. "/redis.conf", table.concat(lines, "\n") .. "\n")
  self:start()
  return self
end

-- Why a server ended, by what it said before it had the folder, and by its log.
local function why_it_ended(said, log, server)
  local refusal = processes.error_of(said)
  if refusal then return refusal end
  local last, config
  for _, path in ipairs { said, log } do
    local file = io.open(path)
    for line in file and file:lines() or function() end do
      last = line:match "^%d+:.-# (.*)" or last
      config = line:find "FATAL CONFIG FILE ERROR" and "" or config and config .. " " .. line
      if line:find "Address already in use" and server.port then
        return ("the store cannot listen on %s: another program, or another store, has that port: set "
          .. "BERTH_STORE_PORT to one that is free"):format(redis.name_of(server))
      end
    end
    if file then file:close() end
  end
  return ("the store ended: %s"):format(config or last or processes.last_line(said) or processes.last_line(log)
    or "it said nothing")
end

-- A server that is killed while it starts is started again, so often at most.
local STARTS, START_S = 10, 30

function Server:start(left)
  left = left or STARTS
  local log = self.folder .. "/store.log"
  -- Another training may start in the same folder at the same time: each has a file of its own until one has the lock.
  self.said = ("%s/start.%d.log"):format(self.folder, processes.own_id())
  local library = assert(package.searchpath("berth.workers", package.path)):match "^(.*)/[^/]*$"
  self.pid = processes.start({ processes.program(), "run", library .. "/commands/store.lua", self.folder, self.program,
    tostring(processes.own_id()) }, { output = self.said })
  local until_s = berth.clock() + START_S
  while true do
    -- Before the process is looked at: another one that has the port may answer, too.
    local fine, client = pcall(redis.connect, self.server, { timeout_s = 1, name = "berth:start" })
    local how = processes.ended(self.pid)
    if how == "signal" and left > 1 then return self:start(left - 1) end
    if how then
      local why = why_it_ended(self.said, log, self.server)
      os.remove(self.said)
      error(why, 0)
    end
    if fine and client then
      -- Now it has the lock and writes its own log. A file that a kill left here would keep the folder from being removed.
      os.remove(self.said)
      return client:close()
    end
    if not fine and self.server.path then
      processes.kill(self.pid)
      error(client, 0)
    end
    if berth.clock() > until_s then
      error(("the store did not start within %d s: %s"):format(START_S, processes.last_line(log) or processes.last_line(self.said) or "it said nothing"), 0)
    end
    processes.sleep(0.01)
  end
end

-- Starts it again where it was killed; it goes on from its journal. An error where it gave up.
function Server:check()
  local how, code = processes.ended(self.pid)
  if not how then return end
  if how == "exit" and code ~= 0 then error(why_it_ended(self.said, self.folder .. "/store.log", self.server), 0) end
  self.restarts = self.restarts + 1
  self:start()
end

function Server:stop()
  processes.kill(self.pid)
  local until_s = berth.clock() + 5
  while not processes.ended(self.pid) and berth.clock() < until_s do processes.sleep(0.01) end
  for _, name in ipairs(SERVER_FILES) do processes.remove_all(self.folder .. "/" .. name) end
end

-- Joining -------------------------------------------------------------------------------------------

local session = nil

-- The server that a place of `workers.environment` names.
function workers.server_of(place, secret)
  if place.url then return redis.server(place.url) end
  return { host = place.address, port = place.port, tls = true, user = "berth", password = secret, secret = secret }
end

local function folder_of(place) return os.getenv "BERTH_STORE_FOLDER" or ("berth-store-%s"):format(place.id) end

-- The secret that the processes of a training share. On one machine it is in a file.
local function shared_secret(place, join_s)
  local secret = os.getenv "BERTH_SECRET" or ""
  if secret ~= "" then return secret end
  if not place.alone then
    error(("the store would listen on %s:%d, where others may reach it; set BERTH_SECRET to the same text for all "
      .. "processes, such as that of openssl rand -hex 32"):format(place.address, place.port), 0)
  end
  local path = folder_of(place) .. "/secret"
  if place.rank == 0 then
    processes.make_private_folder(folder_of(place))
    processes.write_private(path, processes.random_text(32))
  end
  local until_s = berth.clock() + join_s
  repeat
    secret = files.content(path)
    if secret and #secret == 64 then return secret end
    processes.sleep(0.05)
  until berth.clock() > until_s or berth.should_stop()
  error(("store: rank 0 has not written %s within %g s; start all processes in one folder, or set BERTH_SECRET to the "
    .. "same text for all"):format(path, join_s), 0)
end

-- Rank 0 starts the server itself under launchers other than ours.
local function own_server(place, secret)
  if place.url or place.rank > 0 then return nil end
  return workers.start_store { folder = folder_of(place), address = place.address, port = place.port, secret = secret,
    job = place.id }
end

-- At the end of this process: says goodbye; the one with the store waits until the others have.
local function leave(of)
  local is_last = of.rank == 0 and of.place.by ~= "berth"
  if is_last then
    local until_s = berth.clock() + 10
    repeat
      local fine, members = pcall(of.store.members, of.store)
      local here = 0
      for _, member in pairs(fine and members or {}) do
        if member.state == "here" and member.name ~= of.name then here = here + 1 end
      end
      if here == 0 then break end
      processes.sleep(0.05)
    until berth.clock() > until_s
    if not of.server then pcall(of.store.forget, of.store) end
  end
  of.store:close()
  if of.server then
    of.server:stop()
    processes.remove_folder(of.server.folder)
  end
end

-- Calls `leave` when the Lua state ends.
local function at_end(of)
  local guard = newproxy(true)
  getmetatable(guard).__gc = function() pcall(leave, of) end
  return guard
end

-- The processes that train together, which this one joins.
--   ARGS    options  of workers.read_options
--   RETURN  nil where it is alone; else table: rank, size, store, name, next_training()
function workers.join(options)
  if session then return session end
  local place = workers.environment()
  if not place or place.size == 1 then return nil end
  if place.parent and not processes.end_with(place.parent) then
    error("workers: the process that started this one has ended", 0)
  end
  local secret = not place.url and shared_secret(place, options.join_s) or nil
  local joined = { rank = place.rank, size = place.size, place = place, name = "rank " .. place.rank,
    server = own_server(place, secret), trainings = 0 }
  joined.store = store.connect { server = workers.server_of(place, secret), job = place.id, name = joined.name,
    join_s = options.join_s, lost_s = options.lost_s }
  joined.guard = at_end(joined)
  session = joined
  return session
end

-- Which process this is and of how many: 0 and 1 where it trains alone. What a script prints or writes it
-- should print or write where the rank is 0.
--   RETURN  rank, size
function workers.rank()
  local place = workers.environment()
  if not place then return 0, 1 end
  return place.rank, place.size
end

-- The options of `workers.place`.
local PLACE = { policy = true, problem = true, evaluator = true, seed = true, budget_s = true, initial = true,
  progress = true, workers = true }

-- Places a problem, and has what the policy asks for measured by all other processes. Those that are lost cost what
-- they were measuring; where the first one is lost, all begin again.
--   ARGS    given  table: policy (or a function that makes it, called by the first process alone), problem;
--                  optional evaluator (function(problem): what measures on each machine; without it steps are
--                  simulated), seed, budget_s, initial, progress (as berth.policy's place has them), workers (table of
--                  DEFAULTS)
--   RETURN  placement, outcome: the same in all processes; nil in one that was stopped
function workers.place(given)
  if type(given) ~= "table" then error("workers.place: a table expected", 2) end
  known.check("workers.place", given, PLACE)
  if not given.policy or not given.problem then error("workers.place: 'policy' and 'problem' are needed", 2) end
  if given.evaluator ~= nil and type(given.evaluator) ~= "function" then
    error("workers.place: 'evaluator' is no function(problem) that makes an evaluator", 2)
  end
  local options = workers.read_options(given.workers or {}, 2)
  local joined = workers.join(options)
  local placing = require "berth.workers.placing"
  if not joined then return placing.alone(given) end
  return placing.run(joined, given, options)
end

return workers
