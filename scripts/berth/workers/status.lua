-- What is seen of a training by many processes while it runs: a line a second on rank 0's terminal, scalars per
-- process in TensorBoard's file, text in the event log.

local berth = require "berth"
local measuring = require "berth.workers.measuring"

local status = {}
local Status = {}
Status.__index = Status

-- Without a terminal, a line in so many seconds.
local SPARSE_S = 30

function status.new(common, options)
  return setmetatable({ common = common, options = options, store = common.joined.store, members = {}, text = "",
    began_s = berth.clock(), told_s = berth.clock(), told_done = {}, taken = 0, taken_before = 0, dropped = 0, said = {}, refused = 0,
    alone_since_s = berth.clock() }, Status)
end

-- Adds samples that were learnt from.
function Status:samples(count) self.taken = self.taken + count end
function Status:stale() self.dropped = self.dropped + 1 end

local function say(text) io.stderr:write("workers: ", text, "\n") end

-- Says each thing once.
function Status:once(what, text)
  if self.said[what] then return end
  self.said[what] = true
  say(text)
end

-- Members by what they do; `count` are those that are there.
function Status:count(first, last)
  local here, lost = 0, 0
  for rank = first, last do
    local member = self.members["rank " .. rank]
    if member then
      if member.state == "here" then here = here + 1 end
      lost = lost + member.times_lost
    end
  end
  return here, lost
end

function Status:warn()
  for rank, each in pairs(self.common.workers > 0 and measuring.ratios(self.common) or {}) do
    if each.ratio > self.options.workers.slow then
      self:once("slow" .. rank, ("rank %d on %s (%s) measures %.1f times slower than the median; its runtimes are "
        .. "divided by that"):format(rank, each.host, each.kind, each.ratio))
    end
    self.kinds = self.kinds or each.kind
    if each.kind ~= self.kinds then
      self:once("kinds", ("workers are of different kinds (%s; %s): their runtimes are compared through one "
        .. "placement that all have measured"):format(self.kinds, each.kind))
    end
  end
  local _, refusals = self.store:get(self.common.prefix .. "refusals")
  if refusals and refusals > self.refused then
    self.refused = refusals
    for rank = 1, self.common.joined.size - 1 do
      local text = self.store:get(self.common.prefix .. "refused/" .. rank)
      if text then self:once("refused" .. rank, text) end
    end
  end
end

-- Looks who is there, and says where the training stands.
--   ARGS    own   the training
--           last  whether this is the end
function Status:tell(own, last)
  local members = self.store:members()
  self.members = members
  local now = berth.clock()
  local seconds = math.max(now - self.told_s, 1e-3)
  local controllers = self.common.controllers
  local here, lost = self:count(1, controllers)
  local measuring_here, measuring_lost = self:count(controllers + 1, controllers + self.common.workers)
  if here > 0 and (self.common.workers == 0 or measuring_here > 0) then self.alone_since_s = now end
  local best = ""
  if own.memories[1].best then best = (", best %.3f ms"):format(own.memories[1].best.objective_us / 1e3) end
  self.text = ("%.0f samples/s, %d/%d controllers, %s%d lost, %d stale%s"):format(
    (self.taken - self.taken_before) / seconds, here, controllers,
    self.common.workers > 0 and ("%d/%d workers, "):format(measuring_here, self.common.workers) or "",
    lost + measuring_lost, self.dropped, best)
  berth.progress(("update %d/%d  %s"):format(own.state.update, self.options.count, self.text))
  if last or now - (self.wrote_s or self.began_s) >= SPARSE_S then
    self.wrote_s = now
    self:sparse(own)
  end
  if own.board then
    local values = { ["workers/samples_per_s"] = (self.taken - self.taken_before) / seconds,
      ["workers/here"] = here + measuring_here, ["workers/lost"] = lost + measuring_lost,
      ["workers/stale"] = self.dropped }
    for name, member in pairs(members) do
      values[("workers/%s/tasks_per_s"):format(name)] = (member.done - (self.told_done[name] or 0)) / seconds
      self.told_done[name] = member.done
    end
    own.board.write(own.state.update, values)
  end
  self.told_s, self.taken_before = now, self.taken
  self:warn()
end

-- On a terminal the line that is kept up to date says the same.
function Status:sparse(own)
  if self.on_terminal == nil then self.on_terminal = os.execute "test -t 2" == 0 end
  if not self.on_terminal then
    say(("update %d/%d after %.0f s: %s"):format(own.state.update, self.options.count, berth.clock() - self.began_s,
      self.text))
  end
end

-- An error where nobody samples, or nobody measures, for too long.
function Status:require_somebody()
  local waited_s = berth.clock() - self.alone_since_s
  local most_s = math.max(self.options.workers.join_s, self.options.workers.lost_s)
  if waited_s <= most_s then return end
  error(("workers: for %.0f s there have been %s; look at what they printed, and start %d processes in all"):format(
    waited_s, self.text:match ", (.-), %d+ lost" or "none", self.common.joined.size), 0)
end

return status
