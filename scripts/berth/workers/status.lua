-- Shows many processes while they work: a line a second on rank 0's terminal, scalars per process in
-- TensorBoard's file, text in the event log.

local berth = require "berth"
local measuring = require "berth.workers.measuring"

local status = {}
local Status = {}
Status.__index = Status

-- Without a terminal, a line in so many seconds.
local SPARSE_S = 30

--   ARGS    options  of workers.read_options
function status.new(common, options)
  local now_s = berth.clock()
  return setmetatable({ common = common, options = options, store = common.joined.store, members = {}, text = "",
    began_s = now_s, told_s = now_s, alone_since_s = now_s, told_done = {}, said = {}, taken = 0,
    seen = { { s = now_s, taken = 0 } }, dropped = 0, refused = 0 }, Status)
end

-- Changes that the rate looks back on: where a measurement takes longer than a second, most lines see none.
local CHANGES = 5

-- Samples per second at this time.
local function rate(self, clock_s)
  local seen = self.seen
  if self.taken > seen[#seen].taken then
    seen[#seen + 1] = { s = clock_s, taken = self.taken }
    if #seen > CHANGES + 1 then table.remove(seen, 1) end
  end
  local first, last = seen[1], seen[#seen]
  -- A pause that is longer than those before it counts.
  local pause_s = (last.s - first.s) / math.max(#seen - 1, 1)
  local until_s = clock_s - last.s > 2 * pause_s and clock_s or last.s
  return (last.taken - first.taken) / math.max(until_s - first.s, 1e-3)
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
    if each.ratio > self.options.slow then
      self:once("slow" .. rank, ("rank %d on %s (%s) measures %.1f times slower than the median; its runtimes are "
        .. "divided by that"):format(rank, each.host, each.kind, each.ratio))
    end
    self.kinds = self.kinds or each.kind
    if each.kind ~= self.kinds then
      self:once("kinds", ("workers are of different kinds (%s; %s): their runtimes are compared through one "
        .. "placement that all have measured"):format(self.kinds, each.kind))
    end
  end
  local refusals = tonumber(self.store:get(self.common.prefix .. "refusals") or 0)
  if refusals > self.refused then
    self.refused = refusals
    for rank = 1, self.common.joined.size - 1 do
      local text = self.store:get(self.common.prefix .. "refused/" .. rank)
      if text then self:once("refused" .. rank, text) end
    end
  end
end

-- Looks who is there, and says where one stands.
--   ARGS    now   table: done (text), best_us (or nil); of a training also update and board (or nil)
--           last  whether this is the end
function Status:tell(now, last)
  local members = self.store:members()
  self.members = members
  local clock_s = berth.clock()
  local seconds = math.max(clock_s - self.told_s, 1e-3)
  local common = self.common
  local here, lost = self:count(1, common.controllers)
  local measuring_here, measuring_lost = self:count(common.controllers + 1, common.controllers + common.workers)
  if (here > 0 or common.controllers == 0) and (common.workers == 0 or measuring_here > 0) then
    self.alone_since_s = clock_s
  end
  -- The last line is about all of it: the moment before the end may have been idle.
  local samples_per_s = rate(self, clock_s)
  if last then samples_per_s = self.taken / math.max(clock_s - self.began_s, 1e-3) end
  local parts = { (samples_per_s < 10 and "%.1f samples/s" or "%.0f samples/s"):format(samples_per_s) }
  if common.controllers > 0 then parts[#parts + 1] = ("%d/%d controllers"):format(here, common.controllers) end
  if common.workers > 0 then parts[#parts + 1] = ("%d/%d workers"):format(measuring_here, common.workers) end
  parts[#parts + 1] = ("%d lost"):format(lost + measuring_lost)
  if common.controllers > 0 then parts[#parts + 1] = ("%d stale"):format(self.dropped) end
  if now.best_us then parts[#parts + 1] = ("best %.3f ms"):format(now.best_us / 1e3) end
  self.text = table.concat(parts, ", ")
  berth.progress(("%s  %s"):format(now.done, self.text))
  self.store:set("status", ("%s, %s, after %.0f s"):format(now.done, self.text, clock_s - self.began_s))
  if last or clock_s - (self.wrote_s or self.began_s) >= SPARSE_S then
    self.wrote_s = clock_s
    self:sparse(now.done)
  end
  if now.board then
    local values = { ["workers/samples_per_s"] = samples_per_s, ["workers/here"] = here + measuring_here, ["workers/lost"] = lost + measuring_lost,
      ["workers/stale"] = self.dropped }
    for name, member in pairs(members) do
      values[("workers/%s/tasks_per_s"):format(name)] = (member.done - (self.told_done[name] or 0)) / seconds
      self.told_done[name] = member.done
    end
    now.board.write(now.update, values)
  end
  self.told_s = clock_s
  self:warn()
end

-- On a terminal the line that is kept up to date says the same.
function Status:sparse(done)
  if self.on_terminal == nil then self.on_terminal = os.execute "test -t 2" == 0 end
  if not self.on_terminal then
    say(("%s after %.0f s: %s"):format(done, berth.clock() - self.began_s, self.text))
  end
end

-- An error where nobody samples, or nobody measures, for too long.
function Status:require_somebody()
  local waited_s = berth.clock() - self.alone_since_s
  local most_s = math.max(self.options.join_s, self.options.lost_s)
  if waited_s <= most_s then return end
  error(("workers: for %.0f s there have been %s; look at what they printed, and start %d processes in all"):format(
    waited_s, self.text:match ", (.-), %d+ lost" or "none", self.common.joined.size), 0)
end

return status
