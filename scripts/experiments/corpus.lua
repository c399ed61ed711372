-- Does Berth place graphs that nobody tuned it for?
--
--   berth run scripts/experiments/corpus.lua FOLDER [--only PATTERN] [--clusters a,b]
--       [--policies a,b] [--budget SECONDS] [--seed N] [--results FILE.csv] [--part K/N]
--       [--every N] [--figures FOLDER] [--format text|markdown] [--summary]
--
-- FOLDER     the corpus that tests/corpus/make.py makes
-- --only     graphs whose name matches the Lua pattern
-- --policies names, each with options where it needs any: placeto:weights=none:groups=64
-- --every    every N-th graph of the index alone
-- --results  one line per finished cell, default FOLDER/results.csv. A second run continues; a cell
--            that was begun and never ended counts as a crash
-- --part     the K-th of N shares of the graphs, so that N processes share the work; each needs a
--            results file of its own
-- --summary  only reads --results and prints the tables
--
-- Each graph is loaded with the dimensions of the index. What is printed: per graph what was loaded
-- (ops, tensors without a size, share of the work without a rule, parameters against the framework's
-- own count), per policy how far it is from `auto`, and the worst cells.

local arguments = require "berth.arguments"
local berth = require "berth"
local compare = require "berth.compare"
local files = require "berth.files"
local statistics = require "berth.statistics"
local plots = require "berth.plots"
local tables = require "berth.tables"

-- 1. The command line.

local options = {
  folders = {},
  only = "",
  clusters = { "k80x2", "k80x4", "p100x4", "v100x8", "a100x8", "h100x8" },
  policies = nil,  -- all there are
  budget_s = 1,
  seed = 0,
  results = nil,
  part = { 1, 1 },
  every = 1,
  format = "text",
}

local line = arguments.parser()
line.read({ ... }, options.folders, {
  ["--summary"] = line.flag_into(options, "summary"),
  ["--only"] = line.text_into(options, "only"),
  ["--clusters"] = line.list_into(options, "clusters"),
  ["--policies"] = line.list_into(options, "policies"),
  ["--budget"] = line.number_into(options, "budget_s", "--budget"),
  ["--seed"] = line.number_into(options, "seed"),
  ["--results"] = line.text_into(options, "results"),
  ["--part"] = function(text)
    local k, n = text:match "^(%d+)/(%d+)$"
    if not k then line.usage("--part: K/N expected, got '" .. text .. "'") end
    options.part = { tonumber(k), tonumber(n) }
  end,
  ["--every"] = line.number_into(options, "every"),
  ["--figures"] = line.folder_into(options, "figures"),
  ["--format"] = line.format_into(options),
})
if #options.folders ~= 1 then line.usage "one folder expected" end
local folder = options.folders[1]
local results_path = options.results or folder .. "/results.csv"

-- 2. The index and the results: lines of fields, the first names them.

local function records(path, separator)
  local file = io.open(path)
  if not file then return nil end
  local names, found = nil, {}
  for text in file:lines() do
    text = text:gsub("\r$", "")
    local fields = {}
    for field in (text .. separator):gmatch("(.-)" .. separator) do fields[#fields + 1] = field end
    if names then
      local record = {}
      for i, name in ipairs(names) do record[name] = fields[i] or "" end
      found[#found + 1] = record
    else
      names = fields
    end
  end
  file:close()
  return found
end

local FIELDS = { "graph", "cluster", "policy", "state", "ops", "tensors", "unsized", "flops",
                 "flops_unruled", "bytes", "bytes_unruled", "parameters", "expected_parameters",
                 "objective_us", "feasible", "bound_us", "single_us", "wall_s", "note" }

local results  -- the open file
local function write(record)
  local fields = {}
  for i, name in ipairs(FIELDS) do
    local value = record[name]
    if type(value) == "number" then value = ("%.17g"):format(value) end
    fields[i] = (tostring(value == nil and "" or value):gsub("[,\r\n]", " "))
  end
  results.write(table.concat(fields, ","), "\n")  -- what a crash leaves behind says where it was
end

local function key_of(record) return record.graph .. " " .. record.cluster .. " " .. record.policy end

-- 3. One graph.

local function dims_of(text)
  local dims = {}
  for name, size in text:gmatch "([%w_]+)=(%d+)" do dims[name] = tonumber(size) end
  return next(dims) and dims or nil
end

-- Facts about a graph: sizes, rules and parameters.
local function facts_of(graph)
  local facts = { ops = graph:op_count(), tensors = graph:tensor_count(), unsized = 0, flops = 0,
                  flops_unruled = 0, bytes = 0, bytes_unruled = 0,
                  parameters = graph:total_param_bytes() }
  for tensor = 1, facts.tensors do
    if not graph:tensor_bytes(tensor) then facts.unsized = facts.unsized + 1 end
  end
  for op = 1, facts.ops do
    local work = graph:work(op)
    facts.flops = facts.flops + work.flops
    facts.bytes = facts.bytes + work.bytes
    if not work.has_rule then
      facts.flops_unruled = facts.flops_unruled + work.flops
      facts.bytes_unruled = facts.bytes_unruled + work.bytes
    end
  end
  return facts
end

local function policy_of(text) return berth.policy(arguments.policy(text)) end

local function first_line(problem) return tostring(problem):match "^[^\n]*" end

-- Runs what is not done yet; `cell` is begun before it may crash and ended after.
local function run(entry, policies, done)
  local function cell(cluster, policy, body)
    local record = { graph = entry.name, cluster = cluster, policy = policy }
    if done[key_of(record)] then return end
    record.state = "begun"
    write(record)
    local ok, result = pcall(body, record)
    record.state = ok and "ended" or "failed"
    if not ok then record.note = first_line(result) end
    write(record)
  end

  local graph
  local function load()
    graph = graph or (berth.load(folder .. "/" .. entry.file, { dims = dims_of(entry.dims) }))
    return graph
  end
  cell("", "load", function(record)
    for name, value in pairs(facts_of(load())) do record[name] = value end
    record.expected_parameters = tonumber(entry.parameters)
  end)
  for _, cluster in ipairs(options.clusters) do
    local problem, single
    for _, policy in ipairs(policies) do
      if berth.should_stop() then return end
      cell(cluster, policy, function(record)
        if not problem then
          problem = berth.problem { graph = load(), cluster = cluster }
          single = problem:single()
        end
        local _, outcome = policy_of(policy):place(problem, { seed = options.seed,
                                                                budget_s = options.budget_s })
        local own = compare.of_policy(outcome)
        record.objective_us = own and own.objective_us or math.huge
        record.feasible = own ~= nil and own.feasible
        record.bound_us = outcome.bound_us
        record.wall_s = outcome.wall_s
        record.single_us = single and single.evaluation.objective_us
      end)
    end
  end
end

-- 4. All of them, continued where a run before ended.

local index = records(folder .. "/index.tsv", "\t")
if not index then error(folder .. "/index.tsv is not there: tests/corpus/make.py makes it", 0) end
if not options.summary then
  local done, open = {}, {}
  for _, record in ipairs(records(results_path, ",") or {}) do
    open[key_of(record)] = record.state == "begun" and record or nil
    done[key_of(record)] = true
  end
  results = files.stream(results_path, "a")
  if results.size() == 0 then results.write(table.concat(FIELDS, ","), "\n") end
  for _, record in pairs(open) do
    record.state = "crashed"
    write(record)
  end
  local policies = options.policies or compare.all_policies()
  for number, entry in ipairs(index) do
    if berth.should_stop() then break end
    if entry.name:find(options.only) and number % options.every == 0 and number % options.part[2] == options.part[1] % options.part[2] then
      io.stderr:write(("%d of %d: %s\n"):format(number, #index, entry.name))
      run(entry, policies, done)
    end
  end
  results.close()
end

-- 5. The tables.

local cells, loads, by_pair = {}, {}, {}
for _, record in ipairs(records(results_path, ",") or {}) do
  if record.state ~= "begun" then
    for _, name in ipairs(FIELDS) do
      if name ~= "graph" and name ~= "cluster" and name ~= "policy" and name ~= "note" then
        record[name] = tonumber(record[name]) or record[name]
      end
    end
    if record.policy == "load" then
      loads[#loads + 1] = record
    else
      cells[#cells + 1] = record
      local pair = record.graph .. " on " .. record.cluster
      by_pair[pair] = by_pair[pair] or {}
      by_pair[pair][record.policy] = record
    end
  end
end

local function percent(ratio) return ("%.1f %%"):format(100 * ratio) end
local function show(title, rows, columns)
  io.write("\n", title, "\n\n", #rows == 0 and "none\n" or tables[options.format](rows, columns))
end

local tensors, unsized, unruled, failures, loaded = 0, 0, {}, {}, 0
local strange = {}  -- graphs that are not loaded whole
for _, record in ipairs(loads) do
  if record.state ~= "ended" then
    failures[#failures + 1] = record
  else
    loaded = loaded + 1
    tensors, unsized = tensors + record.tensors, unsized + record.unsized
    local share = math.max(record.flops > 0 and record.flops_unruled / record.flops or 0,
                           record.bytes > 0 and record.bytes_unruled / record.bytes or 0)
    unruled[#unruled + 1] = share
    local ratio = type(record.expected_parameters) == "number" and record.expected_parameters > 0
      and record.parameters / record.expected_parameters or nil
    if record.unsized > 0 or share > 0.01 or ratio and math.abs(ratio - 1) > 0.02 then
      strange[#strange + 1] = { graph = record.graph, unsized = record.unsized / record.tensors,
                                unruled = share, parameters = ratio }
    end
  end
end
io.write(("%d graphs loaded, %d not; %d of %d tensors without a size (%s); work without a rule: "
  .. "mean %s\n"):format(loaded, #failures, unsized, tensors, percent(unsized / math.max(1, tensors)),
  percent(#unruled > 0 and statistics.mean(unruled) or 0)))
for _, record in ipairs(cells) do
  if record.state ~= "ended" then failures[#failures + 1] = record end
end
show("Failed or crashed:", failures, { { key = "graph" }, { key = "cluster" }, { key = "policy" },
                                       { key = "state" }, { key = "note" } })
show("Not loaded whole (share of tensors without a size, of work without a rule, parameters against "
  .. "the framework's count):", strange,
  { { key = "graph" }, { key = "unsized", format = percent }, { key = "unruled", format = percent },
    { key = "parameters", format = "%.3f" } })

-- A placement that does not fit is behind any that does.
local function cost(record)
  return record.feasible == "true" and record.objective_us or math.huge
end
local behind, ratios, alone = {}, {}, {}
for pair, policies in pairs(by_pair) do
  local auto = policies.auto
  if auto and auto.state == "ended" then
    for name, record in pairs(policies) do
      if record.state == "ended" and name ~= "auto" then
        local ratio = cost(record) / cost(auto)
        if cost(record) == math.huge and cost(auto) == math.huge then ratio = 1 end
        ratios[name] = ratios[name] or {}
        table.insert(ratios[name], ratio)
        if ratio < 1 then behind[#behind + 1] = { pair = pair, policy = name, ratio = 1 / ratio } end
      end
    end
    if type(auto.single_us) == "number" and cost(auto) > auto.single_us * (1 + 1e-9) then
      behind[#behind + 1] = { pair = pair, policy = "one device", ratio = cost(auto) / auto.single_us }
    end
    if type(auto.single_us) == "number" and cost(auto) < math.huge then
      alone[#alone + 1] = auto.single_us / cost(auto)
    end
  end
end
local per_policy = {}
for name, found in pairs(ratios) do
  local ahead = 0
  for _, ratio in ipairs(found) do ahead = ahead + (ratio < 1 and 1 or 0) end
  per_policy[#per_policy + 1] = { policy = name, cells = #found, median = statistics.median(found),
                                  worst = statistics.quantile(found, 1), ahead = ahead }
end
table.sort(per_policy, function(a, b) return a.median < b.median end)
if options.figures and #per_policy > 0 then
  local series = {}
  for _, each in ipairs(per_policy) do
    local finite = {}
    for _, ratio in ipairs(ratios[each.policy]) do
      if ratio < math.huge then finite[#finite + 1] = ratio end
    end
    if #finite > 0 then series[#series + 1] = { name = each.policy, values = finite } end
  end
  plots.keep(options.figures, "corpus", #series > 0 and plots.distributions { x_log = true,
    title = "The corpus", x = "runtime / auto's", y = "share of cells", series = series })
end
show("Runtime against auto's, by policy (over 1: auto is better):", per_policy,
     { { key = "policy" }, { key = "cells" }, { key = "median", format = "%.3f" },
       { key = "worst", format = "%.2f" }, { key = "ahead", title = "ahead of auto" } })
table.sort(behind, function(a, b) return a.ratio > b.ratio end)
local shown = {}
for i = 1, math.min(10, #behind) do shown[i] = behind[i] end
show(("Where auto is behind: %d cells; the worst:"):format(#behind), shown,
     { { key = "pair" }, { key = "policy" }, { key = "ratio", format = "%.3f" } })
if #alone > 0 then
  io.write(("\nauto against one device: median %.2fx as fast, at least %.2fx, over %d cells\n"):format(
    statistics.median(alone), statistics.quantile(alone, 0), #alone))
end
