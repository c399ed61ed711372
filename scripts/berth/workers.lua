-- Training by many processes, on one machine or on many: who this process is, and the store they meet at.
--
-- The first one (rank 0) learns. Of the others some sample episodes and send gradients ("controllers"), the
-- rest measure placements for them ("workers"); with no workers every controller measures its own samples, and
-- is what the literature calls an actor. The form is that of Mirhoseini et al., ICML 2017, section on
-- distributed training; a script asks for it by train.episodes { workers = { .. } }.
--
-- Ranks come from torchrun's environment, else from Slurm's, else from `berth run --workers N`. A process that
-- has none of them trains alone. A placement is found in the same way by workers.place.

local berth = require "berth"
local notes = require "berth.notes"
local processes = require "berth.processes"
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
  lost_s = 30,             -- for one that was lost, and for a controller that does not answer in synchronous mode
  keep_s = 5,              -- between the states that the one who learns keeps in the store
  -- Of machines that measure
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
  local options = {}
  for name, default in pairs(workers.DEFAULTS) do options[name] = default end
  for name, value in pairs(given) do
    if options[name] == nil then
      local known = {}
      for key in pairs(workers.DEFAULTS) do known[#known + 1] = key end
      table.sort(known)
      error(("train: workers: unknown option '%s'; known: %s"):format(tostring(name),
        table.concat(known, ", ")), level + 1)
    end
    options[name] = value
  end
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

-- Who this process is -------------------------------------------------------------------------------

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

local function checked(place)
  if place.rank >= place.size then
    error(("workers: rank %d of %d processes; ranks count from 0"):format(place.rank, place.size), 0)
  end
  return place
end

-- What the environment says.
--   ARGS    get     function(name): a variable; default os.getenv
--   RETURN  nil where it says nothing; or { by ("berth", "torchrun", "slurm"), rank, size, address, port, id (of
--           the job), local_rank, node }
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
  if get "BERTH_RANK" then
    local read = reader(get, "berth run --workers")
    return checked { by = "berth", rank = read("BERTH_RANK", 0), size = read("BERTH_SIZE", 1),
      address = "127.0.0.1", port = port(0), id = "local", local_rank = read("BERTH_RANK", 0), node = 0,
      parent = read("BERTH_PARENT", 1) }
  end
  if get "RANK" and get "WORLD_SIZE" then
    local read = reader(get, "torchrun")
    local size = read("WORLD_SIZE", 1)
    -- The processes of one machine need no address that others can reach.
    local alone = tonumber(get "LOCAL_WORLD_SIZE") == size
    if not alone and not get "MASTER_ADDR" then
      error("workers: RANK is set and MASTER_ADDR is not; start all processes by torchrun, or set both", 0)
    end
    -- The next port: torchrun's own store has the one that it names.
    local master = get "MASTER_PORT" and read("MASTER_PORT", 1) or 29500
    return checked { by = "torchrun", rank = read("RANK", 0), size = size,
      address = get "BERTH_STORE_ADDRESS" or alone and "127.0.0.1" or get "MASTER_ADDR",
      port = port(master < 65535 and master + 1 or master - 1), id = get "TORCHELASTIC_RUN_ID" or "none",
      local_rank = tonumber(get "LOCAL_RANK"), node = tonumber(get "GROUP_RANK") }
  end
  if get "SLURM_PROCID" and get "SLURM_NTASKS" then
    local read = reader(get, "Slurm")
    local list = get "SLURM_STEP_NODELIST" or get "SLURM_NODELIST" or get "SLURM_JOB_NODELIST"
    if not list then error("workers: SLURM_PROCID is set and SLURM_NODELIST is not; start it by srun", 0) end
    local alone = not list:find "[,%[]"
    local job = tonumber(get "SLURM_JOB_ID") or 0
    return checked { by = "slurm", rank = read("SLURM_PROCID", 0), size = read("SLURM_NTASKS", 1),
      address = get "BERTH_STORE_ADDRESS" or alone and "127.0.0.1" or first_host(list),
      port = port(20000 + (job * 7 + (tonumber(get "SLURM_STEP_ID") or 0)) % 12000), id = tostring(job),
      local_rank = tonumber(get "SLURM_LOCALID"), node = tonumber(get "SLURM_NODEID") }
  end
  return nil
end

-- The store's process -------------------------------------------------------------------------------

local Server = {}
Server.__index = Server

-- Starts a store in a process of its own, which is this one's to keep alive.
--   ARGS    options  folder (of its journal and log), address, port (0: one that is free), secret
--   RETURN  table: port, pid, check(), stop(); an error with the store's own where it cannot listen
function workers.start_store(options)
  local self = setmetatable({ folder = options.folder, address = options.address, port = options.port,
    secret = options.secret, restarts = 0 }, Server)
  self:start()
  return self
end

-- A store that is killed while it starts is started again, so often at most.
local STARTS = 10

function Server:start(left)
  left = left or STARTS
  local port_file = self.folder .. "/port"
  os.remove(port_file)
  local library = assert(package.searchpath("berth.workers", package.path)):match "^(.*)/[^/]*$"
  self.pid = processes.start({ processes.program(), "run", library .. "/commands/store.lua", self.address,
    tostring(self.port), self.folder .. "/journal", port_file, tostring(processes.own_id()) },
    { output = self.folder .. "/store.log", environment = { BERTH_SECRET = self.secret } })
  local until_s = berth.clock() + 30
  while true do
    local file = io.open(port_file)
    if file then
      self.port = tonumber(file:read "*a")
      file:close()
      return
    end
    local how = processes.ended(self.pid)
    if how == "signal" and left > 1 then return self:start(left - 1) end
    if how then error(processes.reason(self.folder .. "/store.log"), 0) end
    if berth.clock() > until_s then error("the store did not start within 30 s", 0) end
    processes.sleep(0.01)
  end
end

-- Starts it again where it was killed; it goes on from its journal. An error where it gave up.
function Server:check()
  local how, code = processes.ended(self.pid)
  if not how then return end
  if how == "exit" and code ~= 0 then
    error(processes.reason(self.folder .. "/store.log"), 0)
  end
  self.restarts = self.restarts + 1
  self:start()
end

function Server:stop()
  processes.kill(self.pid)
  local until_s = berth.clock() + 5
  while not processes.ended(self.pid) and berth.clock() < until_s do processes.sleep(0.01) end
  for _, name in ipairs { "journal", "journal.next", "port", "store.log" } do
    os.remove(self.folder .. "/" .. name)
  end
end

-- Joining -------------------------------------------------------------------------------------------

local session = nil

-- What a launcher of processes does for rank 0, it does itself under others' launchers.
local function own_server(place, secret)
  if place.by == "berth" or place.rank > 0 then return nil end
  local folder = os.getenv "BERTH_STORE_FOLDER" or ("berth-store-%s"):format(place.id)
  processes.make_folder(folder)
  local server = workers.start_store { folder = folder, address = place.address, port = place.port,
    secret = secret }
  return server
end

-- At the end of this process: says goodbye; the one with the store waits until the others have.
local function leave(of)
  if of.server then
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
  local secret = os.getenv "BERTH_SECRET" or ""
  local joined = { rank = place.rank, size = place.size, place = place, name = "rank " .. place.rank,
    server = own_server(place, secret), trainings = 0 }
  joined.store = store.connect { address = place.address,
    port = joined.server and joined.server.port or place.port, secret = secret, name = joined.name,
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

-- What `workers.place` takes.
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
  for name in pairs(given) do
    if not PLACE[name] then error(("workers.place: unknown option '%s'"):format(tostring(name)), 2) end
  end
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

-- What the processes send each other ------------------------------------------------------------------

-- A table of `notes` with bytes behind it.
function workers.pack(head, bytes)
  local text = notes.write(head)
  return ("%010d%s%s"):format(#text, text, bytes or "")
end

function workers.unpack(text)
  local size = tonumber(text:sub(1, 10))
  if not size or size > #text - 10 then error("workers: a message is cut off", 0) end
  return notes.read(text:sub(11, 10 + size)), text:sub(11 + size)
end

return workers
