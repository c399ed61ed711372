-- Optimisers over berth.torch, under PyTorch's names: torch.optim.

return function(torch)
  local optim = {}
  local Adam = {}
  Adam.__index = Adam
  -- A count of steps is exact in two floats up to 2^48.
  local HIGH_UNIT = 2 ^ 24

  local function new(parameters, options, decoupled, known)
    local self = setmetatable({ decoupled = decoupled, steps = 0, names = {}, tensors = {}, means = {},
      squares = {} }, Adam)
    for name, default in pairs(known) do self[name] = default end
    for name, value in pairs(options or {}) do
      if known[name] == nil then
        error(("torch.optim: unknown option '%s'; known: lr, betas, eps, weight_decay"):format(
          tostring(name)), 3)
      end
      self[name] = value
    end
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
    for i, tensor in ipairs(self.tensors) do
      self.means[i], self.squares[i] = torch.zeros(tensor:shape()), torch.zeros(tensor:shape())
    end
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
        tensor:adam_step_(gradient, self.means[i], self.squares[i], self.steps, self.lr, self.betas[1],
          self.betas[2], self.eps, self.weight_decay, self.decoupled)
      end
    end
  end

  function Adam:zero_grad()
    for _, tensor in ipairs(self.tensors) do tensor:zero_grad() end
  end

  -- The state by name, for torch.save beside a module's: moments and the number of steps.
  function Adam:state_dict()
    local state = { ["adam.steps"] = torch.tensor { math.floor(self.steps / HIGH_UNIT),
      self.steps % HIGH_UNIT } }
    for i, name in ipairs(self.names) do
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
    local high, low = unpack(steps:totable())
    self.steps = high * HIGH_UNIT + low
  end

  return optim
end
