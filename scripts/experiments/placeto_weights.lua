-- Makes the weights that come with Berth: Placeto trained on graphs of every family, on machines of
-- several sizes and kinds, so that `--policy placeto` places what it has not seen.
--
--   berth run scripts/experiments/placeto_weights.lua FILE [--clusters a,b] [--groups 64] [--train 8]
--       [--updates 240] [--seed N] [--checkpoint FILE]
--
-- FILE is written at the end. With --checkpoint, a stopped run continues where it was. Training uses no
-- benchmark graph and no held-out graph of placeto_families.lua (seed 1).

local arguments = require "berth.arguments"
local berth = require "berth"
local families = require "berth.families"
local train = require "berth.train"

local options = { clusters = { "k80x4", "k80x2", "v100x8" }, groups = 64, train = 8, updates = 240,
                  seed = 1, checkpoint = "" }
local files = {}
local line = arguments.parser("placeto_weights.lua FILE [--clusters a,b] [--groups N] [--train N] "
  .. "[--updates N] [--seed N] [--checkpoint FILE]")
line.read({ ... }, files, {
  ["--clusters"] = function(text) options.clusters = arguments.list(text) end,
  ["--groups"] = line.number_into(options, "groups"),
  ["--train"] = line.number_into(options, "train"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--checkpoint"] = line.text_into(options, "checkpoint"),
})
if #files ~= 1 then line.usage "name one file to write" end

-- A graph of each family in turn, each round on the next machine.
local graphs = {}
for _, family in ipairs(families.names) do
  graphs[family] = families.split(families[family] { seed = options.seed })
end
local problems = {}
for i = 1, options.train do
  for f, family in ipairs(families.names) do
    local cluster = options.clusters[(i + f) % #options.clusters + 1]
    problems[#problems + 1] = berth.problem { graph = graphs[family][i], cluster = cluster,
                                              groups = options.groups }
  end
end

local policy = berth.policy("placeto", { weights = "none", init_seed = options.seed })
local result = train.episodes {
  policy = policy, problems = problems, count = options.updates, batch = 2, seed = options.seed,
  initial = train.explore_then_improve,
  checkpoint = options.checkpoint, checkpoint_every = 10, progress = train.show_progress "weights",
}
if result.stopped then error("stopped before the end: " .. files[1] .. " was not written", 0) end
policy:save(files[1], ("trained by scripts/experiments/placeto_weights.lua, seed %d, %d updates")
  :format(options.seed, options.updates))
