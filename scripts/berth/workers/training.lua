-- The processes of one training: the one who learns, controllers, and workers. Besides the keys that
-- all work together has (berth.workers.common) the store holds:
--
--   weights        the current ones, with the number of the update they came from
--   counts         what has been measured up to these weights
--   state          checkpoint of the one who learns, for the case that it is lost
--   best/PROBLEM   the best placement so far, the same
--   baseline/RANK  of a controller, the same
--   draws/RANK     how often a controller has sampled: no seed comes twice
--
-- and the queue "gradients" of what controllers learnt: gradients, or of a policy whose update is more than a step by
-- one, the episodes themselves, from which the one who learns makes that update.

local berth = require "berth"
local checkpoint = require "berth.train.checkpoint"
local course = require "berth.train.course"
local files = require "berth.files"
local gradients = require "berth.workers.gradients"
local measuring = require "berth.workers.measuring"
local notes = require "berth.notes"
local ranking = require "berth.train.ranking"
local sampling = require "berth.train.sampling"
local status = require "berth.workers.status"
local together = require "berth.workers.together"
local train_options = require "berth.train.options"
local workers = require "berth.workers"

local training = {}

-- The same for everybody: what is trained, with what, by which Berth.
local function fingerprint_of(options)
  local of = checkpoint.fingerprint(options, true)
  of.settings.count = options.count
  return of
end

-- Controllers ----------------------------------------------------------------------------------------

-- A controller's message: what it learnt (a gradient, or the episodes themselves), what is to be recorded of its
-- samples, the best of them by problem. Only the numbers are text; a placement has as many devices as the graph has ops.
local function lesson_message(from, base, record, found, lesson)
  local heads, bytes = {}, { lesson }
  for i, each in pairs(found) do
    local placement = measuring.packed(each.placement)
    heads[#heads + 1] = { problem = i, evaluation = each.evaluation, bytes = #placement }
    bytes[#bytes + 1] = placement
  end
  return notes.pack({ from = from, base = base, record = record, found = heads, lesson = #lesson },
    table.concat(bytes))
end

-- The same as it comes: placements stay bytes.
local function read_lesson(id, payload)
  local head, bytes = notes.unpack(payload)
  local at = head.lesson
  for _, each in ipairs(head.found) do
    each.placement = bytes:sub(at + 1, at + each.bytes)
    at = at + each.bytes
  end
  if at ~= #bytes then error("workers: a controller's message is cut off", 0) end
  return { id = id, head = head, lesson = bytes:sub(1, head.lesson) }
end

-- The training of a process that has the policy.
local function begin(common, options)
  train_options.make_policy(options)
  if common.workers > 0 then
    options.evaluators = measuring.evaluators(common, options.problems, options.evaluators ~= false, options.workers)
  else
    train_options.make_evaluators(options)
  end
  options.policy:prepare(options.problems)
  return course.new(options)
end

local function controller(common, options)
  local store, prefix, rank = common.joined.store, common.prefix, common.joined.rank
  local synchronous = options.workers.mode == "synchronous"
  local own = begin(common, options)
  local baselines = store:get(prefix .. "baseline/" .. rank)
  for i, state in ipairs(baselines and notes.read(baselines) or {}) do own.memories[i].baseline.restore(state) end

  local sends_episodes = options.policy:exchanges() == "episodes"
  local at_least, have, pending = 0, nil, nil
  -- Waits until the gradient on its way was taken.
  local function settle()
    if not pending then return end
    local text = common:await("gradients", pending.id, pending.payload, 2 ^ 30)
    local answer = notes.read(text)
    if synchronous then at_least = answer.version end
    pending = nil
  end
  while true do
    local bytes, version = store:get(prefix .. "weights", { at_least = at_least, wait_s = together.WAIT_S })
    common:check_now_and_then()
    if bytes then
      if version ~= have then options.policy:set_weights(bytes) end
      have = version
      own.state.update = version + 1
      local draw = store:add(prefix .. "draws/" .. rank)
      local record, rollout, advantages, found = sampling.sample(options, own.state, own.memories, own.reward,
        own.rates, options.seed * 1000003 + draw * common.controllers + rank - common.controllers)
      local lesson, report
      if sends_episodes then
        lesson = options.policy:pack(rollout, advantages)
      else
        lesson, report = options.policy:gradient(rollout, advantages, { entropy_weight = record.entropy_weight })
        record.loss, record.entropy = report.loss, report.entropy
      end
      settle()
      local payload = lesson_message(rank, version, record, found, lesson)
      pending = { id = ("%d.%d"):format(rank, draw), payload = payload }
      store:submit(prefix .. "gradients", pending.id, payload, 2 ^ 30)
      local states = {}
      for i, memory in ipairs(own.memories) do states[i] = memory.baseline.state() or {} end
      store:set(prefix .. "baseline/" .. rank, notes.write(states))
      if synchronous then settle() end
    end
  end
end

-- The one who learns ---------------------------------------------------------------------------------

local Learner = {}
Learner.__index = Learner

function Learner:publish()
  local state = self.own.state
  self.store:set(self.prefix .. "counts", notes.write { measured = state.measured, episodes = state.episodes })
  self.store:set(self.prefix .. "weights", self.options.policy:weights(), state.update)
end

-- A checkpoint in the store, whoever keeps files.
function Learner:keep_state()
  self.kept_s = berth.clock()
  local path = os.tmpname()
  checkpoint.save(path, self.options, self.own.state, self.own.memories)
  local content = files.read(path)
  os.remove(path)
  self.store:set(self.prefix .. "state", content)
end

-- Goes on where another process of this rank was lost: from its state, and the newest weights.
function Learner:take_up()
  local content = self.store:get(self.prefix .. "state")
  if not content then return end
  local path = os.tmpname()
  files.write(path, content)
  local fine, message = pcall(checkpoint.resume, path, "the store", self.options, self.own.state,
    self.own.memories)
  os.remove(path)
  if not fine then error(message, 0) end
  local weights, version = self.store:get(self.prefix .. "weights", { at_least = 0 })
  if weights and version >= self.own.state.update then
    self.options.policy:set_weights(weights)
    self.own.state.update = version
    local counts = notes.read(self.store:get(self.prefix .. "counts"))
    self.own.state.measured, self.own.state.episodes = counts.measured, counts.episodes
  end
  for i, memory in ipairs(self.own.memories) do
    local best = self.store:get(self.prefix .. "best/" .. i)
    if best then
      best = notes.read(best)
      memory.note(best.placement, best.evaluation)
    end
  end
end

-- Takes over what a controller found. Its best placements outlive this process.
function Learner:note(message)
  for _, found in ipairs(message.found) do
    local i = found.problem
    local memory = self.own.memories[i]
    local is_better = ranking.better(found.evaluation, memory.best, self.options.score)
    -- If runtimes are measured, more than the best is kept.
    if is_better or self.options.evaluators and self.options.evaluators[i]:measures() then
      memory.note(measuring.unpacked(found.placement), found.evaluation)
    end
    if is_better then
      self.store:set(self.prefix .. "best/" .. i, notes.write { placement = memory.placement,
        evaluation = memory.best })
    end
  end
end

-- A step by what controllers sent: by the mean of their gradients, or one update by all of their episodes.
--   RETURN  as policy:update
function Learner:learn(tasks, record)
  local policy = self.options.policy
  local rates = { learning_rate = record.learning_rate, max_norm = self.options.max_norm }
  if policy:exchanges() == "gradients" then
    local loss, entropy = 0, 0
    for _, task in ipairs(tasks) do
      loss, entropy = loss + task.head.record.loss / #tasks, entropy + task.head.record.entropy / #tasks
    end
    local lessons = {}
    for k, task in ipairs(tasks) do lessons[k] = task.lesson end
    return { loss = loss, entropy = entropy, gradient_norm = policy:step(gradients.mean(lessons), rates) }
  end
  rates.entropy_weight = record.entropy_weight
  local packed, problems = {}, {}
  for k, task in ipairs(tasks) do
    packed[k] = task.lesson
    problems[k] = sampling.picked(self.options.problems, sampling.chosen(self.options, task.head.base + 1))
  end
  return policy:learn(packed, problems, rates)
end

-- An update by what controllers sent.
function Learner:apply(tasks)
  local own, options = self.own, self.options
  own.state.update = own.state.update + 1
  local record = { update = own.state.update, runtime_us = 0, fits = 0, reward = 0, episodes = 0,
    measured = 0 }
  for _, task in ipairs(tasks) do
    local message = task.head
    self:note(message)
    for _, name in ipairs { "runtime_us", "fits", "reward" } do
      record[name] = record[name] + message.record[name] / #tasks
    end
    record.episodes = record.episodes + message.record.episodes
    record.measured = record.measured + message.record.measured
  end
  record.learning_rate = own.rates.learning_rate(own.state.update)
  record.entropy_weight = own.rates.entropy_weight(own.state.update)
  local report = self:learn(tasks, record)
  local indices = {}
  for i = 1, #options.problems do
    if own.memories[i].best then indices[#indices + 1] = i end
  end
  sampling.complete(record, own, report, indices)
  self:publish()
  record.workers = self.status.text
  course.after_update(own, record)
  if berth.clock() - self.kept_s >= options.workers.keep_s then self:keep_state() end
  self.status:samples(record.measured - self.measured)
  self.measured = record.measured
end

function Learner:answer(task)
  self.store:done(self.prefix .. "gradients", task.id, notes.write { version = self.own.state.update })
end

-- The next message of a controller; nil where none comes for a while.
function Learner:next_lesson()
  local id, payload = self.store:take(self.prefix .. "gradients", 600, together.WAIT_S)
  self:watch()
  if not id then return nil end
  return read_lesson(id, payload)
end

function Learner:asynchronous()
  local task = self:next_lesson()
  if not task then return end
  local options = self.options
  local bound = options.workers.staleness > 0 and options.workers.staleness or 4 * self.common.controllers
  if self.own.state.update - task.head.base > bound then
    self:note(task.head)  -- what it measured counts
    self.status:stale()
  else
    self:apply { task }
  end
  self:answer(task)
end

-- Whether a controller that has sent nothing yet is to be waited for.
function Learner:expected(rank, waited_s)
  if waited_s > self.options.workers.lost_s then return false end
  local member = self.status.members["rank " .. rank]
  return not member or member.state == "here"
end

function Learner:synchronous()
  local by_rank, tasks, since_s = {}, {}, berth.clock()
  repeat
    local task = self:next_lesson()
    if self.stopped then return end
    if task and task.head.base ~= self.own.state.update then
      self.status:stale()
      self:answer(task)
    elseif task then
      by_rank[task.head.from] = task
    end
    local waited_s, missing, any = berth.clock() - since_s, 0, next(by_rank) ~= nil
    for rank = 1, self.common.controllers do
      if not by_rank[rank] and self:expected(rank, waited_s) then missing = missing + 1 end
    end
    if not any then since_s = berth.clock() end
  until any and missing == 0
  -- In the order of ranks, so that the sum is the same whoever was first.
  for rank = 1, self.common.controllers do tasks[#tasks + 1] = by_rank[rank] end
  self:apply(tasks)
  for _, task in ipairs(tasks) do self:answer(task) end
end

-- Does what is due by the clock: the line of the second, the store's and others' failures.
function Learner:watch()
  local now = berth.clock()
  self.stopped = self.stopped or self.options.should_stop() or berth.should_stop()
  if now - self.watched_s < 1 then return end
  self.watched_s = now
  if self.joined.server then self.joined.server:check() end
  if self.store.restarts ~= self.restarts then
    self.restarts = self.store.restarts
    self:publish()  -- its journal may hold older ones
    self:keep_state()
  end
  local failed = self.store:get(self.prefix .. "failed")
  if failed then error(failed, 0) end
  self:tell()
  self.status:require_somebody()
end

function Learner:tell(last)
  local own, best = self.own, self.own.memories[1].best
  self.status:tell({ done = ("update %d/%d"):format(own.state.update, self.options.count), update = own.state.update,
    best_us = best and best.feasible and best.objective_us or nil, board = own.board }, last)
end

local function learner(common, options)
  local self = setmetatable({ common = common, joined = common.joined, store = common.joined.store,
    prefix = common.prefix, options = options, own = begin(common, options), watched_s = 0,
    kept_s = 0, restarts = common.joined.store.restarts, stopped = false }, Learner)
  self.status = status.new(common, options.workers)
  course.open_files(self.own)
  self:take_up()
  self.measured = self.own.state.measured  -- that the status knows
  self:publish()
  self:keep_state()
  while self.own.state.update < options.count and not self.stopped do
    self[options.workers.mode](self)
  end
  self:tell(true)
  return course.conclude(self.own, self.stopped)
end

-- Workers ---------------------------------------------------------------------------------------------

local function worker(common, options)
  train_options.make_evaluators(options)
  measuring.serve(common, options.problems, options.evaluators or {}, options.workers)
end

-- All roles ---------------------------------------------------------------------------------------------

-- This process's part of a training.
--   ARGS    joined   of workers.join
--           options  of train.episodes
--   RETURN  as train.episodes, the same in all processes
function training.run(joined, options)
  local others = joined.size - 1
  local controllers = options.workers.controllers == 0 and others or options.workers.controllers
  if controllers > others then
    error(("workers: %d controllers are asked for, and besides the one that learns there are %d processes; start "
      .. "more, or set workers.controllers"):format(controllers, others), 0)
  end
  return together.run(joined, { controllers = controllers, fingerprint = fingerprint_of(options),
    options = options.workers, first = function(common) return learner(common, options) end,
    others = function(common)
      local role = joined.rank <= controllers and controller or worker
      role(common, options)
    end }) or { best = {}, greedy = {}, start = {}, updates = 0, measured = 0, stopped = true }
end

return training
