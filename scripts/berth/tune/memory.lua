-- Beliefs about memory, from placements that ran and placements that did not fit.
--
-- Real devices hold less than their data sheets: a context, fragments, workspaces that nobody knows. A placement that did
-- not fit says that its fullest device holds less than the simulated peak there; one that ran says that all hold theirs.
-- In between most is believed, and not all: what is tried next need not be found wrong byte by byte. Devices that are
-- alike hold alike, unless one has held more than another is believed to.

local memory = {}

-- How much is believed of what lies between a peak that ran and one that did not.
local SHARE = 0.75

local Memory = {}
Memory.__index = Memory

-- Knowledge before anything was measured.
--   ARGS    problem  berth.Problem
function memory.new(problem)
  local self = setmetatable({ problem = problem, limit = {}, held = {}, failed = {}, alike = {} }, Memory)
  local cluster = problem:cluster()
  for d = 1, cluster:device_count() do
    self.limit[d], self.held[d], self.failed[d] = problem:memory_bytes(d), 0, math.huge
    self.alike[d] = cluster:device(d).kind .. " " .. self.limit[d]
  end
  return self
end

-- A placement ran.
function Memory:ran(placement)
  for d, bytes in ipairs(self.problem:evaluate(placement).peak_bytes) do
    self.held[d] = math.max(self.held[d], bytes)
  end
end

-- The least peak that is known not to fit on a device; math.huge where none is.
function Memory:refused(d)
  local least = math.huge
  for e, bytes in ipairs(self.failed) do
    if self.alike[e] == self.alike[d] and bytes > self.held[d] then least = math.min(least, bytes) end
  end
  return least
end

-- A placement did not fit. Nothing is learnt where every device has held as much.
function Memory:overflowed(placement)
  local fullest, most, peak = nil, -1, 0
  for d, bytes in ipairs(self.problem:evaluate(placement).peak_bytes) do
    local share = bytes / math.min(self.limit[d], self:refused(d))
    -- Without a limit all shares are 0, and the largest peak is the suspect.
    if bytes > self.held[d] and (share > most or share == most and bytes > peak) then
      fullest, most, peak = d, share, bytes
    end
  end
  if fullest then self.failed[fullest] = math.min(self.failed[fullest], peak) end
end

-- The bytes that a device is believed to hold; math.huge without a limit.
function Memory:bytes(d)
  local refused = self:refused(d)
  if refused == math.huge then return self.limit[d] end
  return math.min(self.limit[d], math.floor(self.held[d] + SHARE * (refused - self.held[d])))
end

-- The cluster's memory of a device by these beliefs, where `stated` is what the cluster says: margins of the problem
-- stay the share that they are.
function Memory:stated(d, stated)
  local bytes = self:bytes(d)
  if bytes == self.limit[d] then return stated end
  return self.limit[d] < math.huge and math.floor(stated * bytes / self.limit[d]) or bytes
end

return memory
