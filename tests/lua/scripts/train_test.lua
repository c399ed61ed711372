local berth = require "berth"
local baselines = require "berth.baselines"
local check = require "check"
local events = require "berth.events"
local files = require "berth.files"
local notes = require "berth.notes"
local rewards = require "berth.rewards"
local schedules = require "berth.schedules"
local train = require "berth.train"
local folder = ...

-- Two chains of `length` ops that never meet, and two equal devices: one chain on each is best.
local function two_chains(length)
  local builder = berth.graph_builder "chains"
  local tensors = {}
  for i = 1, 2 * length do
    local op = builder:add_op("op" .. i, "Op")
    builder:set_cost(op, 100)
    tensors[i] = builder:add_output(op, { bytes = 1e6 })
    if (i - 1) % length > 0 then builder:add_input(op, tensors[i - 1]) end
  end
  local cluster = berth.cluster { name = "pair",
    devices = { { name = "d0", kind = "k" }, { name = "d1", kind = "k" } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e10, latency_us = 1 } } }
  return berth.problem { graph = builder:build(), cluster = cluster }
end

check.test("schedules", function()
  local linear = schedules.linear(1, 0, 5)
  check.equal({ linear(1), linear(3), linear(5), linear(99) }, { 1, 0.5, 0, 0 })
  check.equal({ schedules.linear(1, 0, 1)(1), schedules.linear(1, 0, 1)(2) }, { 1, 0 })
  local later = schedules.linear(1, 0, 3, 3)
  check.equal({ later(3), later(4), later(5), later(6) }, { 1, 1, 0.5, 0 })
  check.near(schedules.exponential(2, 0.5, 10)(11), 1)
  check.equal(schedules.exponential(2, 0.5, 10, 1.5)(99), 1.5)
  check.fails("schedules.exponential: every is above 0, got 0", schedules.exponential, 1, 0.9, 0)
  check.fails("schedules.exponential: factor is above 0, got %-1", schedules.exponential, 1, -1)
  check.equal(schedules.of(nil, 3)(7), 3)
  check.fails("a number or a function", schedules.of, "fast")
  check.fails("schedules.linear: argument 2 %(last%): number expected, got nil", schedules.linear, 1)
end)

check.test("the baseline of a step is the mean of the others and of the rollouts before", function()
  local baseline = baselines.per_step { rollouts = 1 }
  local out = { {}, {} }
  baseline.advantages({ { 1, 5 }, { 3, 9 } }, out)
  check.equal(out, { { -2, -4 }, { 2, 4 } })
  baseline.advantages({ { 2, 0 }, { 2, 0 } }, out)
  check.near(out[1][1], 2 - (1 + 3 + 2) / 3)
  local other = baselines.per_step { rollouts = 1 }
  other.restore(notes.read(notes.write(baseline.state())))
  local a, b = { {}, {} }, { {}, {} }
  baseline.advantages({ { 7, 1 }, { 8, 2 } }, a)
  other.advantages({ { 7, 1 }, { 8, 2 } }, b)
  check.equal(a, b)
  check.near(a[1][1], 7 - (2 + 2 + 8) / 3)  -- the first rollout is forgotten
end)

check.test("episodes are compared with those that began alike, of rollouts before too", function()
  local baseline = baselines.per_step {}
  local out = { {}, {}, {}, {} }
  baseline.advantages({ { 1 }, { 3 }, { 10 }, { 14 } }, out, { 5, 5, 6, 6 })
  check.equal(out, { { -2 }, { 2 }, { -4 }, { 4 } })
  baseline.advantages({ { 2 }, { 2 }, { 20 }, { 26 } }, out, { 5, 5, 7, 7 })
  check.equal(out, { { 0 }, { 0 }, { -6 }, { 6 } })  -- 5: 2 - (1 + 3 + 2) / 3
  local other = baselines.per_step {}
  other.restore(notes.read(notes.write(baseline.state())))
  local a, b = { {}, {} }, { {}, {} }
  baseline.advantages({ { 7 }, { 8 } }, a, { 5, 9 })
  other.advantages({ { 7 }, { 8 } }, b, { 5, 9 })
  check.equal(a, b)
  check.equal(a[1][1], 7 - (1 + 3 + 2 + 2) / 4)
  check.equal(b[2][1], 8 - 7)  -- nothing began like it
end)

check.test("normalised advantages have the root mean square 1", function()
  local baseline = baselines.normalised(baselines.per_step { rollouts = 1 })
  local out = { {}, {} }
  baseline.advantages({ { 1, 5 }, { 3, 9 } }, out)  -- -2 -4, 2 4 before
  check.near(out[2][1], 2 / math.sqrt(10))
  check.near(out[1][2], -4 / math.sqrt(10))
  baseline = baselines.normalised(baselines.per_step { rollouts = 1 })
  baseline.advantages({ { 2, 2 }, { 2, 2 } }, out)  -- nothing to tell apart
  check.equal(out, { { 0, 0 }, { 0, 0 } })
end)

check.test("a moving average", function()
  local baseline = baselines.moving_average { decay = 0.5, start = -10 }
  local out = { {}, {} }
  baseline.advantages({ { -4 }, { -6 } }, out)
  check.equal(out, { { 6 }, { 4 } })
  baseline.advantages({ { -4 }, { -6 } }, out)
  check.equal(out, { { 3.5 }, { 1.5 } })
end)

check.test("baselines know their options", function()
  check.fails("baselines.per_step: unknown option 'rollout'; did you mean 'rollouts'%?", baselines.per_step, { rollout = 5 })
  check.fails("baselines.moving_average: unknown option 'decya'; did you mean 'decay'%?", baselines.moving_average,
    { decya = 0.5 })
  check.fails("baselines.quantile: a table of options expected, got a number", baselines.quantile, 0.2)
  for name, bad in pairs { per_step = { rollouts = { -1, 0.5, "ten" } }, quantile = { share = { 0, 1, "all" } },
                           moving_average = { decay = { 5, 1, -0.1, "x", 0 / 0 }, start = { math.huge, "x" } } } do
    for option, values in pairs(bad) do
      for _, value in ipairs(values) do
        check.fails(("baselines.%s: %s is .*, got "):format(name, option), baselines[name], { [option] = value })
      end
    end
  end
  check.equal(type(baselines.per_step { rollouts = 0 }), "table")
end)

check.test("notes come back as they were", function()
  local value = { 1, 0.1, -1 / 3, 1e300, math.huge, -math.huge, true, "a\n\"\0z",
    nested = { { 2, 3 }, [7] = "seven" }, [""] = false }
  check.equal(notes.read(notes.write(value)), value)
  check.fails("a function cannot be kept", notes.write, { print })
  check.fails("cannot be read", notes.read, "return {")
end)

check.test("an event file has the records TensorBoard reads", function()
  local path = folder .. "/events.tfevents.test"
  local log = events.tensorboard(path)
  log.write(3, { reward = 0.5 }, 2)
  log.close()
  local content = files.read(path)
  -- By TensorFlow's own writer: length 24, and the masked CRC-32C of these eight bytes.
  check.equal(content:sub(1, 12), "\24\0\0\0\0\0\0\0\163\127\75\34")
  check.equal(content:find("brain.Event:2", 1, true) ~= nil, true)
  check.equal(content:find("\10\6reward\21\0\0\0\63", 1, true) ~= nil, true)
end)

check.test("an event file and a table go on after the step that is kept", function()
  local path = folder .. "/kept.tfevents"
  local straight = folder .. "/straight.tfevents"
  local function write(log, first, last)
    for step = first, last do log.write(step, { reward = step }, 2) end
    log.close()
  end
  write(events.tensorboard(path), 1, 300)
  local cut = files.read(path)
  local file = assert(io.open(path, "wb"))
  file:write(cut:sub(1, -3))  -- killed while it wrote
  file:close()
  write(events.tensorboard(path, 200), 201, 302)
  write(events.tensorboard(straight), 1, 302)
  check.equal(#files.read(path), #files.read(straight))
  check.equal(files.read(path):sub(41) == files.read(straight):sub(41), true)  -- but for when it began, with its checksum

  local csv, columns = folder .. "/kept.csv", { "update", "reward" }
  local log = events.csv(csv, columns)
  for update = 1, 4 do log.write { update = update, reward = update / 2 } end
  log.close()
  log = events.csv(csv, columns, 2)
  log.write { update = 3, reward = 9 }
  log.close()
  check.equal(files.read(csv), "update,reward\n1,0.5\n2,1\n3,9\n")
end)

check.test("curves are not written into files of others", function()
  local function with(name, content)
    local file = assert(io.open(folder .. "/" .. name, "wb"))
    file:write(content)
    file:close()
    return folder .. "/" .. name
  end
  for _, content in ipairs { "trial,score\n1,0.91\n", "trial", "update,rewards\n1,0.5\n" } do
    local path = with("theirs.csv", content)
    for _, last in ipairs { 0, false } do
      check.fails("theirs.csv is there, and is no curve with the columns update,reward;", events.csv, path,
        { "update", "reward" }, last or nil)
    end
    check.equal(files.read(path), content)
  end
  -- Killed while it wrote the header.
  local path = with("mine.csv", "update,rew")
  events.csv(path, { "update", "reward" }, 0).close()
  check.equal(files.read(path), "update,reward\n")
  path = with("theirs.tfevents", "some words that are no events")
  check.fails("theirs.tfevents is there, and is no file of TensorBoard's events", events.tensorboard, path, 0)
  check.equal(files.read(path), "some words that are no events")
end)

check.test("a step below 0 is an int64, and is kept", function()
  local path = folder .. "/before.tfevents"
  local log = events.tensorboard(path)
  log.write(-1, { loss = 1 }, 2)
  log.write(300, { loss = 1 }, 2)
  check.fails("step nan; give a whole number", log.write, 0 / 0, { loss = 1 })
  check.fails("step 0.5; give a whole number", log.write, 0.5, { loss = 1 })
  log.close()
  -- Field 2, a varint, as Protobuf's own library writes it.
  check.equal(files.read(path):find("\16" .. ("\255"):rep(9) .. "\1\42", 1, true) ~= nil, true)
  check.equal(files.read(path):find("\16\172\2\42", 1, true) ~= nil, true)
  local whole = #files.read(path)
  events.tensorboard(path, 300).close()
  check.equal(#files.read(path), whole)
  events.tensorboard(path, -1).close()
  check.equal(files.read(path):find("\16" .. ("\255"):rep(9), 1, true) ~= nil, true)
  check.equal(#files.read(path) < whole, true)
end)

check.test("a policy that does not learn is refused", function()
  check.fails("nothing to learn", function()
    train.episodes { policy = berth.policy "single", problems = { two_chains(2) }, count = 1 }
  end)
  check.fails("nothing to learn", function() berth.policy("single"):rollout(two_chains(2)) end)
end)

if not check.installed "placeto" then return check.finish() end

check.test("episodes start where they are told to", function()
  local problem = two_chains(4)
  local policy = berth.policy("placeto", { weights = "none" })
  local runtimes = {}
  for _, name in ipairs { "zero", "single", "contiguous", "earliest" } do
    runtimes[name] = policy:rollout(problem, { initial = name }):evaluation(1, 0).objective_us
  end
  -- All ops on one device, or a chain on each.
  check.near(runtimes.zero, 800)
  check.near(runtimes.single, 800)
  check.near(runtimes.contiguous, 400)
  check.near(runtimes.earliest, 400)
  check.fails("'earliest' or placements", policy.rollout, policy, problem, { initial = "best" })
end)

local function options(more)
  local given = { policy = berth.policy("placeto", { weights = "none" }),
    problems = { two_chains(4) }, count = 6, samples = 4, seed = 5 }
  for key, value in pairs(more or {}) do given[key] = value end
  return given
end

check.test("training finds the best placement of two chains, and its greedy pass keeps it", function()
  -- One-hot devices: nothing of the answer is in the features.
  local result = train.episodes(options { count = 60, samples = 8,
    policy = berth.policy("placeto", { weights = "none", devices = "one_hot" }) })
  check.near(result.best[1].evaluation.objective_us, 400)
  check.near(result.greedy[1].evaluation.objective_us, 400)
  -- The start, and of the 8 decisions those that moved a group: not all of them do.
  check.equal(result.measured > 60 * 8 and result.measured < 60 * 8 * 9, true)
end)

check.test("the start of the closing greedy episode is no best of a training that began elsewhere", function()
  -- The slowest placements that there are: every transfer takes longer than a chain.
  local chains = two_chains(4)
  local cluster = { name = "far", devices = { { name = "d0", kind = "k" }, { name = "d1", kind = "k" } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e8, latency_us = 1 } } }
  local problem = berth.problem { graph = chains:graph(), cluster = berth.cluster(cluster) }
  local seen
  local given = { problems = { problem }, count = 1, samples = 2, seed = 3, learning_rate = 0, initial = "random",
    evaluate_every = 1, policy = berth.policy("placeto", { weights = "none", form = "published" }),
    progress = function(record) seen = record.best_us end }
  local result = train.episodes(options(given))
  local figures = train.figures(result)
  check.equal({ figures.best_us, figures.one_device_us }, { math.min(seen, figures.own_us), 800 })
  check.equal(figures.best_us > figures.one_device_us, true)
  check.equal(figures.own_us, result.greedy[1].evaluation.objective_us)
  check.equal({ result.greedy[1].decided, result.greedy[1].start }, {})
  check.equal(train.figures_line(result):match "^own [%d.]+ ms, best [%d.]+ ms, one device 0.800 ms$" ~= nil, true)
  -- The first episodes of a training from one device see it.
  given.initial = "single"
  check.equal(train.figures(train.episodes(options(given))).best_us <= 800, true)
end)

check.test("the likelihood of what paid rises", function()
  local policy, problem = berth.policy("placeto", { weights = "none", devices = "one_hot" }), two_chains(3)
  local groups = problem:groups()
  -- Whatever the step takes: the second device pays, for every group.
  local function share_of_second(rollout, advantages)
    local placement, second = rollout:last(1), 0
    for t = 1, rollout:steps(1) do
      local pays = placement[groups:members(t)[1]] == 2
      advantages[t] = pays and 1 or -1
      second = second + (pays and 1 or 0)
    end
    return second / rollout:steps(1)
  end
  local first, last, advantages = nil, nil, {}
  for update = 1, 60 do
    local rollout = policy:rollout(problem, { samples = 1, seed = update })
    last = share_of_second(rollout, advantages)
    first = first or last
    policy:update(rollout, advantages, { learning_rate = 0.01 })
  end
  check.equal({ first < 1, last }, { true, 1 })
end)

check.test("training that was interrupted goes on bit for bit", function()
  local straight, broken = folder .. "/straight.berth", folder .. "/broken.berth"
  train.episodes(options { checkpoint = straight })
  local count = 0
  train.episodes(options { checkpoint = broken, should_stop = function()
    count = count + 1
    return count == 3
  end })
  check.equal(files.read(broken) == files.read(straight), false)
  train.episodes(options { checkpoint = broken })
  check.equal(files.read(broken) == files.read(straight), true)
end)

check.test("a checkpoint is of one reward and one baseline, with what they hold", function()
  local rewards, baselines = require "berth.rewards", require "berth.baselines"
  local function with(weight, more)
    local of = options { checkpoint = folder .. "/whose.berth", count = 2, baseline = baselines.per_step,
      reward = function(before, after) return weight * (before.objective_us - after.objective_us) end }
    for name, value in pairs(more or {}) do of[name] = value end
    return of
  end
  train.episodes(with(1))
  train.episodes(with(1, { count = 3 }))  -- the same reward, made anew
  check.fails("was made with option reward = a function %(train_test.lua:%d+, %x+%), and here it is a function.*mix "
    .. "= true", train.episodes, with(2, { count = 4 }))
  check.fails("option reward", train.episodes,
    with(1, { count = 4, reward = rewards.improvement { log = true } }))
  check.fails("option baseline", train.episodes, with(1, { count = 4,
    baseline = function() return baselines.moving_average { decay = 0.9 } end }))
  check.equal(train.episodes(with(2, { count = 4, mix = true })).updates, 4)
  local sources = require "berth.sources"
  local of = sources.of_function
  check.equal(sources.same_function(of(rewards.improvement { log = true }), of(rewards.improvement { log = true })),
    true)
  check.equal(sources.same_function(of(rewards.improvement { log = true }),
    of(rewards.improvement { memory_penalty = 2 })), false)
end)

check.test("TensorBoard finds what it is given: a folder, or a file of its own name", function()
  train.episodes(options { tensorboard = folder .. "/board/run1.tb", count = 1 })
  check.equal(#files.read(folder .. "/board/run1.tb/events.out.tfevents.berth") > 100, true)
  train.episodes(options { tensorboard = folder, count = 1 })
  check.equal(#files.read(folder .. "/events.out.tfevents.berth") > 100, true)
end)

check.test("a name that is not there is told with the one that was meant", function()
  check.fails("unknown option 'rewrad'; did you mean 'reward'%?", train.episodes, options { rewrad = print })
  check.fails("train_test.lua:%d+: berth.train has no 'epsiodes'; did you mean 'episodes'%?", function()
    return train.epsiodes
  end)
  check.fails("berth.rewards has no 'improvment'; did you mean 'improvement'%?", function() return rewards.improvment end)
  check.fails("berth.baselines has no 'per_stp'; did you mean 'per_step'%?", function() return baselines.per_stp end)
  check.fails("berth.schedules has no 'linaer'; did you mean 'linear'%?", function() return schedules.linaer end)
end)

check.test("a run that was killed leaves each row and each step once", function()
  local function written_as(name)
    return { checkpoint = folder .. "/" .. name .. ".berth", checkpoint_every = 2,
      csv = folder .. "/" .. name .. ".csv", tensorboard = folder .. "/" .. name .. ".tfevents" }
  end
  local straight, broken = written_as "whole", written_as "killed"
  train.episodes(options(straight))
  broken.progress = function(record) if record.update == 3 then error "killed" end end
  check.fails("killed", train.episodes, options(broken))
  broken.progress = nil
  train.episodes(options(broken))
  check.equal(files.read(broken.csv), files.read(straight.csv))
  check.equal(#files.read(broken.tensorboard), #files.read(straight.tensorboard))
end)

check.test("TensorBoard has the greedy runtime, the entropy's weight and each problem's best", function()
  local path = folder .. "/tags.tfevents"
  train.episodes(options { tensorboard = path, count = 2, evaluate_every = 1,
    problems = { two_chains(2), two_chains(3) } })
  local content = files.read(path)
  for _, tag in ipairs { "greedy_us", "entropy_weight", "learning_rate", "problem_1/best_us",
    "problem_2/best_us" } do
    check.equal(content:find(tag, 1, true) ~= nil, true)
  end
end)

-- An evaluator whose figures are given: runtimes by the device of the first op, in turn.
local function noisy(runtimes)
  local count, evaluator = {}, {}
  function evaluator:batch(placements)
    local evaluations = {}
    for k, placement in ipairs(placements) do
      local which = placement[1]
      count[which] = (count[which] or 0) + 1
      local us = runtimes[which][count[which]]
      evaluations[k] = { objective_us = us, feasible = us > 0, excess_bytes = us > 0 and 0 or 1 }
    end
    return evaluations
  end
  return evaluator
end

check.test("what is measured again is called best by its median, and what fails once fails", function()
  local found = train.measure_again(noisy {
    { 1, 9, 9, 9, 9, 9, 9 }, { 5, 4, 3, 8, 7, 6, 50 }, { 2, 2, 2, 2, 2, 2, 0 } },
    { { 1 }, { 2 }, { 3 } })
  check.equal({ found[1].from, found[2].from, found[3].from }, { 2, 1, 3 })
  check.equal({ found[1].evaluation.objective_us, found[1].low_us, found[1].high_us }, { 6, 3, 50 })
  check.equal(found[1].runs_us, { 5, 4, 3, 8, 7, 6, 50 })
  check.equal(found[3].evaluation.feasible, false)
  found = train.measure_again(noisy { { 3, 3, 3, 3, 3, 3, 3 }, { 3, 3, 3, 3, 3, 3, 3 } }, { { 1 }, { 2 } },
    function(evaluation) return -evaluation.objective_us end)
  check.equal({ found[1].from, #found }, { 1, 2 })
  local runs = { { 5, 1, 3, 2, 4 }, { 6, 6, 6, 6, 6 } }
  check.equal(train.measure_again(noisy(runs), { { 1 }, { 2 } }, nil, { runs = 3 })[1].runs_us, { 5, 1, 3 })
  found = train.measure_again(noisy(runs), { { 1 }, { 2 } }, nil, { should_stop = function() return true end })
  check.equal({ found[1].runs_us, found[1].evaluation.objective_us }, { { 5 }, 5 })
end)

check.test("what breaks a separation is never the best of a training", function()
  local chains = two_chains(2)
  local problem = berth.problem { graph = chains:graph(), cluster = chains:cluster(),
    constraints = { { separate = { "op1", "op3" } } } }
  local result = train.episodes(options { problems = { problem }, count = 3 })
  check.equal(result.best[1].evaluation.feasible, true)
  problem:validate(result.best[1].placement)
end)

check.test("what does not fit is reported as no best", function()
  local chains = two_chains(2)
  local cluster = berth.cluster { name = "small", devices = { { name = "d0", kind = "k", memory_bytes = 1 },
    { name = "d1", kind = "k", memory_bytes = 1 } },
    links = { { src = "*", dst = "*", bandwidth_bytes_per_s = 1e10, latency_us = 1 } } }
  local problem = berth.problem { graph = chains:graph(), cluster = cluster }
  local bests, lines, greedy = {}, {}, {}
  local result = train.episodes(options { problems = { problem }, count = 2, evaluate_every = 1, csv = folder .. "/none.csv",
    progress = function(record)
      bests[#bests + 1], greedy[#greedy + 1], lines[#lines + 1] = record.best_us, record.greedy_us, train.progress_line(record)
    end })
  check.equal({ result.best[1].evaluation.feasible, bests, greedy },
    { false, { math.huge, math.huge }, { math.huge, math.huge } })
  check.equal(train.us_of(result.greedy[1].evaluation), math.huge)
  check.equal(train.us_of(problem:with(problem:costs(), chains:cluster()):single().evaluation), 400)
  check.equal(files.read(folder .. "/none.csv"):match "^update,episodes,measured,runtime_us,fits,best_us,greedy_us,.-\n1,4,[%d.]+,[%d.]+,0,inf,inf," ~= nil,
    true)
  check.equal(lines[1]:find("ms, 0 % fit  best", 1, true) ~= nil, true)
  check.equal(lines[1]:find("best none that fits", 1, true) ~= nil, true)
  for _, name in ipairs { "placeto", "seq2seq", "random", "dp" } do
    if check.installed(name) then
      pcall(function()
        return berth.policy(name):place(problem, { budget_s = 0.2, progress = function(us) bests[#bests + 1] = us end })
      end)
    end
  end
  check.equal(#bests, 2)
end)

check.test("a checkpoint of another training is refused with what differs", function()
  local path = folder .. "/other.berth"
  train.episodes(options { checkpoint = path, count = 2 })
  local before = files.read(path)
  check.fails("option samples = 4, and here it is 5", train.episodes,
    options { checkpoint = path, samples = 5 })
  check.fails("option seed = 5, and here it is 6", train.episodes,
    options { checkpoint = path, seed = 6 })
  check.fails("problem 1, groups = 8, and here it is 10", train.episodes,
    options { checkpoint = path, problems = { two_chains(5) } })
  check.fails("option evaluators = simulated, and here it is measured", train.episodes, options { checkpoint = path,
    evaluators = { berth.evaluator(two_chains(4), { measures = true, evaluate = function() return {} end }) } })
  check.fails("option of the policy, init_seed = nil, and here it is 2", train.episodes, options { checkpoint = path,
    policy = berth.policy("placeto", { weights = "none", init_seed = 2 }) })
  -- The same devices with other links, other costs, less memory, or a rule more.
  local chains = two_chains(4)
  local function machine(bandwidth, memory)
    local cluster = { name = chains:cluster():name(), devices = {}, links = {} }
    for device = 1, chains:cluster():device_count() do
      cluster.devices[device] = chains:cluster():device(device)
      cluster.devices[device].memory_bytes = memory or cluster.devices[device].memory_bytes
    end
    cluster.links[1] = { src = "*", dst = "*", bandwidth_bytes_per_s = bandwidth }
    return berth.cluster(cluster)
  end
  local function refused(what, changed)
    check.fails("problem 1, " .. what .. " = ", train.episodes, options { checkpoint = path, problems = { changed } })
  end
  refused("the links and memory", chains:with(chains:costs(), machine(12345)))
  refused("the links and memory", chains:with(chains:costs(), machine(1e9, 54321)))
  -- Channels, gaps and sizes change no route and no runtime on one device.
  local shared = { name = chains:cluster():name(), devices = {}, links = {} }
  for device = 1, chains:cluster():device_count() do shared.devices[device] = chains:cluster():device(device) end
  shared.links[1] = chains:cluster():route(1, 2)
  shared.links[1].src, shared.links[1].dst, shared.links[1].shares = "*", "*", { "bus" }
  refused("the links and memory", chains:with(chains:costs(), berth.cluster(shared)))
  local simulation = function(times)
    return { berth.evaluator(chains, { evaluate = function(placements)
      local found = {}
      for i, placement in ipairs(placements) do found[i] = { objective_us = times * chains:evaluate(placement).objective_us } end
      return found
    end }) }
  end
  check.fails("option evaluators = simulated, and here it is simulated %(%d+ us on one device%)", train.episodes,
    options { checkpoint = path, problems = { chains }, evaluators = simulation(1000) })
  check.equal(train.episodes(options { checkpoint = path, count = 2, problems = { chains },
    evaluators = simulation(1) }).updates, 2)
  refused("one_device_us", berth.problem { graph = chains:graph(), cluster = chains:cluster(), costs = chains:costs(),
    constraints = { { separate = { "op1", "op5" } } } })
  check.equal(files.read(path) == before, true)
  check.equal(train.episodes(options { checkpoint = path, count = 3 }).updates, 3)
  train.episodes(options { checkpoint = path, count = 2, samples = 5, resume = false })
  check.equal(files.read(path) == before, false)
end)

check.test("a start is one of those that there are, and an evaluation has its own options", function()
  check.fails("train_test.lua:%d+: train: option 'initial' is \"beste\"; give best, contiguous", function()
    train.episodes(options { initial = "beste" })
  end)
  check.fails("train_test.lua:%d+: train.evaluate: unknown option 'pases'; did you mean 'passes'", function()
    train.evaluate(options { pases = 2 })
  end)
end)

check.test("an evaluator that says no more than that nothing fits", function()
  local problem = two_chains(4)
  local function never() return berth.evaluator(problem, { evaluate = function(placements)
    local found = {}
    for i = 1, #placements do found[i] = { objective_us = 5, feasible = false } end
    return found
  end }) end
  for _, name in ipairs { "placeto", "seq2seq", "doppler", "hdp", "single", "mcmc", "heft", "instant" } do
    local done, told = pcall(function()
      return berth.policy(name):place(problem, { evaluator = never(), budget_s = 0.2, threads = 1 })
    end)
    if done then
      check.equal(told ~= nil, true)
    else
      check.equal({ name, told:find("lacks 0", 1, true) or told:find("by 0 B", 1, true) }, { name, nil })
    end
  end
  for _, name in ipairs { "auto", "random" } do
    for _, budget_s in ipairs { 0, 0.2 } do
      check.fails("no placement that is feasible was found: no memory lacks", function()
        return berth.policy(name):place(problem, { evaluator = never(), budget_s = budget_s, threads = 1 })
      end)
    end
  end
  local wrong = berth.evaluator(problem, { evaluate = function() return { { objective_us = 5, feasible = true,
    excess_bytes = 7 } } end })
  check.fails("it is true, and excess_bytes says what memory lacks", wrong.evaluate, wrong, problem:one_device(1))
end)

check.test("bounds of simulated costs say nothing of another machine", function()
  local problem = two_chains(4)
  local quick = berth.evaluator(problem, { evaluate = function(placements)
    local found = {}
    for i, placement in ipairs(placements) do
      found[i] = { objective_us = problem:evaluate(placement).objective_us / 10 }
    end
    return found
  end })
  local _, outcome = berth.policy("m-etf"):place(problem, { evaluator = quick, threads = 1 })
  check.equal({ outcome.ended, outcome.bound_us or 0 }, { "done", 0 })
  check.equal(table.concat(outcome.notes, " "):find("no bound is known: the evaluator finds less", 1, true) ~= nil, true)
end)

check.test("the best is that of the score where there is one", function()
  -- With epsilon = 1 the draws depend on the seed alone: those of the first update, again.
  local rollout = berth.policy("placeto", { weights = "none" }):rollout(two_chains(4),
    { samples = 4, seed = 5 * 1000003 + 1, epsilon = 1, initial = "single" })
  local slowest, fastest = 0, math.huge
  for e = 1, 4 do
    local _, best = rollout:best(e)
    local _, last = rollout:last(e)
    slowest = math.max(slowest, best.objective_us, last.objective_us)
    fastest = math.min(fastest, best.objective_us)
  end
  check.equal(slowest > fastest, true)
  local given = { count = 1, epsilon = 1 }
  check.equal(train.episodes(options(given)).best[1].evaluation.objective_us <= fastest, true)
  given.score = function(evaluation) return -evaluation.objective_us end
  local best = train.episodes(options(given)).best[1]
  check.near(best.evaluation.objective_us, slowest)
  check.near(two_chains(4):evaluate(best.placement).objective_us, slowest)
end)

check.test("functions that return no number, no start and no baseline are told at once", function()
  local function none() end
  local function nan() return 0 / 0 end
  for pattern, more in pairs {
    ["learning_rate is nil at update 1; a schedule returns a number from 0 on"] = { learning_rate = none },
    ["entropy_weight is %-?nan at update 1"] = { entropy_weight = nan },
    ["epsilon is 2 at update 1; a schedule returns a number from 0 to 1"] = { epsilon = function() return 2 end },
    ["noise is inf at update 1"] = { noise = function() return math.huge end },
    ["the score of an evaluation is %-?nan; it must be a number"] = { score = nan },
    ["the score of an evaluation is fast"] = { score = function() return "fast" end },
    ["initial%(round, rounds%) returned nil; it returns the name"] = { initial = none },
    ["`baseline` returned a nil; it returns a table with the functions"] = { baseline = none },
    ["`baseline` returned a table without state"] = { baseline = function() return { advantages = none } end },
    ["advantage of step 1 of episode 1 of a problem is nil; `advantages` fills"] = {
      baseline = function() return { advantages = none, state = none, restore = none } end },
    ["advantage of step 2 of episode 1 of a problem is %-?nan"] = { baseline = function()
      return { state = none, restore = none, advantages = function(returns, out)
        for e, steps in ipairs(returns) do
          for t = 1, #steps do out[e][t] = t == 2 and 0 / 0 or 1 end
        end
      end }
    end },
    ["the evaluator of problem 1 is a nil; give berth.evaluator"] = { evaluators = none },
    ["the evaluator of problem 1 is 5; give"] = { evaluators = { 5 } },
    ["`policy` made 5; it makes a policy"] = { policy = function() return 5 end },
  } do
    check.fails(pattern, train.episodes, options(more))
  end
end)

check.test("options that cannot be are told before anything is done", function()
  for pattern, more in pairs {
    ["'count' is 0; give a whole number from 1 on"] = { count = 0 },
    ["'count' is 2.5"] = { count = 2.5 },
    ["'batch' is %-1"] = { batch = -1 },
    ["'discount' is 2; give a number from 0 to 1"] = { discount = 2 },
    ["'checkpoint_every' is 0"] = { checkpoint_every = 0 },
    ["'samples' is 0"] = { samples = 0 },
    ["'learning_rate' is %-?nan"] = { learning_rate = 0 / 0 },
    ["'learning_rate' is inf"] = { learning_rate = math.huge },
    ["'epsilon' is 1.5"] = { epsilon = 1.5 },
    ["'policy' is \"placeto\"; give a policy"] = { policy = "placeto" },
    ["'problems' is a userdata; give an array"] = { problems = two_chains(2) },
    ["'baseline' is a table; give a constructor"] = { baseline = baselines.moving_average() },
    ["'reward' is 3"] = { reward = 3 },
    ["there are 2 evaluators for 1 problems"] = { evaluators = { 1, 2 } },
    ["the checkpoint cannot be written: .*nowhere"] = { checkpoint = folder .. "/nowhere/c.berth" },
  } do
    check.fails(pattern, train.episodes, options(more))
  end
  check.fails("a table of options expected", train.episodes, "all")
  check.fails("the reward of episode 1, step 1 is nil", train.episodes,
    options { reward = function() end })
end)

check.test("checkpoints of other shapes, other policies and damaged ones are refused", function()
  local path = folder .. "/trained.berth"
  local policy = berth.policy("placeto", { weights = "none" })
  check.fails("nothing to save", function() policy:save(path) end)
  policy:rollout(two_chains(2))
  policy:save(path, "a note")
  check.equal(berth.policy("placeto"):load(path), "a note")
  check.fails("option 'rounds' is '8' there and '3' here", function()
    berth.policy("placeto", { rounds = 3 }):load(path)
  end)
  local content = files.read(path)
  for _, damaged in ipairs { "", content:sub(1, 15), content:sub(1, -2),
    content:sub(1, 60) .. "#" .. content:sub(62), "BERTHCKP" .. ("\255"):rep(30) } do
    local file = assert(io.open(path, "wb"))
    file:write(damaged)
    file:close()
    check.fails("trained.berth: it is", function() policy:load(path) end)
  end
end)

check.test("a damaged checkpoint of a training says how to train anew", function()
  local path = folder .. "/cut.berth"
  train.episodes(options { checkpoint = path, count = 2 })
  local content = files.read(path)
  files.write(path, content:sub(1, -2))
  check.fails("train: %S+cut.berth: it is truncated or damaged; use a whole copy of it, .*; to train anew, delete it, or set "
    .. "resume = false", train.episodes, options { checkpoint = path, count = 3 })
  check.equal(train.episodes(options { checkpoint = path, count = 3, resume = false }).updates, 3)
end)

check.test("weights for one number of devices say so", function()
  local path = folder .. "/one_hot.berth"
  local policy = berth.policy("placeto", { weights = "none", devices = "one_hot" })
  policy:rollout(two_chains(2))
  policy:save(path)
  local other = berth.problem { graph = two_chains(2):graph(), cluster = berth.cluster {
    name = "one", devices = { { name = "d", kind = "k" } }, links = {} } }
  check.fails("for 2 devices and the cluster has 1", function() policy:rollout(other) end)
end)

check.test("a reward that is no number is named, and nothing is learned or overwritten", function()
  local path = folder .. "/kept.berth"
  train.episodes(options { count = 2, checkpoint = path })
  local before = files.read(path)
  check.fails("episode 1, step 3 is nan", function()
    local calls = 0
    train.episodes(options { checkpoint = path, mix = true, reward = function()
      calls = calls + 1
      return calls == 3 and 0 / 0 or 1
    end })
  end)
  check.equal(files.read(path) == before, true)
  local policy = berth.policy("placeto", { weights = "none" })
  local rollout = policy:rollout(two_chains(2))
  check.fails("1 advantages for 4 decisions", function() policy:update(rollout, { 1 }) end)
end)

check.test("rewards that tell no episodes apart are told, once", function()
  if not check.installed "placeto" then return end
  local stderr, said = io.stderr, {}
  io.stderr = { write = function(_, text) said[#said + 1] = text end }
  local function run(reward)
    return pcall(train.episodes, { policy = berth.policy("placeto", { weights = "none" }), problems = { two_chains(4) },
      count = 3, samples = 8, initial = "random", reward = reward })
  end
  local clamped, free = run(rewards.improvement { clamp_s = 1e-9 }), run(rewards.improvement())
  io.stderr = stderr
  check.equal({ clamped, free, #said }, { true, true, 1 })
  check.equal(said[1]:match "^train: note: update 1 teaches nothing: 8 episodes with steps of [%d.]+ to [%d.]+ ms got the "
    .. "same rewards; give" ~= nil, true)
end)

check.test("a training of single samples that are compared with each other says that it learned nothing", function()
  local stderr, said = io.stderr, {}
  io.stderr = { write = function(_, text) said[#said + 1] = text end }
  local function run(samples)
    train.episodes(options { samples = samples, initial = "random", baseline = function()
      local best = baselines.quantile()
      return { state = best.state, restore = best.restore, advantages = function(returns, out)
        best.advantages(returns, out)
        for e = 1, #out do
          for t = 2, #returns[e] do out[e][t] = 0 end
        end
      end }
    end })
  end
  local fine = pcall(run, 1)
  fine = fine and pcall(run, 4)
  io.stderr = stderr
  check.equal({ fine, #said }, { true, 1 })
  check.equal(said[1]:find("train: note: nothing was learned: no episode of 6 updates got more or less", 1, true), 1)
end)

check.test("the curve is a table", function()
  local path = folder .. "/curve.csv"
  train.episodes(options { count = 2, csv = path, evaluate_every = 2 })
  local rows = {}
  for line in io.lines(path) do rows[#rows + 1] = line end
  check.equal(#rows, 3)
  check.equal(rows[1]:match "^update,episodes,measured,runtime_us,fits,best_us,greedy_us" ~= nil, true)
  check.equal(rows[3]:match "^2,8," ~= nil, true)
end)

check.test("a round is as many updates as it takes to see every problem", function()
  local rounds = {}
  train.episodes(options { count = 4, batch = 1, problems = { two_chains(2), two_chains(3) },
    initial = function(round, of)
      rounds[#rounds + 1] = { round, of }
      return "latest"
    end })
  check.equal(rounds, { { 1, 2 }, { 1, 2 }, { 2, 2 }, { 2, 2 } })
end)

check.test("the latest start is the best state of the update before", function()
  local problem, starts = two_chains(4), {}
  local policy = berth.policy("placeto", { weights = "none" })
  local proxy = setmetatable({}, { __index = function(_, name)
    return function(_, ...)
      local result = policy[name](policy, ...)
      if name == "rollout" then
        local first = result:evaluation(1, 0).objective_us
        local best = math.huge
        for e = 1, result:episodes() do best = math.min(best, result:best_evaluation(e).objective_us) end
        starts[#starts + 1] = { first, best }
      end
      return result
    end
  end })
  train.episodes(options { policy = proxy, problems = { problem }, count = 4,
    initial = function(round) return round == 1 and "zero" or "latest" end })
  check.near(starts[1][1], 800)
  for i = 2, 4 do check.near(starts[i][1], starts[i - 1][2]) end
end)

check.finish()
