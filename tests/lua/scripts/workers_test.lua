-- Who a process is, what processes send each other, and updates in two halves. Processes that train together are
-- started by tests/command/workers_test.cpp.

local berth = require "berth"
local check = require "check"
local gradients = require "berth.workers.gradients"
local notes = require "berth.notes"
local train = require "berth.train"
local workers = require "berth.workers"

local function of(variables)
  return workers.environment(function(name) return variables[name] end)
end

check.test("the mean of gradients; what no number can be is refused", function()
  local ffi = require "ffi"
  local function bytes(...) return ffi.string(ffi.new("float[2]", ...), 8) end
  check.equal(gradients.mean { bytes(1, 2) }, bytes(1, 2))
  check.equal(gradients.mean { bytes(1, 2), bytes(3, -4) }, bytes(2, -1))
  check.fails("of another network", gradients.mean, { bytes(1, 2), "four" })
  for _, bits in ipairs { 0xffffffff, 0xffefffff, 0xffd55555, 0x7f800000 } do  -- nil, a string, a table, infinite
    local forged = ffi.string(ffi.new("uint32_t[2]", 0, bits), 8)
    check.fails("a gradient is not finite", gradients.mean, { bytes(1, 2), forged })
  end
end)

check.test("torchrun's environment", function()
  check.equal(of {}, nil)
  local one = of { RANK = "3", WORLD_SIZE = "8", LOCAL_RANK = "3", GROUP_RANK = "0", LOCAL_WORLD_SIZE = "8",
    MASTER_ADDR = "node-1", MASTER_PORT = "29400", TORCHELASTIC_RUN_ID = "job" }
  check.equal(one, { by = "torchrun", rank = 3, size = 8, local_rank = 3, node = 0, address = "127.0.0.1",
    port = 29401, id = "job", alone = true })
  local two = of { RANK = "9", WORLD_SIZE = "16", LOCAL_RANK = "1", GROUP_RANK = "1", LOCAL_WORLD_SIZE = "8",
    MASTER_ADDR = "node-1", MASTER_PORT = "65535", BERTH_STORE_PORT = nil }
  check.equal({ two.address, two.port, two.node, two.alone }, { "node-1", 65534, 1, false })
  -- An address that no other machine reaches: the shells of a recipe.
  for _, address in ipairs { "localhost", "127.0.0.1", "127.1.2.3", "::1" } do
    local shell = of { RANK = "1", WORLD_SIZE = "2", MASTER_ADDR = address, MASTER_PORT = "29500" }
    check.equal({ shell.address, shell.port, shell.alone }, { "127.0.0.1", 29501, true })
  end
  for _, address in ipairs { "localhost.example.org", "127.example.org", "192.168.1.127" } do
    check.equal(of { RANK = "1", WORLD_SIZE = "2", MASTER_ADDR = address }.alone, false)
  end
  -- A server that is there needs no address of a rank.
  local named = of { RANK = "1", WORLD_SIZE = "2", BERTH_STORE = "rediss://host", BERTH_JOB = "mine" }
  check.equal({ named.url, named.id, named.port }, { "rediss://host", "mine" })
  check.fails("RANK=x; a whole number from 0", of, { RANK = "x", WORLD_SIZE = "2", MASTER_ADDR = "a" })
  check.fails("rank 2 of 2", of, { RANK = "2", WORLD_SIZE = "2", MASTER_ADDR = "a" })
  check.fails("MASTER_ADDR is not", of, { RANK = "0", WORLD_SIZE = "2" })
  check.fails("BERTH_STORE_PORT=99999 is no port", of, { RANK = "0", WORLD_SIZE = "2", MASTER_ADDR = "a",
    BERTH_STORE_PORT = "99999" })
end)

check.test("Slurm's environment", function()
  local variables = { SLURM_PROCID = "5", SLURM_NTASKS = "16", SLURM_LOCALID = "1", SLURM_NODELIST = "node[003-005,7],x",
    SLURM_JOB_ID = "1234" }
  local place = of(variables)
  check.equal({ place.by, place.rank, place.size, place.local_rank, place.address }, { "slurm", 5, 16, 1, "node003" })
  for list, first in pairs { ["a,b"] = "a", ["gpu[1,3]"] = "gpu1", ["n-[08-10]"] = "n-08" } do
    variables.SLURM_NODELIST = list
    check.equal(of(variables).address, first)
  end
  variables.SLURM_NODELIST = "alone"
  check.equal(of(variables).address, "127.0.0.1")
  variables.SLURM_JOB_ID = "1235"
  check.equal(of(variables).port ~= place.port, true)
  variables.SLURM_NODELIST = nil
  check.fails("SLURM_NODELIST is not", of, variables)
  -- torchrun within a job of Slurm's decides.
  check.equal(of { SLURM_PROCID = "0", SLURM_NTASKS = "1", RANK = "1", WORLD_SIZE = "2", LOCAL_WORLD_SIZE = "2" }.by,
    "torchrun")
end)

check.test("options are checked", function()
  check.equal(workers.read_options({ controllers = 3 }, 1).controllers, 3)
  check.fails("unknown option 'controler'; did you mean 'controllers'%? Known: calibrate, controllers",
    workers.read_options, { controler = 1 }, 1)
  check.fails("'controllers' is 1.5; give a whole number", workers.read_options, { controllers = 1.5 }, 1)
  check.fails("'lease_s' is 0", workers.read_options, { lease_s = 0 }, 1)
  check.fails("'mode' is both", workers.read_options, { mode = "both" }, 1)
end)

check.test("messages hold tables and bytes", function()
  local head, bytes = notes.unpack(notes.pack({ a = { 1, 2 } }, "\0\1\255"))
  check.equal(head, { a = { 1, 2 } })
  check.equal(bytes, "\0\1\255")
  check.fails("cut off", notes.unpack, "0000000009{}")
  check.fails("cut off", notes.unpack, "not a number")
end)

check.test("what is received is not executed", function()
  executed = false
  for _, text in ipairs { "return (function() executed = true end)()", "executed = true return {}", "\27LJ\2", "",
    "return {[1]=}", "return {1 2}", "return {1,", "return \"", "return {1,} more", "return {[0/0]=1,}",
    "return " .. ("{"):rep(1000), "return 0x10", "return \"\\q\"", "return nan" } do
    check.fails("cannot be read", notes.read, text)
  end
  check.equal(executed, false)
  local all = {}
  for i = 0, 255 do all[i + 1] = string.char(i) end
  local text = table.concat(all)
  for _, value in ipairs { text, text .. text, "\\n\n\\\n", "1\0" .. "1", '"\\"' } do
    check.equal(notes.read(notes.write { value, [value] = { x = value } }), { value, [value] = { x = value } })
  end
end)

local function problem()
  local builder = berth.graph_builder "chain"
  local tensor
  for i = 1, 6 do
    local op = builder:add_op("op" .. i, "Op")
    builder:set_cost(op, 100 * i)
    if tensor then builder:add_input(op, tensor) end
    tensor = builder:add_output(op, { bytes = 1e6 })
  end
  return berth.problem { graph = builder:build(), cluster = "k80x2" }
end

check.test("an evaluator whose evaluations a function gives", function()
  local p = problem()
  local calls = 0
  local evaluator = berth.evaluator(p, { evaluate = function(placements)
    calls = calls + #placements
    local evaluations = {}
    for i, placement in ipairs(placements) do evaluations[i] = p:evaluate(placement) end
    return evaluations
  end })
  local placement = p:one_device(1)
  check.equal(tostring(evaluator:evaluate(placement)), tostring(p:evaluate(placement)))
  check.equal(evaluator:batch({ placement, placement })[2].peak_bytes, p:evaluate(placement).peak_bytes)
  check.equal({ calls, evaluator:evaluations(), evaluator:measures() }, { 3, 3, false })
  local rough = berth.evaluator(p, { measures = true, evaluate = function() return { { objective_us = 5 } } end })
  check.equal(rough:evaluate(placement).runtime_us, 5)
  check.equal(rough:evaluate(placement).feasible, true)
  check.equal(rough:measures(), true)
  local function gives(value)
    return function() berth.evaluator(p, { evaluate = function() return value end }):evaluate(placement) end
  end
  check.fails("table expected", gives(nil))
  check.fails("one evaluation for each of 1 placements", gives {})
  check.fails("objective_us", gives { {} })
  check.fails("unknown field 'feasable'; did you mean 'feasible'", gives { { objective_us = 1, feasable = false } })
  check.fails("one number for each device", gives { { objective_us = 1, peak_bytes = { 1 } } })
  check.fails("out of luck", function()
    berth.evaluator(p, { evaluate = function() error "out of luck" end }):evaluate(placement)
  end)
  check.fails("which is not there", berth.evaluator, p, { measures = true })
end)

local root = debug.getinfo(1, "S").source:sub(2):gsub("tests/lua/scripts/.*", "")
local has_torch = pcall(berth.module_file, "torch")

check.test("an update is its gradient and a step by it", function()
  for _, name in ipairs { "placeto", "seq2seq", root .. "examples/lua/placeto.lua" } do
    if name:find "lua$" and has_torch or not name:find "lua$" and check.installed(name) then
      local p = problem()
      local function new()
        local options = { weights = "none" }
        if name:find "lua$" then options.devices = p:cluster():device_count() end
        return berth.policy(name, options)
      end
      local whole, halves, follower = new(), new(), new()
      if not name:find "lua$" then check.fails("no weights yet", halves.weights, halves) end
      follower:prepare(p)
      for update = 1, 3 do
        local advantages = {}
        local a = whole:rollout(p, { seed = update, samples = 2 })
        local b = halves:rollout(p, { seed = update, samples = 2 })
        for e = 1, a:episodes() do
          for _ = 1, a:steps(e) do advantages[#advantages + 1] = (#advantages % 3) - 1 end
        end
        local options = { learning_rate = 1e-2, entropy_weight = 0.1, max_norm = 1 }
        local report = whole:update(a, advantages, options)
        local gradient, half = halves:gradient(b, advantages, options)
        local norm = halves:step(gradient, options)
        check.equal({ half.loss, norm }, { report.loss, report.gradient_norm })
        check.equal(whole:weights() == halves:weights(), true)
        check.equal(#gradient, 4 * halves:parameters())
        follower:set_weights(halves:weights())
        check.equal(follower:weights() == whole:weights(), true)
      end
      check.fails("values are no weights", follower.set_weights, follower, "1234")
      check.fails("single%-precision", follower.set_weights, follower, "123")
      check.fails("values are no gradient", follower.step, follower, "1234")
      check.fails("not finite", follower.set_weights, follower, ("\0\0\192\127"):rep(follower:parameters()))
    end
  end
end)

-- Policies of one pass, and of an update that is more than a gradient.
check.test("what is seen elsewhere teaches what is seen here", function()
  if not has_torch then return end
  local p, q = problem(), problem()
  for _, name in ipairs { "ppo", "evolution", "one_pass" } do
    local function new() return berth.policy(root .. "examples/lua/" .. name .. ".lua", {}) end
    local alone, learner, sampler = new(), new(), new()
    check.equal(alone:exchanges(), name ~= "one_pass" and "episodes" or "gradients")
    if name ~= "one_pass" then
      for update = 1, 3 do
        sampler:set_weights(learner:weights())
        local options = { learning_rate = 1e-2, entropy_weight = 0.1, max_norm = 1 }
        local rollouts, advantages = {}, {}
        for k, policy in ipairs { alone, sampler } do
          rollouts[k] = policy:rollout({ p, q }, { seed = update, samples = 2 })
        end
        for e = 1, rollouts[1]:episodes() do
          for _ = 1, rollouts[1]:steps(e) do advantages[#advantages + 1] = (#advantages % 3) - 1 end
        end
        local report = alone:update(rollouts[1], advantages, options)
        local text = sampler:pack(rollouts[2], advantages)
        check.equal(learner:learn({ text }, { { p, q } }, options), report)
        check.equal(learner:weights() == alone:weights(), true)
        if update == 3 then
          -- Two texts are one update by all that they hold: a sum for ppo, a mean for evolution.
          check.equal(learner:learn({ text, text }, { { p, q }, { p, q } }, options).loss ~= report.loss, name == "ppo")
          check.fails(name == "ppo" and "bytes for" or "cannot be read", learner.learn, learner, { text:sub(1, -2) }, { { p, q } },
            options)
          check.fails(name == "ppo" and "cut off" or "cannot be read", learner.learn, learner, { "0" }, { { p, q } }, options)
        end
      end
      check.fails("no gradient to exchange", learner.step, learner, learner:weights())
    else
      check.fails("exchanges gradients", learner.learn, learner, {}, {})
      local a, b = alone:rollout(p, { seed = 3, samples = 4 }), learner:rollout(p, { seed = 3, samples = 4 })
      local advantages, options = { 1, -1, 0.5, 2 }, { learning_rate = 1e-2, entropy_weight = 0.1, max_norm = 1 }
      alone:update(a, advantages, options)
      local gradient = learner:gradient(b, advantages, options)
      learner:step(gradient, options)
      check.equal(learner:weights() == alone:weights(), true)
    end
  end
end)

check.test("a policy that cannot share its weights says so", function()
  local function learns(more)
    local all = { make = print, act = print, update = print, save = print, load = print, parameters = print }
    for _, name in ipairs(more) do all[name] = print end
    return { name = "own_" .. #more, learns = all }
  end
  check.fails("processes exchange gradients or episodes; give gradient and step, or pack and unpack",
    berth.register_policy, learns { "gradient", "step", "pack", "unpack", "weights", "set_weights" })
  check.fails("set_weights", berth.register_policy, learns { "pack", "unpack", "weights" })
  berth.register_policy { name = "own", learns = { make = function() return {} end,
    act = function() return {} end, update = function() return {} end, save = function() end,
    load = function() return "" end, parameters = function() return 0 end } }
  check.fails("cannot be trained by several processes", berth.policy("own").weights, berth.policy "own")
end)

check.test("a process that is alone trains as without workers", function()
  if not check.installed "placeto" then return end
  local function run(with)
    local policy = berth.policy("placeto", { weights = "none" })
    local result = train.episodes { policy = with and function() return policy end or policy, problems = { problem() },
      count = 3, samples = 2, workers = with and { mode = "synchronous" } or nil }
    return result.best[1].evaluation.objective_us, policy:weights()
  end
  local a, a_weights = run(false)
  local b, b_weights = run(true)
  check.equal({ a, a_weights == b_weights }, { b, true })
end)

check.finish()

check.test("who waits for a first process that is gone says so", function()
  local together = require "berth.workers.together"
  -- A store that came back empty after the end was written.
  local here = true
  local kept = { identity = "here:1:0", get = function(_, key) return key == "1/fingerprint" and notes.write { settings = {}, problems = {} } or nil end,
    claim = function() return true end, is_here = function(_, name) return here and name == "rank 0" end }
  local looks = 0
  local function run()
    return together.run({ rank = 1, size = 2, name = "rank 1", trainings = 0, store = kept }, { controllers = 1,
      fingerprint = { settings = {}, problems = {} }, options = { join_s = 0, lost_s = 0 },
      others = function(common)
        for look = 1, 1000 do
          looks, here = look, look < 10
          common:check()
        end
      end })
  end
  check.fails("rank 0, which learns, has been gone for 0 s, and the store holds no result; look at", run)
  check.equal(looks >= 10, true)
end)
