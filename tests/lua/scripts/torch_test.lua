-- berth.torch: tensors, operations, gradients, memory.
local check = require "check"
local berth = require "berth"
local ffi = require "ffi"
local folder = ...

local torch = check.torch()
if not torch then return end
local nn, optim = torch.nn, torch.optim

-- Arguments for an operation that has no case of its own below, by the kinds of its parameters.
local function sample(kind)
  if kind == "operand" then return 2 end
  if kind == "tensor" then return torch.tensor { { 0.1, 0.2, 0.3 }, { 0.4, 0.5, 0.6 } } end
  if kind == "number" then return 0.5 end
end

-- What needs shapes or values of its own.
local CASES = {
  matmul = function(x) return x, x:transpose() end,
  outer = function() return torch.tensor { 1, 2 }, torch.tensor { 3, 4 } end,
  einsum = function(x) return "ij,kj->ik", { x, x } end,
  reshape = function(x) return x, { 3, -1 } end,
  permute = function(x) return x, { 2, 1 } end,
  expand = function(x) return x:unsqueeze(1), { 4, 2, 3 } end,
  tile = function(x) return x, { 2, 1 } end,
  unsqueeze = function(x) return x, 1 end, squeeze = function(x) return x, 1 end,
  cat = function(x) return { x, x } end, stack = function(x) return { x, x } end,
  split = function(x) return x, 1 end, select = function(x) return x, 1, 2 end,
  narrow = function(x) return x, 2, 2, 2 end, index_select = function(x) return x, 1, { 2, 1 } end,
  gather = function(x) return x, 2, { { 1 }, { 3 } } end,
  scatter = function(x) return x, 2, { { 1 }, { 3 } }, torch.tensor { { 7 }, { 8 } } end,
  scatter_add = function(x) return x, 2, { { 1 }, { 3 } }, torch.tensor { { 7 }, { 8 } } end,
  index_add = function(x) return x, 1, { 2, 2 }, x end,
  masked_fill = function(x) return x, x:gt(0.3), 0 end,
  masked_select = function(x) return x, x:gt(0.3) end,
  flip = function(x) return x, { 1 } end, topk = function(x) return x, 2 end,
  to = function(x) return x, "float64" end, zeros = function() return { 2, 2 } end,
  ones = function() return { 2, 2 } end, full = function() return { 2, 2 }, 3 end,
  arange = function() return 1, 4 end, eye = function() return 3 end,
  one_hot = function() return { 1, 3 }, 3 end, rand = function() return { 2 } end,
  randn = function() return { 2 } end, randperm = function() return 4 end,
  linear = function(x) return x, torch.ones { 4, 3 }, torch.ones { 4 } end,
  embedding = function(x) return x, { 2, 1, 2 } end,
  layer_norm = function(x) return x, torch.ones { 3 }, torch.zeros { 3 } end,
  lstm = function(x)
    local state = torch.zeros { 1, 1, 2 }
    return x:unsqueeze(1), state, state,
      { torch.ones { 8, 3 }, torch.ones { 8, 2 }, torch.ones { 8 }, torch.ones { 8 } }
  end,
  scatter_reduce = function(x) return x, 2, { { 1 }, { 3 } }, torch.tensor { { 7 }, { 8 } }, "amax" end,
  gru = function(x)
    return x:unsqueeze(1), torch.zeros { 1, 1, 2 },
      { torch.ones { 6, 3 }, torch.ones { 6, 2 }, torch.ones { 6 }, torch.ones { 6 } }
  end,
  batch_norm = function(x)
    return x, torch.ones { 3 }, torch.zeros { 3 }, torch.zeros { 3 }, torch.ones { 3 }, true
  end,
  edge_max = function(x) return x, { 1, 1 }, { 2, 2 }, 2 end,
  edge_softmax = function(x) return x, { 1, 1, 2 }, 2 end,
  sgd_step_ = function(x) return x:clone(), x, torch.zeros { 2, 3 }, 0.1 end,
  edge_sum = function(x) return x, { 1, 1 }, { 2, 2 }, 2 end,
  cross_entropy = function(x) return x, { 1, 3 } end,
  where = function(x) return x:gt(0.3), x, 0 end,
  adam_step_ = function(x)
    return x:clone(), x, torch.zeros { 2, 3 }, torch.zeros { 2, 3 }, 1, 0.1
  end,
  clamp = function(x) return x, 0.2, 0.4 end,
}

check.test("every operation of the table runs, and refuses what is no tensor", function()
  check.equal(#torch.operations >= 80, true)
  for _, operation in ipairs(torch.operations) do
    local x, arguments = sample "tensor", nil
    if CASES[operation.name] then
      arguments = { CASES[operation.name](x) }
    else
      arguments = {}
      for i, parameter in ipairs(operation.parameters) do
        if parameter.default == nil then arguments[i] = sample(parameter.kind) end
      end
    end
    local ok, result = pcall(torch[operation.name], unpack(arguments, 1, #operation.parameters))
    if not ok then error(operation.name .. ": " .. tostring(result)) end
    assert(torch.is_tensor(result), operation.name)
    for i, parameter in ipairs(operation.parameters) do
      if parameter.kind == "tensor" then
        arguments[i] = {}
        check.fails(operation.name .. ": " .. parameter.name, torch[operation.name],
          unpack(arguments, 1, #operation.parameters))
        break
      end
    end
    check.equal(#operation.doc > 3, true)
  end
end)

check.test("editors get a file of types with every operation", function()
  local types = assert(loadstring(require "berth.torch.documentation" (torch)))()
  for _, operation in ipairs(torch.operations) do
    check.equal(type(types[operation.name]), "function")
  end
end)

check.test("the page beside PyTorch's names has every module, optimiser, distribution and operation", function()
  local root = debug.getinfo(1, "S").source:sub(2):gsub("tests/lua/scripts/.*", "")
  local page = assert(io.open(root .. "scripts/berth/torch/README.md")):read "*a"
  local function has(name) assert(page:find("`[^`]*%f[%w_]" .. name .. "%f[^%w_][^`]*`"), name) end
  for _, operation in ipairs(torch.operations) do has(operation.name) end
  for _, of in ipairs { nn, nn.init, nn.utils, optim, optim.lr_scheduler, torch.distributions } do
    for name in pairs(of) do has(name) end
  end
end)

check.test("values go to Lua and back", function()
  check.equal(torch.tensor({ { 1, 2 }, { 3, 4 } }):totable(), { { 1, 2 }, { 3, 4 } })
  check.equal(torch.tensor(5):item(), 5)
  check.equal(torch.tensor({ true, false }, { dtype = "bool" }):totable(), { true, false })
  local x = torch.tensor({ 1, 2, 3 }, { dtype = "int64" })
  check.equal(x:dtype(), "int64")
  check.equal(x:shape(), { 3 })
  check.equal(x:size(-1), 3)
  check.equal(torch.zeros({ 0, 3 }):totable(), {})
  check.fails("rows of different lengths", torch.tensor, { { 1 }, { 1, 2 } })
  check.fails("a number expected", torch.tensor, { 1, "two" })
  check.fails("is no type; known: float32", torch.tensor, { 1 }, { dtype = "half" })
end)

check.test("every NaN is a number", function()
  -- Bits in which LuaJIT keeps nil, a string, a table, numbers.
  local bits = ffi.new("uint32_t[5]", 0xffffffff, 0xffefffff, 0xffd55555, 0x7fffffff, 0xffc00000)
  local values = torch.from_cdata(ffi.cast("float*", bits), { 5 }, bits)
  for i, value in ipairs(values:totable()) do
    check.equal({ type(value), value ~= value }, { "number", true })
    local one = values:narrow(1, i, 1):item()
    check.equal({ type(one), one ~= one }, { "number", true })
  end
  local nan = torch.tensor { 3e38 } * 10
  nan = nan - nan
  check.equal(type(nan:tanh():item()), "number")
  check.equal(#values:totable(), 5)
  local tensor = torch.zeros({ 2 }):requires_grad_()
  local product = tensor * nan:sin()
  product:sum():backward()
  check.fails("the gradient is not finite", nn.utils.clip_grad_norm_, { tensor }, 1)
end)

check.test("arrays of LuaJIT's are shared, and live as long as a tensor over them", function()
  local values = ffi.new("float[6]", { 1, 2, 3, 4, 5, 6 })
  local x = torch.from_cdata(values, { 2, 3 })
  values[0] = 10
  check.equal(x:totable(), { { 10, 2, 3 }, { 4, 5, 6 } })
  x:fill_(7)
  check.equal(values[5], 7)
  local last = torch.from_cdata(ffi.new("double[1000]"), { 1000 }):narrow(1, 1000, 1)
  collectgarbage()
  check.equal(last:item(), 0)
  local pointer, count = x:cdata()
  check.equal({ pointer[1], count }, { 7, 6 })
  local alone = torch.full({ 3 }, 9):cdata()
  collectgarbage()
  check.equal(alone[2], 9)
  check.fails("needs more than the 6 values", torch.from_cdata, values, { 7 })
  check.fails("an array or pointer of float", torch.from_cdata, { 1 })
  check.fails("call :contiguous", function() x:transpose():cdata() end)
end)

check.test("operators, and positions that count from 1", function()
  local x = torch.tensor { 1, 2, 3 }
  check.equal((x * 2 + 1 - x / 1):totable(), { 2, 3, 4 })
  check.equal((1 - x):totable(), { 0, -1, -2 })
  check.equal((6 / x):totable(), { 6, 3, 2 })
  check.equal((x ^ 2):totable(), { 1, 4, 9 })
  check.equal((-x):totable(), { -1, -2, -3 })
  check.equal(x:argmax():item(), 3)
  check.equal(torch.index_select(x, 1, { 3, 1 }):totable(), { 3, 1 })
  check.equal(torch.arange(1, 4):totable(), { 1, 2, 3, 4 })
  check.equal(torch.tensor({ { 1, 2 }, { 3, 4 } }):sum(1):totable(), { 4, 6 })
  check.equal(torch.tensor({ { 1, 2 }, { 3, 4 } }):sum(-1):totable(), { 3, 7 })
  check.equal(tostring(x), "float32 [3] { 1, 2, 3 }")
end)

local function long(values) return torch.tensor(values, { dtype = "int64" }) end
local function shown(tensor) return { tensor:dtype(), tensor:totable() } end

check.test("a whole number leaves integers what they are", function()
  check.equal(shown(long { 16777217 } + 1), { "int64", { 16777218 } })
  check.equal(shown(long { 1 } + 0.5), { "float32", { 1.5 } })
  check.equal(shown(torch.tensor { 1.5 } + 1), { "float32", { 2.5 } })
  check.equal(long({ 16777217 }):eq(16777216):totable(), { false })
  check.equal(shown(long({ 1, 2 }):add_(1)), { "int64", { 2, 3 } })
  check.equal(shown(long({ 1, 2 }):add_(long { 1, 1 }, 2)), { "int64", { 3, 4 } })
  check.equal(shown(long({ 1, 2 }):mul_(2)), { "int64", { 2, 4 } })
  check.equal(shown(long({ 16777217 }):clamp(0, 2e9)), { "int64", { 16777217 } })
  check.equal(shown(long({ 1 }) / 2), { "float32", { 0.5 } })
  -- A number that a narrow type cannot hold is compared all the same.
  local byte = torch.tensor({ 0, 255 }, { dtype = "uint8" })
  check.equal({ byte:eq(256):totable(), byte:lt(256):totable(), byte:gt(-1):totable() },
    { { false, false }, { true, true }, { true, true } })
end)

check.test("the larger, the smaller and the chosen of two types have the type of both", function()
  check.equal(shown(long({ 1, 2 }):maximum(torch.tensor { 1.5, 1.5 })), { "float32", { 1.5, 2 } })
  check.equal(shown(long({ 1, 2 }):minimum(1.5)), { "float32", { 1, 1.5 } })
  check.equal(shown(long({ 1, 2 }):maximum(2)), { "int64", { 2, 2 } })
  check.equal(torch.zeros({ 1 }):maximum(torch.tensor({ 0.1 }, { dtype = "float64" })):item(), 0.1)
  local holds = torch.tensor({ 1, 0 }):gt(0)
  check.equal(shown(torch.where(holds, 1, 0)), { "float32", { 1, 0 } })
  check.equal(shown(torch.where(holds, long { 5, 6 }, 0)), { "int64", { 5, 0 } })
  check.equal(shown(torch.where(holds, 0.5, long { 5, 6 })), { "float32", { 0.5, 6 } })
end)

check.test("a number to the power of a tensor", function()
  check.equal(((-2) ^ torch.tensor { 1, 2, 3 }):totable(), { -2, 4, -8 })
  check.equal((0 ^ torch.tensor { 0, 1 }):totable(), { 1, 0 })
  check.equal((1 ^ torch.tensor { math.huge }):totable(), { 1 })
  check.equal(shown(2 ^ long { 3, -1 }), { "float32", { 8, 0.5 } })
  local x = torch.tensor({ 3 }):requires_grad_()
  torch.sum(2 ^ x):backward()
  check.near(x:grad():item(), 8 * math.log(2), 1e-6)
end)

check.test("arange counts as a loop of Lua does", function()
  for _, ends in ipairs { { 1, 3 }, { 0, 1.6 }, { 0.5, 2.4 }, { -2, -1 }, { 3, 3 }, { 1, 0 } } do
    local counted = {}
    for i = ends[1], ends[2] do counted[#counted + 1] = i end
    check.equal(torch.arange(ends[1], ends[2], "float64"):totable(), counted)
  end
  check.equal(shown(torch.arange(16777217, 16777219, "int64")), { "int64", { 16777217, 16777218, 16777219 } })
  check.fails("torch.arange", torch.arange, 1, math.huge)
end)

check.test("a position that there is not is refused, and a fraction is none", function()
  local x = torch.tensor { 10, 20, 30 }
  check.equal({ x:select(1, 1):item(), x:select(1, -1):item(), x:narrow(1, -2, 2):totable() }, { 10, 30, { 20, 30 } })
  check.fails("positions count from 1, or from %-1 for the last; 0 is none", x.select, x, 1, 0)
  check.fails("positions count from 1, or from %-1 for the last; 0 is none", x.narrow, x, 1, 0, 1)
  check.fails("positions are whole numbers", x.index_select, x, 1, { 1.7 })
  check.fails("positions are whole numbers", x.index_select, x, 1, torch.tensor { 0 / 0 })
  check.equal(x:index_select(1, torch.tensor { 3 }):totable(), { 30 })
  -- LibTorch leaves rows of class -100 out, which is -99 from 1.
  check.fails("positions count from 1", torch.cross_entropy, torch.tensor { { 1, 2 }, { 3, 4 } }, { -99, 1 })
  check.fails("k is 3, and the dimension has 2;", torch.topk, torch.ones { 2 }, 3)
end)

check.test("losses compare what has one shape", function()
  local column, row = torch.tensor { { 1 }, { 3 } }, torch.tensor { 1, 3 }
  for _, name in ipairs { "mse_loss", "smooth_l1_loss", "binary_cross_entropy_with_logits" } do
    check.fails("both need the same shape", torch[name], column, row)
    check.equal(torch[name](column, column):shape(), {})
  end
end)

check.test("a gradient that is set is of its tensor's type and shape", function()
  local x = torch.zeros({ 3 }):requires_grad_()
  check.fails("a gradient of Float %[1%] for Float %[3%]; give one of the same", x.set_grad, x, torch.ones { 1 })
  check.fails("a gradient of Double %[3%] for Float %[3%]", x.set_grad, x, torch.ones({ 3 }, "float64"))
  check.fails("set_grad: gradient: a tensor or nil expected, got number", x.set_grad, x, 1)
  x:set_grad(torch.ones { 3 })
  check.equal(x:grad():totable(), { 1, 1, 1 })
end)

check.test("reductions take a dimension, and without one are of all values", function()
  local x = torch.tensor { { 3, 4 }, { 6, 8 } }
  check.equal({ x:prod():item(), x:prod(2):totable(), x:prod(2, true):shape() }, { 576, { 12, 48 }, { 2, 1 } })
  local norms = x:norm(2, 1):totable()
  check.near(norms[1], math.sqrt(45), 1e-6)
  check.near(norms[2], math.sqrt(80), 1e-6)
  check.near(x:norm():item(), math.sqrt(125), 1e-6)
  check.equal({ x:norm(1):item(), x:norm(math.huge, 2):totable(), x:norm(2, 1, true):shape() }, { 21, { 4, 8 }, { 1, 2 } })
  local some = torch.tensor { { 0, 0 }, { 1, 0 } }
  check.equal({ some:any(2):totable(), some:all(1):totable(), some:any():item(), some:all():item() },
    { { false, true }, { false, false }, 1, 0 })
  check.equal(some:any(2, true):shape(), { 2, 1 })
end)

check.test("a name that there is not is refused, with the one that was meant", function()
  local x = torch.ones { 2 }
  check.fails("a tensor has no 'sofmax'; did you mean 'softmax'%?", function() return x:sofmax() end)
  check.fails("a tensor has no 'max'; did you mean 'amax'%?", function() return x:max(1) end)
  check.fails("torch has no 'sofmax'; did you mean 'softmax'%?", function() return torch.sofmax end)
  check.fails("torch has no 'jacobian'; share/berth/types/torch.lua lists", function() return torch.jacobian end)
end)

check.test("an argument that an operation does not take is refused", function()
  local x = torch.tensor { 1, 2 }
  check.fails("torch.mse_loss: it takes %(self, target%), and another argument is given, a table",
    torch.mse_loss, x, x, { reduction = "none" })
  check.fails("torch.exp: it takes %(self%), and another argument is given, a tensor", x.exp, x, x)
  check.fails("torch.relu: .* a boolean", torch.relu, x, false)
  for _, operation in ipairs(torch.operations) do
    local arguments = {}
    for i = 1, #operation.parameters do arguments[i] = x end
    arguments[#arguments + 1] = 1
    check.fails("another argument is given, a number", torch[operation.name], unpack(arguments))
  end
end)

check.test("draws are without replacement unless told", function()
  local drawn = torch.tensor({ 1, 1, 2 }):multinomial(3):totable()
  table.sort(drawn)
  check.equal(drawn, { 1, 2, 3 })
  check.equal(torch.tensor({ 0, 1 }):multinomial(4, true):totable(), { 2, 2, 2, 2 })
  check.fails("without replacement", torch.multinomial, torch.tensor { 1, 1 }, 5)
end)

check.test("errors name the operation, the shapes and what it takes", function()
  local ok, message = pcall(torch.matmul, torch.ones { 2, 3 }, torch.ones { 4, 5 })
  assert(not ok)
  for _, part in ipairs { "torch.matmul of ", "[2, 3], ", "[4, 5]", "it takes (self, other)", "[.., n, k]" } do
    assert(message:find(part, 1, true), message)
  end
  assert(not message:find("\n", 1, true), message)
  check.fails("dimensions count from 1", torch.sum, torch.ones { 2 }, 0)
  -- Positions count from 1 in errors too, whatever LibTorch says.
  check.fails("positions count from 1", torch.index_select, torch.ones { 2 }, 1, { 3 })
  check.fails("positions count from 1", torch.one_hot, { 0 }, 3)
  check.fails("positions count from 1", torch.one_hot, { 4 }, 3)
  check.fails("2 dimensions, and dimension 3 is asked for; they count from 1", torch.sum, torch.ones { 2, 2 }, 3)
  check.fails("2 dimensions, and dimension %-3 is asked for", torch.sum, torch.ones { 2, 2 }, -3)
  check.fails("position 3 along dimension 1, which has 2", torch.gather, torch.ones { 2 }, 1, { 3 })
  check.fails("a whole number", torch.manual_seed, 0.5)
  check.fails("take the sum or mean", function()
    torch.ones({ 2 }):requires_grad_():mul(2):backward()
  end)
  check.fails("requires_grad_", function() torch.ones({ 1 }):sum():backward() end)
end)

check.test("errors of LibTorch's own count from 1", function()
  local a, b = torch.ones { 2, 3 }, torch.ones { 2, 4 }
  check.fails("at non%-singleton dimension 2;", torch.add, a, b)
  check.fails("except in dimension 1%. Expected size 3 but got size 4 for tensor number 2 in", torch.cat, { a, b }, 1)
  check.fails("%(at position 3%)", torch.cat, { a, a, torch.tensor(1) })
  check.fails("dim 2 appears multiple times", torch.flip, a, { 2, 2 })
  check.fails("match at dimension 1 .* apart from dimension 2;", torch.gather, torch.ones { 1, 3 }, 2, { { 1 }, { 1 } })
  check.fails("start %(3%) %+ length %(5%)", torch.narrow, a, 2, 3, 5)
  -- LibTorch 2 says which one.
  check.fails("position [^;]+; positions count from 1", torch.edge_sum, a, { 1 }, { 7 }, 2)
end)

check.test("files want texts", function()
  check.fails("torch.load: path: a text .*, got nothing", torch.load)
  check.fails("torch.load: path: a text .*, got a table", torch.load, {})
  check.fails("torch.load: kind: a text without NUL characters expected, got one with", torch.load, "x", "a\0b")
  check.fails("torch.save: path: a text .*, got nothing", torch.save, nil, {})
  check.fails("torch.save: a table of tensors by name expected, got a nil", torch.save, folder .. "/x")
  check.fails("torch.save: note: a text", torch.save, folder .. "/x", {}, { note = {} })
  check.fails("torch.tensor: dtype: a text", torch.tensor, 1, { dtype = {} })
end)

check.test("errors of compiled calls are errors", function()
  local x, failed = torch.ones { 2, 2 }, 0
  for _ = 1, 400 do
    if not pcall(torch.sum, x, 3) then failed = failed + 1 end
  end
  check.equal(failed, 400)
end)

check.test("gradients are those of finite differences", function()
  torch.manual_seed(3)
  local sources, targets = { 1, 1, 2 }, { 2, 3, 3 }
  local net = nn.class(function(self)
    self.first, self.norm = nn.Linear(4, 6), nn.LayerNorm(6)
    self.messages, self.attention = nn.MessagePassing(6, 2), nn.MultiheadAttention(6, 2)
    self.lstm, self.names = nn.LSTM(6, 3), nn.Embedding(5, 3)
    self.batch, self.edges, self.gru = nn.BatchNorm1d(6), nn.GraphAttention(6, 2), nn.GRU(6, 3)
  end)
  function net:forward(x)
    local nodes = self.messages(self.norm(self.first(x)):tanh(), sources, targets)
    nodes = self.edges(self.batch(nodes), torch.tensor(sources), torch.tensor(targets))
    nodes = nodes + nodes:edge_max(sources, targets, 3)
    local heard = self.attention(nodes:unsqueeze(1), nodes:unsqueeze(1), nodes:unsqueeze(1))
    local outputs = self.lstm(heard) + self.gru(heard)
    return (outputs:squeeze(1) + self.names { 5, 1, 3 }):tanh():square():sum()
  end
  local model, x = net(), torch.randn { 3, 4 }
  model(x):backward()
  local compared = 0
  for _, each in ipairs(model:named_parameters()) do
    local values, gradient = each[2], each[2]:grad()
    if gradient then
      local pointer, slope = values:cdata(), gradient:flatten():totable()
      local step, was = 1e-2, pointer[0]
      pointer[0] = was + step
      local up = torch.no_grad(model, x):item()
      pointer[0] = was - step
      local down = torch.no_grad(model, x):item()
      pointer[0] = was
      local expected = (up - down) / (2 * step)
      assert(math.abs(slope[1] - expected) <= 2e-3 + 0.02 * math.abs(expected),
        ("%s: %g, by differences %g"):format(each[1], slope[1], expected))
      compared = compared + 1
    end
  end
  assert(compared >= 29, compared)
end)

check.test("no_grad ends with its function, by an error too", function()
  local x = torch.ones({ 2 }):requires_grad_()
  check.equal(torch.no_grad(function() return (x * 2):requires_grad() end), false)
  pcall(torch.no_grad, error, "an error")
  check.equal((x * 2):requires_grad(), true)
end)

local function resident_bytes()
  for line in io.lines "/proc/self/status" do
    local kilobytes = line:match "^VmRSS:%s+(%d+)"
    if kilobytes then return tonumber(kilobytes) * 1024 end
  end
end

check.test("what Lua has forgotten is freed in time", function()
  if not io.open "/proc/self/status" then return end
  local before = resident_bytes()
  local w = torch.ones({ 1000, 1000 }):requires_grad_()
  local most = 0
  for i = 1, 400 do  -- 3.2 GB in all, half of it held by the gradient's record alone
    local _ = (w * i):exp():sum()
    if i % 50 == 0 then most = math.max(most, resident_bytes() - before) end
  end
  assert(most < 512 * 2 ^ 20, most)
  for _ = 1, 250000 do local _ = torch.ones { 1 } end
  local _, tensors = torch.memory()
  assert(tensors < 2e5, tensors)
end)

check.test("calls of operations stay compiled", function()
  local x = torch.ones { 4 }
  local function many()
    local y = x
    for _ = 1, 400 do y = torch.add(y, x) end
    return y
  end
  jit.flush()
  local traces, aborts = 0, {}
  local function listen(what, trace, _, _, code)
    if what == "stop" then traces = traces + 1 end
    if what == "abort" then aborts[#aborts + 1] = code end
  end
  jit.attach(listen, "trace")
  many()
  jit.attach(listen)
  assert(traces >= 1, "nothing was compiled")
  check.equal(many():totable(), { 401, 401, 401, 401 })
end)

check.finish()
