-- Image classifiers of convolution cells, trained on images of 32 x 32.
--
-- The search space is ENAS's for cells (Pham et al., "Efficient Neural Architecture Search via
-- Parameter Sharing", 2018, section 2.4), from which Placeto's `cifar10` graphs were sampled: a cell
-- has two inputs, the outputs of the two cells before, and nodes; each node applies two operations to
-- two of the cell's inputs and earlier nodes and adds the results; those that no node uses are joined.
-- A network is three stages of one normal cell with a reduction before the second and the third, which
-- halves height and width, doubles the channels, and has a cell of its own. The layers are those of
-- ENAS's program: a separable convolution is ReLU, depthwise, pointwise and normalization, twice; inputs
-- of a cell are brought to its channels by a 1 x 1 convolution, and to its size by two of them, each on
-- every second pixel.
--
-- Left out: the auxiliary head, dropout of paths, weight decay, the shift by one pixel of a reduction's
-- second path, the input pipeline. The sizes of the published graphs are not known; depth, width and
-- batch vary here around those of ENAS's final network (15 normal cells, 36 channels, batch 144; its
-- cells have 5 nodes).

local layers = require "berth.families.layers"
local network = require "berth.families.network"

local cifar10 = {}

local NODES = { 5, 6, 7 }
local CELLS = { 1, 2, 3 }                     -- normal ones in each of three stages
local CHANNELS = { 24, 32, 36, 48, 64 }       -- of the first stage
local BATCH = { 64, 96, 128, 144, 192, 256 }
local OPERATIONS = { "separable_3x3", "separable_5x5", "average_pool", "max_pool", "identity" }
local CLASSES = 10

-- A network of the space -----------------------------------------------------------------------------

local function choose(random, list) return list[random:integer(#list)] end

-- The inputs 1, 2 are the cells before; node n is input n + 2.
local function sample_cell(random, nodes)
  local cell = {}
  for node = 1, nodes do
    cell[node] = {}
    for side = 1, 2 do
      cell[node][side] = { input = random:integer(node + 1), operation = choose(random, OPERATIONS) }
    end
  end
  return cell
end

-- Draws an architecture.
--   ARGS    random  berth.Random
--   RETURN  { nodes, cells, channels, batch, normal, reduction }
function cifar10.sample(random)
  local nodes = choose(random, NODES)
  return {
    nodes = nodes,
    cells = choose(random, CELLS),
    channels = choose(random, CHANNELS),
    batch = choose(random, BATCH),
    normal = sample_cell(random, nodes),
    reduction = sample_cell(random, nodes),
  }
end

-- Layers of the cells --------------------------------------------------------------------------------

-- ReLU, a 1 x 1 convolution, normalization.
local function pointwise(net, name, x, channels)
  x = layers.relu(net, name .. "/relu", x)
  x = layers.convolution(net, name .. "/conv_1x1", x, 1, channels)
  return layers.batch_norm(net, name .. "/batch_norm", x)
end

-- Half the height and width: two paths of every second pixel, joined.
local function reduce(net, name, x, channels)
  local paths = {}
  x = layers.relu(net, name .. "/relu", x)
  for path = 1, 2 do
    local prefix = ("%s/path_%d"):format(name, path)
    paths[path] = layers.average_pool(net, prefix .. "/every_second", x, 1, 2)
    paths[path] = layers.convolution(net, prefix .. "/conv_1x1", paths[path], 1, channels / 2)
  end
  return layers.batch_norm(net, name .. "/batch_norm", layers.concat(net, name .. "/concat", paths, 4))
end

-- An input of a cell with the height, width and channels of the last one.
local function calibrate(net, name, x, last, channels)
  if x.shape[2] ~= last.shape[2] then return reduce(net, name, x, channels) end
  if x.shape[4] ~= channels then return pointwise(net, name, x, channels) end
  return x
end

local function separable(net, name, x, kernel)
  for i = 1, 2 do
    local prefix = ("%s/separable_%d"):format(name, i - 1)
    x = layers.relu(net, prefix .. "/relu", x)
    x = layers.depthwise(net, prefix .. "/depthwise", x, kernel)
    x = layers.convolution(net, prefix .. "/pointwise", x, 1, x.shape[4])
    x = layers.batch_norm(net, prefix .. "/batch_norm", x)
  end
  return x
end

local apply = {
  separable_3x3 = function(net, name, x) return separable(net, name, x, 3) end,
  separable_5x5 = function(net, name, x) return separable(net, name, x, 5) end,
  average_pool = function(net, name, x) return layers.average_pool(net, name .. "/pool", x, 3, 1) end,
  max_pool = function(net, name, x) return layers.max_pool(net, name .. "/pool", x, 3) end,
  identity = function(_, _, x) return x end,
}

-- A cell after the outputs of the two before it.
local function cell(net, name, architecture, before, last, channels)
  local states = {
    calibrate(net, name .. "/input_0", before, last, channels),
    calibrate(net, name .. "/input_1", last, last, channels),
  }
  local used = {}
  for node, sides in ipairs(architecture) do
    local prefix, results = ("%s/node_%d"):format(name, node - 1), {}
    for side, choice in ipairs(sides) do
      used[choice.input] = true
      results[side] = apply[choice.operation](net, prefix .. (side == 1 and "/left" or "/right"),
                                              states[choice.input])
    end
    states[node + 2] = layers.add(net, prefix .. "/add", results[1], results[2])
  end
  local loose = {}
  for i, state in ipairs(states) do
    if not used[i] then loose[#loose + 1] = state end
  end
  return layers.concat(net, name .. "/concat", loose, 4)
end

-- The training graph of an architecture; with `colocate` its gradients share the devices of their ops.
function cifar10.build(name, architecture, colocate)
  local net = network.new(name, "momentum", colocate)
  local channels, number = architecture.channels, 0
  local images = net:placeholder("input/images", { architecture.batch, 32, 32, 3 })
  local last = layers.convolution(net, "stem/conv_3x3", images, 3, 3 * channels)
  last = layers.batch_norm(net, "stem/batch_norm", last)
  local before = last

  local function add_cell(cells)
    before, last = last, cell(net, "cell_" .. number, cells, before, last, channels)
    number = number + 1
  end
  for stage = 1, 3 do
    if stage > 1 then
      channels = 2 * channels
      last = reduce(net, ("reduction_%d"):format(stage - 1), last, channels)
      add_cell(architecture.reduction)
    end
    for _ = 1, architecture.cells do add_cell(architecture.normal) end
  end

  local features = layers.global_pool(net, "logits/pool", layers.relu(net, "logits/relu", last))
  local weights = net:weight("logits/dense", "weights", { features.shape[2], CLASSES })
  local logits = layers.matmul(net, "logits/dense", features, weights)
  return net:train(layers.mean(net, "loss", { layers.cross_entropy(net, "loss/cross_entropy", logits) }))
end

return cifar10
