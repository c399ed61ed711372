-- Families of graphs, for learning that carries over from one graph to another.
--
-- Each family draws architectures by a seed and builds their training graphs (forward pass, gradients,
-- optimizer) with real shapes, for roofline costs. The first three stand for the families on which Addanki
-- et al., NeurIPS 2019, measured generalization. Of those, measured costs are public, but not the models.
--
--   families.cifar10  image classifiers of ENAS's convolution cells     128 groups
--   families.ptb      language models of ENAS's recurrent cells         128 groups
--   families.nmt      translation, varied in length and batch           160 groups
--   families.towers   parallel towers of unequal cost that meet, wide; of no paper   128 groups
--
-- The files in families/ state each design's source and what it leaves out. The numbers of groups, for
-- `berth.problem`, are those that Placeto's authors are remembered to have used.
--
--   local train, test = families.split(families.ptb { seed = 1 })

local berth = require "berth"
local read_options = require("berth.known").options

local families = {}

-- The names of all families, and of those that Placeto's authors measured by.
families.names = { "cifar10", "ptb", "nmt", "towers" }
families.published = { "cifar10", "ptb", "nmt" }

-- Groups by family.
families.groups = { cifar10 = 128, ptb = 128, nmt = 160, towers = 128 }

-- The same text for the same values.
local function text_of(value)
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for key, entry in pairs(value) do parts[#parts + 1] = tostring(key) .. "=" .. text_of(entry) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

local ATTEMPTS = 1000

-- An architecture that was not drawn before, lest one that is trained on be tested on.
local function draw_new(generator, random, drawn)
  for _ = 1, ATTEMPTS do
    local architecture = generator.sample(random)
    local text = text_of(architecture)
    if not drawn[text] then
      drawn[text] = true
      return architecture
    end
  end
end

local function draw(family, given)
  local options = read_options(given, { count = 32, seed = 1, colocate_gradients = false })
  if options.count < 1 or options.count % 1 ~= 0 then
    error(("option 'count': integer >= 1 expected, got %s"):format(options.count), 2)
  end
  local generator = require("berth.families." .. family)
  local random, drawn, graphs = berth.random(options.seed), {}, {}
  for i = 1, options.count do
    local architecture = draw_new(generator, random, drawn)
    if not architecture then
      error(("option 'count': the family has hardly more than %d different graphs"):format(i - 1), 2)
    end
    graphs[i] = generator.build(("%s_%d_%d"):format(family, options.seed, i), architecture,
      options.colocate_gradients)
  end
  return graphs
end

-- Image classifiers, language models, translation, towers.
--   ARGS    options  table, all optional:
--             count  graphs, default 32
--             seed   default 1; the same seed gives the same graphs on every machine, the first ones
--                    whatever the count
--             colocate_gradients  gradients share the devices of their ops, as TensorFlow 1 can be told to;
--                    default false: with it every grouping has cycles
--   RETURN  array of berth.Graph, all different, named family_seed_number
function families.cifar10(options) return draw("cifar10", options) end
function families.ptb(options) return draw("ptb", options) end
function families.nmt(options) return draw("nmt", options) end
function families.towers(options) return draw("towers", options) end

-- Splits at random into graphs to train on and graphs to test on; either part keeps the order.
--   ARGS    graphs   array of anything
--           options  table, all optional:
--             test   share of the test part, 0 .. 1, default 0.25; rounded to whole graphs
--             seed   default 1
--   RETURN  train, test: arrays
function families.split(graphs, options)
  options = read_options(options, { test = 0.25, seed = 1 })
  if not (options.test >= 0 and options.test <= 1) then
    error(("option 'test': 0 .. 1 expected, got %s"):format(options.test), 2)
  end
  local random, order = berth.random(options.seed), {}
  for i = 1, #graphs do order[i] = i end
  for i = #order, 2, -1 do
    local j = random:integer(i)
    order[i], order[j] = order[j], order[i]
  end
  local held = {}
  for i = 1, math.floor(#graphs * options.test + 0.5) do held[order[i]] = true end
  local train, test = {}, {}
  for i, graph in ipairs(graphs) do
    local part = held[i] and test or train
    part[#part + 1] = graph
  end
  return train, test
end

-- The first graphs of an array as problems.
--   ARGS    graphs   array of berth.Graph
--           options  what berth.problem takes but the graph, and count: how many of them
--   RETURN  array of berth.Problem
function families.problems(graphs, options)
  local shared, list = {}, {}
  for key, value in pairs(options) do shared[key] = value end
  shared.count = nil
  for i = 1, math.min(options.count or #graphs, #graphs) do
    shared.graph = graphs[i]
    list[i] = berth.problem(shared)
  end
  return list
end

return families
