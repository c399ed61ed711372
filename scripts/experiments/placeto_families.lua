-- Does a policy trained on some graphs of a family place others well? The generalization experiment of Addanki et al.,
-- NeurIPS 2019: 32 graphs of a family, some to learn from and some to be judged by.
--
--   berth run scripts/experiments/placeto_families.lua [table] [--record FILE] [--checkpoints FOLDER]
--       [--families cifar10,ptb,nmt,towers] [--clusters k80x4,k80x2] [--columns a,b] [--groups 64] [--train 24] [--test 8]
--       [--updates 2000] [--own 300] [--own-graphs 8] [--rnn 300] [--ahead 150] [--machines a,b] [--budget SECONDS]
--       [--seeds 1,2,3,4,5] [--variants "rounds=0;traversal=reverse"]
--       [--held training|test] [--figures FOLDER] [--csv FILE] [--format text|markdown]
--
-- The policy is the network of the released code (form=published), which does not look ahead. It learns by the logarithm of
-- the runtime, since the graphs of a family differ in it, from normalised advantages, with an entropy that falls from
-- 0.2 to 0.02: from 0.02 on it settles for one device, and from 0.05 on in 150 updates of ptb. Memory that lacks costs
-- nothing, as in the released code: nearly all placements of these graphs fit. Columns, for each held-out graph and seed
-- of weights:
--   random      the starts themselves
--   random gpus  random placements that leave the hosts what nothing else can run: what is learned beyond leaving them?
--   untrained   fresh weights, by their likeliest devices ("greedy") and by devices drawn ("sampled")
--   zero-shot   the same after `updates` updates of one of the `train` graphs, 16 episodes each
--   own         the same weights trained on the held-out graph itself, with `own` updates, for the first `own-graphs` of
--               them; "best" is the best placement that it met while it learned
--   rnn         seq2seq trained on the held-out graph, with `rnn` updates: the best placement that it met
--   ahead       Berth's own form, which simulates the step with the group on every device: untrained, and after
--               `ahead` updates of the training graphs
--   mixed       one policy for the paper's three families and any machine: that network with features in place of one-hot
--               devices, untrained, and after `updates` updates of the training graphs of all three, each on the next
--               of the `machines`. Name others with --clusters to judge it on machines that it has not seen
--   single, scotch, list, expert  the best single device, Scotch's mapping, list scheduling (HEFT), the experts' recipe
--   auto        the search, with `budget` seconds (2)
-- Variants are the published form but for some options of the policy, the order of visits (traversal), the reward (log,
-- seconds) or the entropy's weight (entropy, which falls to a tenth). Each learns as `zero-shot` does and is compared with
-- it, and with the controls that it is compared with: what are parts of the method worth?
--
-- A policy's answer is the placement at the end of an episode, not the best on the way: the median of eight
-- episodes, from the same eight random starts in every column. One that does not fit is infinite: worse than every one
-- that does, in medians and pairs alike, and "fits" is the share of a column's answers that fit.
--
-- --held training: the last graphs to learn from are held out in place of the test's. Whatever is chosen is chosen
-- there. --record: what is done (berth.record); the same command goes on where it was stopped, in the middle of a training
-- too where there is a folder of --checkpoints. "table" makes nothing.

local arguments = require "berth.arguments"
local baselines = require "berth.baselines"
local berth = require "berth"
local families = require "berth.families"
local files = require "berth.files"
local plots = require "berth.plots"
local record = require "berth.record"
local rewards = require "berth.rewards"
local schedules = require "berth.schedules"
local statistics = require "berth.statistics"
local tables = require "berth.tables"
local train = require "berth.train"

-- 1. The command line.

local COLUMNS = { "single", "random", "random gpus", "scotch", "list", "expert", "untrained greedy", "untrained sampled",
  "zero-shot greedy", "zero-shot sampled", "own greedy", "own sampled", "own best", "rnn best", "ahead untrained",
  "ahead zero-shot", "mixed untrained", "mixed greedy", "mixed sampled", "auto" }
local options = { families = families.names, clusters = { "k80x4", "k80x2" }, groups = 64, train = 24, test = 8,
                  updates = 2000, own = 300, own_graphs = 8, rnn = 300, ahead = 150, budget = 2, seeds = { 1, 2, 3, 4, 5 },
                  machines = { "k80x2", "k80x4", "p100x4", "2xp100+2xk80", "4xt4" },
                  columns = COLUMNS, variants = {}, held = "test", format = "text" }
local line = arguments.parser()
local parts = {}
line.read({ ... }, parts, {
  ["--record"] = line.text_into(options, "record"),
  ["--checkpoints"] = line.text_into(options, "checkpoints"),
  ["--families"] = line.list_into(options, "families"),
  ["--clusters"] = line.list_into(options, "clusters"),
  ["--columns"] = line.list_into(options, "columns"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--train"] = line.number_into(options, "train"),
  ["--test"] = line.number_into(options, "test"),
  ["--updates"] = line.number_into(options, "updates"),
  ["--own"] = line.number_into(options, "own"),
  ["--own-graphs"] = line.number_into(options, "own_graphs", "--own-graphs"),
  ["--rnn"] = line.number_into(options, "rnn"),
  ["--ahead"] = line.number_into(options, "ahead"),
  ["--machines"] = line.list_into(options, "machines"),
  ["--budget"] = line.number_into(options, "budget"),
  ["--seeds"] = line.numbers_into(options, "seeds"),
  ["--variants"] = function(text)
    for variant in text:gmatch "[^;]+" do table.insert(options.variants, variant) end
  end,
  ["--held"] = function(text)
    options.held = line.one_of(text, "--held", { training = true, test = true }, "training or test")
  end,
  ["--figures"] = line.folder_into(options, "figures"),
  ["--csv"] = line.text_into(options, "csv"),
  ["--format"] = line.format_into(options),
})
local only_table = parts[1] == "table"
if #parts > 1 or (#parts == 1 and not only_table) then line.usage "the one part is 'table'" end

-- 2. Graphs: those of a family on a cluster, to learn from and held out.

local EPISODES = 8

local function graphs_of(family)
  local learn, held = families.split(families[family] { seed = 1 })
  if options.held == "training" then
    held = {}
    for _ = 1, options.test do table.insert(held, 1, table.remove(learn)) end
  end
  return learn, held
end

local function problems(graphs, count, cluster)
  return families.problems(graphs, { count = count, cluster = cluster, groups = options.groups, grouping = "placeto" })
end

local sets = {}
local function set_of(family, cluster)
  local name = family .. cluster
  if not sets[name] then
    local learn, held = graphs_of(family)
    sets[name] = { train = problems(learn, options.train, cluster), test = problems(held, options.test, cluster) }
  end
  return sets[name]
end

-- The training graphs of the paper's families, in turn, each on the next machine.
local function mixed_set()
  local learn, set = {}, {}
  for _, family in ipairs(families.published) do learn[family] = graphs_of(family) end
  for i = 1, options.train do
    for _, family in ipairs(families.published) do
      set[#set + 1] = problems({ learn[family][i] }, 1, options.machines[#set % #options.machines + 1])[1]
    end
  end
  return set
end

-- The starts of episodes on a held-out graph: the same for all columns.
local starts = {}
local function starts_of(problem, graph)
  if not starts[problem] then
    starts[problem] = {}
    for i = 1, EPISODES do
      starts[problem][i] = berth.policy "random":place(problem, { seed = 1000 * graph + i })
    end
  end
  return starts[problem]
end

-- 3. What is measured, in microseconds; inf where nothing fits.

local function placed_us(problem, name, settings, budget_s)
  local ok, placement = pcall(function()
    return (berth.policy(name, settings):place(problem, { seed = 1, budget_s = budget_s, threads = 1 }))
  end)
  return ok and train.us_of(problem:evaluate(placement)) or math.huge
end

-- The upper median: inf where half of them do not fit.
local function median_us(ends)
  table.sort(ends)
  return ends[EPISODES / 2 + 1]
end

local function answer_us(policy, problem, graph, greedy, traversal)
  local rollout = policy:rollout(problem, { samples = EPISODES, seed = graph, greedy = greedy, traversal = traversal,
    initial = { starts_of(problem, graph) } })
  local ends = {}
  for e = 1, EPISODES do ends[e] = train.us_of(rollout:evaluation(e, rollout:steps(e))) end
  return median_us(ends)
end

local function random_us(problem, graph)
  local ends = {}
  for e, start in ipairs(starts_of(problem, graph)) do ends[e] = train.us_of(problem:evaluate(start)) end
  return median_us(ends)
end

local function random_gpus_us(problem, graph)
  local random, ends = berth.policy("random", { hosts = false }), {}
  for e = 1, EPISODES do
    ends[e] = train.us_of(problem:evaluate((random:place(problem, { seed = 1000 * graph + e }))))
  end
  return median_us(ends)
end

-- 4. What learns.

local function published(seed, but)
  local settings = { form = "published", weights = "none", init_seed = seed }
  for key, value in pairs(but or {}) do settings[key] = value end
  return berth.policy("placeto", settings)
end

-- The options of the policy in which a variant differs, and how it learns: its order of visits, reward and entropy.
local function read_variant(text)
  local but = {}
  for key, value in text:gmatch "([%w_]+)=([^,]+)" do
    if value == "true" or value == "false" then but[key] = value == "true" else but[key] = tonumber(value) or value end
  end
  local entropy = but.entropy or 0.2
  local how = { traversal = but.traversal, entropy_weight = schedules.linear(entropy, entropy / 10, options.updates),
    reward = rewards.improvement { log = but.reward ~= "seconds", memory_penalty = 0 } }
  but.traversal, but.reward, but.entropy = nil, nil, nil
  return but, how
end

local function trained(policy, problems, updates, seed, name, more)
  local given = { policy = policy, problems = problems, batch = 1, count = updates, seed = seed, samples = 16,
    initial = "shared", discount = 1, reward = rewards.improvement { log = true, memory_penalty = 0 },
    baseline = baselines.normalised, entropy_weight = schedules.linear(0.2, 0.02, updates), progress = train.show_progress(name),
    checkpoint = options.checkpoints and ("%s/%s.berth"):format(options.checkpoints, name:gsub("[^%w]+", "_")) or "" }
  for key, value in pairs(more or {}) do given[key] = value end
  return train.episodes(given)
end

-- The best placement after 1, 2, 4, .. 512 updates, and at the end: how soon something is found.
local MARKS = 10
local function curve_into(curve, show)
  return function(seen)
    for mark = 1, MARKS do
      if seen.update <= 2 ^ (mark - 1) then curve[mark] = seen.best_us end
    end
    show(seen)
  end
end

-- 5. All of them.

local depends = {}
for _, name in ipairs { "groups", "train", "test", "updates", "own", "rnn", "ahead", "budget", "machines" } do
  depends[name] = options[name]
end
local runs = record.open(options.record, depends)
local ONCE = {
  single = function(problem) return placed_us(problem, "single", {}) end,
  random = random_us, ["random gpus"] = random_gpus_us,
  scotch = function(problem) return placed_us(problem, "scotch", {}) end,
  list = function(problem) return placed_us(problem, "heft", {}) end,
  expert = function(problem) return placed_us(problem, "expert", {}) end,
  auto = function(problem) return placed_us(problem, "auto", {}, options.budget) end,
}
local function key_of(family, cluster, column, seed, graph)
  return ("%s, %s, %s, seed %d, %s %d"):format(family, cluster, column, ONCE[column] and 0 or seed,
    options.held == "test" and "graph" or "validation graph", graph)
end

-- Policies for all of the paper's families, by seed.
local mixed = {}
local function mixed_policy(seed, updates)
  local key = ("%d %d"):format(seed, updates)
  if not mixed[key] then
    mixed[key] = berth.policy("placeto", { weights = "none", init_seed = seed, lookahead = false, layers = 2,
      aggregate = "mean_pools" })
    if updates > 0 then trained(mixed[key], mixed_set(), updates, seed, ("mixed seed %d"):format(seed)) end
  end
  return mixed[key]
end

-- The maker of each column; parts that several columns share are made when the first of them asks.
local function makers(family, cluster, seed)
  local set = set_of(family, cluster)
  local name = ("%s %s seed %d"):format(family, cluster, seed)
  local kept = {}
  local function once(key, make)
    kept[key] = kept[key] or make()
    return kept[key]
  end
  local function zero_shot()
    return once("zero-shot", function()
      local policy = published(seed)
      trained(policy, set.train, options.updates, seed, name)
      return policy
    end)
  end
  local function own(graph)
    return once("own " .. graph, function()
      local policy, curve = published(seed), {}
      local what = ("%s own %d"):format(name, graph)
      local result = trained(policy, { set.test[graph] }, options.own, seed, what,
        { progress = curve_into(curve, train.show_progress(what)) })
      curve[MARKS + 1] = train.us_of(result.best[1].evaluation)
      return { policy = policy, curve = curve }
    end)
  end
  local function ahead(updates)
    return once("ahead " .. updates, function()
      local policy = berth.policy("placeto", { weights = "none", init_seed = seed })
      if updates > 0 then trained(policy, set.train, updates, seed, name .. " ahead", { discount = 0.98 }) end
      return policy
    end)
  end
  local function answers(policy_of, greedy)
    return function(problem, graph)
      local policy = policy_of(graph)
      return answer_us(policy.policy or policy, problem, graph, greedy)
    end
  end
  local function untrained()
    return once("untrained", function() return published(seed) end)
  end
  local function of_variant(text, greedy)
    local but, how = read_variant(text)
    return function(problem, graph)
      local policy = once("variant " .. text, function()
        local learner = published(seed, but)
        trained(learner, set.train, options.updates, seed, name .. " " .. text, how)
        return learner
      end)
      return answer_us(policy, problem, graph, greedy, how.traversal)
    end
  end
  local all = {
    ["untrained greedy"] = answers(untrained, true), ["untrained sampled"] = answers(untrained, false),
    ["zero-shot greedy"] = answers(zero_shot, true), ["zero-shot sampled"] = answers(zero_shot, false),
    ["own greedy"] = answers(own, true), ["own sampled"] = answers(own, false),
    ["own best"] = function(_, graph)
      local curve = own(graph).curve
      return curve[MARKS + 1], unpack(curve, 1, MARKS)
    end,
    ["rnn best"] = function(problem)
      local curve, what = {}, name .. " rnn"
      local result = train.episodes { policy = berth.policy("seq2seq", { weights = "none", init_seed = seed }),
        problems = { problem }, count = options.rnn, samples = 16, seed = seed,
        progress = curve_into(curve, train.show_progress(what)) }
      return train.us_of(result.best[1].evaluation), unpack(curve, 1, MARKS)
    end,
    ["ahead untrained"] = answers(function() return ahead(0) end, true),
    ["ahead zero-shot"] = answers(function() return ahead(options.ahead) end, true),
    ["mixed untrained"] = answers(function() return mixed_policy(seed, 0) end, true),
    ["mixed greedy"] = answers(function() return mixed_policy(seed, options.updates) end, true),
    ["mixed sampled"] = answers(function() return mixed_policy(seed, options.updates) end, false),
  }
  for _, text in ipairs(options.variants) do
    all[text .. " greedy"], all[text .. " sampled"] = of_variant(text, true), of_variant(text, false)
  end
  return all
end

-- The columns asked for, and two for each variant.
local asked = { unpack(options.columns) }
for _, text in ipairs(options.variants) do
  asked[#asked + 1], asked[#asked + 2] = text .. " greedy", text .. " sampled"
end

local function measure(family, cluster, seed)
  local set, by_column = set_of(family, cluster), makers(family, cluster, seed)
  for _, column in ipairs(asked) do
    local few = column:find "^own" or column:find "^rnn"
    for graph = 1, few and math.min(options.own_graphs, #set.test) or #set.test do
      local problem = set.test[graph]
      runs.once(key_of(family, cluster, column, seed, graph), function()
        return (ONCE[column] or by_column[column])(problem, graph)
      end)
    end
  end
end

for _, seed in ipairs(only_table and {} or options.seeds) do
  for _, cluster in ipairs(options.clusters) do
    for _, family in ipairs(options.families) do measure(family, cluster, seed) end
  end
end

-- 6. Tables: runtimes as a share of the best single device's, comparisons, and the distributions.

local function each_cell(visit)
  for _, cluster in ipairs(options.clusters) do
    for _, family in ipairs(options.families) do visit(family, cluster) end
  end
end

-- The runtime that those on a graph are a share of: the single device's, or that of the first of these that fits. Pairs do
-- without.
local WHOLES = { "single", "random", "list", "scotch", "expert", "auto" }
local function whole_of(family, cluster, graph)
  local known = false
  for _, column in ipairs(WHOLES) do
    local us = runs.get(key_of(family, cluster, column, 0, graph))
    if us and us < math.huge then return us end
    known = known or us ~= nil
  end
  return known and 1 or nil
end

-- Runtimes of each column by seed and graph as a share of that; infinite where the answer does not fit.
local shown = { unpack(COLUMNS) }
for i = #options.columns + 1, #asked do shown[#shown + 1] = asked[i] end
local function values_of(family, cluster)
  local values = {}
  for _, column in ipairs(shown) do
    values[column] = {}
    for graph = 1, options.test do
      local whole = whole_of(family, cluster, graph)
      for _, seed in ipairs(options.seeds) do
        local us = runs.get(key_of(family, cluster, column, seed, graph))
        if us and whole then values[column][seed * 1000 + graph] = us / whole end
      end
    end
  end
  return values
end

local function list_of(by_key)
  local list = {}
  for _, value in pairs(by_key) do list[#list + 1] = value end
  table.sort(list)
  return list
end

local function finite(values)
  local some = {}
  for _, value in ipairs(values) do
    if value < math.huge then some[#some + 1] = value end
  end
  return some
end

local rows, detail, fits = {}, {}, {}
each_cell(function(family, cluster)
  local values = values_of(family, cluster)
  local row, series = { family = family, cluster = cluster }, {}
  for _, column in ipairs(shown) do
    local list = list_of(values[column])
    row[column] = statistics.median(list)
    local fitting = finite(list)
    if #fitting < #list then
      fits[#fits + 1] = { family = family, cluster = cluster, column = column, answers = #list, fit = #fitting }
    end
    if #fitting > 0 and column ~= "single" and column ~= "random" then
      local name = #fitting < #list and ("%s, %d of %d fit"):format(column, #fitting, #list) or column
      series[#series + 1] = { name = name, values = fitting }
    end
    for key, share in pairs(values[column]) do
      detail[#detail + 1] = { family = family, cluster = cluster, column = column, seed = math.floor(key / 1000),
        graph = key % 1000, share = share }
    end
  end
  rows[#rows + 1] = row
  plots.keep(options.figures, ("zero_shot_%s_%s"):format(family, cluster), #series > 0 and plots.distributions {
    title = ("Held-out graphs of %s, %s"):format(family, cluster), series = series,
    x = "runtime / the best single device's", y = "share of graphs and seeds" })
end)
local columns = { { key = "family" }, { key = "cluster" } }
for _, column in ipairs(shown) do columns[#columns + 1] = { key = column, format = "%.3f", optional = true } end
io.write(tables[options.format](rows, columns), "\n")
if #fits > 0 then
  io.write(tables[options.format](fits, { { key = "family" }, { key = "cluster" }, { key = "column" }, { key = "answers" },
    { key = "fit" } }), "\n")
else
  io.write("Every answer fits.\n\n")
end

local PAIRS = {
  { "zero-shot greedy", "untrained greedy" }, { "zero-shot sampled", "untrained sampled" },
  { "zero-shot greedy", "random" }, { "zero-shot sampled", "random" },
  { "zero-shot greedy", "random gpus" }, { "zero-shot sampled", "random gpus" },
  { "zero-shot greedy", "own greedy" }, { "zero-shot sampled", "own sampled" },
  { "own greedy", "untrained greedy" }, { "own best", "rnn best" },
  { "zero-shot greedy", "scotch" }, { "zero-shot greedy", "list" }, { "zero-shot greedy", "auto" },
  { "ahead zero-shot", "ahead untrained" }, { "mixed greedy", "mixed untrained" }, { "mixed greedy", "random" },
  { "mixed sampled", "random" }, { "mixed greedy", "zero-shot greedy" }, { "mixed greedy", "list" } }
for _, text in ipairs(options.variants) do
  for _, way in ipairs { " greedy", " sampled" } do
    for _, other in ipairs { "zero-shot" .. way, "untrained" .. way, "random", "random gpus", "list", "auto" } do
      PAIRS[#PAIRS + 1] = { text .. way, other }
    end
  end
end
local compared = {}

-- The mean of a graph's logarithms over seeds. One answer that does not fit is worse than all that do, and as many of
-- both sides cancel.
local function mean_log(logs)
  local sum, failures = 0, 0
  for _, log in ipairs(logs) do
    if math.abs(log) < math.huge then sum = sum + log else failures = failures + (log > 0 and 1 or -1) end
  end
  if failures ~= 0 then return failures * math.huge end
  return sum / #logs
end

local function change_text(log)
  if math.abs(log) < math.huge then return ("%+.1f %%"):format(100 * (math.exp(log) - 1)) end
  return log > 0 and "does not fit" or "alone fits"
end

-- Logarithms of the ratios of two columns by graph, an array over the seeds that both have.
local function logs_by_graph(xs, ys)
  local by_graph = {}
  for key, x in pairs(xs) do
    local y, graph = ys[key], key % 1000
    if y then
      by_graph[graph] = by_graph[graph] or {}
      table.insert(by_graph[graph], x == y and 0 or math.log(x / y))
    end
  end
  return by_graph
end

each_cell(function(family, cluster)
  local values = values_of(family, cluster)
  for _, pair in ipairs(PAIRS) do
    local graphs, logs = {}, {}
    for graph, of_seeds in pairs(logs_by_graph(values[pair[1]], values[pair[2]])) do
      graphs[#graphs + 1], logs[#logs + 1] = graph, mean_log(of_seeds)
    end
    local row = statistics.ratios(graphs, logs)
    if row then
      row.family, row.cluster, row.what, row.against, row.change = family, cluster, pair[1], pair[2], change_text(row.median)
      row.interval = row.low and ("%s to %s"):format(change_text(row.low), change_text(row.high))
      compared[#compared + 1] = row
    end
  end
end)
io.write(tables[options.format](compared, {
  { key = "family" }, { key = "cluster" }, { key = "what" }, { key = "against" }, { key = "n", title = "graphs" },
  { key = "change", title = "median" }, { key = "interval", title = "95 % of the median", optional = true }, { key = "better" },
  { key = "worse" }, { key = "p", format = "%.4f" },
}))

-- 7. How many placements it takes to what the RNN ends with: an update is 16.

local soon = {}
each_cell(function(family, cluster)
  local factors, never = {}, 0
  for graph = 1, options.test do
    for _, seed in ipairs(options.seeds) do
      local rnn = { runs.get(key_of(family, cluster, "rnn best", seed, graph)) }
      local own = { runs.get(key_of(family, cluster, "own best", seed, graph)) }
      if #rnn > 0 and #own > 0 then
        local function reached(curve, updates)
          for mark = 2, #curve do
            if curve[mark] <= rnn[1] * 1.0001 then return 16 * math.min(2 ^ (mark - 2), updates) end
          end
          return curve[1] <= rnn[1] * 1.0001 and 16 * updates or nil
        end
        local mine, its = reached(own, options.own), reached(rnn, options.rnn)
        if rnn[1] < math.huge and mine and its then factors[#factors + 1] = its / mine else never = never + 1 end
      end
    end
  end
  if #factors + never > 0 then
    soon[#soon + 1] = { family = family, cluster = cluster, runs = #factors + never, never = never,
      factor = statistics.median(factors) }
  end
end)
if #soon > 0 then
  io.write("\n", tables[options.format](soon, { { key = "family" }, { key = "cluster" }, { key = "runs" },
    { key = "factor", title = "placements of the RNN / of Placeto, median", format = "%.1f" },
    { key = "never", title = "not reached" } }))
end

if options.csv then
  table.sort(detail, function(a, b)
    for _, key in ipairs { "family", "cluster", "column", "seed", "graph" } do
      if a[key] ~= b[key] then return a[key] < b[key] end
    end
    return false
  end)
  files.write(options.csv, tables.csv(detail, { { key = "family" }, { key = "cluster" }, { key = "column" }, { key = "seed" },
    { key = "graph" }, { key = "share", format = "%.9g" } }))
end
