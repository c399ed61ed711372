-- Optimisers over berth.torch, under PyTorch's names: torch.optim.

local known = require "berth.known"

return function(torch)
  local optim = {}
  local Adam = {}
  Adam.__index = Adam
  -- A count of steps is exact in two floats up to 2^48.
  local HIGH_UNIT = 2 ^ 24

  -- Parts that all of them have: names, tensors, the options by name, an array of zeros per kind of state.
  local function begin(class, parameters, options, defaults, kinds)
    local self = setmetatable(known.over("torch.optim", options, defaults, 4), class)
    self.steps, self.names, self.tensors = 0, {}, {}
    if type(self.lr) ~= "number" or not (self.lr >= 0 and self.lr < 1e35) then
      error(("torch.optim: lr is %s; a number from 0 on expected"):format(tostring(self.lr)), 3)
    end
    if parameters.named_parameters then
      for i, each in ipairs(parameters:named_parameters()) do
        self.names[i], self.tensors[i] = each[1], each[2]
      end
    else
      for i, tensor in ipairs(parameters) do self.names[i], self.tensors[i] = tostring(i), tensor end
    end
    if #self.tensors == 0 then error("torch.optim: there is nothing to learn: no parameters", 3) end
    for _, kind in ipairs(kinds) do
      self[kind] = {}
      for i, tensor in ipairs(self.tensors) do self[kind][i] = torch.zeros(tensor:shape(), tensor:dtype()) end
    end
    return self
  end

  local function new(parameters, options, decoupled, defaults)
    local self = begin(Adam, parameters, options, defaults, { "means", "squares" })
    self.decoupled = decoupled
    self.counts = {}  -- by tensor: its steps, fewer than all where it had no gradient
    for i in ipairs(self.tensors) do self.counts[i] = 0 end
    return self
  end

  -- Adam (Kingma and Ba, ICLR 2015).
  --   ARGS  parameters  a module or an array of tensors
  --         options     lr (1e-3), betas ({ 0.9, 0.999 }), eps (1e-8), weight_decay (0)
  function optim.Adam(parameters, options)
    return new(parameters, options, false, { lr = 1e-3, betas = { 0.9, 0.999 }, eps = 1e-8,
      weight_decay = 0 })
  end

  -- The same with a decay of the weights that the gradient's scale does not change (Loshchilov and
  -- Hutter, ICLR 2019).
  function optim.AdamW(parameters, options)
    return new(parameters, options, true, { lr = 1e-3, betas = { 0.9, 0.999 }, eps = 1e-8,
      weight_decay = 0.01 })
  end

  -- One step against the gradients; `lr` may be changed between steps.
  function Adam:step()
    self.steps = self.steps + 1
    for i, tensor in ipairs(self.tensors) do
      local gradient = tensor:grad()
      if gradient then
        self.counts[i] = self.counts[i] + 1
        tensor:adam_step_(gradient, self.means[i], self.squares[i], self.counts[i], self.lr, self.betas[1],
          self.betas[2], self.eps, self.weight_decay, self.decoupled)
      end
    end
  end

  local function zero_grad(self)
    for _, tensor in ipairs(self.tensors) do tensor:zero_grad() end
  end
  Adam.zero_grad = zero_grad

  local function count_tensor(count) return torch.tensor { math.floor(count / HIGH_UNIT), count % HIGH_UNIT } end
  local function count_of(tensor)
    local high, low = unpack(tensor:totable())
    return high * HIGH_UNIT + low
  end

  -- The state by name, for torch.save beside a module's: moments, the number of steps, and that of each tensor
  -- that had fewer.
  function Adam:state_dict()
    local state = { ["adam.steps"] = count_tensor(self.steps) }
    for i, name in ipairs(self.names) do
      if self.counts[i] ~= self.steps then state["adam.steps." .. name] = count_tensor(self.counts[i]) end
      state["adam.mean." .. name], state["adam.square." .. name] = self.means[i], self.squares[i]
    end
    return state
  end

  function Adam:load_state_dict(state)
    local steps = state["adam.steps"]
    if not steps then error("load_state_dict: 'adam.steps' is missing", 2) end
    for _, name in ipairs(self.names) do
      for _, kind in ipairs { "adam.mean.", "adam.square." } do
        if not state[kind .. name] then
          error(("load_state_dict: '%s' is missing"):format(kind .. name), 2)
        end
      end
    end
    for i, name in ipairs(self.names) do
      self.means[i]:copy_(state["adam.mean." .. name])
      self.squares[i]:copy_(state["adam.square." .. name])
    end
    self.steps = count_of(steps)
    for i, name in ipairs(self.names) do
      local own = state["adam.steps." .. name]
      self.counts[i] = own and count_of(own) or self.steps
    end
  end

  local SGD = { zero_grad = zero_grad }
  SGD.__index = SGD

  -- Gradient descent, with momentum where it is not 0 (Sutskever et al., ICML 2013).
  --   ARGS  parameters  a module or an array of tensors
  --         options     lr (1e-3), momentum (0), weight_decay (0), nesterov (false)
  function optim.SGD(parameters, options)
    return begin(SGD, parameters, options, { lr = 1e-3, momentum = 0, weight_decay = 0, nesterov = false },
      { "velocities" })
  end

  function SGD:step()
    for i, tensor in ipairs(self.tensors) do
      local gradient = tensor:grad()
      if gradient then
        tensor:sgd_step_(gradient, self.velocities[i], self.lr, self.momentum, self.weight_decay, self.nesterov)
      end
    end
  end

  function SGD:state_dict()
    local state = {}
    for i, name in ipairs(self.names) do state["sgd.velocity." .. name] = self.velocities[i] end
    return state
  end

  function SGD:load_state_dict(state)
    for _, name in ipairs(self.names) do
      if not state["sgd.velocity." .. name] then
        error(("load_state_dict: 'sgd.velocity.%s' is missing"):format(name), 2)
      end
    end
    for i, name in ipairs(self.names) do self.velocities[i]:copy_(state["sgd.velocity." .. name]) end
  end

  -- Schedules of an optimiser's rate, under PyTorch's names. scheduler:step() after every step, or epoch,
  -- changes optimizer.lr; `last` counts those calls.
  optim.lr_scheduler = {}

  -- Sets rate_of(last, base), where base is the optimiser's rate at first.
  local function schedule(optimizer, rate_of)
    local base = optimizer.lr
    local self = { last = 0 }
    function self:step()
      self.last = self.last + 1
      optimizer.lr = rate_of(self.last, base)
    end
    optimizer.lr = rate_of(0, base)
    return self
  end

  local function scheduler(optimizer, factor)
    return schedule(optimizer, function(last, base) return base * factor(last) end)
  end

  local POSITIVE = { step_size = true, T_max = true, total_iters = true }

  -- The arguments of a scheduler behind its optimiser: in order, and those that PyTorch takes by name in a table behind them.
  --   ARGS    what, names  of the scheduler and of its arguments, in order
  --           defaults     by name; an argument without one has to be given
  --   RETURN  table by name
  local function arguments_of(what, names, defaults, ...)
    local call, values = "torch.optim.lr_scheduler." .. what, {}
    for name, value in pairs(defaults) do values[name] = value end
    for i, name in ipairs(names) do
      local given = (select(i, ...))
      if type(given) == "table" then
        for key, value in pairs(known.check(call, given, names, 4)) do values[key] = value end
        break
      end
      if given ~= nil then values[name] = given end
    end
    for i, name in ipairs(names) do
      local value = values[name]
      if type(value) ~= "number" then
        error(("%s: argument %d (%s): number expected, got %s"):format(call, i + 1, name, type(value)), 3)
      end
      if value ~= value or POSITIVE[name] and not (value > 0) then
        error(("%s: %s is %s; give a number%s"):format(call, name, tostring(value), POSITIVE[name] and " above 0" or ""), 3)
      end
    end
    return values
  end

  -- factor(last) times the rate at first.
  function optim.lr_scheduler.LambdaLR(optimizer, factor)
    if type(factor) ~= "function" then
      error(("torch.optim.lr_scheduler.LambdaLR: argument 2 (factor): function expected, got %s"):format(type(factor)), 2)
    end
    return scheduler(optimizer, factor)
  end
  -- gamma (0.1) times as much after every step_size.
  function optim.lr_scheduler.StepLR(optimizer, ...)
    local given = arguments_of("StepLR", { "step_size", "gamma" }, { gamma = 0.1 }, ...)
    return scheduler(optimizer, function(last) return given.gamma ^ math.floor(last / given.step_size) end)
  end
  -- gamma times as much after every step.
  function optim.lr_scheduler.ExponentialLR(optimizer, ...)
    local given = arguments_of("ExponentialLR", { "gamma" }, {}, ...)
    return scheduler(optimizer, function(last) return given.gamma ^ last end)
  end
  -- From start_factor (1/3) to end_factor (1) in total_iters (5).
  function optim.lr_scheduler.LinearLR(optimizer, ...)
    local given = arguments_of("LinearLR", { "start_factor", "end_factor", "total_iters" },
      { start_factor = 1 / 3, end_factor = 1, total_iters = 5 }, ...)
    return scheduler(optimizer, function(last)
      return given.start_factor + (given.end_factor - given.start_factor) * math.min(last / given.total_iters, 1)
    end)
  end
  -- Half a cosine from the rate to eta_min (0) in T_max.
  function optim.lr_scheduler.CosineAnnealingLR(optimizer, ...)
    local given = arguments_of("CosineAnnealingLR", { "T_max", "eta_min" }, { eta_min = 0 }, ...)
    return schedule(optimizer, function(last, base)
      return given.eta_min + (base - given.eta_min) * (1 + math.cos(math.pi * last / given.T_max)) / 2
    end)
  end

  known.only(optim.lr_scheduler, "torch.optim.lr_scheduler")
  return known.only(optim, "torch.optim")
end
