local check = require "check"
local plots = require "berth.plots"
local statistics = require "berth.statistics"
local folder = ...

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

check.test("options have names", function()
  local series = { { name = "a", points = { { 1, 2 }, { 2, 3 } } } }
  check.fails("plots_test.lua:%d+: plots: unknown option 'ylog'; did you mean 'y_log'", function()
    plots.lines { series = series, ylog = true }
  end)
  check.fails("plots.save: unknown option 'scal'", plots.save, "x.svg", "", { scal = 2 })
end)

check.test("a line per series, inside the frame, its texts escaped", function()
  local svg = plots.lines { title = "a < b", x = "x & y", y = "ms", series = {
    { name = "one", points = { { 0, 10 }, { 50, 20 }, { 100, 15 } } },
    { name = "two", points = { { 0, 12 }, { 100, 12 } } } } }
  check.equal(svg:sub(1, 5), "<svg ")
  check.equal(svg:sub(-7), "</svg>\n")
  check.equal(count(svg, "<polyline"), 2)
  check.equal({ count(svg, "a &lt; b"), count(svg, "a < b") }, { 2, 0 })  -- for eyes and for readers aloud
  check.equal(count(svg, "x &amp; y"), 1)
  local seen = 0
  for points in svg:gmatch 'points="([^"]+)"' do
    for x, y in points:gmatch "([%d.]+),([%d.]+)" do
      seen = seen + 1
      check.equal(tonumber(x) >= 0 and tonumber(x) <= 720, true)
      check.equal(tonumber(y) >= 0 and tonumber(y) <= 420, true)
    end
  end
  check.equal(seen, 5)
end)

check.test("a distribution climbs from 0 to 1 through every value", function()
  local svg = plots.distributions { series = { { name = "a", values = { 3, 1, 2 } } } }
  local xs, ys = {}, {}
  for x, y in svg:match 'points="([^"]+)"':gmatch "([%d.]+),([%d.]+)" do
    xs[#xs + 1], ys[#ys + 1] = tonumber(x), tonumber(y)
  end
  check.equal(#xs, 6)
  for i = 2, 6 do
    check.equal(xs[i] >= xs[i - 1] and ys[i] <= ys[i - 1], true)
  end
end)

check.test("a dot per point", function()
  local svg = plots.scatter { diagonal = true,
    series = { { name = "a", points = { { 1, 1 }, { 2, 3 } } } } }
  check.equal(count(svg, "<circle"), 2)
end)

check.test("one value is enough, none is an error", function()
  check.equal(count(plots.lines { series = { { name = "a", points = { { 1, 1 } } } } }, "<polyline"), 1)
  check.fails("no points", plots.lines, { series = { { name = "a", points = {} } } })
  check.fails("give series", plots.lines, {})
end)

check.test("what is no finite number is told with its series", function()
  for _, value in ipairs { 0 / 0, 1 / 0, -1 / 0, "7", false } do
    local series = { { name = "a", points = { { 1, 1 }, { 2, value } } } }
    check.fails("point 2 of series 'a' is at y = ", plots.lines, { series = series })
    check.fails("point 2 of series 'a'", plots.scatter, { series = series })
  end
  check.fails("value 1 of series 'b' is %-?nan", plots.distributions,
    { series = { { name = "b", values = { 0 / 0 } } } })
end)

check.test("a band lies behind its line, its upper edge above", function()
  local svg = plots.lines { series = { { name = "a", points = { { 1, 2 }, { 2, 4 } },
    band = { { 1, 1, 3 }, { 2, 3, 5 } } } } }
  check.equal(svg:find "<polygon" < svg:find "<polyline", true)
  local ys = {}
  for _, y in svg:match '<polygon points="([^"]+)"':gmatch "([%d.]+),([%d.]+)" do ys[#ys + 1] = tonumber(y) end
  check.equal({ #ys, ys[1] > ys[4], ys[2] > ys[3] }, { 4, true, true })
  check.fails("band 1 of series 'a' is at y = inf", plots.lines, { series = { { name = "a",
    points = { { 1, 2 } }, band = { { 1, 1, math.huge } } } } })
end)

check.test("a logarithmic axis gives each power of ten the same room, and has none for 0", function()
  local svg = plots.lines { y_log = true,
    series = { { name = "a", points = { { 0, 1 }, { 1, 10 }, { 2, 1000 }, { 3, 1e5 } } } } }
  local ys = {}
  for _, y in svg:match '<polyline points="([^"]+)"':gmatch "([%d.]+),([%d.]+)" do
    ys[#ys + 1] = tonumber(y)
  end
  check.near(ys[2] - ys[3], 2 * (ys[1] - ys[2]), 0.01)
  check.near(ys[3] - ys[4], ys[2] - ys[3], 0.01)
  check.equal(count(svg, ">1000<"), 1)
  for _, value in ipairs { 0, -1 } do
    check.fails("a logarithmic axis has no place for; leave y_log out", plots.lines,
      { y_log = true, series = { { name = "a", points = { { 0, 1 }, { 1, value } } } } })
  end
end)

-- The numbers beside an axis' lines, from its start to its end.
local function ticks(options)
  local found = {}
  for text in plots.lines(options):gmatch ">([%d.e+-]+)</text>" do found[#found + 1] = tonumber(text) end
  return found
end

check.test("a logarithmic axis ends near what it shows, however little that is", function()
  local function reach(low, high)
    local shown = ticks { y_log = true, x = "", series = { { name = "a", points = { { 1, low }, { 1, high } } } } }
    local least, most = math.huge, 0
    for _, value in ipairs(shown) do
      -- Those of x are 0.4 to 1.6.
      if value > 1.7 then least, most = math.min(least, value), math.max(most, value) end
    end
    return { least, most }
  end
  check.equal(reach(2.5, 7), { 2, 7 })
  check.equal(reach(30, 80), { 30, 80 })
  check.equal(reach(40, 600), { 20, 1000 })
  check.equal(reach(70, 8e5), { 10, 1e6 })
end)

check.test("the ninth series and those after it have dashes, in the legend too", function()
  local series = {}
  for i = 1, 20 do series[i] = { name = "s" .. i, points = { { 1, i }, { 2, i } } } end
  local lines = {}
  for attributes in plots.lines { series = series }:gmatch "<polyline ([^>]*)>" do
    lines[#lines + 1] = { class = attributes:match 'class="[^"]*(s%d+)', dashes = attributes:match 'stroke%-dasharray="([^"]*)"' }
  end
  local seen = {}
  for i, line in ipairs(lines) do
    check.equal(line.dashes ~= nil, i > 8)
    local look = tostring(line.class) .. tostring(line.dashes)
    check.equal(seen[look], nil)
    seen[look] = true
  end
  check.equal(#lines, 20)
  check.equal(count(plots.lines { series = series }, "stroke%-dasharray"), 2 * 12)
end)

check.test("a box has its quartiles, whiskers and what lies beyond", function()
  local svg = plots.boxes { series = { { name = "a", values = { 1, 2, 3, 4, 20 } },
    { name = "b", values = { 5 } } } }
  check.equal({ count(svg, 'stroke%-width="2.4"'), count(svg, "<circle"), count(svg, "<path") }, { 2, 1, 2 })
  check.fails("value 2 of series 'a' is inf", plots.boxes,
    { series = { { name = "a", values = { 1, math.huge } } } })
  check.fails("no points to show", plots.boxes, { series = { { name = "a", values = {} } } })
end)

check.test("bars stand on 0, one per series and group that has a value", function()
  local svg = plots.bars { groups = { "one", "two" }, series = {
    { name = "a", values = { 1, -2 }, low = { 0.5, -3 }, high = { 1.5, -1 } },
    { name = "b", values = { 3, false } } } }
  check.equal({ count(svg, "<title>one, [ab]: "), count(svg, "<title>two, a: %-2<"), count(svg, "<path") },
    { 2, 1, 2 })
  check.fails("give groups", plots.bars, { series = { { name = "a", values = { 1 } } } })
end)

check.test("a table's numbers are bars, by its columns or by a key", function()
  local rows = { { graph = "g", who = "a", us = 1, other = 2 }, { graph = "g", who = "b", us = 3, other = "OOM" },
    { graph = "h", who = "a", us = false } }
  local by_column = plots.table_bars(rows, { name = "who", columns = { { key = "us" }, { key = "other" } } })
  check.equal(count(by_column, "<title>[ab], [uo]%a+: %d</title>"), 3)
  local by_key = plots.table_bars(rows, { name = "graph", series = "who", key = "us" })
  check.equal({ count(by_key, "<title>g, [ab]: %d<"), count(by_key, ">h<") }, { 2, 0 })
  check.equal(plots.table_bars({ rows[3] }, { name = "graph", series = "who", key = "us" }), nil)
  plots.keep(nil, "x", by_key)
  plots.keep(folder, "a b/c", by_key)
  check.equal(io.open(folder .. "/a_b_c.svg"):read "*a", by_key)
end)

check.test("colours follow the reader's preference, or the one that is asked for", function()
  local function drawn(theme)
    return plots.lines { theme = theme, series = { { name = "a", points = { { 1, 1 } } } } }
  end
  check.equal(drawn():match "prefers%-color%-scheme:dark" ~= nil, true)
  check.equal(drawn "light":match "prefers%-color%-scheme", nil)
  check.equal(drawn "dark":match "#0d1117", "#0d1117")
  check.fails("no theme 'blue'; known: dark, light", drawn, "blue")
end)

check.test("pictures are files, of SVG and where librsvg is there of PNG", function()
  local svg = plots.lines { title = "x", series = { { name = "a", points = { { 1, 1 }, { 2, 3 } } } } }
  plots.save(folder .. "/a.svg", svg)
  check.equal(io.open(folder .. "/a.svg"):read "*a", svg)
  check.fails("a.gif: no picture of this kind; name it .svg or .png", plots.save, "a.gif", svg)
  check.fails("cannot write '.*nowhere/a.svg': No such file", plots.save, folder .. "/nowhere/a.svg", svg)
  local ffi = require "ffi"
  local load = ffi.load
  ffi.load = function() error "no such library" end
  local fine, message = pcall(plots.save, folder .. "/a.png", svg)
  ffi.load = load
  check.equal({ fine, message:match "install librsvg2%-2" }, { false, "install librsvg2-2" })
  if not pcall(ffi.load, "librsvg-2.so.2") then
    print "librsvg is not there: PNG is not tested"
    return
  end
  plots.save(folder .. "/a.png", svg, { scale = 1 })
  -- The signature, then the header's length and name, width and height.
  check.equal(io.open(folder .. "/a.png", "rb"):read(24),
    "\137PNG\r\n\26\n\0\0\0\13IHDR\0\0\2\208\0\0\1\164")
  check.fails("cannot be drawn", plots.save, folder .. "/b.png", "no picture")
  check.fails("nowhere/b.png: the picture cannot be written", plots.save, folder .. "/nowhere/b.png", svg)
  check.fails("the scale is 0; give a number above 0", plots.save, folder .. "/b.png", svg, { scale = 0 })
end)

check.test("the median", function()
  check.equal(statistics.median { 3, 1, 2 }, 2)
  check.equal(statistics.median { 4, 1, 2, 3 }, 2.5)
  check.equal(statistics.median {}, nil)
end)

check.test("a quantile lies between its neighbours, the median is one", function()
  local values = { 40, 10, 30, 20 }
  check.equal(statistics.quantile(values, 0), 10)
  check.equal(statistics.quantile(values, 1), 40)
  check.near(statistics.quantile(values, 0.25), 17.5)
  check.equal(statistics.median(values), 25)
  check.equal(statistics.median { 5, 1, 3 }, 3)
  check.equal(statistics.quantile({}, 0.5), nil)
  local infinite = { -math.huge, 1, math.huge }
  check.equal({ statistics.quantile(infinite, 0.25), statistics.quantile(infinite, 0.5), statistics.quantile(infinite, 0.75) },
    { -math.huge, 1, math.huge })
  check.equal(values, { 40, 10, 30, 20 })
end)

check.finish()
