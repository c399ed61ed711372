-- Placements measured by other processes: the evaluators of controllers, and what workers do for them.
--
-- If evaluators measure on hardware, every worker first measures one placement that all measure. Its runtimes
-- are then divided by how much slower it was than the median of the workers, so that samples of unlike machines
-- can be mixed; a much slower one is named.

local berth = require "berth"
local ffi = require "ffi"
local notes = require "berth.notes"
local processes = require "berth.processes"
local statistics = require "berth.statistics"
local together = require "berth.workers.together"

local measuring = {}

-- A placement as bytes, two for each op, and back.
function measuring.packed(placement)
  local devices = ffi.new("uint16_t[?]", #placement)
  for op, device in ipairs(placement) do devices[op - 1] = device end
  return ffi.string(devices, 2 * #placement)
end

function measuring.unpacked(bytes)
  local devices, placement = ffi.cast("const uint16_t*", bytes), {}
  for op = 1, #bytes / 2 do placement[op] = devices[op - 1] end
  return placement
end

-- A worker's measurement of the placement that all measure: { us, host, kind }.
local function calibrations(common)
  local found = {}
  for rank = common.controllers + 1, common.controllers + common.workers do
    local text = common.joined.store:get(("%scalibration/%d"):format(common.prefix, rank))
    if text then found[rank] = notes.read(text) end
  end
  return found
end

-- How much slower than the median worker each is.
--   RETURN  table by rank of { ratio, host, kind }
function measuring.ratios(common)
  local found, all = calibrations(common), {}
  for _, each in pairs(found) do all[#all + 1] = each.us end
  if #all == 0 then return {} end
  local middle = statistics.median(all)
  for _, each in pairs(found) do each.ratio = each.us / middle end
  return found
end

local SCALED = { "objective_us", "runtime_us", "max_load_us" }

-- Divides what a worker measured by how much slower its machine is. That of a worker that joined late is asked
-- for when its first result comes.
local function corrected(common, result)
  if not result.calibrated then return result.evaluation end
  common.ratios = common.ratios or {}
  if not common.ratios[result.rank] then common.ratios = measuring.ratios(common) end
  local ratio = common.ratios[result.rank] and common.ratios[result.rank].ratio or 1
  for _, name in ipairs(SCALED) do result.evaluation[name] = result.evaluation[name] / ratio end
  for device, us in ipairs(result.evaluation.busy_us) do result.evaluation.busy_us[device] = us / ratio end
  return result.evaluation
end

-- An evaluator of every problem that gives its placements to the workers.
--   ARGS    measures  whether runtimes are measured, not simulated
--           options   of workers.read_options
function measuring.evaluators(common, problems, measures, options)
  local count = 0
  local own = common.joined.store.identity
  local evaluators = {}
  for i, problem in ipairs(problems) do
    evaluators[i] = berth.evaluator(problem, {
      measures = measures,
      evaluate = function(placements)
        local ids, payloads = {}, {}
        for k, placement in ipairs(placements) do
          count = count + 1
          ids[k], payloads[k] = ("%s.%d"):format(own, count), ("%10d"):format(i) .. measuring.packed(placement)
          common.joined.store:submit(common.prefix .. "measure", ids[k], payloads[k], options.takers)
        end
        local evaluations = {}
        for k = 1, #placements do
          local result = notes.read(common:await("measure", ids[k], payloads[k], options.takers))
          if result.failed then error(result.failed, 0) end
          evaluations[k] = corrected(common, result)
        end
        return evaluations
      end })
  end
  return evaluators
end

-- Names this machine, as others tell it from theirs.
local function machine_kind()
  local machine = processes.machine()
  return ("%s, %d processors"):format(machine.processor, machine.processors or 0)
end

-- Measures the placement that all measure, which is the best single device's.
local function calibrate(common, problem, evaluator)
  local joined = common.joined
  local single = problem:single()
  local placement = single and single.placement or problem:one_device(1)
  local runs = {}
  for run = 1, 3 do runs[run] = evaluator:evaluate(placement).objective_us end
  joined.store:set(("%scalibration/%d"):format(common.prefix, joined.rank), notes.write {
    us = statistics.median(runs), host = processes.host(), kind = machine_kind() })
end

-- Measures a requested placement and reports it.
local function measure(common, evaluators, payload, calibrated)
  local evaluator = evaluators[tonumber(payload:sub(1, 10))]
  if not evaluator then return notes.write { failed = "workers: a placement is of a problem that is not there" } end
  local fine, result = pcall(evaluator.evaluate, evaluator, measuring.unpacked(payload:sub(11)))
  if not fine then
    return notes.write { failed = ("%s on %s: %s"):format(common.joined.name, processes.host(), result) }
  end
  return notes.write { evaluation = result, rank = common.joined.rank, calibrated = calibrated }
end

-- Runs a worker: measures placements that others request, until it is over.
--   ARGS    evaluators  by problem; where there is none, its step is simulated
function measuring.serve(common, problems, evaluators, options)
  local all = {}
  for i, problem in ipairs(problems) do all[i] = evaluators[i] or berth.evaluator(problem) end
  local calibrated = options.calibrate and all[1]:measures()
  if calibrated then calibrate(common, problems[1], all[1]) end
  local store, queue = common.joined.store, common.prefix .. "measure"
  while true do
    local id, payload = store:take(queue, options.lease_s, together.WAIT_S)
    if id then
      store:done(queue, id, measure(common, all, payload, calibrated))
      common:check_now_and_then()
    else
      common:check()
    end
  end
end

return measuring
