-- Translation models that differ in the sentences' length and the batch, as Placeto's `nmt` graphs do.
--
-- Encoder and decoder have two LSTM layers each, unrolled; the decoder attends to the encoder's outputs
-- by dot products and feeds the attentional output back into its next step (Luong et al., "Effective
-- Approaches to Attention-based Neural Machine Translation", 2015). Words are embedded on both sides and
-- predicted by a softmax at every step. Scopes are those of the project's larger example graphs.
--
-- Two layers are those of the paper's network, whose 40 steps and batch 256 are the upper ends here;
-- units and vocabulary are Luong et al.'s. The longest graphs with the largest batch do not fit one K80,
-- as published. An LSTM step is one op.
--
-- Left out: dropout, masks for sentences shorter than the longest, attention's own score weights.

local layers = require "berth.families.layers"
local network = require "berth.families.network"

local nmt = {}

local LAYERS = 2
local LENGTH = { least = 10, most = 40 }  -- of either sentence
local BATCH = { 32, 64, 128, 192, 256 }
local UNITS = 1024
local VOCABULARY = 50000

-- Draws an architecture.
--   ARGS    random  berth.Random
--   RETURN  { source, target, batch }: steps of encoder and decoder, sentences in a step
function nmt.sample(random)
  local function length() return LENGTH.least - 1 + random:integer(LENGTH.most - LENGTH.least + 1) end
  return { source = length(), target = length(), batch = BATCH[random:integer(#BATCH)] }
end

-- The weights of stacked LSTM layers.
local function lstm_weights(net, name, input)
  local weights = {}
  for layer = 1, LAYERS do
    local prefix = ("%s/layer_%d/lstm"):format(name, layer - 1)
    weights[layer] = {
      kernel = net:variable(prefix .. "/kernel", { (layer == 1 and input or UNITS) + UNITS, 4 * UNITS }),
      bias = net:variable(prefix .. "/bias", { 4 * UNITS }),
    }
  end
  return weights
end

-- One step of stacked LSTM layers; `states` becomes the new states.
--   RETURN  the upper layer's output
local function lstm_step(net, name, step, weights, states, x)
  for layer, weight in ipairs(weights) do
    local state = states[layer]
    local cell = ("%s/layer_%d/step_%d/lstm"):format(name, layer - 1, step - 1)
    state.cell, state.hidden = layers.lstm(net, cell, x, state.cell, state.hidden, weight.kernel,
                                           weight.bias)
    x = state.hidden
  end
  return x
end

-- The rows of x, weighted with what the encoder gave: rows of the same size.
local function attend(net, name, x, memory, weight)
  local batch, steps, units = unpack(memory.shape)
  local query = layers.reshape(net, name .. "/query", x, { batch, units, 1 })
  local scores = layers.batch_matmul(net, name .. "/scores", memory, query)
  local alignment = layers.softmax(net, name .. "/softmax",
                                   layers.reshape(net, name .. "/flat", scores, { batch, steps }))
  alignment = layers.reshape(net, name .. "/alignment", alignment, { batch, steps, 1 })
  local context = layers.batch_matmul(net, name .. "/context", memory, alignment, true)
  context = layers.reshape(net, name .. "/rows", context, { batch, units })
  local joined = layers.concat(net, name .. "/concat", { context, x }, 2)
  return layers.tanh(net, name .. "/tanh", layers.matmul(net, name .. "/MatMul", joined, weight))
end

-- The training graph of an architecture; with `colocate` its gradients share the devices of their ops.
function nmt.build(name, architecture, colocate)
  local net = network.new(name, "clipped_descent", colocate)
  local batch = architecture.batch

  local states = {}
  for layer = 1, LAYERS do
    local prefix = ("encoder/layer_%d/"):format(layer - 1)
    states[layer] = { cell = net:placeholder(prefix .. "cell", { batch, UNITS }),
                      hidden = net:placeholder(prefix .. "hidden", { batch, UNITS }) }
  end
  local function embed(side, steps)
    return layers.embedding(net, side .. "/embedding", steps, batch, VOCABULARY, UNITS)
  end
  local source = embed("encoder", architecture.source)
  local weights, memory = lstm_weights(net, "encoder", UNITS), {}
  for step, word in ipairs(source) do
    memory[step] = lstm_step(net, "encoder", step, weights, states, word)
  end
  memory = layers.stack(net, "attention/memory", memory)

  local target = embed("decoder", architecture.target)
  weights = lstm_weights(net, "decoder", 2 * UNITS)
  local attention = net:variable("attention/weights", { 2 * UNITS, UNITS })
  local softmax = net:variable("softmax/weights", { UNITS, VOCABULARY })
  local bias = net:variable("softmax/bias", { VOCABULARY })
  local fed, losses = net:placeholder("decoder/attentional", { batch, UNITS }), {}
  for step, word in ipairs(target) do
    local function scope(part, op) return ("%s/step_%d/%s"):format(part, step - 1, op) end
    local x = layers.concat(net, scope("decoder/input", "concat"), { word, fed }, 2)
    x = lstm_step(net, "decoder", step, weights, states, x)
    fed = attend(net, ("attention/step_%d"):format(step - 1), x, memory, attention)
    local logits = layers.matmul(net, scope("softmax", "MatMul"), fed, softmax)
    logits = layers.bias(net, scope("softmax", "BiasAdd"), logits, bias)
    losses[step] = layers.cross_entropy(net, scope("softmax", "cross_entropy"), logits)
  end
  return net:train(layers.mean(net, "loss", losses))
end

return nmt
