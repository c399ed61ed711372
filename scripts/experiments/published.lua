-- The published learned methods, trained as published on each benchmark graph, beside Berth's own forms of them
-- and what neither learns: the best placement, and what it took.
--
--   berth run scripts/experiments/published.lua [table] [--record FILE] [--graphs a,b] [--gpus 2,4] [--seeds 1,2,3]
--       [--forms a,b] [--simulations 2000] [--groups 64] [--models FOLDER]
--       [--format text|markdown]
--
-- Forms: placeto and seq2seq "published" (option form=published), "own" (the defaults), and "untrained": as many
-- placements drawn by the fresh weights of the own form, with a learning rate of 0. Every run may
-- simulate about --simulations placements in training, whatever that makes of episodes: the papers count episodes,
-- and an episode of Placeto measures a placement for every group.
--
-- --record: a file with a line for each run that is done. A run that is there is not made again, so that the same
-- command goes on where it was stopped. "table" makes none.

local arguments = require "berth.arguments"
local berth = require "berth"
local statistics = require "berth.statistics"
local tables = require "berth.tables"

local GRAPHS = { "inception_v3_b64", "nmt_b256", "nasnet_b64", "rnnlm_b64", "nmt_b64", "inception_v3_b32" }
local FORMS = { "placeto published", "placeto own", "placeto untrained", "seq2seq published", "seq2seq own",
                "seq2seq untrained" }
local options = { graphs = GRAPHS, forms = FORMS, gpus = { 2, 4 }, seeds = { 1, 2, 3 }, simulations = 2000,
                  groups = 64, models = "examples/models/tf", format = "text" }
local line = arguments.parser("published.lua [table] [--record FILE] [--graphs a,b] [--gpus 2,4] [--seeds 1,2,3] "
  .. "[--forms a,b] [--simulations N] [--groups N] [--models FOLDER] [--format text|markdown]")
local parts = {}
line.read({ ... }, parts, {
  ["--record"] = line.text_into(options, "record"),
  ["--graphs"] = function(text) options.graphs = arguments.list(text) end,
  ["--forms"] = function(text) options.forms = arguments.list(text) end,
  ["--gpus"] = line.numbers_into(options, "gpus"),
  ["--seeds"] = line.numbers_into(options, "seeds"),
  ["--simulations"] = line.number_into(options, "simulations"),
  ["--groups"] = line.number_into(options, "groups"),
  ["--models"] = line.text_into(options, "models"),
  ["--format"] = line.format_into(options),
})

local only_table = parts[1] == "table"
if #parts > 1 or (#parts == 1 and not only_table) then line.usage "the one part is 'table'" end

-- 1. Runs that are done, one line each: key, tab, seconds per step (inf: nothing fits), evaluations, episodes, s.

local done = {}
local function read_record()
  local file = options.record and io.open(options.record)
  if not file then return end
  for text in file:lines() do
    local key, seconds, evaluations, episodes, wall = text:match "^(.-)\t(%S+)\t(%S+)\t(%S+)\t(%S+)$"
    if key then
      done[key] = { s = tonumber(seconds), evaluations = tonumber(evaluations), episodes = tonumber(episodes),
                    wall = tonumber(wall) }
    end
  end
  file:close()
end

local function keep(key, run)
  done[key] = run
  if not options.record then return end
  local file = assert(io.open(options.record, "a"))
  file:write(("%s\t%.6f\t%d\t%d\t%.1f\n"):format(key, run.s, run.evaluations, run.episodes, run.wall))
  file:close()
end

-- 2. One run.

local problems = {}
local function problem_of(name, gpus)
  local key = name .. gpus
  problems[key] = problems[key] or berth.problem { graph = (berth.load(("%s/%s.pb.gz"):format(options.models, name))),
    cluster = "k80x" .. gpus, groups = options.groups }
  return problems[key]
end

local function train(problem, form, seed)
  local policy, kind = form:match "^(%S+) (%S+)$"
  local settings = { init_seed = seed, weights = "none" }
  if kind == "published" then settings.form = "published" end
  if kind == "untrained" then settings.learning_rate = 0 end
  if policy == "seq2seq" then settings.groups = math.max(2, problem:groups():count()) end
  -- Placements that an update measures; looking ahead measures one for each device besides.
  local samples = kind == "published" and 8 or 16
  local each = 1
  if policy == "placeto" then
    each = problem:groups():count()
    if kind ~= "published" then each = each * (1 + problem:cluster():device_count()) end
  end
  settings.episodes = math.max(1, math.floor(options.simulations / (samples * each) + 0.5))
  local _, outcome = berth.policy(policy, settings):place(problem, { seed = seed })
  if outcome.ended == "cancelled" then error("stopped; the same command goes on with this run", 0) end
  return { s = outcome.feasible and outcome.runtime_us / 1e6 or math.huge, evaluations = outcome.evaluations,
           episodes = settings.episodes * samples, wall = outcome.wall_s }
end

-- 3. All of them, and the table.

read_record()
local rows = {}
for _, name in ipairs(options.graphs) do
  for _, gpus in ipairs(options.gpus) do
    for _, form in ipairs(options.forms) do
      local seconds, evaluations, episodes, wall = {}, {}, {}, {}
      for _, seed in ipairs(options.seeds) do
        local key = ("%s %d %s %d %d"):format(name, gpus, form, options.simulations, seed)
        if not done[key] and not only_table then keep(key, train(problem_of(name, gpus), form, seed)) end
        local run = done[key]
        if run then
          table.insert(seconds, run.s)
          table.insert(evaluations, run.evaluations)
          table.insert(episodes, run.episodes)
          table.insert(wall, run.wall)
        end
      end
      if #seconds > 0 then
        table.sort(seconds)
        rows[#rows + 1] = { graph = name, gpus = gpus, form = form, runs = #seconds,
                            median = statistics.median(seconds), range = ("%.3f to %.3f"):format(seconds[1],
                              seconds[#seconds]), evaluations = statistics.median(evaluations),
                            episodes = statistics.median(episodes), wall = statistics.median(wall) }
      end
    end
  end
end
io.write(tables[options.format](rows, {
  { key = "graph" }, { key = "gpus", title = "GPUs" }, { key = "form" }, { key = "runs" },
  { key = "median", title = "median s", format = "%.3f" }, { key = "range" },
  { key = "evaluations", title = "simulations", format = "%.0f" }, { key = "episodes", format = "%.0f" },
  { key = "wall", title = "wall s", format = "%.0f" },
}))
