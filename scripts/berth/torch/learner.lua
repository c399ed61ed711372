-- A `learns` of berth.register_policy around a network: torch.learner.
--
-- It draws devices from the logits that a function gives, remembers what was seen, and learns by the policy
-- gradient (Williams, Machine Learning 1992): the sum over decisions of
--   -advantage * log pi(device) - entropy_weight * H,   H = -sum of p ln(p + 1e-3)
-- with Adam, as the policies in C++ do. H is for the gradient alone: entropies that are reported are exact. All of it
-- can be replaced.

local known = require "berth.known"
local notes = require "berth.notes"

local DEFAULTS = {
  kind = true,      -- name in the files of its weights; other files are refused
  observe = true,   -- what its environments show: { groups = {..}, devices = {..}, look_ahead = false }
  network = true,   -- function(options): the torch.nn module; its options are the policy's. It decides in :eval()
                    -- mode, so that its decisions are its own, and learns in :train() mode
  logits = false,   -- function(network, seen, problem): logits [episodes, devices] of the states that
                    -- `seen` (torch.observe) holds, all of one problem; devices that cannot are masked here
  group_logits = false, -- instead, function(network, seen, problem): logits [groups, devices] of all groups in
                    -- one pass. A placement is one draw for every group and costs one simulation; `seen` has
                    -- one state, in which nothing is decided: groups [1, groups, features]
  update = false,   -- function(agent, tape, advantages, options): learns in another way, and returns
                    -- { loss =, entropy =, gradient_norm = }
  batch = 256,      -- states that are learned from at once, for memory
}

return function(torch)
  local bytes = require "berth.torch.bytes" (torch)
  local learner = {}
  -- Adam divides the rate by as little as 0.1, and weights are of single precision.
  local LARGEST_RATE = 3.4e35
  local KEPT = { "groups", "devices", "allowed", "current", "placement" }

  -- The logits' log pi; -infinity for devices that cannot. LibTorch takes another shape too, and repeats it: logits of
  -- one column are alike for all devices and teach nothing, without a word.
  local function masked(name, logits, mask, of)
    local wanted = mask:shape()
    local is = torch.is_tensor(logits) and logits:shape()
    if not is then
      error(("torch.learner: `%s` gave a %s; it gives a tensor [%d, %d] (%s, devices)"):format(name, type(logits),
        wanted[1], wanted[2], of), 0)
    end
    if #is ~= 2 or is[1] ~= wanted[1] or is[2] ~= wanted[2] then
      error(("torch.learner: `%s` gave [%s]; it gives [%d, %d] (%s, devices): look at the dimension of its last sum, "
        .. "squeeze or expand"):format(name, table.concat(is, ", "), wanted[1], wanted[2], of), 0)
    end
    return logits:masked_fill(mask:eq(0), -math.huge):log_softmax()
  end

  -- log pi [episodes, devices]; -infinity for devices that cannot run the current group.
  function learner.log_policy(agent, seen, problem)
    return masked("logits", agent.spec.logits(agent.network, seen, problem), seen.allowed, "episodes")
  end

  -- log pi [groups, devices] of a policy of one pass.
  function learner.group_log_policy(agent, seen, problem)
    return masked("group_logits", agent.spec.group_logits(agent.network, seen, problem), seen.able, "groups")
  end

  local function draw(log_pi, allowed, options)
    if options.greedy then return log_pi:argmax() end
    local p = log_pi:exp()
    if options.epsilon > 0 then
      local even = allowed:to "float32"
      p = p * (1 - options.epsilon) + even / even:sum(2, true) * options.epsilon
    end
    return p:multinomial(1, true):squeeze(2)
  end

  -- The entropy that is learned: its slope stays finite where a probability is 0.
  local function smooth_entropy_of(log_pi)
    local p = log_pi:exp()
    return -(p * (p + 1e-3):log()):sum(2)
  end

  local function entropy_of(log_pi)
    return (log_pi:exp() * -log_pi:clamp(-1e30, 0)):sum(2)
  end

  -- Puts the network in the mode unless it is there; what an author sets for a part holds within a mode.
  local function set_training(agent, training)
    if agent.network.training ~= training then agent.network:train(training) end
  end

  function learner.act(agent, environment, options, tape)
    set_training(agent, false)
    if not tape[1] then
      torch.manual_seed(options.seed % 2 ^ 53)
      for p = 1, environment:problem_count() do tape[p] = { problem = environment:problem(p) } end
    end
    local devices, log_probabilities, entropies = {}, {}, {}
    torch.no_grad(function()
      for p = 1, #tape do
        local seen, past, first = torch.observe(environment, p), tape[p], #devices
        local episodes, groups = seen.allowed:size(1), seen.placement:size(2)
        if #past == groups then  -- these episodes are done
          for e = first + 1, first + episodes do
            devices[e], log_probabilities[e], entropies[e] = 1, 0, 0
          end
        else
          local log_pi = learner.log_policy(agent, seen, past.problem)
          local action = draw(log_pi, seen.allowed, options)
          local kept = { action = action }
          for _, name in ipairs(KEPT) do kept[name] = seen[name]:clone() end
          past[#past + 1] = kept
          local of_action = log_pi:gather(2, action:unsqueeze(2)):squeeze(2)
          for e, device in ipairs(action:totable()) do devices[first + e] = device end
          for e, value in ipairs(of_action:totable()) do log_probabilities[first + e] = value end
          for e, value in ipairs(entropy_of(log_pi):totable()) do entropies[first + e] = value end
        end
      end
    end)
    return devices, log_probabilities, entropies
  end

  -- Whole placements: as many draws of every group as there are samples.
  function learner.whole(agent, environment, options, tape)
    set_training(agent, false)
    torch.manual_seed(options.seed % 2 ^ 53)
    local placements, log_probabilities, entropies = {}, {}, {}
    torch.no_grad(function()
      for p = 1, environment:problem_count() do
        local seen, problem = torch.observe(environment, p), environment:problem(p)
        local log_pi = learner.group_log_policy(agent, seen, problem)
        local drawn = options.greedy and log_pi:argmax():unsqueeze(2):expand { -1, options.samples }
        if not drawn then
          local p_of, able = log_pi:exp(), seen.able:to "float32"
          if options.epsilon > 0 then
            p_of = p_of * (1 - options.epsilon) + able / able:sum(2, true) * options.epsilon
          end
          drawn = p_of:multinomial(options.samples, true)
        end
        -- [samples, groups]
        local action = drawn:transpose():contiguous()
        tape[p] = { problem = problem, whole = true, groups = seen.groups:clone(), able = seen.able:clone(),
          action = action }
        local of_action, entropy = log_pi:gather(2, drawn):sum(1):totable(), entropy_of(log_pi):sum():item()
        for k, devices in ipairs(action:totable()) do
          placements[#placements + 1] = devices
          log_probabilities[#placements], entropies[#placements] = of_action[k], entropy
        end
      end
    end)
    return placements, log_probabilities, entropies
  end

  local function whole_batch(past, advantages, first)
    local values = {}
    for e = 1, past.action:size(1) do values[e] = advantages[first + e][1] end
    return past, past.problem, torch.tensor(values)
  end

  -- The states of a tape, some at a time: an iterator of
  --   seen (as torch.observe's, with `action` [n]), problem, advantages [n]
  -- for `size` states at most. Of a policy of one pass: all placements of a problem, with `action` [n, groups]
  -- beside `groups` and `able`.
  function learner.batches(tape, advantages, size)
    return coroutine.wrap(function()
      local first = 0
      for _, past in ipairs(tape) do
        if past.whole then
          coroutine.yield(whole_batch(past, advantages, first))
          first = first + past.action:size(1)
        end
        local episodes = past[1] and past[1].action:size(1) or 0  -- none of a policy of one pass
        local steps = math.max(1, math.floor(size / math.max(episodes, 1)))
        for t = 1, #past, steps do
          local parts, values = {}, {}
          for s = t, math.min(t + steps - 1, #past) do
            parts[#parts + 1] = past[s]
            for e = 1, episodes do values[#values + 1] = advantages[first + e][s] end
          end
          local seen = {}
          for name in pairs(past[t]) do
            local tensors = {}
            for i, part in ipairs(parts) do tensors[i] = part[name] end
            seen[name] = torch.cat(tensors)
          end
          coroutine.yield(seen, past.problem, torch.tensor(values))
        end
        first = first + episodes
      end
    end)
  end

  -- log pi of the actions and the smooth entropies, by state, with their gradients, and the entropies, for reports; of a
  -- policy of one pass the sums over the groups, by placement.
  function learner.evaluate(agent, seen, problem)
    if seen.whole then
      local log_pi = learner.group_log_policy(agent, seen, problem)
      local samples = seen.action:size(1)
      return log_pi:gather(2, seen.action:transpose()):sum(1), smooth_entropy_of(log_pi):sum():expand { samples },
        entropy_of(log_pi:detach()):sum():expand { samples }
    end
    local log_pi = learner.log_policy(agent, seen, problem)
    return log_pi:gather(2, seen.action:unsqueeze(2)):squeeze(2), smooth_entropy_of(log_pi), entropy_of(log_pi:detach())
  end

  -- One step of the optimiser; a gradient or a step that is not finite is refused, and nothing changes.
  --   RETURN  the gradient's norm before clipping
  function learner.step(agent, options)
    local optimizer = agent.optimizer
    local function refuse()
      optimizer:zero_grad()
      error(("a step with learning rate %g leads too far; use a lower one (nothing was learned)"):format(
        options.learning_rate), 3)
    end
    if options.learning_rate > LARGEST_RATE then refuse() end
    local norm = torch.nn.utils.clip_grad_norm_(optimizer.tensors, options.max_norm)
    local before = {}
    for name, tensor in pairs(optimizer:state_dict()) do before[name] = tensor:clone() end
    local values = {}
    for i, tensor in ipairs(optimizer.tensors) do values[i] = tensor:detach():clone() end
    optimizer.lr = options.learning_rate
    optimizer:step()
    optimizer:zero_grad()
    for _, tensor in ipairs(optimizer.tensors) do
      if tensor:isfinite():all():item() ~= 1 then
        optimizer:load_state_dict(before)
        torch.no_grad(function()
          for i, each in ipairs(optimizer.tensors) do each:copy_(values[i]) end
        end)
        refuse()
      end
    end
    return norm
  end

  -- Adds the gradient of what a tape holds to the parameters'.
  --   RETURN  loss, mean entropy
  local function accumulate(agent, tape, advantages, options)
    set_training(agent, true)
    local loss, entropy, count = 0, 0, 0
    for seen, problem, weights in learner.batches(tape, advantages, agent.spec.batch) do
      local log_probability, entropies, reported = learner.evaluate(agent, seen, problem)
      local part = -(weights * log_probability):sum() - entropies:sum() * options.entropy_weight
      part:backward()
      loss, entropy = loss + part:item(), entropy + (reported or entropies):sum():item()
      count = count + entropies:numel()
    end
    return loss, entropy / math.max(count, 1)
  end

  function learner.update(agent, tape, advantages, options)
    local loss, entropy = accumulate(agent, tape, advantages, options)
    return { loss = loss, entropy = entropy, gradient_norm = learner.step(agent, options) }
  end

  -- For training by many processes: the same in two halves, and the weights. Values are the bytes of
  -- single-precision numbers, parameter after parameter.
  function learner.weights(agent)
    local parts = {}
    for i, tensor in ipairs(agent.optimizer.tensors) do parts[i] = bytes.of(tensor) end
    return table.concat(parts)
  end

  -- Calls body(tensor, its part of the values) for every parameter.
  local function each_part(agent, values, body)
    local at = 0
    torch.no_grad(function()
      for _, tensor in ipairs(agent.optimizer.tensors) do
        local size = 4 * tensor:numel()
        body(tensor, bytes.tensor(values:sub(at + 1, at + size), "float32", tensor:shape()))
        at = at + size
      end
    end)
  end

  function learner.set_weights(agent, values)
    each_part(agent, values, function(tensor, part) tensor:copy_(part) end)
  end

  function learner.gradient(agent, tape, advantages, options)
    local loss, entropy = accumulate(agent, tape, advantages, options)
    local parts = {}
    for i, tensor in ipairs(agent.optimizer.tensors) do
      parts[i] = bytes.of(tensor:grad() or torch.zeros(tensor:shape()))
    end
    agent.optimizer:zero_grad()
    return table.concat(parts), { loss = loss, entropy = entropy }
  end

  function learner.step_by(agent, values, options)
    each_part(agent, values, function(tensor, part) tensor:set_grad(part) end)
    return learner.step(agent, options)
  end

  -- If the update is another than a step by the gradient, what was seen is sent instead: the states and
  -- actions of a tape, and the advantages.
  function learner.pack(_, tape, advantages)
    local entries, parts = {}, {}
    for p, past in ipairs(tape) do
      local states = {}
      for t, seen in ipairs(past.whole and { past } or past) do
        states[t] = {}
        for name, tensor in pairs(seen) do
          if torch.is_tensor(tensor) then
            local content = bytes.of(tensor)
            states[t][#states[t] + 1] = { name = name, dtype = tensor:dtype(), shape = tensor:shape(), bytes = #content }
            parts[#parts + 1] = content
          end
        end
      end
      entries[p] = { whole = past.whole or false, states = states }
    end
    return notes.pack({ advantages = advantages, entries = entries }, table.concat(parts))
  end

  -- One tape of what several processes packed, and its advantages.
  --   ARGS    packed    array of texts
  --           problems  array by text of the problems of its rollout
  function learner.unpack(_, packed, problems)
    local tape, advantages = {}, {}
    for k, text in ipairs(packed) do
      local head, content = notes.unpack(text)
      local at = 0
      for p, entry in ipairs(head.entries) do
        local states = {}
        for t, tensors in ipairs(entry.states) do
          states[t] = {}
          for _, of in ipairs(tensors) do
            states[t][of.name] = bytes.tensor(content:sub(at + 1, at + of.bytes), of.dtype, of.shape)
            at = at + of.bytes
          end
        end
        local past = entry.whole and states[1] or states
        past.problem, past.whole = problems[k][p], entry.whole or nil
        tape[#tape + 1] = past
      end
      for _, each in ipairs(head.advantages) do advantages[#advantages + 1] = each end
    end
    return tape, advantages
  end

  function learner.save(agent, path, note)
    local state = agent.network:state_dict()
    for name, tensor in pairs(agent.optimizer:state_dict()) do state[name] = tensor end
    torch.save(path, state, { kind = agent.spec.kind, note = note })
  end

  function learner.load(agent, path)
    local state, note = torch.load(path, agent.spec.kind)
    agent.network:load_state_dict(state)
    agent.optimizer:load_state_dict(state)
    return note
  end

  function learner.parameters(agent) return agent.network:parameter_count() end

  local function new(_, given)
    local spec = known.over("torch.learner", given, DEFAULTS, 4)
    for name, value in pairs(spec) do
      if value == true then error(("torch.learner: option '%s' is missing"):format(name), 3) end
    end
    if not spec.logits == not spec.group_logits then
      error("torch.learner: give logits, for a decision per step, or group_logits, for all at once", 3)
    end
    local by_gradient, own_update = not spec.update, spec.update
    local function update(agent, ...)
      set_training(agent, true)
      return own_update(agent, ...)
    end
    return {
      observe = spec.observe,
      make = function(options)
        if options.init_seed then torch.manual_seed(options.init_seed) end
        local network = spec.network(options)
        return { spec = spec, network = network, optimizer = torch.optim.Adam(network), options = options }
      end,
      act = spec.logits and learner.act or nil, whole = spec.group_logits and learner.whole or nil,
      update = own_update and update or learner.update, save = learner.save,
      load = learner.load, parameters = learner.parameters,
      weights = learner.weights, set_weights = learner.set_weights,
      gradient = by_gradient and learner.gradient or nil, step = by_gradient and learner.step_by or nil,
      pack = not by_gradient and learner.pack or nil, unpack = not by_gradient and learner.unpack or nil,
    }
  end

  return setmetatable(learner, { __call = new })
end
