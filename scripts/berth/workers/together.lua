-- Shared by all processes that work together: they agree on what is done, wait for each other, and end.
-- The keys of their store begin with "N/", N counting what the script does together:
--
--   fingerprint       what is done, by whom; everyone compares it with their own
--   calibration/RANK  what a worker measured of the placement that all measure first
--   refused/RANK      why a process was turned away, counted in "refusals"
--   failed, end       the first error; the result
--
-- and there is the queue "measure" of placements.

local berth = require "berth"
local fingerprints = require "berth.fingerprints"
local notes = require "berth.notes"
local workers = require "berth.workers"

local together = {}

-- One request to the store waits so long at most, so that Ctrl-C and the end are seen.
together.WAIT_S = 0.5

local function name_of(joined) return ("%s (%s)"):format(joined.name, joined.store.identity) end

local Common = {}
Common.__index = Common

-- Compares this process with the first one; an error that names both.
local function agree(common, of, options)
  local joined = common.joined
  of.settings.berth = berth.version
  for name in pairs(workers.DEFAULTS) do of.settings["workers." .. name] = options[name] end
  of.by = name_of(joined)
  local key = common.prefix .. "fingerprint"
  if joined.rank == 0 and joined.store:claim(key, notes.write(of)) then return end
  local text = joined.store:get(key, { wait_s = options.join_s })
  if not text then
    error(("workers: rank 0 has not begun this training within %g s; do all processes run the same script?")
      :format(options.join_s), 0)
  end
  local theirs = notes.read(text)
  local name, one, other = fingerprints.difference(theirs, of)
  if not name then return end
  local message = ("workers: %s trains with %s = %s, and %s with %s"):format(theirs.by, name, tostring(one),
    of.by, tostring(other))
  if joined.rank == 0 then
    error(message .. "; the store holds another training of this name: set BERTH_JOB to another one, or remove "
      .. "its folder", 0)
  end
  joined.store:set(common.prefix .. "refused/" .. joined.rank, message)
  joined.store:add(common.prefix .. "refusals")
  error(message .. "; give all processes the same script, model and version of Berth", 0)
end

-- Whether the end has come; then `self.result` is there, or it is an error.
function Common:ended()
  if self.result then return true end
  local text = self.joined.store:get(self.prefix .. "end")
  if not text then return false end
  local result = notes.read(text)
  if result.failed then error(result.failed, 0) end
  self.result = result
  return true
end

-- An error where the first process has been gone for too long: its end may have been lost with a store that came back
-- empty, and nobody else would ever say it.
function Common:require_first()
  local now = berth.clock()
  self.first_s = self.first_s or now
  if self.joined.rank == 0 or now - (self.looked_s or 0) < self.gone_s / 4 then return end
  self.looked_s = now
  if self.joined.store:is_here "rank 0" then
    self.first_s = now
  elseif now - self.first_s > self.gone_s then
    error(("workers: rank 0, which learns, has been gone for %.0f s, and the store holds no result; look at what it "
      .. "printed, and start all processes again"):format(now - self.first_s), 0)
  end
end

-- Asked where one waits: an error "ended" unwinds what is under way.
local ENDED = "workers: this training has ended"
function Common:check()
  if self:ended() or berth.should_stop() then error(ENDED, 0) end
  self:require_first()
end

local CHECK_S = 0.5
function Common:check_now_and_then()
  local now = berth.clock()
  if now - (self.checked_s or 0) < CHECK_S then return end
  self.checked_s = now
  self:check()
end

-- Called while this process waits for results; the first one may have more to look after.
function Common:watch() end

-- The result of a task; it is submitted again where the store has lost it.
function Common:await(queue, id, payload, takers)
  local store = self.joined.store
  while true do
    self:watch()
    local result, why, who = store:result(self.prefix .. queue, id, together.WAIT_S)
    if result then return result end
    if why == "lost" then
      error(("workers: a task was lost with each of the %d workers that took it, one after another: %s; what they "
        .. "printed says why. workers.takers and workers.lease_s say how often and how long one may try")
        :format(takers, who), 0)
    end
    self:check()
    if why == "absent" then store:submit(self.prefix .. queue, id, payload, takers) end
  end
end

-- Runs the body of a process that is not the first. What fails here is told to everybody.
function Common:follow(body)
  local fine, message = pcall(body, self)
  message = tostring(message)
  if fine or message:find(ENDED, 1, true) then return end
  pcall(self.joined.store.claim, self.joined.store, self.prefix .. "failed", ("%s: %s"):format(name_of(self.joined), message))
  error(message, 0)
end

-- This process's part of something that all do.
--   ARGS    joined  of workers.join
--           parts   table: controllers (how many of the processes after the first are no workers), fingerprint,
--                   options (of workers.read_options), first and others: function(common) for rank 0 and the rest.
--                   `first` returns the result, plain enough for berth.notes; `others` go on until `common:check`
--                   ends them. `common` has joined, prefix, controllers, workers (how many),
--                   gone_s (how long rank 0 may be gone)
--   RETURN  the result, the same in all processes; nil in one that was stopped
function together.run(joined, parts)
  joined.trainings = joined.trainings + 1
  local common = setmetatable({ joined = joined, prefix = joined.trainings .. "/", controllers = parts.controllers,
    workers = joined.size - 1 - parts.controllers, gone_s = math.max(parts.options.join_s, parts.options.lost_s) }, Common)
  if common:ended() then return common.result end
  agree(common, parts.fingerprint, parts.options)
  if joined.rank > 0 then
    common:follow(parts.others)
    return common.result
  end
  local fine, result = pcall(parts.first, common)
  if not fine then
    pcall(joined.store.set, joined.store, common.prefix .. "end",
      notes.write { failed = ("%s ended the training: %s"):format(name_of(joined), tostring(result)) })
    error(result, 0)
  end
  joined.store:set(common.prefix .. "end", notes.write(result))
  joined.store:drop(common.prefix .. "state")
  return result
end

return together
