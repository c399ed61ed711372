-- A training graph from its forward pass.
--
-- A network is a graph under construction with a tape: each layer (families/layers.lua) adds its
-- forward ops and records what its gradient is; `train` walks the tape backwards, sums gradients that
-- meet, adds the optimizer's updates and gives the graph. Op types are TensorFlow's, so that roofline
-- costs apply, and so is what must share a device:
--   * a forward op, its gradient ops, and the weights that it alone reads, with their updates;
--   * a variable that several ops read, its reading, and its update;
--   * a sum of gradients, with the op that gave the first of them.
-- That is what TensorFlow 1 writes with colocate_gradients_with_ops; no grouping is then without cycles. The default
-- here is as in the graphs of Addanki et al., NeurIPS 2019, which have none: every weight is a variable with its
-- reading, and gradients and updates are free. An update reads the weight, so that it costs something to put it
-- elsewhere.
--
-- Scalars (learning rate, axes, sizes) are left out: they cost nothing and would tie devices together
-- that real programs keep apart by a copy on each. So are initialization, summaries, checkpoints.
--
-- A value is { tensor, shape, dtype, needs }: needs tells that a weight lies behind it, so that its
-- gradient is wanted.

local berth = require "berth"

local network = {}
local Network = {}
Network.__index = Network

local BYTES = { f32 = 4, i32 = 4 }

-- The optimizers: the update's type, state as large as the weight, and a limit on the global norm.
local OPTIMIZERS = {
  momentum = { type = "ApplyMomentum", slots = 1, clip = false },
  clipped_descent = { type = "ApplyGradientDescent", slots = 0, clip = true },
}

-- Starts a network.
--   ARGS    name       of the graph
--           optimizer  "momentum", or "clipped_descent": gradient descent behind a limit on the global
--                      norm of the gradients
--           colocate   gradients share the devices of their ops
function network.new(name, optimizer, colocate)
  return setmetatable({
    colocate = colocate,
    builder = berth.graph_builder(name, "tf"),
    optimizer = assert(OPTIMIZERS[optimizer], optimizer),
    tape = {},     -- { outputs, class, backward }, in forward order
    weights = {},  -- values, in the order they were made
    names = {},    -- how often a name was asked for
    first_of = {}, -- the first op of a class, until a second one comes
    class = nil,   -- of the ops being added
  }, Network)
end

-- Adding ops ---------------------------------------------------------------------------------------

-- Adds an op to the class at hand.
--   ARGS    type, name  a name that is taken gets a number
--           inputs      array of values, false for one that is left out
--           outputs     array of shapes
--           options     dtype of the outputs (default f32), attributes
--   RETURN  its outputs, one value each
function Network:add(type, name, inputs, outputs, options)
  options = options or {}
  local op, needs = self.builder:add_op(self:unique(name), type), false
  self:join_class(op)
  for _, input in ipairs(inputs) do
    self.builder:add_input(op, input and input.tensor or nil)
    needs = needs or input and input.needs
  end
  for key, attribute in pairs(options.attributes or {}) do
    self.builder:set_attribute(op, key, attribute)
  end
  local values = {}
  for i, shape in ipairs(outputs) do
    local dtype = options.dtype or "f32"
    local tensor = self.builder:add_output(op, { dtype = dtype, shape = shape, bytes = options.bytes })
    values[i] = { tensor = tensor, shape = shape, dtype = dtype, needs = needs, class = self.class }
  end
  self.last = op
  return unpack(values)
end

function Network:unique(name)
  local count = self.names[name] or 0
  self.names[name] = count + 1
  return count == 0 and name or name .. "_" .. count
end

-- A class of one needs no constraint.
function Network:join_class(op)
  local class = self.class
  if not class then return end
  local first = self.first_of[class]
  if first == nil then
    self.first_of[class] = op
    return
  end
  if first then
    self.builder:set_colocation(first, class)
    self.first_of[class] = false
  end
  self.builder:set_colocation(op, class)
end

local function leave(net, outer, ...)
  net.class = outer
  return ...
end

-- Runs f with its ops in a class, and gives what it returns.
function Network:within(class, f)
  local outer = self.class
  self.class = class
  return leave(self, outer, f())
end

-- A tensor that is fed at each step.
function Network:placeholder(name, shape, dtype)
  return (self:add("Placeholder", name, {}, { shape }, { dtype = dtype }))
end

-- Adds a forward op in a class of its own name.
--   ARGS    as of add; class  another class to join
--   RETURN  its outputs
function Network:forward(type, name, inputs, outputs, options)
  return self:within(options and options.class or name, function()
    return self:add(type, name, inputs, outputs, options)
  end)
end

-- Weights ------------------------------------------------------------------------------------------

local function bytes_of(shape, dtype)
  local bytes = BYTES[dtype]
  for _, dim in ipairs(shape) do bytes = bytes * dim end
  return bytes
end

-- A weight that a single forward op reads. With gradients beside their ops it lies where that op runs.
--   ARGS    owner  name of that op
function Network:weight(owner, name, shape)
  name = owner .. "/" .. name
  if not self.colocate then return self:variable(name, shape) end
  local tensor = self.builder:add_parameter({ dtype = "f32", shape = shape }, name)
  return self:add_weight { tensor = tensor, reference = tensor, shape = shape, name = name,
                           class = owner }
end

-- A weight that many ops read, on any device: a variable and the op that reads it.
function Network:variable(name, shape)
  return self:within(name, function()
    -- A reference to what is there anyway has no bytes.
    local reference = self:add("VariableV2", name, {}, { shape }, { bytes = 0 })
    self.builder:set_param_bytes(self.last, bytes_of(shape, "f32"))
    local read = self:add("Identity", name .. "/read", { reference }, { shape })
    return self:add_weight { tensor = read.tensor, reference = reference.tensor, shape = shape,
                             name = name, class = name }
  end)
end

function Network:add_weight(weight)
  weight.needs, weight.dtype = true, "f32"
  self.weights[#self.weights + 1] = weight
  return weight
end

-- Gradients ----------------------------------------------------------------------------------------

-- Records how gradients come back through what was just added.
--   ARGS    name      of the forward op
--           outputs   array of its values
--           backward  function(gradients): gradients[i] of outputs[i], nil where nothing depends on it;
--                     it uses backward and pass below
--           class     where it is not the op's own
function Network:differentiate(name, outputs, backward, class)
  if not outputs[1].needs then return end
  self.tape[#self.tape + 1] = {
    name = name, class = class or name, outputs = outputs, backward = backward,
  }
end

-- Hands a gradient on to a value.
function Network:pass(value, gradient)
  if not value.needs then return end
  value.gradients = value.gradients or {}
  table.insert(value.gradients, gradient)
end

-- Adds an op of the gradient at hand.
--   RETURN  its outputs
function Network:gradient(type, inputs, outputs, attributes)
  local name = ("gradients/%s_grad/%s"):format(self.step.name, type)
  return self:add(type, name, inputs, outputs, { attributes = attributes })
end

-- Adds the op that computes a value's gradient, unless nobody needs it, and hands that on.
function Network:backward(value, type, inputs, attributes)
  if value.needs then self:pass(value, (self:gradient(type, inputs, { value.shape }, attributes))) end
end

-- The gradient of a value: the sum of what reached it, nil where nothing did.
function Network:total(value)
  local gradients = value.gradients
  if not gradients then return nil end
  if #gradients == 1 then return gradients[1] end
  return self:within(gradients[1].class, function()
    return (self:add("AddN", "gradients/AddN", gradients, { value.shape }))
  end)
end

-- Ends the forward pass: adds gradients and updates.
--   ARGS    loss  value with shape {}
--   RETURN  the graph
function Network:train(loss)
  self:pass(loss, (self:add("Fill", "gradients/Fill", {}, { {} })))
  for i = #self.tape, 1, -1 do
    local step = self.tape[i]
    local gradients, any = {}, false
    for o, output in ipairs(step.outputs) do
      gradients[o] = self:total(output)
      any = any or gradients[o] ~= nil
    end
    if any then
      self.step = step
      self:within(self.colocate and step.class or nil, function() step.backward(gradients) end)
    end
  end
  self:update()
  local graph = self.builder:build()
  self.builder:release()  -- closures on the tape hold it
  return graph
end

-- Updates ------------------------------------------------------------------------------------------

-- Updates every weight, and an op that ends the step when all are done.
function Network:update()
  local updates, gradients = {}, {}
  for i, weight in ipairs(self.weights) do gradients[i] = self:weight_gradient(weight) end
  if self.optimizer.clip then gradients = self:clipped(gradients) end
  for i, weight in ipairs(self.weights) do
    self:within(self.colocate and weight.class or nil, function() self:apply(weight, gradients[i]) end)
    updates[i] = self.last
  end
  self:add("NoOp", "train/train_op", {}, {})
  for _, update in ipairs(updates) do self.builder:add_control_edge(update, self.last) end
end

-- Dense, or the rows of a table that were looked up.
function Network:weight_gradient(weight)
  if not weight.rows then return assert(self:total(weight), weight.name .. " has no gradient") end
  local rows, shape = {}, { weight.indices.shape[1], weight.shape[2] }
  for i, row in ipairs(weight.rows) do rows[#weight.rows + 1 - i] = row end  -- they came backwards
  return self:within(self.colocate and weight.class or nil, function()
    return (self:add("ConcatV2", "gradients/" .. weight.name .. "/concat", rows, { shape }))
  end)
end

-- All gradients, scaled to a limited global norm.
function Network:clipped(gradients)
  local norms, scaled = {}, {}
  for i, gradient in ipairs(gradients) do
    norms[i] = self:within(gradient.class, function()
      return (self:add("L2Loss", "train/clip/L2Loss", { gradient }, { {} }))
    end)
  end
  local sum = self:add("AddN", "train/clip/AddN", norms, { {} })
  local norm = self:add("Sqrt", "train/clip/global_norm", { sum }, { {} })
  local scale = self:add("RealDiv", "train/clip/scale", { norm }, { {} })
  for i, gradient in ipairs(gradients) do
    scaled[i] = self:within(gradient.class, function()
      return (self:add("Mul", "train/clip/Mul", { gradient, scale }, { gradient.shape }))
    end)
  end
  return scaled
end

function Network:apply(weight, gradient)
  local name = "train/update_" .. weight.name .. "/"
  local target = { tensor = self.colocate and weight.reference or weight.tensor }
  if weight.rows then
    local step = self:add("Mul", name .. "mul", { gradient }, { gradient.shape })
    self:add("ScatterSub", name .. "ScatterSub", { target, weight.indices, step }, {})
    return
  end
  local optimizer = self.optimizer
  local inputs = { target }
  for _ = 1, optimizer.slots + 1 do inputs[#inputs + 1] = false end  -- the slots, the learning rate
  inputs[#inputs + 1] = gradient
  self:add(optimizer.type, name .. optimizer.type, inputs, {})
  self.builder:set_param_bytes(self.last, optimizer.slots * bytes_of(weight.shape, "f32"))
end

return network
