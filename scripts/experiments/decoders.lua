-- Which part of a decoder on which of two unequal GPUs, and what beside, on the host? `auto` beside what
-- llama.cpp and accelerate choose themselves.
--
--   berth run scripts/experiments/decoders.lua [--models 7b:16,70b:4.5] [--prompt N] [--tokens N]
--       [--context N] [--policy NAME] [--budget SECONDS] [--seed N] [--plans FOLDER] [--report FILE]
--       [--figures FOLDER] [--format text|markdown]
--
-- A model is a size of berth.decoders and its bits per weight; the cache has room for --context positions.
-- Times are simulated: of the prompt, and of a token after it, the mean over --tokens. accelerate computes
-- what a host holds on a GPU, to which it sends the weights anew for every token; its rows are simulated
-- as if the host computed, which is faster. --plans writes, for every model, the plan of --policy for
-- llama.cpp, and for accelerate where no module is split. --report writes the page of the last model.

local arguments = require "berth.arguments"
local berth = require "berth"
local decoders = require "berth.decoders"
local plots = require "berth.plots"
local tables = require "berth.tables"

local options = { models = { "7b:16", "13b:16", "34b:4.5", "70b:4.5" }, prompt = 512, tokens = 16,
                  context = 4096, policy = "auto", budget_s = 20, seed = 0, format = "text" }
local line = arguments.parser()
line.read({ ... }, nil, {
  ["--models"] = line.list_into(options, "models"),
  ["--prompt"] = line.number_into(options, "prompt"),
  ["--tokens"] = line.number_into(options, "tokens"),
  ["--context"] = line.number_into(options, "context"),
  ["--policy"] = line.text_into(options, "policy"),
  ["--budget"] = line.number_into(options, "budget_s", "--budget"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--plans"] = line.text_into(options, "plans"),
  ["--report"] = line.text_into(options, "report"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})

local function shares(problem, model, placement)
  local bytes, total = {}, 0
  for _, module in ipairs(model.modules) do
    local device = placement[module.ops[1]]
    bytes[device] = (bytes[device] or 0) + module.bytes
    total = total + module.bytes
  end
  local parts = {}
  for device = 1, problem:cluster():device_count() do
    parts[device] = ("%.0f %%"):format(100 * (bytes[device] or 0) / total)
  end
  return table.concat(parts, ", ")
end

local rows, written = {}, {}
local function add(name, who, problem, model, placement, remark)
  local row = { model = name, who = who, remark = remark }
  if placement then
    local evaluation = problem:evaluate(placement)
    local prompt_us, token_us = decoders.times(problem, model, placement)
    row.prompt, row.token, row.rate = prompt_us / 1e3, token_us / 1e3, 1e6 / token_us
    row.shares = shares(problem, model, placement)
    row.fits = evaluation.feasible and "yes" or ("lacks %.1f GB"):format(evaluation.excess_bytes / 1e9)
  else
    row.fits = "nothing does"
  end
  rows[#rows + 1] = row
end

local function write_plans(name, problem, model, placement)
  local network, own = decoders.network(problem, model, placement)
  for _, plan in ipairs { { "llama.cpp", "llama.txt" }, { "device_map", "device_map.json" } } do
    local path = ("%s/%s.%s"):format(options.plans, name:gsub("[^%w.]+", "_"), plan[2])
    local done, why = pcall(network.save_plan, network, plan[1], path, own)
    written[#written + 1] = done and "wrote " .. path or ("no %s: %s"):format(path, why)
  end
end

local cluster = decoders.unequal_gpus()
for _, wanted in ipairs(options.models) do
  local size, bits = wanted:match "^(%w+):([%d.]+)$"
  if not decoders.sizes[size] then line.usage("--models: expected such as 7b:16, got '" .. wanted .. "'") end
  local name = ("%s, %s bits"):format(size, bits)
  berth.progress(name)
  local model = decoders.build { size = size, bits = tonumber(bits), prompt = options.prompt,
                                 tokens = options.tokens, context = options.context }
  local problem = berth.problem { graph = model.graph, cluster = cluster }
  local by_layer, layers = decoders.llama_cpp(problem, model)
  add(name, "llama.cpp", problem, model, by_layer, layers and ("-ngl %d"):format(layers))
  add(name, "accelerate, auto", problem, model, decoders.accelerate(problem, model, true))
  local fitting, room = decoders.accelerate_that_fits(problem, model, false)
  add(name, "accelerate, sequential", problem, model, fitting,
    room and ("max_memory %.0f %%"):format(100 * room))
  local done, found = pcall(function()
    return (berth.policy(options.policy):place(problem, { budget_s = options.budget_s, seed = options.seed }))
  end)
  add(name, options.policy, problem, model, done and found or nil, not done and found:match "[^\n]*" or nil)
  if done and options.plans then write_plans(name, problem, model, found) end
  if done and options.report then
    problem:save_report(options.report, found, by_layer, { options.policy, "llama.cpp" })
  end
end

for _, what in ipairs { "prompt", "token" } do
  plots.keep(options.figures, "decoders_" .. what, plots.table_bars(rows, {
    title = what == "prompt" and "Time of the prompt" or "Time of a token after it", y = "ms", y_log = true,
    name = "model", series = "who", key = what }))
end

local columns = {
  { key = "model" }, { key = "who", title = "chosen by" }, { key = "fits" },
  { key = "prompt", title = "prompt, ms", format = "%.0f" }, { key = "token", title = "token, ms", format = "%.1f" },
  { key = "rate", title = "tokens/s", format = "%.1f" },
  { key = "shares", title = "bytes on host, 24 GB, 8 GB" }, { key = "remark", title = "as", optional = true },
}
io.write(tables[options.format](rows, columns), table.concat(written, "\n"), #written > 0 and "\n" or "")
