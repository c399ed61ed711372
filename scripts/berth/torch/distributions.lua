-- Distributions over berth.torch, under PyTorch's names: torch.distributions.
--
--   local pi = torch.distributions.Categorical { logits = net(x) }
--   local action = pi:sample()                          -- positions, from 1
--   local loss = -(pi:log_prob(action) * advantage):mean() - 0.01 * pi:entropy():mean()
--
-- Each has sample(shape) (no gradient; `shape` stands in front, default none), log_prob(value) and entropy().

local known = require "berth.known"

return function(torch)
  local distributions = {}

  local function class()
    local of = {}
    of.__index = of
    return of
  end

  local function only(name, given, ...)
    if type(given) ~= "table" then
      error(("torch.distributions.%s: give { %s = tensor }, got a %s"):format(name, (...), type(given)), 3)
    end
    local found
    for _, key in ipairs { ... } do
      if given[key] ~= nil then
        if found then
          error(("torch.distributions.%s: give %s, one of them"):format(name, table.concat({ ... }, " or ")), 3)
        end
        found = key
      end
    end
    for key in pairs(given) do
      local taken = false
      for _, each in ipairs { ... } do taken = taken or each == key end
      if not taken then
        error(("torch.distributions.%s: unknown option '%s'%s"):format(name, tostring(key),
          known.text(key, { ... })), 3)
      end
    end
    if not found then
      error(("torch.distributions.%s: give %s"):format(name, table.concat({ ... }, " or ")), 3)
    end
    if not torch.is_tensor(given[found]) then
      error(("torch.distributions.%s: %s: a tensor expected, got a %s"):format(name, found, type(given[found])), 3)
    end
    return found
  end

  local function joined(shape, own)
    local all = {}
    for _, size in ipairs(shape or {}) do all[#all + 1] = size end
    for _, size in ipairs(own) do all[#all + 1] = size end
    return all
  end

  local function count_of(shape)
    local count = 1
    for _, size in ipairs(shape or {}) do count = count * size end
    return count
  end

  -- Probabilities of 0 and 1 have no logits that are finite, and take those next to them in single precision.
  local EPSILON = 2 ^ -23
  local function clamped(probs) return probs:clamp(EPSILON, 1 - EPSILON) end

  -- One of several, by logits or probs [.., classes]; values are positions from 1. A logit of -infinity is of a
  -- class that is never drawn.
  local Categorical = class()
  function distributions.Categorical(given)
    if only("Categorical", given, "logits", "probs") == "probs" then
      local probs = given.probs / given.probs:sum(-1, true)
      return setmetatable({ pi = probs, log_pi = clamped(probs):log() }, Categorical)
    end
    local log_pi = given.logits:log_softmax(-1)
    return setmetatable({ pi = log_pi:exp(), log_pi = log_pi }, Categorical)
  end
  function Categorical:probs() return self.pi end
  function Categorical:sample(shape)
    return torch.no_grad(function()
      local own = self.log_pi:shape()
      local classes = table.remove(own)
      local drawn = self.pi:reshape { -1, classes }:multinomial(count_of(shape), true)
      return drawn:transpose():reshape(joined(shape, own))
    end)
  end
  function Categorical:log_prob(value)
    local log_pi = self.log_pi
    local wanted = joined(value:shape(), { log_pi:size(-1) })
    return log_pi:expand(wanted):gather(-1, value:unsqueeze(-1)):squeeze(-1)
  end
  -- 0 ln 0 is 0.
  function Categorical:entropy()
    return -(self.pi * self.log_pi:masked_fill(self.pi:eq(0), 0)):sum(-1)
  end

  -- 1 or 0, by logits or probs.
  local Bernoulli = class()
  function distributions.Bernoulli(given)
    if only("Bernoulli", given, "logits", "probs") == "probs" then
      local probs = clamped(given.probs)
      return setmetatable({ p = given.probs, logits = probs:log() - (-probs):log1p() }, Bernoulli)
    end
    return setmetatable({ p = given.logits:sigmoid(), logits = given.logits }, Bernoulli)
  end
  function Bernoulli:probs() return self.p end
  function Bernoulli:sample(shape)
    return torch.no_grad(function()
      return self:probs():expand(joined(shape, self.logits:shape())):contiguous():bernoulli()
    end)
  end
  -- The cross entropy with probabilities of 1.
  local function cross_entropy(logits, value) return (1 - value) * logits + (-logits):softplus() end
  function Bernoulli:log_prob(value) return -cross_entropy(self.logits, value) end
  function Bernoulli:entropy() return cross_entropy(self.logits, self.p) end

  -- With mean `loc` and deviation `scale`, tensors of one shape; a number takes the shape of the other.
  local Normal = class()
  local HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
  local function as_tensor(name, value, other)
    if torch.is_tensor(value) then return value end
    if type(value) ~= "number" then
      error(("torch.distributions.Normal: %s: a tensor or a number expected, got a %s"):format(name, type(value)), 3)
    end
    return torch.full(torch.is_tensor(other) and other:shape() or {}, value)
  end
  function distributions.Normal(loc, scale)
    return setmetatable({ loc = as_tensor("loc", loc, scale), scale = as_tensor("scale", scale, loc) }, Normal)
  end
  -- A draw through which gradients flow.
  function Normal:rsample(shape)
    return self.loc + self.scale * torch.randn(joined(shape, self.loc:shape()))
  end
  function Normal:sample(shape) return torch.no_grad(function() return self:rsample(shape) end) end
  function Normal:log_prob(value)
    return ((value - self.loc) / self.scale):square() * -0.5 - self.scale:log() - HALF_LOG_2PI
  end
  function Normal:entropy() return self.scale:log() + (HALF_LOG_2PI + 0.5) end

  return distributions
end
