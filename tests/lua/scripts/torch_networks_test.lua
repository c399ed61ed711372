-- berth.torch: optimisers, distributions, networks, files.
local check = require "check"
local berth = require "berth"
local folder = ...

local torch = check.torch()
if not torch then return end
local nn, optim = torch.nn, torch.optim
local function long(values) return torch.tensor(values, { dtype = "int64" }) end

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
  check.equal(of.Normal(0, 1):sample({ 3 }):shape(), { 3 })
  check.equal(of.Normal(0, torch.ones { 2 }):sample({ 3 }):shape(), { 3, 2 })
  check.near(of.Normal(torch.tensor { 1 }, 2):log_prob(torch.tensor { 3 }):item(), bell:log_prob(torch.tensor { 3 }):item())
  check.fails("Normal: scale: a tensor or a number expected, got a nil", of.Normal, 0)
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
  check.fails("Bernoulli: probs: a tensor expected, got a number", of.Bernoulli, { probs = 0.5 })
  check.fails("Categorical: give { logits = tensor }, got a nil", of.Categorical)
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
  -- Options by name, as PyTorch takes them, alone or behind what is given in order.
  check.equal(rates("CosineAnnealingLR", { T_max = 2, eta_min = 0.5 }), cosine)
  check.equal(rates("CosineAnnealingLR", 2, { eta_min = 0.5 }), cosine)
  check.equal(rates("StepLR", { step_size = 2, gamma = 0.5 }), { 1, 1, 0.5, 0.5 })
  check.equal(rates("ExponentialLR", { gamma = 0.5 }), { 1, 0.5, 0.25, 0.125 })
  check.equal(rates("LinearLR", 0.5, 1, 2), { 0.5, 0.75, 1, 1 })
  for _, each in ipairs { { "StepLR: argument 2 %(step_size%): number expected, got nil", "StepLR" },
    { "StepLR: step_size is 0; give a number above 0", "StepLR", 0 },
    { "StepLR: argument 3 %(gamma%): number expected, got string", "StepLR", 2, "half" },
    { "ExponentialLR: argument 2 %(gamma%): number expected, got nil", "ExponentialLR" },
    { "ExponentialLR: gamma is %-?nan; give a number", "ExponentialLR", 0 / 0 },
    { "LinearLR: total_iters is 0; give a number above 0", "LinearLR", { total_iters = 0 } },
    { "CosineAnnealingLR: T_max is %-1; give a number above 0", "CosineAnnealingLR", -1 },
    { "CosineAnnealingLR: unknown option 'eta'; known: T_max, eta_min", "CosineAnnealingLR", 2, { eta = 0 } },
    { "LambdaLR: argument 2 %(factor%): function expected, got number", "LambdaLR", 3 } } do
    check.fails(each[1], rates, unpack(each, 2))
  end
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
  check.fails("torch_networks_test.lua:%d+: nn.Linear: outputs is missing; give a whole number", function() nn.Linear(2) end)
  check.fails("nn.MultiheadAttention: heads is missing", nn.MultiheadAttention, 4)
  check.fails("nn.MessagePassing: rounds is 0", nn.MessagePassing, 4, 0)
  check.fails("nn.Dropout: p is 2; give a number from 0 to 1", nn.Dropout, 2)
  check.fails("nn.Sequential: part 2 is a nil", function() nn.Sequential(nn.ReLU(), nil, nn.ReLU()) end)
  -- As PyTorch's nn.Linear(2, 3, False), which would have had a bias without a word.
  check.fails("torch_networks_test.lua:%d+: nn.Linear: a table of options expected, got a boolean", function()
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

check.finish()
