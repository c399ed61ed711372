-- Studies: one experiment run for many options and seeds, several at once, with everything that was run
-- kept in one file. A study that is ended, in whatever way, goes on where it was when its script is run
-- again; it may also be run by several processes at the same time.
--
--   local study = require "berth.study"
--   local result = study.run {
--     file = "rates.db", name = "rates", direction = "minimize", goal = "own_us",
--     space = { learning_rate = { 1e-3, 3e-3 }, samples = { 8, 16 } }, seeds = 5, jobs = 2,
--     objective = function(run)
--       local trained = train.episodes { learning_rate = run.options.learning_rate, seed = run.seed,
--         progress = run:progress "best_us", should_stop = run.should_stop, .. }
--       return train.figures(trained)
--     end }
--   print(result:text())
--
-- Every run is a process of its own: the script is started again and does this one run. What stands
-- before study.run is done by each, so it should be quick. `berth study ls|show|plot rates.db` show
-- what there is, also while it runs.

local arguments = require "berth.arguments"
local berth = require "berth"
local known = require "berth.known"
local processes = require "berth.processes"
local origins = require "berth.study.origins"
local report = require "berth.study.report"
local space = require "berth.study.space"
local statistics = require "berth.statistics"
local store = require "berth.study.store"

local study = {
  uniform = space.uniform, log_uniform = space.log_uniform, integer = space.integer, choice = space.choice,
}

local VARIABLE = "BERTH_STUDY_RUN"

local DEFAULTS = {
  file = true,          -- the SQLite file; made where there is none
  name = true,          -- of the study: letters, digits, '-', '_', '.'
  objective = false,    -- function(run), returns a number, or a table of results by name
  script = false,       -- instead: a Lua file that asks for its run with study.current
  arguments = false,    -- array: what the script is given besides; default, with objective: its own
  space = {},           -- by name: an array of values, or study.uniform(low, high), log_uniform, integer,
                        -- choice
  search = "grid",      -- "grid": every combination; "random": `count` different draws
  count = 0,
  search_seed = 1,      -- of the draws
  seeds = 1,            -- array, or how many: 1, 2, ..
  goal = "value",       -- the result that is to be made small or large
  direction = "minimize",  -- or "maximize"
  directions = {},      -- of other results, where they are unlike the goal's: { accuracy = "maximize" }
  jobs = 1,             -- runs at once; 0: one after another in this process, for looking into one
  limit = math.huge,    -- runs that this call does at most: 1 for a job of a batch queue
  median_stop = false,  -- true, or { startup_runs = 5, warmup_steps = 0 }: a run is stopped at a step
                        -- past warmup_steps where its best so far is worse than the median of the
                        -- averages, up to that step, of the runs that are done, once there are
                        -- startup_runs of them (the median stopping rule of Golovin et al., "Google
                        -- Vizier", KDD 2017, section 3.2.2)
  retry = false,        -- run again what failed
  mix = arguments.given "--mix",  -- also with results of another version of the script, of a module that it loaded
                        -- or of arguments that the objective sees, which is otherwise an error; `--mix` on the
                        -- script's command line
  program = false,      -- array: what runs a script; default { this program, "run" }
}

local function fail(...) error("study.run: " .. string.format(...), 4) end

local function whole(options, name, least)
  local value = options[name]
  if type(value) ~= "number" or value < least or value % 1 ~= 0 and value < math.huge then
    fail("option '%s' is %s; give a whole number from %d on", name, tostring(value), least)
  end
end

local function one_of(options, name, ...)
  for _, known in ipairs { ... } do
    if options[name] == known then return end
  end
  fail("option '%s' is '%s'; known: %s", name, tostring(options[name]), table.concat({ ... }, ", "))
end

local function of_type(options, name, kind)
  if options[name] and type(options[name]) ~= kind then
    fail("option '%s' is a %s, and a %s is expected", name, type(options[name]), kind)
  end
end

local function read_seeds(options)
  if type(options.seeds) == "number" then
    whole(options, "seeds", 1)
    local list = {}
    for seed = 1, options.seeds do list[seed] = seed end
    options.seeds = list
  end
  of_type(options, "seeds", "table")
  for _, seed in ipairs(options.seeds) do
    if type(seed) ~= "number" or seed % 1 ~= 0 or seed < 0 then
      fail("seed %s is no whole number from 0 on", tostring(seed))
    end
  end
  if #options.seeds == 0 then fail("option 'seeds' is empty; give how many, or an array") end
end

local MEDIAN_STOP = { startup_runs = 5, warmup_steps = 0 }

local function read_median_stop(options)
  local given = options.median_stop
  if not given then return end
  if given == true then given = {} end
  of_type(options, "median_stop", type(given) == "table" and type(options.median_stop) or "table")
  for name, value in pairs(known.over("study.run: median_stop", given, MEDIAN_STOP, 5)) do
    if type(value) ~= "number" or not (value >= 0) then
      fail("median_stop.%s is %s; give a number from 0 on", name, tostring(value))
    end
    options[name] = value
  end
end

local function read_options(given)
  if type(given) ~= "table" then fail("a table of options expected, got a %s", type(given)) end
  local options = known.over("study.run", given, DEFAULTS, 4)
  for _, name in ipairs { "file", "name", "goal" } do
    if type(options[name]) ~= "string" or options[name] == "" then
      fail("option '%s' is missing; give a text", name)
    end
  end
  if not options.name:match "^[%w_.-]+$" then
    fail("the name '%s' may have letters, digits, '-', '_' and '.'", options.name)
  end
  of_type(options, "objective", "function")
  of_type(options, "script", "string")
  of_type(options, "arguments", "table")
  of_type(options, "program", "table")
  if not options.objective == not options.script then
    fail "give an objective, function(run), or a script"
  end
  one_of(options, "search", "grid", "random")
  one_of(options, "direction", "minimize", "maximize")
  of_type(options, "directions", "table")
  for name, direction in pairs(options.directions) do
    if type(name) ~= "string" or name == options.goal then
      fail("directions: %s is no name of another result than the goal; the goal's is 'direction'", tostring(name))
    end
    one_of({ ["directions." .. name] = direction }, "directions." .. name, "minimize", "maximize")
  end
  whole(options, "jobs", 0)
  whole(options, "limit", 1)
  whole(options, "search_seed", 0)
  if options.search == "random" then whole(options, "count", 1) end
  if options.script and options.jobs == 0 then fail "a script runs in processes of its own; give jobs = 1" end
  read_seeds(options)
  read_median_stop(options)
  return options
end

-- A run as its objective sees it.
local Run = {}
Run.__index = Run

local function worse(a, b, direction)
  if direction == "maximize" then return a < b end
  return a > b
end

-- Keeps what the run has reached at a step. A run that is begun again keeps the steps before its first one here:
-- those before the checkpoint that it goes on from.
--   ARGS    step   a number; each next one larger
--           value  the goal so far
--   RETURN  whether the run is to end now
function Run:report(step, value)
  for what, number in pairs { step = step, value = value } do
    if type(number) ~= "number" or number - number ~= 0 then
      error(("run:report: the %s is %s; give a finite number"):format(what, tostring(number)), 2)
    end
  end
  if not self.kept then return self.should_stop() end
  local values = self.best and {} or self.kept:begin_points(self.id, step)
  self.kept:point(self.id, step, value)
  values[#values + 1] = value
  for _, each in ipairs(values) do
    if not self.best or worse(self.best, each, self.study.direction) then self.best = each end
  end
  local rule = self.study
  if rule.startup_runs and step > rule.warmup_steps then
    local averages = self.kept:averages(rule.id, step)
    if #averages > 0 and #averages >= rule.startup_runs
      and worse(self.best, statistics.median(averages), rule.direction) then
      self.stopped_at = step
    end
  end
  return self.should_stop()
end

-- A `progress` for train.episodes: reports a field of its records, once it is finite: best_us is not before something
-- fits.
--   ARGS    field  such as "best_us", the default
--           every  updates; default 1
function Run:progress(field, every)
  return function(record)
    local value = record[field or "best_us"]
    if value ~= math.huge and (record.update % (every or 1) == 0 or record.update == record.count) then
      self:report(record.update, value)
    end
  end
end

-- A file in a folder of the run's own, which stays the same when the run is begun again: a checkpoint.
function Run:file(name)
  if self.folder then processes.make_folder(self.folder) end
  return self.folder and self.folder .. "/" .. name or name
end

local function checked_results(results, goal)
  if type(results) == "number" then results = { [goal] = results } end
  if type(results) ~= "table" then
    error(("a run returns a number or a table of results by name, got %s"):format(tostring(results)), 0)
  end
  for name, value in pairs(results) do
    local kind = type(value)
    if type(name) ~= "string" or kind ~= "number" and kind ~= "string" and kind ~= "boolean"
      or value ~= value then
      error(("result '%s' is %s; give numbers, texts or booleans by name"):format(tostring(name),
        kind == "number" and "nan" or "a " .. kind), 0)
    end
  end
  if type(results[goal]) ~= "number" then
    error(("the results lack the goal '%s'; return it, or set goal to one of them"):format(goal), 0)
  end
  return results
end

-- Ends the run with its results; a run of study.run's objective does so by returning them.
--   ARGS    results  a number, or a table by name
function Run:finish(results)
  if self.finished then error("run:finish: this run has ended already", 2) end
  results = checked_results(results, self.study.goal)
  self.finished = true
  if not self.kept then return end
  -- Told to end before it was through: it is to be run again.
  local state = self.stopped_at and "stopped" or berth.should_stop() and "waiting" or "done"
  self.kept:finish(self.id, state, { wall_s = berth.clock() - self.began_s, results = results,
    script = self.script, sources = origins.text(self.script_path, self.own_arguments) })
end

function Run:fail(message)
  if self.finished then return end
  self.finished = true
  self.kept:finish(self.id, berth.should_stop() and "waiting" or "failed",
    { wall_s = berth.clock() - self.began_s, error = message, script = self.script })
end

--   ARGS    own_arguments  of origins.of_arguments
local function new_run(kept, row, the_study, script, file, own_arguments)
  local run = setmetatable({ kept = kept, id = row.id, number = row.number, key = row.key, seed = row.seed,
    options = row.options, study = the_study, script = origins.version_of(script), script_path = script,
    own_arguments = own_arguments, began_s = berth.clock(), folder = ("%s.runs/%s/%04d"):format(file, the_study.name, row.number) }, Run)
  -- A plain function, so that it can be handed on.
  function run.should_stop() return run.stopped_at ~= nil or berth.should_stop() end
  return run
end

-- The run that this process was started for: { id, parent, claim, file }; nil for none.
local function assigned()
  local id, parent, rest = (os.getenv(VARIABLE) or ""):match "^(%d+) (%d+) (.*)$"
  if not id then return nil end
  local claim, file = rest:match "^(.-)\n(.*)$"
  return { id = tonumber(id), parent = tonumber(parent), claim = claim, file = file }
end

-- The run that this process was started for.
local function assigned_run(task, script, objective)
  if not processes.end_with(task.parent) then error("study: the process that runs it has ended", 0) end
  local kept = store.open(task.file, "open")
  local row = kept:taken(task.id, task.claim)
  if not row then error(("%s: run %d is no longer to be run"):format(task.file, task.id), 0) end
  for _, each in ipairs(kept:studies()) do
    if each.id == row.study then
      return new_run(kept, row, each, script, task.file, origins.of_arguments(arg or {}, objective))
    end
  end
end

local BOOLEANS = { ["true"] = true, ["false"] = false }

-- A text of the command line as a value of the default's type.
local function read_value(name, text, default)
  local value = text
  if type(default) == "number" then value = tonumber(text) end
  if type(default) == "boolean" then value = BOOLEANS[text] end
  if value ~= nil and value == value then return value end
  error(("study.current: option '%s' is '%s'; give %s"):format(name, text,
    type(default) == "number" and "a number" or "true or false"), 3)
end

-- The run of a script that study.run's `script` names; on its own, one with the defaults, over which
-- stands what the command line gives: --learning_rate 0.01 --seed 3.
--   ARGS    defaults  table: the options, and seed; what the command line gives is read as of the default's type
--   RETURN  run: options, seed, number, report, should_stop, progress, file, finish
function study.current(defaults)
  local options = {}
  for name, value in pairs(defaults or {}) do options[name] = value end
  local task = assigned()
  if task then
    local run = assigned_run(task, arg and arg[0])
    for name in pairs(run.options) do
      if defaults and defaults[name] == nil then
        error(("study.current: the study gives an option '%s' that the script does not know"):format(name), 2)
      end
    end
    for name, value in pairs(options) do
      if name ~= "seed" and run.options[name] == nil then run.options[name] = value end
    end
    return run
  end
  local given = {}
  for _, text in ipairs(arg or {}) do
    if text ~= "--mix" then given[#given + 1] = text end
  end
  for i = 1, #given, 2 do
    local name, value = given[i]:match "^%-%-(.+)$", given[i + 1]
    if not name or options[name] == nil and name ~= "seed" or value == nil then
      local all = { seed = 1 }
      for each in pairs(options) do all[each] = 1 end
      error(("study.current: '%s' is no option of the script%s"):format(given[i],
        value == nil and name and all[name] and "; give --name value" or known.text(name or given[i], all)), 2)
    end
    options[name] = read_value(name, value, options[name] == nil and 1 or options[name])
  end
  local seed = options.seed or 1
  options.seed = nil
  local run = setmetatable({ options = options, seed = seed, number = 0,
    study = { goal = "value", direction = "minimize" }, should_stop = berth.should_stop }, Run)
  function run:finish(results)  -- whatever its goal is
    if type(results) ~= "table" then results = { value = results } end
    for name, value in pairs(results) do print(name, value) end
  end
  return run
end

local function run_objective(run, objective)
  local fine, message = xpcall(function() run:finish(objective(run)) end, function(problem)
    return debug.traceback(tostring(problem))
  end)
  if not fine then run:fail(message:match "^[^\n]*") end
  return fine, message
end

-- The arguments of a run's script.
local function arguments_of(options) return options.arguments or not options.script and arg or {} end

local Runner = {}
Runner.__index = Runner

function Runner:start(row)
  local options = self.options
  local folder = ("%s.runs/%s/%04d"):format(options.file, options.name, row.number)
  processes.make_folder(folder)
  local command = {}
  for i, text in ipairs(options.program or { processes.program(), "run" }) do command[i] = text end
  command[#command + 1] = options.script or arg[0]
  for _, text in ipairs(arguments_of(options)) do command[#command + 1] = tostring(text) end
  row.output = folder .. "/output.txt"
  local pid = processes.start(command, { output = row.output, environment = {
    [VARIABLE] = ("%d %d %s\n%s"):format(row.id, processes.own_id(), self.kept.claim, options.file) } })
  self.running[pid] = row
  self.busy = self.busy + 1
end

function Runner:conclude(pid, row, how, code)
  self.running[pid] = nil
  self.busy = self.busy - 1
  if self.kept:state(row.id) ~= "running" then return end
  local why = how == "signal" and ("it was ended by signal %d"):format(code)
    or ("it ended with status %d and no results"):format(code)
  self.kept:finish(row.id, self.stopping and "waiting" or "failed",
    { error = ("%s: %s"):format(why, processes.last_line(row.output) or "it printed nothing") })
end

function Runner:show()
  local each = self.kept:study(self.options.name)
  berth.progress(("study %s: %d of %d runs done, %d stopped, %d failed, %d running"):format(each.name,
    each.done, each.runs, each.stopped, each.failed, each.running))
end

-- Keeps `jobs` processes busy until no run is left.
function Runner:processes()
  local renewed_s = berth.clock()
  local exhausted = false
  while true do
    for pid, row in pairs(self.running) do
      local how, code = processes.ended(pid)
      if how then
        self:conclude(pid, row, how, code)
        self:show()
      end
    end
    if not self.stopping and berth.should_stop() then
      self.stopping = true
      for pid in pairs(self.running) do processes.interrupt(pid) end
    end
    while not self.stopping and not exhausted and self.busy < self.options.jobs do
      local row = self.taken < self.options.limit and self.kept:take(self.study.id, self.keys)
      exhausted = not row
      if row then
        self.taken = self.taken + 1
        self:start(row)
      end
    end
    if self.busy == 0 then return end
    if berth.clock() - renewed_s > 20 then
      self.kept:renew()
      renewed_s = berth.clock()
    end
    processes.sleep(0.02)
  end
end

-- One run after another, here.
function Runner:here()
  while self.taken < self.options.limit and not berth.should_stop() do
    local row = self.kept:take(self.study.id, self.keys)
    if not row then return end
    self.taken = self.taken + 1
    run_objective(new_run(self.kept, row, self.study, arg and arg[0], self.options.file, self.own_arguments),
      self.options.objective)
    self:show()
  end
end

-- In the process of one run: does it and ends, or is of another study.run of the script.
--   ARGS    keys  of the runs that this study.run asks for, as a set
local function run_assigned(task, options, keys)
  if task.file ~= options.file then return end
  local run = assigned_run(task, arg and arg[0], options.objective)
  if run.study.name ~= options.name or not keys[run.key] then
    run.kept:close()
    return
  end
  if not options.objective then error("study: a script that is run by a study calls study.current", 0) end
  local fine, message = run_objective(run, options.objective)
  run.kept:close()
  if not fine then io.stderr:write(message, "\n") end
  io.stdout:flush()
  os.exit(fine and 0 or 1)
end

-- Runs what is missing of a study.
--   ARGS    given   table of DEFAULTS
--   RETURN  the study, as study.open gives it; `interrupted` is true where Ctrl-C ended it
function study.run(given)
  local options = read_options(given)
  local runs, keys = space.runs(options), {}
  for _, run in ipairs(runs) do keys[run.key] = true end
  local task = assigned()
  if task then
    run_assigned(task, options, keys)
    return study.open(options.file, options.name)
  end
  local kept = store.open(options.file)
  local id = kept:add(options, runs)
  local script = options.script or arg and arg[0]
  local own_arguments = origins.of_arguments(arguments_of(options), options.objective)
  local unmixed, why = pcall(function()
    if options.mix then return end
    origins.check(kept, kept:study(options.name), script, own_arguments)
    if options.objective then origins.check_objective(options.file, options.name, options.objective, keys) end
  end)
  if not unmixed then
    kept:close()
    error(why, 0)
  end
  if options.retry then kept:retry(id) end
  local runner = setmetatable({ options = options, kept = kept, keys = keys, taken = 0, running = {},
    busy = 0, stopping = false, own_arguments = own_arguments, study = kept:study(options.name) }, Runner)
  local fine, message = pcall(options.jobs == 0 and runner.here or runner.processes, runner)
  if not fine then
    for pid in pairs(runner.running) do processes.kill(pid) end
    error(message, 0)
  end
  kept:close()
  local result = study.open(options.file, options.name)
  result.interrupted = berth.should_stop()
  local left = result.count - result.done - result.stopped - result.failed
  if result.failed > 0 then
    berth.end_with_failure(("study '%s': %d of %d runs failed; `berth study show %s` says why"):format(result.name,
      result.failed, result.count, options.file))
  elseif result.interrupted and left > 0 then
    berth.end_with_failure(("study '%s': interrupted, with %d of %d runs left; run the script again to go on")
      :format(result.name, left, result.count))
  end
  return result
end

-- A study of a file.
--   ARGS    file  as study.run wrote it
--           name  of the study; may be left out where there is one
--   RETURN  table: see berth.study.report
function study.open(file, name) return report.open(file, name) end

-- The names of the studies in a file, in the order they were made.
function study.names(file)
  local kept, names = store.open(file, "open"), {}
  for i, each in ipairs(kept:studies()) do names[i] = each.name end
  kept:close()
  return names
end

return study
