-- berth.torch: tensors, gradients, networks, optimisers, files, memory.
local check = require "check"
local berth = require "berth"
local ffi = require "ffi"
local folder = ...

local found, torch = pcall(require, "berth.torch")
if not found then
  -- A build without LibTorch: one clear error that names what to install.
  assert(torch:find("libtorch-dev", 1, true), torch)
  return
end
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

-- The known first steps of Adam on f(x) = x^2 / 2 from 1: of the size of the rate, whatever the gradient.
check.test("Adam and AdamW step as published", function()
  for _, decay in ipairs { 0, 0.1 } do
    local x = torch.ones({ 1 }):requires_grad_()
    local optimizer = optim.AdamW({ x }, { lr = 0.1, weight_decay = decay })
    torch.sum(x * x / 2):backward()
    optimizer:step()
    check.near(x:item(), 1 - 0.1 * decay - 0.1, 1e-6)
  end
  check.fails("unknown option 'rate'", optim.Adam, { torch.ones { 1 } }, { rate = 1 })
  check.fails("lr is nan", optim.Adam, { torch.ones { 1 } }, { lr = 0 / 0 })
end)

check.test("optimisers keep the type of what they learn", function()
  for _, make in ipairs { optim.Adam, optim.SGD } do
    local x = torch.tensor({ 1 }, { dtype = "float64" }):requires_grad_()
    local optimizer = make({ x }, { lr = 0.1 })
    torch.sum(x * x):backward()
    optimizer:step()
    check.near(x:item(), make == optim.Adam and 0.9000000005 or 0.8)
  end
end)

check.test("Adam counts the steps of each tensor that had a gradient, and keeps the counts", function()
  local first, late = torch.ones({ 1 }):requires_grad_(), torch.ones({ 1 }):requires_grad_()
  local optimizer = optim.Adam({ first, late }, { lr = 0.1 })
  local function step(loss)
    optimizer:zero_grad()
    loss:sum():backward()
    optimizer:step()
  end
  for _ = 1, 10 do step(first) end
  step(first + late)
  -- With a constant gradient, every step is of the size of the rate.
  check.near(late:item(), 0.9, 1e-5)
  check.near(first:item(), 1 - 1.1, 1e-5)
  local state = optimizer:state_dict()
  optimizer = optim.Adam({ first, late }, { lr = 0.1 })
  optimizer:load_state_dict(state)
  step(first + late)
  check.near(late:item(), 0.8, 1e-5)
  -- A file of an optimiser without counts of its own: all had every step.
  state["adam.steps.2"] = nil
  optimizer:load_state_dict(state)
  check.equal(optimizer:state_dict()["adam.steps.2"], nil)
end)

check.test("distributions: log-probabilities, entropies and draws agree", function()
  local of = torch.distributions
  torch.manual_seed(11)
  local pi = of.Categorical { probs = torch.tensor { { 0.5, 0.5, 0 }, { 0.1, 0.2, 0.7 } } }
  check.near(pi:entropy():totable()[1], math.log(2), 1e-6)
  check.near(pi:log_prob(torch.tensor { 2, 3 }):totable()[2], math.log(0.7), 1e-6)
  local draws, share = pi:sample { 4000 }, nil
  check.equal(draws:shape(), { 4000, 2 })
  share = draws:eq(3):to "float32":mean(1):totable()
  check.equal({ share[1], math.abs(share[2] - 0.7) < 0.04 }, { 0, true })
  check.equal(pi:log_prob(draws):shape(), { 4000, 2 })
  local coin = of.Bernoulli { probs = torch.tensor { 0.25 } }
  check.near(coin:log_prob(torch.tensor { 1 }):item(), math.log(0.25), 1e-6)
  check.near(coin:entropy():item(), -0.25 * math.log(0.25) - 0.75 * math.log(0.75), 1e-6)
  check.near(coin:sample({ 4000 }):mean():item(), 0.25, 0.1)
  local bell = of.Normal(torch.tensor { 1 }, torch.tensor { 2 })
  check.near(bell:log_prob(torch.tensor { 3 }):item(), -0.5 - math.log(2) - 0.5 * math.log(2 * math.pi), 1e-6)
  check.near(bell:entropy():item(), math.log(2) + 0.5 * math.log(2 * math.pi) + 0.5, 1e-6)
  check.near(bell:sample({ 4000 }):mean():item(), 1, 0.15)
  local loc = torch.zeros({ 1 }):requires_grad_()
  of.Normal(loc, torch.ones { 1 }):rsample():sum():backward()
  check.near(loc:grad():item(), 1)
  -- Where a probability is 0 or 1, as PyTorch has it: to 2^-23.
  local sure, log_epsilon = of.Bernoulli { probs = torch.tensor { 0, 1 } }, math.log(2 ^ -23)
  check.near(sure:log_prob(torch.tensor { 0, 1 }):sum():item(), -2 ^ -23, 1e-6)
  check.near(sure:log_prob(torch.tensor { 1, 1 }):totable()[1], log_epsilon, 1e-6)
  check.near(sure:entropy():sum():item(), 2 ^ -23, 1e-6)
  check.equal({ sure:probs():totable(), sure:sample({ 9 }):sum(1):totable() }, { { 0, 1 }, { 0, 9 } })
  check.equal(of.Bernoulli({ logits = torch.tensor { -200, 200 } }):entropy():totable(), { 0, 0 })
  local never = of.Categorical { probs = torch.tensor { 2, 0, 6 } }
  check.near(never:log_prob(torch.tensor { 2 }):item(), log_epsilon, 1e-6)
  check.near(never:entropy():item(), -0.25 * math.log(0.25) - 0.75 * math.log(0.75), 1e-6)
  check.equal({ never:probs():totable(), never:sample({ 99 }):eq(2):any():item() }, { { 0.25, 0, 0.75 }, 0 })
  check.fails("give logits or probs, one of them", of.Categorical, { logits = loc, probs = loc })
  check.fails("unknown option 'prob'", of.Bernoulli, { prob = loc })
  check.fails("did you mean 'Normal'", function() return of.Norml end)
end)

check.test("edges: the largest, and shares that add up to 1", function()
  local x = torch.tensor { { 1, 8 }, { 5, 2 }, { 3, 3 } }
  check.equal(x:edge_max({ 1, 2, 1 }, { 3, 3, 2 }, 3):totable(), { { 0, 0 }, { 1, 8 }, { 5, 8 } })
  local share = torch.tensor({ 1000, 1000, 3 }):edge_softmax({ 2, 2, 1 }, 3)
  check.equal(share:totable(), { 0.5, 0.5, 1 })
  check.equal(x:scatter_reduce(1, { { 1, 1 }, { 1, 1 } }, x:narrow(1, 2, 2), "amax", false):totable()[1], { 5, 3 })
end)

check.test("SGD steps as published, and schedules change rates", function()
  local x = torch.ones({ 1 }):requires_grad_()
  local optimizer = optim.SGD({ x }, { lr = 0.1, momentum = 0.5 })
  for _, expected in ipairs { 0.9, 0.76 } do  -- v = 1, then 0.5 + 0.9
    optimizer:zero_grad()
    torch.sum(x * x / 2):backward()
    optimizer:step()
    check.near(x:item(), expected, 1e-6)
  end
  local kept = optimizer:state_dict()
  local other = optim.SGD({ x }, { lr = 0.1, momentum = 0.5 })
  other:load_state_dict(kept)
  check.near(other.velocities[1]:item(), 1.4, 1e-6)
  local function rates(make, ...)
    local of = optim.SGD({ x }, { lr = 1 })
    local schedule, list = optim.lr_scheduler[make](of, ...), { of.lr }
    for i = 2, 4 do
      schedule:step()
      list[i] = of.lr
    end
    return list
  end
  check.equal(rates("StepLR", 2, 0.5), { 1, 1, 0.5, 0.5 })
  check.equal(rates("ExponentialLR", 0.5), { 1, 0.5, 0.25, 0.125 })
  check.equal(rates("LinearLR", { start_factor = 0.5, total_iters = 2 }), { 0.5, 0.75, 1, 1 })
  check.equal(rates("LambdaLR", function(last) return last end), { 0, 1, 2, 3 })
  local cosine = rates("CosineAnnealingLR", 2, 0.5)
  check.near(cosine[2], 0.75)
  check.near(cosine[3], 0.5)
  local still = optim.SGD({ x }, { lr = 0 })
  local schedule = optim.lr_scheduler.CosineAnnealingLR(still, 2, 0.5)
  check.equal(still.lr, 0)
  schedule:step()
  check.near(still.lr, 0.25)
end)

check.test("BatchNorm keeps what it has seen, and is saved with it", function()
  local layer = nn.BatchNorm1d(1)
  local seen = layer(torch.tensor { { 1 }, { 3 } })
  check.near(seen:totable()[1][1], -1, 1e-4)
  check.near(layer.running_mean:item(), 0.2, 1e-6)
  layer:eval()
  check.near(1 + layer(torch.tensor { { 0.2 }, { 0.2 } }):totable()[1][1], 1, 1e-6)
  check.near(layer.running_mean:item(), 0.2, 1e-6)
  local other = nn.BatchNorm1d(1)
  other:load_state_dict(layer:state_dict())
  check.near(other.running_mean:item(), 0.2, 1e-6)
  check.equal(layer:parameter_count(), 2)
end)

check.test("BatchNorm refuses to learn the variance of one value", function()
  local layer = nn.BatchNorm1d(2)
  check.fails("in training a column needs more than one value", layer, torch.ones { 1, 2 })
  check.equal(layer.running_var:totable(), { 1, 1 })
  check.equal(layer(torch.ones { 1, 2, 3 }):shape(), { 1, 2, 3 })
  check.equal(layer:eval()(torch.ones { 1, 2 }):shape(), { 1, 2 })
end)

check.test("dropout of all is 0, with a gradient", function()
  local x = torch.ones({ 3 }):requires_grad_()
  local none = nn.Dropout(1)(x)
  check.equal(none:totable(), { 0, 0, 0 })
  none:sum():backward()
  check.equal(x:grad():totable(), { 0, 0, 0 })
  check.fails("p is a probability from 0 to 1, got 2", x.dropout, x, 2)
end)

check.test("a layer with two names is learned once, and saved under both", function()
  local net = nn.class(function(self)
    self.a = nn.Linear(2, 2, { bias = false })
    self.b = self.a
  end)()
  check.equal({ #net:parameters(), net:parameter_count(), net:named_parameters()[1][1] }, { 1, 4, "a.weight" })
  local before = net.a.weight:detach():clone()
  local optimizer = optim.SGD(net, { lr = 0.5 })
  net.b(net.a(torch.ones { 1, 2 })):sum():backward()
  local gradient = net.a.weight:grad():clone()
  check.near(nn.utils.clip_grad_norm_(net, 1e9), gradient:norm():item(), 1e-6)
  optimizer:step()
  check.equal(net.b.weight:totable(), (before - gradient * 0.5):totable())
  local state = net:state_dict()
  check.equal(state["a.weight"]:totable(), state["b.weight"]:totable())
end)

check.test("a frozen layer is saved, and what is computed is no parameter", function()
  local make = nn.class(function(self) self.embed, self.head = nn.Embedding(3, 2), nn.Linear(2, 1) end)
  function make:forward(index)
    self.last = self.embed(index)
    return self.head(self.last)
  end
  local net, other = make(), make()
  net.embed.weight:requires_grad_(false)
  local count, at = net:parameter_count(), long { 1, 2 }
  net(at)
  other(at)
  check.equal({ count, net:parameter_count(), other:parameter_count() }, { 9, 9, 9 })
  local state = net:state_dict()
  check.equal({ state.last, state["embed.weight"] ~= nil }, { nil, true })
  torch.save(folder .. "/frozen.weights", state)
  net(long { 1, 2, 3 })
  net:load_state_dict((torch.load(folder .. "/frozen.weights")))
  other:load_state_dict((torch.load(folder .. "/frozen.weights")))
  check.equal(other(at):totable(), net(at):totable())
  -- An optimiser leaves what is frozen as it is.
  local optimizer, kept = optim.AdamW(net, { lr = 0.1 }), net.embed.weight:totable()
  net(at):sum():backward()
  optimizer:step()
  check.equal(net.embed.weight:totable(), kept)
end)

check.test("layers say what they were given, at the line that makes them", function()
  check.fails("torch_test.lua:%d+: nn.Linear: outputs is missing; give a whole number", function() nn.Linear(2) end)
  check.fails("nn.MultiheadAttention: heads is missing", nn.MultiheadAttention, 4)
  check.fails("nn.MessagePassing: rounds is 0", nn.MessagePassing, 4, 0)
  check.fails("nn.Dropout: p is 2; give a number from 0 to 1", nn.Dropout, 2)
  check.fails("nn.Sequential: part 2 is a nil", function() nn.Sequential(nn.ReLU(), nil, nn.ReLU()) end)
  -- As PyTorch's nn.Linear(2, 3, False), which would have had a bias without a word.
  check.fails("torch_test.lua:%d+: nn.Linear: a table of options expected, got a boolean", function()
    nn.Linear(2, 3, false)
  end)
  check.fails("nn.Linear: unknown option 'bais'; did you mean 'bias'", function() nn.Linear(2, 3, { bais = false }) end)
  check.fails("nn.BatchNorm1d: unknown option 'momentun'; did you mean 'momentum'", nn.BatchNorm1d, 2, { momentun = 0.2 })
  check.fails("torch.tensor: unknown option 'type'", torch.tensor, 1, { type = "int64" })
  check.fails("torch.backward: unknown option 'retain'", function()
    torch.ones({ 1 }):requires_grad_():sum():backward(nil, { retain = true })
  end)
  check.fails("nn.GRU: width is 0", function() nn.GRU(2, 0) end)
  check.fails("torch.nn has no 'Linaer'; did you mean 'Linear'?", function() return nn.Linaer end)
  check.fails("torch.optim has no 'Addam'; did you mean 'Adam'?", function() return optim.Addam end)
end)

check.test("files of NumPy and safetensors hold the same tensors", function()
  local tensors = { weight = torch.randn { 2, 3 }, count = torch.tensor({ 1, -2 }, { dtype = "int64" }),
    mask = torch.tensor({ true, false }, { dtype = "bool" }), one = torch.tensor({ 5 }, { dtype = "float64" }),
    none = torch.zeros { 0, 2 } }
  local function same(read)
    for name, tensor in pairs(tensors) do
      check.equal({ read[name]:dtype(), read[name]:shape(), read[name]:totable() },
        { tensor:dtype(), tensor:shape(), tensor:totable() })
    end
  end
  torch.save_npz(folder .. "/all.npz", tensors)
  same(torch.load_npz(folder .. "/all.npz"))
  torch.save_safetensors(folder .. "/all.safetensors", tensors, { note = 'a "note"\n' })
  local read, metadata = torch.load_safetensors(folder .. "/all.safetensors")
  same(read)
  check.equal(metadata, { note = 'a "note"\n' })
  -- Bit 11 of the flags says that a name is UTF-8; else NumPy takes it for code page 437.
  local archive = assert(io.open(folder .. "/all.npz", "rb")):read "*a"
  for at in archive:gmatch "()PK\3\4" do check.equal({ archive:byte(at + 6, at + 7) }, { 0, 8 }) end
  for at in archive:gmatch "()PK\1\2" do check.equal({ archive:byte(at + 8, at + 9) }, { 0, 8 }) end
  -- Damage of any byte, or a missing end, is an error and never a crash.
  for _, kind in ipairs { "npz", "safetensors" } do
    local file = assert(io.open(folder .. "/all." .. kind, "rb"))
    local content = file:read "*a"
    file:close()
    for at = 1, #content, 7 do
      for _, damaged in ipairs { content:sub(1, at - 1), content:sub(1, at - 1) .. "\255" .. content:sub(at + 1) } do
        file = assert(io.open(folder .. "/bad." .. kind, "wb"))
        file:write(damaged)
        file:close()
        local ok, message = pcall(torch["load_" .. kind], folder .. "/bad." .. kind)
        assert(ok or tostring(message):find("bad." .. kind, 1, true), message)
      end
    end
  end
  check.fails("it is no file of numpy.savez", torch.load_npz, folder .. "/all.safetensors")
  check.fails("no safetensors file", torch.load_safetensors, folder .. "/all.npz")
  check.fails("tensors by name", torch.save_npz, folder .. "/x.npz", { 5 })
end)

check.test("a network learns, and the same seed learns the same", function()
  local function learn()
    torch.manual_seed(berth.random(7))
    local net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
    local optimizer = optim.Adam(net, { lr = 0.05 })
    local x, y = torch.tensor { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }, { 1, 2, 2, 1 }
    local loss
    for _ = 1, 150 do
      optimizer:zero_grad()
      loss = net(x):cross_entropy(y)
      loss:backward()
      nn.utils.clip_grad_norm_(net, 1)
      optimizer:step()
    end
    return loss:item()
  end
  local loss = learn()
  assert(loss < 0.05, loss)
  check.equal(learn(), loss)
  torch.set_num_threads(2)
  check.equal(torch.get_num_threads(), 2)
  check.equal(learn(), loss)
  torch.set_num_threads(1)
end)

check.test("clipping scales, and refuses what is not finite", function()
  local x = torch.tensor({ 3, 4 }):requires_grad_()
  torch.sum(x * x / 2):backward()
  check.near(nn.utils.clip_grad_norm_({ x }, 1), 5, 1e-6)
  check.near(x:grad():norm():item(), 1, 1e-6)
  torch.sum(x * math.huge):backward()
  check.fails("not finite", nn.utils.clip_grad_norm_, { x }, 1)
  check.equal(x:grad(), nil)
end)

check.test("parameters are saved and loaded, with the optimiser, bit for bit", function()
  local path = (arg[1] or os.tmpname()) .. "/net.weights"
  local function make(seed)
    torch.manual_seed(seed)
    local net = nn.Linear(3, 2)
    return net, optim.Adam(net, { lr = 0.1 })
  end
  local function step(net, optimizer)
    optimizer:zero_grad()
    net(torch.ones { 1, 3 }):square():sum():backward()
    optimizer:step()
  end
  local net, optimizer = make(1)
  step(net, optimizer)
  local all = net:state_dict()
  for name, tensor in pairs(optimizer:state_dict()) do all[name] = tensor end
  torch.save(path, all, { kind = "test", note = "a\nnote" })
  local other, its = make(2)
  local state, note = torch.load(path, "test")
  check.equal(note, "a\nnote")
  other:load_state_dict(state)
  its:load_state_dict(state)
  step(net, optimizer)
  step(other, its)
  check.equal(other.weight:totable(), net.weight:totable())
  check.fails("it is of 'test', not of 'torch'", torch.load, path)
  check.fails("'weight' is %[2, 3%], here it is %[2, 4%]", function()
    nn.Linear(4, 2):load_state_dict(state)
  end)
  check.fails("nothing was written", torch.save, path, { x = torch.tensor { math.huge } })
  check.fails("convert with :to", torch.save, path, { x = torch.ones({ 1 }, "float64") })
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
