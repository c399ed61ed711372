-- At what number of workers does training by many processes stop growing, and why?
--
--   berth run scripts/experiments/workers_scale.lua [--counts 1,10,100] [--measuring 0.01,0.1,1,10]
--       [--per_controller N] [--ahead N] [--ops N] [--parameters N] [--days N] [--seconds N] [--seed N]
--       [--executed SECONDS] [--figures FOLDER] [--format text|markdown]
--
-- --executed: before that, so many seconds of the traffic itself: one server with its journal, four processes that each control,
-- measure (in no time) and learn; samples per second, and processor time for a sample, which
-- other work on the machine hardly changes.
--
-- The costs of the store's operations and of an update are measured here, as processor time, which a busy machine
-- does not change. Then the training system is simulated, request by request: workers that measure for --measuring
-- seconds on average, a controller for every --per_controller of them, --ahead times as many placements in flight
-- as workers, one store, one process that learns. The store and the one who learns do one thing at a time, in the
-- order it comes. A worker's machine fails once in --days days on average, is away for ten minutes, and what it was
-- measuring is measured again.
--
-- 2,111 days is what 419 unexpected interruptions in 54 days of 16,384 GPUs come to (Grattafiori et al., The Llama
-- 3 Herd of Models, 2024, section on reliability).

local arguments = require "berth.arguments"
local berth = require "berth"
local plots = require "berth.plots"
local processes = require "berth.processes"
local store = require "berth.store"
local tables = require "berth.tables"
local workers = require "berth.workers"

local options = { counts = { 1, 3, 10, 30, 100, 300, 1000, 3000, 10000 }, measuring = { 0.01, 0.1, 1, 10 },
  per_controller = 8, ahead = 2, ops = 17187, parameters = 112311, days = 2111, seconds = 0, seed = 1, executed = 0, format = "text" }
local line = arguments.parser()
local parts = {}
line.read({ ... }, parts, {
  ["--counts"] = line.numbers_into(options, "counts"), ["--measuring"] = line.numbers_into(options, "measuring"),
  ["--per_controller"] = line.number_into(options, "per_controller"), ["--ops"] = line.number_into(options, "ops"),
  ["--ahead"] = line.number_into(options, "ahead"), ["--parameters"] = line.number_into(options, "parameters"), ["--days"] = line.number_into(options, "days"),
  ["--seconds"] = line.number_into(options, "seconds"), ["--seed"] = line.number_into(options, "seed"),
  ["--executed"] = line.number_into(options, "executed"), ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

-- 1. What things cost.

-- Seconds of processor time that a process has used.
local function used_s(pid)
  local file = assert(io.open(("/proc/%d/schedstat"):format(pid)))
  local ns = file:read "*n"
  file:close()
  return ns / 1e9
end

local PLACEMENT, RESULT, WEIGHTS = 2 * options.ops, 600, 4 * options.parameters
local ROUNDS = 300

-- RETURN  table: seconds of the store by request, and of the process that asks
local function measured_costs()
  local folder = processes.temporary_folder "berth-scale-"
  local server = workers.start_store { folder = folder }
  local client = store.connect { server = server.server, name = "measure" }
  local costs = {}
  local function cost(name, body)
    local store_s, own_s = used_s(server.pid), os.clock()
    for i = 1, ROUNDS do body(i) end
    costs[name] = (used_s(server.pid) - store_s) / ROUNDS
    costs["own " .. name] = (os.clock() - own_s) / ROUNDS
  end
  local placement, result, weights = ("p"):rep(PLACEMENT), ("r"):rep(RESULT), ("w"):rep(WEIGHTS)
  cost("add", function() client:add "counter" end)
  cost("submit", function(i) client:submit("q", tostring(i), placement) end)
  cost("take", function() client:take("q", 60, 1) end)
  cost("done", function(i) client:done("q", tostring(i), result) end)
  cost("result", function(i) client:result("q", tostring(i), 1) end)
  cost("submit gradient", function(i) client:submit("g", tostring(i), weights) end)
  cost("take gradient", function() client:take("g", 60, 1) end)
  cost("set weights", function(i) client:set("weights", weights, i) end)
  cost("get weights", function() client:get("weights", { at_least = 1 }) end)
  client:close()
  server:stop()
  processes.remove_folder(folder)
  return costs
end

-- One that learns. A network of about so many values stands for any.
local function learner()
  local builder, tensor = berth.graph_builder "chain", nil
  for i = 1, 4 do
    local op = builder:add_op("op" .. i, "Op")
    builder:set_cost(op, 100)
    if tensor then builder:add_input(op, tensor) end
    tensor = builder:add_output(op, { bytes = 1e6 })
  end
  local problem = berth.problem { graph = builder:build(), cluster = "k80x2" }
  local policy = berth.policy("seq2seq", { weights = "none", hidden = 64 })
  policy:prepare(problem)
  return policy, ("\0"):rep(4 * policy:parameters())
end

-- The step of one update: clipping, Adam, weights as bytes.
local function step_cost()
  local policy, gradient = learner()
  policy:step(gradient, {})
  local began_s = os.clock()
  for _ = 1, 50 do
    policy:step(gradient, {})
    policy:weights()
  end
  return (os.clock() - began_s) / 50 * options.parameters / policy:parameters()
end

-- 1b. The traffic itself.

-- Goes round until it is killed: a controller's samples, their measurements, and the update that they give.
local function traffic(path)
  local policy, gradient = learner()
  local me = tostring(processes.own_id())
  local client = store.connect { server = { path = path }, name = me }
  local placement, result = ("p"):rep(PLACEMENT), ("r"):rep(RESULT)
  local tasks, gradients, version = "q" .. me, "g" .. me, 0
  while true do
    for i = 1, options.per_controller do client:submit(tasks, tostring(version * 1000 + i), placement) end
    for _ = 1, options.per_controller do
      client:done(tasks, client:take(tasks, 60, 1), result)
    end
    for i = 1, options.per_controller do client:result(tasks, tostring(version * 1000 + i), 1) end
    client:submit(gradients, tostring(version), gradient)
    local id, taken = client:take(gradients, 60, 1)
    policy:step(taken, {})
    version = version + 1
    client:set("weights" .. me, policy:weights(), version)
    client:done(gradients, id, "")
    client:result(gradients, tostring(version - 1), 1)
    client:get("weights" .. me, { at_least = version })
    client:add("samples", options.per_controller)
  end
end

-- RETURN  samples per second of four such processes and the server, and processor seconds for a sample
local function executed()
  local folder = processes.temporary_folder "berth-scale-"
  local server = workers.start_store { folder = folder }
  local pids = { server.pid }
  for _ = 1, 4 do
    pids[#pids + 1] = processes.start({ processes.program(), "run", "--threads", "1", arg[0], "traffic", server.server.path,
      "--per_controller", tostring(options.per_controller), "--ops", tostring(options.ops) }, {})
  end
  local client = store.connect { server = server.server, name = "count" }
  local function seen()
    local used = 0
    for _, pid in ipairs(pids) do used = used + used_s(pid) end
    return client:add("samples", 0), used, berth.clock()
  end
  while client:add("samples", 0) == 0 do processes.sleep(0.1) end
  local samples, used, at_s = seen()
  processes.sleep(options.executed)
  local samples_after, used_after, after_s = seen()
  client:close()
  for i = 2, #pids do processes.kill(pids[i]) end
  server:stop()
  processes.remove_folder(folder)
  return (samples_after - samples) / (after_s - at_s), (used_after - used) / (samples_after - samples)
end

if parts[1] == "traffic" then return traffic(parts[2]) end
if options.executed > 0 then
  local per_s, used = executed()
  print(("executed, %d samples an update of %d values: %.0f samples/s, %.3f ms of processor time each"):format(
    options.per_controller, learner():parameters(), per_s, used * 1e3))
end

local costs = measured_costs()
local step_s = step_cost()

-- 2. The system.

-- Events by time: a binary heap of times beside what is to be done.
local function new_events()
  local times, actions, size = {}, {}, 0
  local events = {}
  function events.add(time, action)
    size = size + 1
    local i = size
    while i > 1 do
      local parent = (i - i % 2) / 2
      if times[parent] <= time then break end
      times[i], actions[i] = times[parent], actions[parent]
      i = parent
    end
    times[i], actions[i] = time, action
  end
  function events.next()
    local time, action = times[1], actions[1]
    local last, moved = times[size], actions[size]
    times[size], actions[size] = nil, nil
    size = size - 1
    local i = 1
    while 2 * i <= size do
      local child = 2 * i
      if child < size and times[child + 1] < times[child] then child = child + 1 end
      if times[child] >= last then break end
      times[i], actions[i] = times[child], actions[child]
      i = child
    end
    if size > 0 then times[i], actions[i] = last, moved end
    return time, action
  end
  return events
end

local ROUND_TRIP_S, AWAY_S, SAMPLING_S = 2e-4, 600, 0.4

-- One training of `count` workers for so many simulated seconds.
--   RETURN  table: per_s (samples), store and learner (share of the time they are busy), lost (samples)
local function simulate(count, measuring_s, seconds)
  local random, events = berth.random(options.seed), new_events()
  local free = { store = 0, learner = 0 }
  local busy = { store = 0, learner = 0 }
  local controllers = math.max(1, math.floor(count / options.per_controller + 0.5))
  -- More placements in flight than workers: these have something to do while a controller learns.
  local batch = math.ceil(options.ahead * count / controllers)
  local warm_s = seconds / 4
  local now, samples, lost = 0, 0, 0

  -- A server that does one thing after another; `done` is called when this one is.
  local function serve(who, cost, done)
    local at = math.max(now, free[who])
    free[who] = at + cost
    busy[who] = busy[who] + math.max(0, math.min(at + cost, seconds) - math.max(at, warm_s))
    events.add(at + cost + ROUND_TRIP_S, done)
  end
  local function exponential(mean) return -mean * math.log(1 - random:uniform()) end

  local waiting, first, last = {}, 1, 0  -- placements
  local idle = {}
  local assign
  local function work(task)
    serve("store", costs.take, function()
      -- Gamma of shape 4: measurements differ, and none takes no time.
      local spent = 0
      for _ = 1, 4 do spent = spent + exponential(measuring_s / 4) end
      if random:uniform() < spent / (options.days * 86400) then
        lost = lost + 1
        events.add(now + spent / 2, function() assign(task) end)
        events.add(now + spent / 2 + AWAY_S, function() idle[#idle + 1] = true; assign() end)
        return
      end
      events.add(now + spent, function()
        serve("store", costs.done, function()
          serve("store", costs.result, task)
          idle[#idle + 1] = true
          assign()
        end)
      end)
    end)
  end
  function assign(task)
    if task then
      last = last + 1
      waiting[last] = task
    end
    while #idle > 0 and first <= last do
      idle[#idle] = nil
      local next_task = waiting[first]
      waiting[first], first = nil, first + 1
      work(next_task)
    end
  end

  local function controller()
    serve("store", costs["get weights"], function()
      events.add(now + SAMPLING_S, function()
        local missing = batch
        for _ = 1, batch do
          serve("store", costs.submit, function()
            assign(function()
              missing = missing - 1
              if now > warm_s then samples = samples + 1 end
              if missing > 0 then return end
              events.add(now + SAMPLING_S, function()
                serve("store", costs["submit gradient"], function()
                  -- It goes on with the weights that are there; the gradient is taken when it is its turn.
                  serve("learner", step_s + costs["own take gradient"] + costs["own set weights"], function()
                    serve("store", costs["take gradient"] + costs["set weights"] + costs.done, function() end)
                    controller()
                  end)
                end)
              end)
            end)
          end)
        end
      end)
    end)
  end
  for _ = 1, count do idle[#idle + 1] = true end
  for _ = 1, controllers do events.add(SAMPLING_S * random:uniform(), controller) end
  while true do
    local action
    now, action = events.next()
    if now > seconds then break end
    action()
  end
  local span_s = seconds - warm_s
  return { per_s = samples / span_s, store = busy.store / span_s, learner = busy.learner / span_s, lost = lost }
end

-- 3. What comes out.

local cost_rows = {}
for _, name in ipairs { "add", "submit", "take", "done", "result", "submit gradient", "take gradient", "set weights",
  "get weights" } do
  cost_rows[#cost_rows + 1] = { name = name, us = costs[name] * 1e6, own_us = costs["own " .. name] * 1e6 }
end
io.write(tables[options.format](cost_rows, { { key = "name", title = "request" },
  { key = "us", title = "store, us", format = "%.0f" }, { key = "own_us", title = "client, us", format = "%.0f" } }))
print(("a step of %d values: %.2f ms"):format(options.parameters, step_s * 1e3))

local rows, series = {}, {}
for _, measuring_s in ipairs(options.measuring) do
  local points = {}
  for _, count in ipairs(options.counts) do
    -- Some ten updates of every controller, and what is saturated has come to its end.
    local round_s = options.ahead * measuring_s + 2 * SAMPLING_S
    local seconds = options.seconds > 0 and options.seconds or math.max(10 * round_s, 30)
    local found = simulate(count, measuring_s, seconds)
    local linear = count / measuring_s
    rows[#rows + 1] = { measuring = measuring_s, workers = count, per_s = found.per_s, share = 100 * found.per_s / linear,
      store = 100 * found.store, learner = 100 * found.learner, lost = found.lost }
    points[#points + 1] = { count, math.max(found.per_s, 1e-3) }
    berth.progress(("%g s, %d workers"):format(measuring_s, count))
  end
  series[#series + 1] = { name = ("%g s each"):format(measuring_s), points = points }
end
io.write(tables[options.format](rows, { { key = "measuring", title = "s per sample" }, { key = "workers" },
  { key = "per_s", title = "samples/s", format = "%.1f" }, { key = "share", title = "% of linear", format = "%.0f" },
  { key = "store", title = "store busy, %", format = "%.0f" },
  { key = "learner", title = "learner busy, %", format = "%.0f" }, { key = "lost" } }))
plots.keep(options.figures, "workers_scale", plots.lines { title = "Samples per second by number of workers",
  x = "workers", y = "samples/s", x_log = true, y_log = true, series = series })
