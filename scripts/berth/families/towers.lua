-- Classifiers of parallel towers of dense layers, wide and of unequal cost.
--
-- A network is a stem and a few blocks; in a block the same input goes through several towers at once, whose results are
-- joined for the next block, as in networks of experts, or of one branch for each kind of input. Towers differ in depth
-- and in width, up to 28-fold in weights, so that it matters which of them share a device. The other families are chains
-- with short branches; this one is of no paper, and was made to see what a policy learns where the question is another.

local layers = require "berth.families.layers"
local network = require "berth.families.network"

local towers = {}

local BLOCKS = { least = 2, most = 4 }
local TOWERS = { least = 2, most = 6 }  -- of a block
local DEPTH = { least = 1, most = 4 }   -- of a tower
local UNITS = { 512, 1024, 1536, 2048 } -- of a tower's layers
local BATCH = { 512, 768, 1024, 1536, 2048 }
local FEATURES, JOINED, CLASSES = 1024, 1024, 1000

local function between(random, range) return range.least - 1 + random:integer(range.most - range.least + 1) end

-- Draws an architecture.
--   ARGS    random  berth.Random
--   RETURN  { batch, blocks }; blocks[b][t] = { depth, units }, a tower
function towers.sample(random)
  local architecture = { batch = BATCH[random:integer(#BATCH)], blocks = {} }
  for block = 1, between(random, BLOCKS) do
    architecture.blocks[block] = {}
    for tower = 1, between(random, TOWERS) do
      architecture.blocks[block][tower] = { depth = between(random, DEPTH), units = UNITS[random:integer(#UNITS)] }
    end
  end
  return architecture
end

local function dense(net, name, x, units)
  local weights = net:weight(name .. "/MatMul", "weights", { x.shape[2], units })
  x = layers.matmul(net, name .. "/MatMul", x, weights)
  local bias = net:weight(name .. "/BiasAdd", "bias", { units })
  return layers.bias(net, name .. "/BiasAdd", x, bias)
end

-- The towers of a block, and their results side by side.
local function block_of(net, name, x, architecture)
  local results = {}
  for tower, design in ipairs(architecture) do
    local prefix, y = ("%s/tower_%d"):format(name, tower - 1), x
    for layer = 1, design.depth do
      local scope = ("%s/dense_%d"):format(prefix, layer - 1)
      y = layers.relu(net, scope .. "/relu", dense(net, scope, y, design.units))
    end
    results[tower] = y
  end
  local joined = layers.concat(net, name .. "/concat", results, 2)
  return layers.relu(net, name .. "/relu", dense(net, name .. "/join", joined, JOINED))
end

-- The training graph of an architecture; with `colocate` its gradients share the devices of their ops.
function towers.build(name, architecture, colocate)
  local net = network.new(name, "momentum", colocate)
  local x = net:placeholder("input/features", { architecture.batch, FEATURES })
  x = layers.relu(net, "stem/relu", dense(net, "stem", x, JOINED))
  for block, design in ipairs(architecture.blocks) do x = block_of(net, "block_" .. block - 1, x, design) end
  local logits = dense(net, "logits", x, CLASSES)
  return net:train(layers.mean(net, "loss", { layers.cross_entropy(net, "loss/cross_entropy", logits) }))
end

return towers
