-- The results of a study: its runs, medians over seeds with their intervals, tests, tables and pictures.

local known = require "berth.known"
local plots = require "berth.plots"
local origins = require "berth.study.origins"
local sources = require "berth.sources"
local space = require "berth.study.space"
local statistics = require "berth.statistics"
local store = require "berth.study.store"
local tables = require "berth.tables"

local report = {}

local Study = {}
Study.__index = Study

-- A study as it is in the file now.
--   ARGS    file, name  see berth.study.open
--   RETURN  table: file, name, goal, direction, directions (of other results, by their names), runs (array of { number, state, seed, options, results,
--           points = { { step, value }, .. }, error, wall_s, began_s, berth, lua, script, host, processor,
--           processors, memory_bytes, system }), and the functions below
function report.open(file, name)
  local kept = store.open(file, "open")
  local fine, self = pcall(kept.database.transaction, kept.database, function()
    local study = kept:study(name)
    study.file, study.count, study.runs = file, study.runs, kept:runs(study.id)
    study.directions = kept:directions(study.id)
    return study
  end, true)
  kept:close()
  if not fine then error(self, 0) end
  return setmetatable(self, Study)
end

-- Whether `a` is to be preferred to `b` where the result has this direction.
local function better(direction, a, b)
  if direction == "maximize" then return a > b end
  return a < b
end

-- The direction of a result: the one given, else that of the study, which for the goal's is its own.
local function direction_of(self, result, given)
  if given and given ~= "" then
    if given == "minimize" or given == "maximize" then return given end
    error(("the direction '%s' of result '%s' is unknown; known: minimize, maximize"):format(given, result), 0)
  end
  return self.directions[result] or self.direction
end

-- Whether a run has the result, and whether it is a number anywhere.
local function has_result(self, name)
  local has, has_numbers = false, false
  for _, run in ipairs(self.runs) do
    local value = run.results[name]
    has, has_numbers = has or value ~= nil, has_numbers or type(value) == "number"
  end
  return has, has_numbers
end

local function result_name(self, result)
  if not result or result == "" or result == self.goal then return self.goal end
  local has, has_numbers = has_result(self, result)
  if has_numbers then return result end
  if has then
    error(("%s: result '%s' of study '%s' is no number in any run, so that none is the best; show its runs instead (--runs)")
      :format(self.file, result, self.name), 0)
  end
  local names, seen = {}, {}
  for _, run in ipairs(self.runs) do
    for name in pairs(run.results) do
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names)
  error(("%s: no run of study '%s' has a result '%s'; known: %s"):format(self.file, self.name, result,
    table.concat(names, ", ")), 0)
end

-- The best run that is done; nil where there is none.
function Study:best()
  local best
  for _, run in ipairs(self.runs) do
    local value = run.results[self.goal]
    if run.state == "done" and (not best or better(self.direction, value, best.results[self.goal])) then best = run end
  end
  return best
end

-- The runs of a group that ended without a result.
local function lost(group) return group.stopped + group.failed end

-- The value unless it is that of a lost run, which nobody knows.
local function unless_lost(value, worst)
  if value ~= worst then return value end
end

-- Adds to a group its median, the interval of that, and its best. A run was stopped because it is worse than
-- others, and one that failed gave nothing, so both count as worse than all that are done: without them the median
-- would be of the lucky seeds.
local function summarise(direction, group)
  local all, worst = { unpack(group.values) }, direction == "maximize" and -math.huge or math.huge
  for _ = 1, lost(group) do all[#all + 1] = worst end
  group.n = #group.values
  group.median = unless_lost(statistics.median(all), worst)
  local low, high = statistics.bootstrap(all)
  group.low, group.high = unless_lost(low, worst), unless_lost(high, worst)
  for _, value in ipairs(group.values) do
    if not group.best or better(direction, value, group.best) then group.best = value end
  end
end

-- Medians that are known come first; then the groups of which fewer runs are lost.
local function ranks_before(direction, a, b)
  if not a.median ~= not b.median then return a.median ~= nil end
  if a.median and a.median ~= b.median then return better(direction, a.median, b.median) end
  local a_done, b_done = a.n * (b.n + lost(b)), b.n * (a.n + lost(a))
  if not a.median and a_done ~= b_done then return a_done > b_done end
  return a.text < b.text
end

-- The runs by choice of options, the best median first.
--   ARGS    result     name; default: the goal
--           direction  "minimize" or "maximize"; default: what study.run was told of the result, else the goal's
--   RETURN  array of { options, text, runs, values (of the runs that are done, by seed in their order),
--           seeds, n, stopped, failed, left, median, low, high (its bootstrap interval of 95 %; stopped and
--           failed runs count as worse than all others, and what falls among them is nil), best, wilcoxon_p, sign_p
--           (against the first group, over the seeds that both have; nil for it, and where either has stopped or
--           failed runs: the seeds that are left are the lucky ones), holm_p (wilcoxon_p corrected by Holm for
--           that many comparisons) }
function Study:groups(result, direction)
  result = result_name(self, result)
  direction = direction_of(self, result, direction)
  local groups, by_key = {}, {}
  for _, run in ipairs(self.runs) do
    local key = space.key(run.options)
    local group = by_key[key]
    if not group then
      group = { options = run.options, text = space.text(run.options), runs = {}, values = {}, seeds = {},
        stopped = 0, failed = 0, left = 0, by_seed = {} }
      groups[#groups + 1], by_key[key] = group, group
    end
    group.runs[#group.runs + 1] = run
    local value = run.results[result]
    if run.state == "done" and type(value) == "number" then
      group.values[#group.values + 1], group.seeds[#group.seeds + 1] = value, run.seed
      group.by_seed[run.seed] = value
    elseif run.state == "stopped" or run.state == "failed" then
      group[run.state] = group[run.state] + 1
    elseif run.state ~= "done" then
      group.left = group.left + 1
    end
  end
  for _, group in ipairs(groups) do summarise(direction, group) end
  table.sort(groups, function(a, b) return ranks_before(direction, a, b) end)
  local first, compared, ps = groups[1], {}, {}
  for i = 2, #groups do
    local xs, ys = {}, {}
    for seed, value in pairs(groups[i].by_seed) do
      if first.by_seed[seed] then xs[#xs + 1], ys[#ys + 1] = value, first.by_seed[seed] end
    end
    if #xs > 0 and lost(first) + lost(groups[i]) == 0 then
      groups[i].wilcoxon_p = statistics.wilcoxon(xs, ys).p
      groups[i].sign_p = statistics.sign_test(xs, ys).p
      compared[#compared + 1], ps[#ps + 1] = groups[i], groups[i].wilcoxon_p
    end
  end
  for i, p in ipairs(statistics.holm(ps)) do compared[i].holm_p = p end
  return groups
end

-- The shortest text that gives the number back.
local function exact(value)
  for digits = 15, 17 do
    local text = ("%%.%dg"):format(digits):format(value)
    if digits == 17 or tonumber(text) == value then return text end
  end
end

local function figure(value) return ("%.6g"):format(value) end

local GROUP_COLUMNS = {
  { key = "text", title = "options", format = function(text) return text == "" and "(none)" or text end },
  { key = "n", title = "runs" },
  { key = "median", format = figure, csv = exact },
  { key = "low", title = "95 % from", format = figure, csv = exact },
  { key = "high", title = "to", format = figure, csv = exact },
  { key = "best", format = figure, csv = exact },
  { key = "wilcoxon_p", title = "p Wilcoxon", format = "%.3g", csv = exact, optional = true },
  { key = "holm_p", title = "p Holm", format = "%.3g", csv = exact, optional = true },
  { key = "sign_p", title = "p sign", format = "%.3g", csv = exact, optional = true },
  { key = "stopped" }, { key = "failed" }, { key = "left" },
}

local FACTS = { "wall_s", "began_s", "berth", "lua", "script", "sources", "host", "processor", "processors",
  "memory_bytes", "system", "error" }

-- Every run as a row, with columns for what each was given and found.
local function run_rows(self)
  local rows, columns = {}, { { key = "number", title = "run" }, { key = "state" }, { key = "seed" } }
  local function add(kind, title)
    local names, seen = {}, {}
    for _, run in ipairs(self.runs) do
      for name in pairs(run[kind]) do
        if not seen[name] then names[#names + 1] = name end
        seen[name] = true
      end
    end
    table.sort(names)
    for _, name in ipairs(names) do
      columns[#columns + 1] = { key = kind .. ":" .. name, title = title .. name,
        format = function(value) return type(value) == "number" and figure(value) or tostring(value) end,
        csv = function(value)
          return type(value) == "number" and exact(value) or tostring(value)
        end }
    end
  end
  add("options", "")
  add("results", "")
  for i, run in ipairs(self.runs) do
    rows[i] = { number = run.number, state = run.state, seed = run.seed, steps = #run.points }
    for _, kind in ipairs { "options", "results" } do
      for name, value in pairs(run[kind]) do rows[i][kind .. ":" .. name] = value end
    end
    for _, name in ipairs(FACTS) do rows[i][name] = run[name] end
  end
  return rows, columns
end

local function mixed(self)
  local texts = {}
  for _, run in ipairs(self.runs) do
    local with_results = run.state == "done" or run.state == "stopped"
    if with_results and run.sources then texts[#texts + 1] = run.sources end
  end
  return origins.mixed(texts)
end

-- A text for people: how far the study is, and its groups.
function Study:text(result, direction)
  result = result_name(self, result)
  direction = direction_of(self, result, direction)
  local groups = self:groups(result, direction)
  local head = ("study %s: %s, to %s; %d of %d runs done, %d stopped, %d failed, %d left\n"):format(self.name,
    result, direction, self.done, self.count, self.stopped, self.failed, self.waiting + self.running)
  local text = head .. "\n" .. tables.text(groups, GROUP_COLUMNS)
  if #groups > 1 then
    text = text .. ("\nIntervals are bootstraps of the median; p-values compare with the first row, seed by seed, "
      .. "two-sided. That row\nis the best of %d, and looks better than it is; p Holm is Wilcoxon's, corrected for "
      .. "the number of comparisons.\n"):format(#groups)
  end
  if self.stopped + self.failed > 0 then
    text = text .. "Stopped and failed runs count as worse than those that are done: a median or an end of its "
      .. "interval that falls\namong them is not known, and settings with such runs get no p-values.\n"
  end
  if mixed(self) ~= "" then
    text = text .. ("\nMIXED: these are results of different code or arguments: %s.\n"):format(mixed(self))
  end
  for _, run in ipairs(self.runs) do
    if run.state == "failed" then
      text = text .. ("run %d (%s, seed %d) failed: %s\n"):format(run.number, space.text(run.options),
        run.seed, run.error)
    end
  end
  return text
end

-- Every run, for people.
function Study:runs_text()
  local rows, columns = run_rows(self)
  columns[#columns + 1] = { key = "steps" }
  columns[#columns + 1] = { key = "wall_s", title = "s", format = "%.2f", optional = true }
  columns[#columns + 1] = { key = "error", optional = true }
  return tables.text(rows, columns)
end

-- One word for all that a run's results come from, which are kilobytes: runs of the same code share it, wherever it lay.
local function digest(text)
  local parts = {}
  for i, each in ipairs(sources.read(text)) do parts[i] = each.name .. "\t" .. each.hash end
  return "fnv1a " .. sources.hash(table.concat(parts, "\n"))
end

-- Every run with everything that is known of it, `sources` as one hash; the groups.
function Study:csv()
  local rows, columns = run_rows(self)
  for _, name in ipairs(FACTS) do columns[#columns + 1] = { key = name, csv = name == "sources" and digest or nil } end
  return tables.csv(rows, columns)
end
function Study:groups_csv(result, direction) return tables.csv(self:groups(result, direction), GROUP_COLUMNS) end

-- The median over a group's runs at every step that at least half of them reported, and the quartiles. A run that
-- was stopped keeps its last value: without it the curve would bend to that of the lucky seeds.
local function curve_of(group)
  local at, steps, reported = {}, {}, 0
  for _, run in ipairs(group.runs) do
    if #run.points > 0 then reported = reported + 1 end
    for _, point in ipairs(run.points) do
      if not at[point[1]] then
        at[point[1]] = {}
        steps[#steps + 1] = point[1]
      end
      table.insert(at[point[1]], point[2])
    end
  end
  table.sort(steps)
  local points, band = {}, {}
  for _, step in ipairs(steps) do
    local values = at[step]
    for _, run in ipairs(group.runs) do
      local last = run.points[#run.points]
      if run.state == "stopped" and last and last[1] < step then values[#values + 1] = last[2] end
    end
    if 2 * #values >= reported then
      points[#points + 1] = { step, statistics.median(values) }
      band[#band + 1] = { step, statistics.quantile(values, 0.25), statistics.quantile(values, 0.75) }
    end
  end
  return points, band
end

-- The options that differ between groups, which tell them apart in a picture.
local function name_groups(groups)
  local varies = {}
  for _, group in ipairs(groups) do
    for name, value in pairs(group.options) do
      if groups[1].options[name] ~= value then varies[name] = true end
    end
    for name in pairs(groups[1].options) do
      if group.options[name] == nil then varies[name] = true end
    end
  end
  for _, group in ipairs(groups) do
    local some = {}
    for name, value in pairs(group.options) do
      if varies[name] then some[name] = value end
    end
    local text = space.text(some)
    group.name = text == "" and "all" or text
  end
end

local function finite(values)
  local some = {}
  for _, value in ipairs(values) do
    if value - value == 0 then some[#some + 1] = value end
  end
  return some
end

local function values_by_group(self, groups, what)
  local series = {}
  for _, group in ipairs(groups) do
    local values = finite(group.values)
    local name = group.name
    if group.stopped > 0 then name = ("%s (%d stopped)"):format(name, group.stopped) end
    if group.failed > 0 then name = ("%s (%d failed)"):format(name, group.failed) end
    if #values > 0 then series[#series + 1] = { name = name, values = values } end
  end
  if #series == 0 then
    error(("%s: no run of study '%s' is done, so that there are no %s to draw"):format(self.file, self.name,
      what), 0)
  end
  return series
end

local function curves(groups)
  local series = {}
  for _, group in ipairs(groups) do
    local points, band = curve_of(group)
    if #points > 0 then series[#series + 1] = { name = group.name, points = points, band = band } end
  end
  return series
end

-- The results over one option, a dot per run.
local function over_option(self, name, result)
  local points = {}
  for _, run in ipairs(self.runs) do
    local x, y = run.options[name], run.results[result]
    if run.state == "done" and type(x) == "number" and type(y) == "number" and y - y == 0 then
      points[#points + 1] = { x, y }
    end
  end
  return points
end

-- A picture of the study.
--   ARGS    options  table, all optional: kind ("curves": medians over seeds with the quartiles as a band;
--                    "boxes"; "distributions"; or an option's name, for the results over it; default
--                    curves where runs reported steps, else boxes), result (default the goal), log (true:
--                    the results on a logarithmic axis), x_log, theme
--   RETURN  SVG text
function Study:plot(options)
  options = known.check("study:plot", options, { "kind", "result", "log", "x_log", "theme" })
  local result, kind = result_name(self, options.result), options.kind
  local groups = self:groups(result)
  name_groups(groups)
  local lines = curves(groups)
  if not kind or kind == "" then kind = #lines > 0 and "curves" or "boxes" end
  local look = { title = self.name, y = result, y_log = options.log, x_log = options.x_log,
    theme = options.theme }
  if kind == "curves" then
    if #lines == 0 then
      error(("%s: no run of study '%s' reported a step; call run:report, or choose boxes"):format(self.file,
        self.name), 0)
    end
    look.x, look.y, look.series = "step", self.goal, lines
    return plots.lines(look)
  end
  if kind == "boxes" then
    look.series = values_by_group(self, groups, "boxes")
    return plots.boxes(look)
  end
  if kind == "distributions" then
    look.x, look.y, look.x_log = result, "share of runs", options.log
    look.series = values_by_group(self, groups, "distributions")
    return plots.distributions(look)
  end
  local points = over_option(self, kind, result)
  if #points == 0 then
    error(("%s: '%s' is neither curves, boxes or distributions nor an option of study '%s' with numbers")
      :format(self.file, kind, self.name), 0)
  end
  look.x, look.series = kind, { { name = result, points = points } }
  return plots.scatter(look)
end

return report
