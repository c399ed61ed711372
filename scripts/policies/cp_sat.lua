-- A policy that asks a constraint solver: for graphs of some hundred groups.
--
--   berth place MODEL --cluster k80x4 --policy scripts/policies/cp_sat.lua --set seconds=60
--
-- OR-Tools' CP-SAT (https://developers.google.com/optimization, `pip install ortools`) runs in a process
-- of its own, cp_sat.py beside this file; Berth neither links nor needs it. The solver knows devices that
-- run one op at a time, transfers that wait for nothing, parameters, and what is to be apart; it does not know queues at the
-- links, the order in which a device takes ops, and memory beyond parameters. So what it proves holds for
-- every placement (objective latency, both semantics; with finer groups than the policy has it would not,
-- and nothing is said then), and what it finds is simulated: the best by the evaluator is returned.

local berth = require "berth"
local files = require "berth.files"

local MOST_GROUPS = 600
local folder = debug.getinfo(1, "S").source:match "^@(.*)[/\\][^/\\]*$" or "."

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- Everything that the solver needs, as lines of numbers; cp_sat.py says which.
local function write_problem(path, problem, start, known_us)
  local graph, cluster, groups = problem:graph(), problem:cluster(), problem:groups()
  local lines = {}
  local function write(...) lines[#lines + 1] = table.concat({ ... }, " ") end
  local function number(value) return value == math.huge and "inf" or ("%.17g"):format(value) end
  local dataflow = problem:semantics() == "dataflow"
  write(graph:op_count(), cluster:device_count(), groups:count(), dataflow and 1 or 0, number(known_us))
  for device = 1, cluster:device_count() do
    local figures = cluster:device(device)
    local counted = dataflow and figures.memory_bytes or math.huge
    write(number(figures.op_overhead_us), number(counted))
  end
  for src = 1, cluster:device_count() do
    for dst = 1, cluster:device_count() do
      if src == dst then
        write "0 1"
      else
        local route = cluster:route(src, dst)
        write(number(cluster:transfer_us(src, dst, 0)), number(route.bandwidth_bytes_per_s))
      end
    end
  end
  for op = 1, graph:op_count() do
    local us = {}
    for device = 1, cluster:device_count() do us[device] = number(problem:cost_us(op, device)) end
    write(groups:of(op), start and start[op] or 0, unpack(us))
  end
  -- A shared parameter is on a device once, whatever the groups there that read it.
  local own, shared = {}, {}
  for group = 1, groups:count() do own[group] = problem:group_param_bytes(group) end
  for _, parameter in ipairs(graph:shared_parameters()) do
    local readers, seen = {}, {}
    for _, op in ipairs(parameter.consumers) do
      local group = groups:of(op)
      own[group] = own[group] - parameter.bytes
      if not seen[group] then readers[#readers + 1] = group end
      seen[group] = true
    end
    shared[#shared + 1] = { number(parameter.bytes), unpack(readers) }
  end
  for group = 1, groups:count() do write(number(own[group])) end
  for _, each in ipairs(shared) do write("shared", unpack(each)) end
  for _, parts in ipairs(problem:separations()) do
    for i, part in ipairs(parts) do
      for j = i + 1, #parts do
        for _, a in ipairs(part) do
          for _, b in ipairs(parts[j]) do write("apart", a, b) end
        end
      end
    end
  end
  for op = 1, graph:op_count() do
    for _, edge in ipairs(graph:in_edges(op)) do
      write("edge", edge.src, op, edge.tensor and number(graph:tensor_bytes(edge.tensor)) or -1)
    end
  end
  files.write(path, table.concat(lines, "\n"), "\n")
end

-- Placements in the order in which they were found, the bound and the solver's own words.
local function read_answer(path)
  local placements, bound_us, status = {}, 0, "no answer"
  local file = io.open(path)
  for text in file and file:lines() or function() end do
    local key, rest = text:match "^(%S+) (.*)$"
    if key == "bound_us" then bound_us = tonumber(rest) or 0 end
    if key == "status" then status = rest end
    if key == "devices" then
      local placement = {}
      for device in rest:gmatch "%d+" do placement[#placement + 1] = tonumber(device) end
      placements[#placements + 1] = placement
    end
  end
  if file then file:close() end
  return placements, bound_us, status
end

-- A bound for the finest groups holds for all placements if these are coarser than the policy's.
local function finest(problem)
  local own = problem:groups():count()
  local plain = berth.problem { graph = problem:graph(), cluster = problem:cluster(),
                                costs = problem:costs(), objective = problem:objective(),
                                semantics = problem:semantics() }
  return own >= plain:groups():count()
end

local function better(a, b)
  if a.feasible ~= b.feasible then return a.feasible end
  return a.objective_us < b.objective_us
end

local function place(problem, evaluator, context)
  local options = context:options()
  local groups = problem:groups():count()
  if problem:objective() ~= "latency" then
    error("cp-sat: its model is of a step's latency; use --policy exact for throughput", 0)
  end
  if groups > MOST_GROUPS then
    error(("cp-sat: %d groups are more than %d; make fewer of them"):format(groups, MOST_GROUPS), 0)
  end
  -- Nothing to start from where heft finds nothing that fits: the solver may.
  local found, start = pcall(function() return (berth.policy "heft":place(problem)) end)
  local refusal = not found and start
  if not found then start = nil end
  local best = start
  local best_evaluation = start and evaluator:evaluate(start)

  local input, output = os.tmpname(), os.tmpname()
  write_problem(input, problem, start,
    best and best_evaluation.feasible and best_evaluation.objective_us or math.huge)
  local command = ("%s %s %s %s %.17g %d %d 2>&1"):format(quoted(options.python),
    quoted(folder .. "/cp_sat.py"), quoted(input), quoted(output), options.seconds,
    options.workers, context:seed() % 2 ^ 31)
  local pipe = assert(io.popen(command))
  local words = pipe:read "*a"
  pipe:close()
  local placements, bound_us, status = read_answer(output)
  os.remove(input)
  os.remove(output)
  if status == "no answer" then
    error(("cp-sat: the solver did not answer: %s\nInstall OR-Tools (pip install ortools) for the "
      .. "Python of --set python="):format(words:match "([^\n]*)\n*$" or ""), 0)
  end

  for _, placement in ipairs(placements) do
    local evaluation = evaluator:evaluate(placement)
    if not best or better(evaluation, best_evaluation) then best, best_evaluation = placement, evaluation end
  end
  if not best then
    berth.infeasible(("cp-sat: the solver found no placement (%s), and nor did heft: %s"):format(status,
      tostring(refusal)))
  end
  context:note(("CP-SAT: %s, %d placements, none below %.6g us by its model"):format(
    status, #placements, bound_us))
  if finest(problem) then context:prove(bound_us, "constraint solver") end
  return best
end

berth.register_policy {
  name = "cp-sat",
  description = "constraint programming by OR-Tools in a process of its own, for some hundred groups",
  options = {
    { name = "seconds", default = 30, type = "real", above = 0, meaning = "time for the solver" },
    { name = "workers", default = 1, at_least = 1, meaning = "threads of the solver" },
    { name = "python", default = "python3", meaning = "the Python that has OR-Tools" },
  },
  place = place,
}
