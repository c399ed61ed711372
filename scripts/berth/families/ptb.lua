-- Language models of a recurrent cell, unrolled.
--
-- The search space is ENAS's for recurrent cells (Pham et al., "Efficient Neural Architecture Search
-- via Parameter Sharing", 2018, section 2.1), from which Placeto's `ptb` graphs were sampled: twelve
-- nodes; the first takes the word and the state, each other one an earlier node; a node is a highway
-- layer with one of four activations; the new state is the mean of what no node uses. A node's weights
-- are the same at every step. There are 10,000 words, as in Penn Treebank, and the softmax is computed
-- once over all steps, as in ENAS's program.
--
-- Left out: dropout, weight decay, and that the softmax shares its weights with the embedding. ENAS's
-- steps are 35 rounds of a loop; here 5 to 14 are unrolled, so that a graph has at most a few thousand
-- ops. Width and batch vary around ENAS's (720 units and batch 20 in the search, 748 and 64 in its final
-- network).

local layers = require "berth.families.layers"
local network = require "berth.families.network"

local ptb = {}

local NODES = 12
local STEPS = { least = 5, most = 14 }
local UNITS = { 512, 640, 748, 850, 1000 }
local BATCH = { 20, 32, 64, 96, 128, 192 }
local ACTIVATIONS = { "tanh", "relu", "sigmoid", "identity" }
local VOCABULARY = 10000

-- A cell of the space --------------------------------------------------------------------------------

local function choose(random, list) return list[random:integer(#list)] end

-- Draws an architecture.
--   ARGS    random  berth.Random
--   RETURN  { steps, units, batch, nodes }; node n > 1 takes nodes[n].input < n
function ptb.sample(random)
  local architecture = {
    steps = STEPS.least - 1 + random:integer(STEPS.most - STEPS.least + 1),
    units = choose(random, UNITS),
    batch = choose(random, BATCH),
    nodes = { { activation = choose(random, ACTIVATIONS) } },
  }
  for node = 2, NODES do
    architecture.nodes[node] = {
      input = random:integer(node - 1),
      activation = choose(random, ACTIVATIONS),
    }
  end
  return architecture
end

-- Layers of the cell ---------------------------------------------------------------------------------

local activate = {
  tanh = layers.tanh,
  relu = layers.relu,
  sigmoid = layers.sigmoid,
  identity = function(_, _, x) return x end,
}

-- state + gate * (activation - state), where one product gives gate and activation.
local function highway(net, name, input, state, weight, activation)
  local product = layers.matmul(net, name .. "/MatMul", input, weight)
  local hidden, gate = layers.halves(net, name .. "/Split", product)
  hidden = activate[activation](net, name .. "/" .. activation, hidden)
  gate = layers.sigmoid(net, name .. "/gate", gate)
  local change = layers.subtract(net, name .. "/sub", hidden, state)
  change = layers.multiply(net, name .. "/mul", gate, change)
  return layers.add(net, name .. "/add", state, change)
end

-- One step.
--   RETURN  the new state
local function cell(net, name, nodes, weights, word, state)
  local states, used = {}, {}
  for n, node in ipairs(nodes) do
    local prefix = ("%s/node_%d"):format(name, n - 1)
    local from, input = state, nil
    if n == 1 then
      input = layers.concat(net, prefix .. "/concat", { word, state }, 2)
    else
      used[node.input] = true
      from = states[node.input]
      input = from
    end
    states[n] = highway(net, prefix, input, from, weights[n], node.activation)
  end
  local loose = {}
  for n, node_state in ipairs(states) do
    if not used[n] then loose[#loose + 1] = node_state end
  end
  return layers.average(net, name .. "/average", loose)
end

-- The training graph of an architecture; with `colocate` its gradients share the devices of their ops.
function ptb.build(name, architecture, colocate)
  local net = network.new(name, "clipped_descent", colocate)
  local batch, units = architecture.batch, architecture.units
  local words = layers.embedding(net, "embedding", architecture.steps, batch, VOCABULARY, units)
  local weights = {}
  for n in ipairs(architecture.nodes) do
    weights[n] = net:variable(("cell/node_%d/weights"):format(n - 1),
                              { n == 1 and 2 * units or units, 2 * units })
  end
  local state, states = net:placeholder("input/state", { batch, units }), {}
  for step, word in ipairs(words) do
    state = cell(net, ("cell/step_%d"):format(step - 1), architecture.nodes, weights, word, state)
    states[step] = state
  end
  local all = layers.concat(net, "softmax/states", states, 1)
  local softmax = net:weight("softmax/MatMul", "weights", { units, VOCABULARY })
  local bias = net:weight("softmax/BiasAdd", "bias", { VOCABULARY })
  local logits = layers.matmul(net, "softmax/MatMul", all, softmax)
  logits = layers.bias(net, "softmax/BiasAdd", logits, bias)
  return net:train(layers.mean(net, "loss", { layers.cross_entropy(net, "loss/cross_entropy", logits) }))
end

return ptb
