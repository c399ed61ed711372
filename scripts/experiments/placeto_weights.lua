-- Makes the weights that come with Berth: Placeto trained for what it does with a graph of many ops
-- (option `neighbourhood`), on graphs of many kinds and on machines of several sizes, so that
-- `--policy placeto` places what it has not seen.
--
--   berth run scripts/experiments/placeto_weights.lua FILE [MODEL..] [--clusters a,b] [--families N]
--       [--updates N] [--batch N] [--samples N] [--groups N] [--most-ops N] [--seconds S] [--rate R]
--       [--entropy E] [--seed N] [--init none|FILE] [--checkpoint FILE]
--
-- FILE is written at the end. Graphs: the models named, their first dimensions 8 where they are open, and
-- --families of each generated family (scripts/berth/families); those above --most-ops are left out, and
-- those that berth.corpus_split holds out. --seconds: of training, at most. With --checkpoint, a stopped run
-- continues where it was.
--
-- A search is under way on every graph with every machine. An update draws the next --batch of them, a
-- neighbourhood of each one's placement, and --samples episodes in it, all from that placement. What a
-- decision is worth is how much of the runtime at the start the best placement after it saves, 0 if none
-- is better than the start, against the mean of the other episodes: a search keeps the best of what it has
-- seen, so that an episode that ends worse costs nothing. The best of the episodes is where that search
-- goes on. After --patience neighbourhoods without gain, or --rounds of them, it begins anew.

local arguments = require "berth.arguments"
local berth = require "berth"
local families = require "berth.families"
local split = require "berth.corpus_split"

-- 1. The command line.

local options = { clusters = { "k80x4", "k80x2", "v100x8", "p100x4" }, families = 6, updates = 4000, batch = 4,
                  samples = 16, groups = 16, most_ops = 1500, seconds = math.huge, seed = 1, init = "none",
                  rate = 1e-3, entropy = 1e-3, patience = 40, rounds = 400, checkpoint = "" }
local files = {}
local line = arguments.parser()
line.read({ ... }, files, {
  ["--clusters"] = line.list_into(options, "clusters"),
  ["--families"] = line.number_into(options, "families"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--batch"] = line.number_into(options, "batch"),
  ["--samples"] = line.number_into(options, "samples"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--most-ops"] = line.number_into(options, "most_ops"),
  ["--seconds"] = line.number_into(options, "seconds"),
  ["--rate"] = line.number_into(options, "rate"),
  ["--entropy"] = line.number_into(options, "entropy"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--init"] = line.text_into(options, "init"),
  ["--checkpoint"] = line.text_into(options, "checkpoint"),
})
if #files < 1 then line.usage "name one file to write" end

local function say(text) io.stderr:write(text, "\n") end

-- 2. The graphs, each on one machine after the other.

local graphs = {}
for i = 2, #files do
  if not split.held_out(files[i]) then
    local ok, graph = pcall(berth.load, files[i], { batch = 8 })
    if not ok then ok, graph = pcall(berth.load, files[i]) end
    if not ok then
      say(("%s: %s"):format(files[i], graph))
    elseif graph:op_count() <= options.most_ops then
      graphs[#graphs + 1] = graph
    end
  end
end
for _, family in ipairs(families.names) do
  local learn = families.split(families[family] { seed = 1 })
  for i = 1, math.min(options.families, #learn) do
    if learn[i]:op_count() <= options.most_ops then graphs[#graphs + 1] = learn[i] end
  end
end

local function new_search(index)
  local graph = graphs[(index - 1) % #graphs + 1]
  -- Machines change from graph to graph and from round to round.
  local cluster = options.clusters[(index + math.floor((index - 1) / #graphs)) % #options.clusters + 1]
  return { problem = berth.problem { graph = graph, cluster = cluster } }
end

local searches = {}
for i = 1, #graphs * #options.clusters do searches[i] = new_search(i) end

-- 3. Training.

local policy = berth.policy("placeto", { weights = options.init, init_seed = options.seed, groups = options.groups,
                                         neighbourhood = 0 })
local state = { update = 0, gain = 0, better = 0 }

-- The start of a search: the coarse placement that the policy would begin with.
local function begin(search)
  search.rounds, search.fruitless = 0, 0
  local ok, placement = pcall(policy.place, policy, search.problem, { seed = state.update, threads = 1 })
  if not ok then return false end
  search.placement = placement
  return true
end

local function neighbourhood_of(search, seed)
  local groups = search.problem:neighbourhood(search.placement, options.groups, seed)
  return berth.problem { graph = search.problem:graph(), cluster = search.problem:cluster(),
                         costs = search.problem:costs(), groups = groups }
end

local rollout
local evaluation = {}

-- The returns of an episode's decisions: for every step, the runtime saved from it on, as a share of the start's.
local function savings(episode)
  local steps = rollout:steps(episode)
  local start_us = rollout:evaluation(episode, 0, evaluation).objective_us
  local worth, best = {}, 0
  for t = steps, 1, -1 do
    local now = rollout:evaluation(episode, t, evaluation)
    if now.feasible then best = math.max(best, math.log(start_us / now.objective_us)) end
    worth[t] = best
  end
  return worth
end

-- Advantages of the episodes of one problem, appended; those of a problem have the same scale.
local function add_advantages(first, advantages)
  local worth, sums = {}, {}
  for s = 1, options.samples do
    worth[s] = savings(first + s - 1)
    for t, value in ipairs(worth[s]) do sums[t] = (sums[t] or 0) + value end
  end
  local squares, count = 0, 0
  for s = 1, options.samples do
    for t, value in ipairs(worth[s]) do
      worth[s][t] = value - (sums[t] - value) / (options.samples - 1)
      squares, count = squares + worth[s][t] ^ 2, count + 1
    end
  end
  local scale = squares > 0 and math.sqrt(count / squares) or 0
  for s = 1, options.samples do
    for _, value in ipairs(worth[s]) do advantages[#advantages + 1] = value * scale end
  end
  return scale > 0
end

local function update_once()
  state.update = state.update + 1
  local chosen, problems, starts = {}, {}, {}
  for k = 1, options.batch do
    local index = ((state.update - 1) * options.batch + k - 1) % #searches + 1
    local search = searches[index]
    if (search.placement and search.fruitless < options.patience and search.rounds < options.rounds) or begin(search) then
      chosen[#chosen + 1] = search
      problems[#problems + 1] = neighbourhood_of(search, state.update * options.batch + k)
      starts[#starts + 1] = { search.placement }
    end
  end
  if #chosen == 0 then return end
  rollout = policy:rollout(problems, { samples = options.samples, seed = options.seed * 1000003 + state.update,
                                       initial = starts, into = rollout })
  local advantages, any = {}, false
  local better = 0
  for k, search in ipairs(chosen) do
    local first = (k - 1) * options.samples + 1
    any = add_advantages(first, advantages) or any
    local start_us, best_us, best = rollout:evaluation(first, 0, evaluation).objective_us, nil, nil
    for s = 0, options.samples - 1 do
      local seen = rollout:best_evaluation(first + s, evaluation)
      if seen.feasible and seen.objective_us < start_us * (1 - 1e-9) then better = better + 1 end
      if seen.feasible and (not best_us or seen.objective_us < best_us) then best_us, best = seen.objective_us, first + s end
    end
    search.rounds = search.rounds + 1
    if best and best_us < start_us * (1 - 1e-9) then
      search.placement, search.fruitless = rollout:best(best), 0
      state.gain = state.gain + math.log(start_us / best_us)
    else
      search.fruitless = search.fruitless + 1
    end
  end
  state.better = 0.99 * state.better + 0.01 * better / (#chosen * options.samples)
  if any then
    local left = 1 - state.update / options.updates
    policy:update(rollout, advantages, { learning_rate = options.rate * (0.1 + 0.9 * math.max(0, left)),
                                         entropy_weight = options.entropy * math.max(0, left) })
  end
end

if options.checkpoint ~= "" and io.open(options.checkpoint) then
  state.update = tonumber(policy:load(options.checkpoint):match "update (%d+)") or 0
end
local began_s = berth.clock()
while state.update < options.updates and berth.clock() - began_s < options.seconds do
  if berth.should_stop() then break end
  update_once()
  if state.update % 50 == 0 then
    say(("update %d, %d searches, episodes with something better: %.1f %% of late, %.0f s"):format(
      state.update, #searches, 100 * state.better, berth.clock() - began_s))
    if options.checkpoint ~= "" then policy:save(options.checkpoint, "update " .. state.update) end
  end
end
if berth.should_stop() then error("stopped before the end: " .. files[1] .. " was not written", 0) end
policy:save(files[1], ("trained by scripts/experiments/placeto_weights.lua, seed %d, %d updates, %d graphs")
  :format(options.seed, state.update, #graphs))
