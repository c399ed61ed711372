-- Networks over berth.torch, under PyTorch's names: torch.nn.
--
-- A module is a table: its fields that nn.Parameter made are parameters, those that are modules or arrays of modules
-- are parts. Calling it calls `forward`.
--
--   local Policy = nn.class(function(self, width, devices)
--     self.body, self.head = nn.Linear(width, 32), nn.Linear(32, devices)
--   end)
--   function Policy:forward(x) return self.head(self.body(x):relu()) end
--   local net = Policy(8, 4)

local known = require "berth.known"

return function(torch)
  local nn = {}
  local Module = { training = true }
  Module.__index = Module

  -- Tensors that are trained, frozen ones among them, and those that are state without being trained. FFI objects are
  -- no keys of a weak table by value, so that the tables hold the tensors of modules that live.
  local parameters, buffers = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" })

  local function is_module(value)
    return type(value) == "table" and type(value.named_parameters) == "function"
  end

  local function sorted_keys(of)
    local keys = {}
    for key in pairs(of) do
      if type(key) == "string" or type(key) == "number" then keys[#keys + 1] = key end
    end
    table.sort(keys, function(a, b)
      if type(a) == type(b) then return a < b end
      return type(a) == "number"
    end)
    return keys
  end

  -- visit(module) for a module and its parts; visit_tensor(name, tensor) for their tensors.
  local function walk(of, prefix, visit, visit_tensor)
    if is_module(of) then visit(of) end
    for _, key in ipairs(sorted_keys(of)) do
      local value = rawget(of, key)
      if torch.is_tensor(value) then
        visit_tensor(prefix .. key, value)
      elseif is_module(value) or (type(value) == "table" and is_module(value[1])) then
        walk(value, prefix .. key .. ".", visit, visit_tensor)
      end
    end
  end

  local function nothing() end

  -- Array of { name, tensor } of those that `of` has, a tensor once, by the first of its names.
  local function named(module, of)
    local found, seen = {}, {}
    walk(module, "", nothing, function(name, tensor)
      if of[tensor] and not seen[tensor] then found[#found + 1] = { name, tensor } end
      seen[tensor] = true
    end)
    return found
  end

  -- Array of { name, tensor } of state that is not trained: what nn.Buffer made.
  function Module:named_buffers() return named(self, buffers) end

  -- Array of { name, tensor } of what nn.Parameter made, by name, so that every run has them in the same order.
  function Module:named_parameters() return named(self, parameters) end

  function Module:parameters()
    local tensors = {}
    for i, each in ipairs(self:named_parameters()) do tensors[i] = each[2] end
    return tensors
  end

  -- Number of the parameters' values.
  function Module:parameter_count()
    local count = 0
    for _, tensor in ipairs(self:parameters()) do count = count + tensor:numel() end
    return count
  end

  function Module:zero_grad()
    for _, tensor in ipairs(self:parameters()) do tensor:zero_grad() end
  end

  -- Parameters and buffers by name, for torch.save; they are the module's own. One with two names is there twice.
  function Module:state_dict()
    local state = {}
    walk(self, "", nothing, function(name, tensor)
      if parameters[tensor] or buffers[tensor] then state[name] = tensor end
    end)
    return state
  end

  -- Takes the values of state_dict's form. All must be there, of the same shapes; else nothing changes.
  function Module:load_state_dict(state)
    local own = self:state_dict()
    for _, name in ipairs(sorted_keys(own)) do
      local given, tensor = state[name], own[name]
      local has = table.concat(tensor:shape(), ", ")
      if not given then error(("load_state_dict: '%s' is missing"):format(name), 2) end
      if table.concat(given:shape(), ", ") ~= has then
        error(("load_state_dict: '%s' is [%s], here it is [%s]"):format(name,
          table.concat(given:shape(), ", "), has), 2)
      end
    end
    torch.no_grad(function()
      for name, tensor in pairs(own) do tensor:copy_(state[name]) end
    end)
  end

  -- Whether layers that differ in training (dropout) are in training.
  function Module:train(mode)
    walk(self, "", function(module) module.training = mode ~= false end, nothing)
    return self
  end

  function Module:eval() return self:train(false) end

  -- A class of modules; `make(self, ...)` sets the fields of a new one.
  function nn.class(make)
    local class = setmetatable({}, { __index = Module, __call = function(class, ...)
      local self = setmetatable({}, class)
      make(self, ...)
      return self
    end })
    class.__index = class
    class.__call = function(self, ...) return self:forward(...) end
    return class
  end

  -- A trained tensor: values that require a gradient. One that is frozen, by requires_grad_(false), stays a parameter.
  function nn.Parameter(tensor)
    parameters[tensor] = true
    return tensor:requires_grad_()
  end

  -- State that is kept with the parameters and not trained.
  function nn.Buffer(tensor)
    buffers[tensor] = true
    return tensor
  end

  -- Sizes of a layer; the error is of the line that makes it.
  local function sizes(layer, ...)
    local names, given = { ... }, {}
    for i = 1, #names, 2 do given[#given + 1] = { name = names[i], value = names[i + 1] } end
    for _, each in ipairs(given) do
      local value = each.value
      if type(value) ~= "number" or value < 1 or value % 1 ~= 0 then
        error(("nn.%s: %s is %s; give a whole number from 1 on"):format(layer, each.name,
          value and tostring(value) or "missing"), 4)
      end
    end
  end

  local function uniform(shape, limit)
    return nn.Parameter(torch.zeros(shape):uniform_(-limit, limit))
  end

  nn.init = {}
  -- Fills [out, in] uniformly, as of Glorot and Bengio, AISTATS 2010.
  function nn.init.xavier_uniform_(tensor)
    local limit = math.sqrt(6 / (tensor:size(1) + tensor:size(2)))
    return tensor:uniform_(-limit, limit)
  end
  function nn.init.zeros_(tensor)
    torch.no_grad(tensor.fill_, tensor, 0)
    return tensor
  end

  -- [.., inputs] -> [.., outputs]. options: bias (default true)
  nn.Linear = nn.class(function(self, inputs, outputs, options)
    sizes("Linear", "inputs", inputs or false, "outputs", outputs or false)
    local limit = 1 / math.sqrt(inputs)
    self.weight = uniform({ outputs, inputs }, limit)
    if known.check("nn.Linear", options, { "bias" }, 4).bias ~= false then self.bias = uniform({ outputs }, limit) end
  end)
  function nn.Linear:forward(x) return x:linear(self.weight, self.bias) end

  -- Positions from 1 to `rows` -> [.., width].
  nn.Embedding = nn.class(function(self, rows, width)
    sizes("Embedding", "rows", rows or false, "width", width or false)
    self.weight = nn.Parameter(torch.randn { rows, width })
  end)
  function nn.Embedding:forward(index) return torch.embedding(self.weight, index) end

  nn.LayerNorm = nn.class(function(self, width)
    sizes("LayerNorm", "width", width or false)
    self.weight, self.bias = nn.Parameter(torch.ones { width }), nn.Parameter(torch.zeros { width })
  end)
  function nn.LayerNorm:forward(x) return x:layer_norm(self.weight, self.bias) end

  -- Weights of a recurrent network whose cell has so many gates.
  local function recurrent(self, gates, inputs, width, layers)
    self.width, self.layers = width, layers or 1
    local limit = 1 / math.sqrt(width)
    for layer = 1, self.layers do
      self["weight_ih_" .. layer] = uniform({ gates * width, layer == 1 and inputs or width }, limit)
      self["weight_hh_" .. layer] = uniform({ gates * width, width }, limit)
      self["bias_ih_" .. layer] = uniform({ gates * width }, limit)
      self["bias_hh_" .. layer] = uniform({ gates * width }, limit)
    end
  end

  -- The same in the order of LibTorch's functions.
  local function recurrent_weights(self)
    local weights = {}
    for layer = 1, self.layers do
      for _, name in ipairs { "weight_ih_", "weight_hh_", "bias_ih_", "bias_hh_" } do
        weights[#weights + 1] = self[name .. layer]
      end
    end
    return weights
  end

  -- [batch, length, inputs] -> [batch, length, width], { hidden, cell } of [layers, batch, width].
  nn.LSTM = nn.class(function(self, inputs, width, layers)
    sizes("LSTM", "inputs", inputs or false, "width", width or false, "layers", layers or 1)
    recurrent(self, 4, inputs, width, layers)
  end)
  function nn.LSTM:forward(x, state)
    local weights = recurrent_weights(self)
    local start = { self.layers, x:size(1), self.width }
    local hidden, cell = unpack(state or { torch.zeros(start), torch.zeros(start) })
    local outputs
    outputs, hidden, cell = torch.lstm(x, hidden, cell, weights)
    return outputs, { hidden, cell }
  end

  -- [batch, length, inputs] -> [batch, length, width], hidden [layers, batch, width] (Cho et al., EMNLP 2014).
  nn.GRU = nn.class(function(self, inputs, width, layers)
    sizes("GRU", "inputs", inputs or false, "width", width or false, "layers", layers or 1)
    recurrent(self, 3, inputs, width, layers)
  end)
  function nn.GRU:forward(x, hidden)
    return torch.gru(x, hidden or torch.zeros { self.layers, x:size(1), self.width }, recurrent_weights(self))
  end

  -- [n, width] or [n, width, length] with mean 0 and variance 1 by column, then scaled (Ioffe and Szegedy, ICML
  -- 2015). In training by the batch, which moves the mean and variance that are used after :eval(). They are
  -- saved, and are not among what workers exchange.
  nn.BatchNorm1d = nn.class(function(self, width, options)
    sizes("BatchNorm1d", "width", width or false)
    self.momentum = known.check("nn.BatchNorm1d", options, { "momentum" }, 4).momentum or 0.1
    self.weight, self.bias = nn.Parameter(torch.ones { width }), nn.Parameter(torch.zeros { width })
    self.running_mean, self.running_var = nn.Buffer(torch.zeros { width }), nn.Buffer(torch.ones { width })
  end)
  function nn.BatchNorm1d:forward(x)
    return x:batch_norm(self.weight, self.bias, self.running_mean, self.running_var, self.training,
      self.momentum)
  end

  -- query [batch, n, width], key and value [batch, m, width] -> [batch, n, width], weights
  -- [batch, heads, n, m] (Vaswani et al., NeurIPS 2017). `mask` [n, m] or [batch, 1, n, m]: where
  -- not 0, nothing is attended to.
  nn.MultiheadAttention = nn.class(function(self, width, heads)
    sizes("MultiheadAttention", "width", width or false, "heads", heads or false)
    if width % heads ~= 0 then
      error(("nn.MultiheadAttention: width %d is no multiple of %d heads"):format(width, heads), 3)
    end
    self.heads, self.width = heads, width
    for _, name in ipairs { "query", "key", "value", "out" } do self[name] = nn.Linear(width, width) end
  end)
  function nn.MultiheadAttention:forward(query, key, value, mask)
    local width = self.width / self.heads
    local function by_head(x)
      return x:reshape { x:size(1), x:size(2), self.heads, width }:transpose(2, 3)
    end
    local q, k, v = by_head(self.query(query)), by_head(self.key(key)), by_head(self.value(value))
    local scores = q:matmul(k:transpose()) / math.sqrt(width)
    if mask then scores = scores:masked_fill(mask, -math.huge) end
    local weights = scores:softmax()
    local heard = weights:matmul(v):transpose(2, 3):reshape { query:size(1), query:size(2), self.width }
    return self.out(heard), weights
  end

  -- Messages along the edges of a graph, in `rounds` rounds:
  --   x <- x + relu(update(sum over the sources of relu(message(x))))
  -- x [.., nodes, width]; sources and targets [edges], positions from 1. The same weights in all rounds.
  nn.MessagePassing = nn.class(function(self, width, rounds)
    sizes("MessagePassing", "width", width or false, "rounds", rounds or 1)
    self.rounds, self.message, self.update = rounds or 1, nn.Linear(width, width), nn.Linear(width, width)
  end)
  function nn.MessagePassing:forward(x, sources, targets)
    local nodes = x:size(-2)
    for _ = 1, self.rounds do
      local heard = self.message(x):relu():edge_sum(sources, targets, nodes)
      x = x + self.update(heard):relu()
    end
    return x
  end

  -- Attention along the edges of a graph (Velickovic et al., ICLR 2018):
  --   x <- x + relu(out(sum over the sources of share * value(x))),  share = softmax over a node's edges
  -- x [nodes, width]; sources and targets [edges], positions from 1.
  nn.GraphAttention = nn.class(function(self, width, heads)
    heads = heads or 1
    sizes("GraphAttention", "width", width or false, "heads", heads)
    if width % heads ~= 0 then
      error(("nn.GraphAttention: width %d is no multiple of %d heads"):format(width, heads), 3)
    end
    self.heads, self.width = heads, width
    for _, name in ipairs { "query", "key", "value", "out" } do self[name] = nn.Linear(width, width) end
  end)
  function nn.GraphAttention:forward(x, sources, targets)
    local nodes, edges, width = x:size(1), sources:size(1), self.width / self.heads
    local function by_edge(layer, at)
      return layer(x):index_select(1, at):reshape { edges, self.heads, width }
    end
    local scores = (by_edge(self.query, targets) * by_edge(self.key, sources)):sum(-1) / math.sqrt(width)
    local share = scores:transpose():edge_softmax(targets, nodes):transpose():unsqueeze(-1)
    local said = (by_edge(self.value, sources) * share):reshape { edges, self.width }
    local heard = torch.zeros { nodes, self.width }:index_add(1, targets, said)
    return x + self.out(heard):relu()
  end

  nn.Dropout = nn.class(function(self, p)
    self.p = p or 0.5
    if type(self.p) ~= "number" or not (self.p >= 0 and self.p <= 1) then
      error(("nn.Dropout: p is %s; give a number from 0 to 1"):format(tostring(p)), 3)
    end
  end)
  function nn.Dropout:forward(x) return x:dropout(self.p, self.training) end

  -- One module after the other.
  nn.Sequential = nn.class(function(self, ...)
    for i = 1, select("#", ...) do
      local module = select(i, ...)
      if not is_module(module) and type(module) ~= "function" then
        error(("nn.Sequential: part %d is a %s; give modules or functions"):format(i, type(module)), 3)
      end
      self[i] = module
    end
  end)
  function nn.Sequential:forward(x)
    for _, module in ipairs(self) do x = module(x) end
    return x
  end

  -- Layers without parameters.
  for name, operation in pairs { ReLU = "relu", Tanh = "tanh", Sigmoid = "sigmoid", GELU = "gelu",
                                 SiLU = "silu", ELU = "elu" } do
    nn[name] = nn.class(function() end)
    nn[name].forward = function(_, x) return torch[operation](x) end
  end

  nn.utils = {}

  -- Scales the gradients so that the norm of all together is at most max_norm.
  --   ARGS    parameters  a module or an array of tensors; max_norm
  --   RETURN  the norm before; an error where it is not finite (the gradients are then cleared)
  function nn.utils.clip_grad_norm_(parameters, max_norm)
    if is_module(parameters) then parameters = parameters:parameters() end
    local gradients, squares = {}, 0
    for _, tensor in ipairs(parameters) do
      local gradient = tensor:grad()
      if gradient then
        gradients[#gradients + 1] = gradient
        squares = squares + gradient:to "float64":square():sum():item()
      end
    end
    local norm = math.sqrt(squares)
    if not (norm < math.huge) then
      for _, tensor in ipairs(parameters) do tensor:zero_grad() end
      error("the gradient is not finite; give smaller rewards or a lower learning rate (nothing was learned)",
        2)
    end
    if max_norm > 0 and norm > max_norm then
      for _, gradient in ipairs(gradients) do gradient:mul_(max_norm / norm) end
    end
    return norm
  end

  return known.only(nn, "torch.nn")
end
