-- Measures what each part of Placeto's network is worth, and the order in which it visits the groups.
--
--   berth run scripts/experiments/placeto_ablations.lua [--family cifar10] [--cluster k80x4]
--       [--groups 64] [--train 6] [--test 4] [--updates 60] [--seed N] [--figures FOLDER] [--format text|markdown]
--
-- Each variant is trained on the same graphs of a family and places the same held-out ones without
-- further training. Results are medians of the runtime as a share of the best single device's. The first
-- is the default, which looks ahead; "not trained" samples as many episodes and learns nothing. The
-- architectures after them are the ablations of Addanki et al., NeurIPS 2019 (ablation study). Then
-- come the published form of features and sums, and the orders of visits.

local arguments = require "berth.arguments"
local berth = require "berth"
local families = require "berth.families"
local statistics = require "berth.statistics"
local plots = require "berth.plots"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. The command line and the variants.

local options = { family = "cifar10", cluster = "k80x4", groups = 64, train = 6, test = 4, updates = 60,
                  seed = 1, format = "text" }
local positional = {}
local line = arguments.parser("placeto_ablations.lua [--family NAME] [--cluster C] [--groups N] "
  .. "[--train N] [--test N] [--updates N] [--seed N] [--figures FOLDER] [--format text|markdown]")
line.read({ ... }, positional, {
  ["--family"] = line.text_into(options, "family"),
  ["--cluster"] = line.text_into(options, "cluster"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--train"] = line.number_into(options, "train"),
  ["--test"] = line.number_into(options, "test"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #positional > 0 then line.usage(("unexpected argument '%s'"):format(positional[1])) end
if not families.groups[options.family] then
  line.usage("--family: one of " .. table.concat(families.names, ", "))
end

-- The variants of the network do not look ahead: what they know of a step they have from it alone.
local function blind(given)
  given.lookahead = false
  return given
end
local variants = {
  { name = "Placeto" },
  { name = "the same, not trained", untrained = true },
  { name = "without looking ahead", policy = blind {} },
  -- Without messages: pools of three sets, then of one.
  { name = "- simple partitioner", policy = blind { rounds = 0, pooling = "three" } },
  { name = "- simple aggregator", policy = blind { rounds = 0, pooling = "one" } },
  { name = "- no pooling", policy = blind { pooling = "none" } },
  { name = "- sweep instead of rounds", policy = blind { sweep = true } },
  { name = "- sums instead of means", policy = blind { aggregate = "sum" } },
  { name = "- one-hot devices, sums", policy = blind { devices = "one_hot", aggregate = "sum" } },
  { name = "- order: reverse", policy = blind {}, traversal = "reverse" },
  { name = "- order: breadth first", policy = blind {}, traversal = "breadth_first" },
  { name = "- order: depth first", policy = blind {}, traversal = "depth_first" },
  { name = "- order: random", policy = blind {}, traversal = "random" },
}

-- 2. The runs.

local function problems_of(graphs, count)
  return families.problems(graphs, { count = count, cluster = options.cluster,
                                     groups = options.groups })
end

local learn, held = families.split(families[options.family] { seed = options.seed })
local train_set, test_set = problems_of(learn, options.train), problems_of(held, options.test)

local function run(variant)
  local policy_options = { weights = "none", init_seed = options.seed }
  for key, value in pairs(variant.policy or {}) do policy_options[key] = value end
  local policy = berth.policy("placeto", policy_options)
  local started = berth.clock()
  local traversal = variant.traversal or "topological"
  local result = train.episodes {
    policy = policy, problems = train_set, count = options.updates, batch = 2, seed = options.seed,
    traversal = traversal, learning_rate = variant.untrained and 0 or nil,
    initial = train.explore_then_improve,
    progress = train.show_progress(variant.name),
  }
  local on_train, zero_shot = {}, {}
  for i, problem in ipairs(train_set) do
    on_train[i] = result.best[i].evaluation.objective_us / problem:single().evaluation.objective_us
  end
  local placed = train.evaluate { policy = policy, problems = test_set, traversal = traversal,
                                   passes = 16 }
  for i, problem in ipairs(test_set) do
    zero_shot[i] = placed[i].evaluation.objective_us / problem:single().evaluation.objective_us
  end
  return { name = variant.name, parameters = policy:parameters(), trained = statistics.median(on_train),
           zero_shot = statistics.median(zero_shot), wall_s = berth.clock() - started }
end

local rows = {}
for _, variant in ipairs(variants) do
  if berth.should_stop() then break end
  rows[#rows + 1] = run(variant)
end

-- 3. The table.

plots.keep(options.figures, "placeto_ablations", plots.table_bars(rows, {
  title = "Parts of Placeto's network, on " .. options.family, y = "share of one device's runtime",
  name = "name", columns = { { key = "trained", title = "best in training" },
    { key = "zero_shot", title = "zero-shot, greedy" } } }))
io.write(tables[options.format](rows, {
  { key = "name", title = "variant" }, { key = "parameters" },
  { key = "trained", title = "best in training", format = "%.3f" },
  { key = "zero_shot", title = "zero-shot, greedy", format = "%.3f" },
  { key = "wall_s", title = "s", format = "%.0f" },
}), "\n")
