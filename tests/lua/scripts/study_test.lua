-- Studies in this process; tests/command/study_test.cpp runs them in processes of their own.
local check = require "check"
local ffi = require "ffi"
local sqlite = require "berth.sqlite"
local store = require "berth.study.store"
local study = require "berth.study"
local folder = ...

-- Runs that fail in here are wanted.
local berth = require "berth"
local failure
berth.end_with_failure = function(message) failure = message end

local function given(more)
  local options = { file = folder .. "/study.db", name = "test", jobs = 0, goal = "loss", space = {},
    objective = function() return 1 end }
  for key, value in pairs(more) do options[key] = value end
  return options
end

check.test("without SQLite's library one message says what to install", function()
  local load = ffi.load
  ffi.load = function() error "no such library" end
  local fine, message = pcall(sqlite.open, folder .. "/absent.db")
  ffi.load = load
  check.equal({ fine, message:match "install libsqlite3%-0" }, { false, "install libsqlite3-0" })
end)

if not pcall(sqlite.version) then
  print "SQLite is not installed: studies are not tested"
  return check.finish()
end

check.test("every choice of options runs with every seed, and all of it is kept", function()
  local result = study.run(given { name = "grid", seeds = 3,
    space = { rate = { 0.1, 0.3 }, deep = { true, false } },
    objective = function(run)
      return { loss = run.options.rate * 10 + (run.options.deep and 0 or 1) + run.seed / 100,
        note = "seed " .. run.seed, deep = run.options.deep }
    end })
  check.equal({ result.count, result.done, result.failed, #result.runs }, { 12, 12, 0, 12 })
  local best = result:best()
  check.equal({ best.options, best.seed }, { { rate = 0.1, deep = true }, 1 })
  check.equal({ best.results.note, best.results.deep }, { "seed 1", true })
  local run = result.runs[1]
  check.equal({ run.berth, run.lua, #run.host > 0, run.wall_s >= 0, run.processors >= 1 },
    { require "berth".version, jit.version, true, true, true })
  check.equal(run.script:match "study_test.lua %(fnv1a %x+%)" ~= nil, true)
  check.equal(run.sources:match "module berth.study.report\t%x+\t" ~= nil, true)

  local groups = result:groups()
  check.equal({ #groups, groups[1].text, groups[1].n }, { 4, "deep=true rate=0.1", 3 })
  check.near(groups[1].median, 1.02)
  check.equal({ groups[1].low, groups[1].high }, { 1.01, 1.03 })
  -- Three pairs of one sign: 2 / 2^3.
  check.equal({ groups[2].wilcoxon_p, groups[2].sign_p, groups[1].sign_p }, { 0.25, 0.25, nil })
  check.equal(result:text():match "12 of 12 runs done" ~= nil, true)
  check.equal(result:csv():match "^run,state,seed,deep,rate,deep,loss,note," ~= nil, true)
  check.equal(select(2, result:csv():gsub("\n", "")), 13)
  check.equal(select(2, result:csv():gsub(",fnv1a %x+,", "")), 12)  -- their sources, and no paths of modules
  check.equal(result:csv():find("\t", 1, true), nil)
end)

-- Overwrites a file.
local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

check.test("results of another script or module are not mixed with those that are there", function()
  local sources = require "berth.sources"
  local module = folder .. "/mixed_module.lua"
  write(module, "return 1")
  package.path = folder .. "/?.lua;" .. package.path
  local function run(more)
    package.loaded.mixed_module = nil
    local options = given { file = folder .. "/mixed.db", name = "mixed", objective = function() return require "mixed_module" end }
    for name, value in pairs(more or {}) do options[name] = value end
    return study.run(options)
  end
  run()
  check.equal(run { seeds = 2 }.done, 2)
  write(module, "return 2")
  check.fails("study 'mixed' has 2 results of another module mixed_module: .*mixed_module.lua has changed since.*mix = "
    .. "true", run, { seeds = 3 })
  local result = run { seeds = 3, mix = true }
  check.equal({ result.done, result:text():find("MIXED", 1, true) }, { 3 })  -- one process saw the file once
  package.loaded.mixed_module = nil
  -- The hash is that of the algorithm's authors.
  check.equal({ sources.hash "", sources.hash "foobar" }, { "cbf29ce484222325", "85944171f73967e8" })
end)

check.test("results of other arguments are not taken for those of these, if the objective sees the difference", function()
  local before = arg
  local function run(given_arguments, objective, more)
    arg = given_arguments
    arg[0] = before[0]
    local options = given { file = folder .. "/arguments.db", name = "arguments", objective = objective }
    for name, value in pairs(more or {}) do options[name] = value end
    local fine, result = pcall(study.run, options)
    arg = before
    if not fine then error(result, 0) end
    return result
  end
  local function of(model) return function() return #model end end
  check.equal(run({ "a.onnx" }, of "a.onnx").done, 1)
  -- How many runs there are is not of what one of them gives.
  check.equal(run({ "a.onnx", "2" }, of "a.onnx", { seeds = 2 }).done, 2)
  check.fails("study 'arguments' has 1 results of other arguments: they were a.onnx, and here they are 'another one.onnx'"
    .. ".*mix = true", run, { "another one.onnx" }, of "another one.onnx", { seeds = 3 })
  check.fails("other arguments", run, { "3" }, function() return #arg end)
  local result = run({ "b.onnx" }, of "b.onnx", { seeds = 3, mix = true })
  check.equal({ result.done, result:text():match "MIXED: (.-)%." },
    { 3, "these are results of different code or arguments: arguments (2 versions)" })
end)

check.test("a loop over objectives with one name is refused, unless each asks for runs of its own", function()
  local function run(name, factor, rate, more)
    local options = given { file = folder .. "/loop.db", name = name, space = { rate = { rate } },
      objective = function(each) return factor * each.options.rate end }
    for key, value in pairs(more or {}) do options[key] = value end
    return study.run(options)
  end
  run("loop", 1, 1)
  check.fails("study 'loop' was run before by this script, with another objective. Give the study another name", run,
    "loop", 2, 1)
  check.equal(run("loop", 1, 1).done, 1)
  check.equal(run("loop", 3, 2).runs[2].results.loss, 6)
  check.equal(run("loop", 2, 1, { file = folder .. "/other_loop.db" }).runs[1].results.loss, 2)
  check.equal(run("loop", 2, 1, { mix = true }).done, 2)
end)

check.test("the legend of a picture names what varies", function()
  local result = study.run(given { file = folder .. "/legend.db", name = "legend", space = { rate = { 0.1, 0.3 }, deep = { true } },
    objective = function(run) return run.options.rate end })
  local svg = result:plot { kind = "boxes" }
  check.equal({ svg:find("rate=0.3", 1, true) ~= nil, svg:find("deep", 1, true) }, { true })
end)

check.test("what is done is not done again; what failed is told, and tried again where asked", function()
  local calls = {}
  local function objective(run)
    calls[#calls + 1] = run.seed
    if run.seed == 2 and #calls < 4 then error "no luck" end
    return run.seed
  end
  local options = given { name = "again", goal = "value", seeds = { 1, 2, 3 }, objective = objective }
  local result = study.run(options)
  check.equal({ calls, result.done, result.failed }, { { 1, 2, 3 }, 2, 1 })
  check.equal(result.runs[2].error:match "no luck$", "no luck")
  check.equal(result:text():match "run 2 %(, seed 2%) failed: .*no luck" ~= nil, true)
  check.equal(study.run(options).failed, 1)
  check.equal(calls, { 1, 2, 3 })
  options.retry = true
  check.equal(study.run(options).done, 3)
  options.seeds = 5
  check.equal({ study.run(options).done, calls }, { 5, { 1, 2, 3, 2, 4, 5 } })
end)

check.test("results that are none fail the run with the reason", function()
  for i, case in ipairs {
    { { value = 1 }, "lack the goal 'loss'" },
    { { loss = 0 / 0 }, "result 'loss' is nan" },
    { { loss = 1, x = {} }, "result 'x' is a table" },
    { "nothing", "number or a table of results by name, got nothing" },
  } do
    local result = study.run(given { name = "bad" .. i, objective = function() return case[1] end })
    check.equal({ result.failed, result.runs[1].error:match(case[2]) }, { 1, case[2] })
  end
end)

check.test("random search draws the same again, and goes on where more is asked for", function()
  local seen = {}
  local function search(count, name)
    return study.run(given { name = name, search = "random", count = count,
      space = { rate = study.log_uniform(1e-4, 1e-1), width = study.integer(3, 5),
        share = study.uniform(-1, 1), kind = { "a", "b" } },
      objective = function(run)
        seen[#seen + 1] = run.options.rate
        return run.options.rate
      end })
  end
  local first = search(20, "random")
  for _, run in ipairs(first.runs) do
    local o = run.options
    check.equal(o.rate >= 1e-4 and o.rate <= 1e-1 and o.share >= -1 and o.share < 1, true)
    check.equal(o.width % 1 == 0 and o.width >= 3 and o.width <= 5 and (o.kind == "a" or o.kind == "b"), true)
  end
  search(25, "random")
  check.equal(#seen, 25)
  local other = search(25, "other")
  check.equal(other.runs[25].options, study.open(folder .. "/study.db", "random").runs[25].options)
  check.equal(first:best().options.rate, math.min(unpack(seen, 1, 20)))
end)

check.test("random search draws on where draws coincide, as far as there are choices", function()
  local function search(count)
    return study.run(given { name = "small", search = "random", count = count, seeds = 2,
      space = { share = { 1, 2 }, width = study.integer(1, 2) }, objective = function(run) return run.options.share end })
  end
  check.equal({ #search(2).runs, #search(4).runs }, { 4, 8 })
  check.fails("5 draws are asked for %(count%), and the space has 4 choices of options; give count = 4", search, 5)
end)

check.test("a text that reads as a number is told from it", function()
  local result = study.run(given { name = "texts", space = { share = { 1, "1", "one" } },
    objective = function(run) return tonumber(run.options.share) or 0 end })
  local texts = {}
  for i, group in ipairs(result:groups()) do texts[i] = group.text end
  table.sort(texts)
  check.equal(texts, { 'share="1"', "share=1", "share=one" })
end)

check.test("the median rule stops what is worse than the others were", function()
  -- Three runs of 1, 2 and 3 throughout, then one of 2.5 and one of 1.5.
  local values, steps = { 1, 2, 3, 2.5, 1.5 }, {}
  local options = given { name = "median", seeds = 5,
    median_stop = { startup_runs = 3, warmup_steps = 2 },
    objective = function(run)
      for step = 1, 6 do
        steps[run.seed] = step
        if run:report(step, values[run.seed]) then break end
      end
      return values[run.seed]
    end }
  local result = study.run(options)
  check.equal(steps, { 6, 6, 6, 3, 6 })  -- after the warm-up, 2.5 is above the median of 1, 2, 3
  check.equal({ result.done, result.stopped, result.runs[4].state }, { 4, 1, "stopped" })
  check.equal(#result.runs[4].points, 3)
  check.equal({ result.runs[1].points[6][1], result.runs[1].points[6][2] }, { 6, 1 })
  options.name, options.direction, steps = "median_max", "maximize", {}
  study.run(options)
  check.equal(steps, { 6, 6, 6, 6, 3 })
end)

check.test("a run that goes on keeps the points before where it goes on, and its best", function()
  local path, told = folder .. "/resumed.db", {}
  local from, to = 1, 3
  local should_stop = berth.should_stop
  local function run()
    return study.run(given { file = path, name = "resumed", median_stop = { startup_runs = 1 }, seeds = 2,
      objective = function(each)
        if each.seed == 1 then each:report(1, 5) return 1 end
        for step = from, to do told[step] = each:report(step, step == 1 and 4 or 9) end
        if to == 3 then berth.should_stop = function() return true end end
        return 2
      end })
  end
  check.equal(run().waiting, 1)
  berth.should_stop, from, to = should_stop, 3, 5
  local result = run()
  check.equal({ result.done, result.runs[2].points }, { 2, { { 1, 4 }, { 2, 9 }, { 3, 9 }, { 4, 9 }, { 5, 9 } } })
  check.equal(told, { false, false, false, false, false })  -- 4 was better than 5
end)

check.test("a setting is ranked by all of its seeds, and those that were stopped count as worse than all others", function()
  -- One seed of four of rate 2 is lucky, of rate 3 all but one: three are stopped, and one.
  local function values(rate, seed)
    if rate == 1 then return 100 + seed end
    if rate == 2 then return seed == 4 and 90 or 1000 end
    return seed == 2 and 1000 or 98 + seed
  end
  local function run(direction, sign)
    return study.run(given { name = "lucky_" .. direction, goal = "us", seeds = 4, space = { rate = { 1, 2, 3 } },
      direction = direction, median_stop = { startup_runs = 1 }, objective = function(each)
        local us = values(each.options.rate, each.seed)
        each:report(1, us == 1000 and sign or 0)
        return sign * us
      end })
  end
  local result = run("minimize", 1)
  local groups, rows = result:groups(), {}
  for i, group in ipairs(groups) do
    rows[i] = { group.options.rate, group.n, group.stopped, group.median or "none", group.best, group.sign_p or "none" }
  end
  check.equal(rows, { { 3, 3, 1, 101.5, 99, "none" }, { 1, 4, 0, 102.5, 101, "none" }, { 2, 1, 3, "none", 90, "none" } })
  check.equal({ groups[1].low, groups[1].high, groups[3].high }, { 99 })
  check.equal(result:text():match "rate=2 +1 +%- +90 +%- +90 +3 +0 +0\n" ~= nil, true)
  check.equal(result:text():match "Stopped and failed runs count as worse" ~= nil, true)
  check.equal(result:groups_csv():match "rate=2,1,,90,,90,3,0,0\n" ~= nil, true)
  check.equal(result:plot { kind = "boxes" }:find("rate=2 (3 stopped)", 1, true) ~= nil, true)
  local largest = run("maximize", -1):groups()
  check.equal({ largest[1].options.rate, largest[1].median, largest[1].high, largest[1].low, largest[3].median },
    { 3, -101.5, -99 })
end)

check.test("a setting that fails for most seeds does not lead by those that are left", function()
  local result = study.run(given { name = "crashes", goal = "us", seeds = 6, space = { method = { "A", "B" } },
    objective = function(run)
      if run.options.method == "B" then return 100 + run.seed end
      if run.seed > 2 then error "out of memory" end
      return 90 + run.seed
    end })
  local rows = {}
  for i, group in ipairs(result:groups()) do
    rows[i] = { group.text, group.n, group.failed, group.median or "none", group.wilcoxon_p or "none" }
  end
  check.equal(rows, { { "method=B", 6, 0, 103.5, "none" }, { "method=A", 2, 4, "none", "none" } })
  check.equal(result:text():match "failed runs count as worse" ~= nil, true)
  check.equal(result:plot { kind = "boxes" }:find("A (4 failed)", 1, true) ~= nil, true)
end)

check.test("p-values against the best of many settings are corrected for their number", function()
  local result = study.run(given { name = "many", seeds = 6, space = { setting = { 1, 2, 3, 4 } },
    objective = function(run) return 10 * run.options.setting + run.seed * run.options.setting / 100 end })
  local groups = result:groups()
  for i = 2, 4 do
    check.equal(groups[i].wilcoxon_p, 0.03125)
    check.near(groups[i].holm_p, 3 * 0.03125)
  end
  check.equal(groups[1].holm_p, nil)
  check.equal(result:text():match "is the best of 4, and looks better than it is" ~= nil, true)
end)

check.test("results beside the goal have directions of their own, which the file keeps", function()
  local function run(directions)
    return study.run(given { name = "directions", goal = "us", seeds = 2, space = { setting = { 1, 2 } },
      directions = directions, objective = function(each)
        return { us = each.options.setting + each.seed, accuracy = each.options.setting / 10 + each.seed, note = "fine" }
      end })
  end
  local function first(result, ...) return result:groups(...)[1].options.setting end
  local before = run()
  check.equal({ first(before), first(before, "accuracy"), first(before, "accuracy", "maximize") }, { 1, 1, 2 })
  check.equal(before:text("accuracy", "maximize"):find("accuracy, to maximize;", 1, true) ~= nil, true)
  run { accuracy = "maximize" }
  local after = study.open(folder .. "/study.db", "directions")
  check.equal({ first(after), first(after, "accuracy"), first(after, "accuracy", "minimize") }, { 1, 2, 1 })
  check.equal(after:groups("accuracy")[1].best, 2.2)
  check.equal(after:text "accuracy":find("accuracy, to maximize;", 1, true) ~= nil, true)
  check.fails("result 'note' of study 'directions' is no number in any run", after.text, after, "note")
  check.fails("the direction 'up' of result 'accuracy' is unknown; known: minimize, maximize", after.groups, after,
    "accuracy", "up")
  check.fails("option 'directions.accuracy' is 'up'", run, { accuracy = "up" })
  check.fails("directions: us is no name of another result than the goal", run, { us = "minimize" })
end)

check.test("the curve of a setting keeps the runs that were stopped on the way", function()
  local result = study.run(given { name = "kept_curve", seeds = 3, median_stop = { startup_runs = 1, warmup_steps = 1 },
    objective = function(run)
      for step = 1, 3 do
        if run:report(step, run.seed == 1 and 4 - step or 100) then break end
      end
      return 1
    end })
  check.equal(result.stopped, 2)
  local drawn
  local plots = require "berth.plots"
  local lines = plots.lines
  plots.lines = function(look) drawn = look.series[1].points end
  result:plot()
  plots.lines = lines
  check.equal(drawn, { { 1, 100 }, { 2, 100 }, { 3, 100 } })
end)

check.test("a run keeps files of its own, and is asked to stop by a plain function", function()
  study.run(given { name = "files", seeds = 2, objective = function(run)
    local file = assert(io.open(run:file "notes.txt", "w"))
    file:write(run.seed)
    file:close()
    check.equal(run.should_stop(), false)
    run:progress "best_us"({ update = 1, count = 2, best_us = math.huge })  -- nothing fits yet
    run:progress "best_us"({ update = 2, count = 2, best_us = 7 })
    return 1
  end })
  check.equal(io.open(folder .. "/study.db.runs/files/0002/notes.txt"):read "*a", "2")
  check.equal(study.open(folder .. "/study.db", "files").runs[1].points, { { 2, 7 } })
end)

check.test("pictures of curves, boxes, distributions and over an option", function()
  local result = study.run(given { name = "drawn", seeds = 3, space = { rate = { 1, 2 } },
    objective = function(run)
      for step = 1, 4 do run:report(step, run.options.rate * run.seed / step) end
      return run.options.rate * run.seed
    end })
  local function count(text, pattern) return select(2, text:gsub(pattern, "")) end
  check.equal({ count(result:plot(), "<polyline"), count(result:plot(), "<polygon") }, { 2, 2 })
  check.equal(count(result:plot { kind = "boxes", log = true }, 'stroke%-width="2.4"'), 2)
  check.equal(count(result:plot { kind = "distributions" }, "<polyline"), 2)
  check.equal(count(result:plot { kind = "rate" }, "<circle"), 6)
  check.fails("'size' is neither curves, boxes or distributions nor an option", result.plot, result,
    { kind = "size" })
  check.fails("no run of study 'drawn' has a result 'best'; known: loss", result.plot, result,
    { result = "best" })
end)

check.test("options that cannot be are told before anything is run", function()
  local function other(more, pattern)
    more.file = folder .. "/never.db"
    check.fails(pattern, study.run, given(more))
  end
  other({ jbs = 2 }, "unknown option 'jbs'; did you mean 'jobs'%?")
  other({ name = "a b" }, "the name 'a b' may have")
  other({ jobs = -1 }, "option 'jobs' is %-1")
  other({ seeds = 0 }, "option 'seeds' is 0")
  other({ seeds = { 1.5 } }, "seed 1.5 is no whole number")
  other({ direction = "down" }, "option 'direction' is 'down'; known: minimize, maximize")
  other({ script = "x.lua" }, "an objective, function%(run%), or a script")
  other({ space = { rate = 3 } }, "option 'rate' needs values")
  other({ space = { seed = { 3 } } }, "seeds have their own option")
  other({ space = { deep = { "true" } } }, 'may be "true"; give numbers, texts or booleans')
  other({ space = { rate = study.uniform(0, 1) } }, "say search = \"random\"")
  other({ search = "random" }, "option 'count' is 0")
  other({ median_stop = { after = 3 } }, "median_stop: unknown option 'after'; known: startup_runs")
  check.fails("from 0 to 1 is no range", study.log_uniform, 0, 1)
  check.fails("study.integer: there is no whole number from 0.2 to 0.8", study.integer, 0.2, 0.8)
  check.equal(io.open(folder .. "/never.db"), nil)
end)

check.test("files that hold no studies are refused, and stay as they were", function()
  check.fails("absent.db: No such file", study.open, folder .. "/absent.db")
  check.fails("cannot be opened; name a file in a folder", study.run,
    given { file = folder .. "/nowhere/study.db" })
  local text = folder .. "/text.db"
  local file = assert(io.open(text, "w"))
  file:write(("no database\n"):rep(200))
  file:close()
  check.fails("text.db: it is no SQLite database", study.run, given { file = text })
  local foreign = sqlite.open(folder .. "/foreign.db")
  foreign:run "CREATE TABLE songs (title)"
  check.fails("foreign.db: it is a database of another program", study.run,
    given { file = folder .. "/foreign.db" })
  check.equal(#foreign:rows "SELECT * FROM sqlite_master", 1)
  foreign:close()
  study.run(given { file = folder .. "/later.db" })
  local later = sqlite.open(folder .. "/later.db")
  later:run "PRAGMA user_version = 9"
  later:close()
  check.fails("later.db: it is of format 9 of studies, and this berth .* knows format 2", study.open,
    folder .. "/later.db")
  check.fails("name one of its studies; it holds grid, again", study.open, folder .. "/study.db")
  check.fails("no study 'none'; it holds grid", study.open, folder .. "/study.db", "none")
  check.fails("study 'grid' has goal 'loss' there, and 'other' is asked for", study.run,
    given { name = "grid", goal = "other" })
end)

check.test("a full disk is told, and leaves what was there before", function()
  local path = folder .. "/full.db"
  study.run(given { file = path, name = "small" })
  local kept = store.open(path)
  kept.database:run(("PRAGMA max_page_count = %d"):format(kept.database:row "PRAGMA page_count".page_count))
  local wanted = {}
  for i = 1, 500 do wanted[i] = { key = ("x"):rep(100) .. i, seed = i, options = {} } end
  check.fails("full.db: the disk is full; make room", kept.add, kept,
    { name = "large", goal = "value", direction = "minimize" }, wanted)
  kept:close()
  check.equal({ study.names(path), study.open(path).done }, { { "small" }, 1 })
  local database = sqlite.open(path)
  check.equal(database:row "PRAGMA integrity_check".integrity_check, "ok")
  database:close()
end)

check.test("a run is of one process at a time, until that is gone", function()
  local path = folder .. "/claims.db"
  local one, two = store.open(path), store.open(path)
  two.claim = one.claim .. "0"  -- this process, but begun at another time: gone
  local id = one:add({ name = "claims", goal = "value", direction = "minimize" },
    { { key = "a", seed = 1, options = {} }, { key = "b", seed = 2, options = { x = "y" } } })
  local keys = { a = true, b = true }
  local first = one:take(id, keys)
  check.equal({ first.seed, first.options }, { 1, {} })
  local second = two:take(id, keys)
  check.equal({ second.seed, second.options }, { 2, { x = "y" } })
  check.equal(two:take(id, keys), nil)
  for step = 1, 3 do one:point(first.id, step, 5) end
  local taken_over = one:take(id, keys)
  check.equal(taken_over.seed, 2)
  check.fails("run 2 is no longer of this process", two.finish, two, second.id, "done", {})
  one:finish(taken_over.id, "done", { results = { value = 3 } })
  -- A claim of another machine is believed for a while.
  one.database:run("UPDATE runs SET claim = 'elsewhere 1 1', seen_s = ? WHERE id = ?", os.time(), first.id)
  check.equal(two:take(id, keys), nil)
  one.database:run("UPDATE runs SET seen_s = ? WHERE id = ?", os.time() - 1000, first.id)
  check.equal(two:take(id, keys).seed, 1)
  -- Whether it goes on from a checkpoint or begins anew is seen by where it reports first.
  check.equal({ #two:runs(id)[1].points, two:begin_points(first.id, 3), #two:runs(id)[1].points }, { 3, { 5, 5 }, 2 })
  check.equal({ two:begin_points(first.id, 1), #two:runs(id)[1].points }, { {}, 0 })
  one:close()
  two:close()
end)

check.test("a script on its own runs with its defaults", function()
  local before = arg
  arg = { [0] = "x.lua", "--rate", "0.5", "--seed", "9" }
  local run = study.current { rate = 0.1, deep = true }
  check.equal({ run.options, run.seed, run:report(1, 2), run.should_stop() },
    { { rate = 0.5, deep = true }, 9, false, false })
  local function given_texts(...)
    arg = { ... }
    return study.current({ flag = false, name = "a", n = 3 }).options
  end
  check.equal(given_texts("--flag", "true", "--name", "007", "--n", "1e3"), { flag = true, name = "007", n = 1000 })
  check.equal(given_texts("--flag", "false", "--name", "true").name, "true")
  check.fails("study_test.lua:%d+: study.current: option 'flag' is '1'; give true or false", given_texts, "--flag", "1")
  check.fails("option 'n' is 'abc'; give a number", given_texts, "--n", "abc")
  check.fails("option 'n' is 'nan'; give a number", given_texts, "--n", "nan")
  check.fails("option 'seed' is 'x'; give a number", given_texts, "--seed", "x")
  arg = { "--rte", "1" }
  check.fails("'%-%-rte' is no option of the script", study.current, { rate = 0.1 })
  arg = before
end)

check.finish()
