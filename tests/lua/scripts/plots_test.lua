local check = require "check"
local plots = require "berth.plots"
local statistics = require "berth.statistics"

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

check.test("a line per series, inside the frame, its texts escaped", function()
  local svg = plots.lines { title = "a < b", x = "x & y", y = "ms", series = {
    { name = "one", points = { { 0, 10 }, { 50, 20 }, { 100, 15 } } },
    { name = "two", points = { { 0, 12 }, { 100, 12 } } } } }
  check.equal(svg:sub(1, 5), "<svg ")
  check.equal(svg:sub(-7), "</svg>\n")
  check.equal(count(svg, "<polyline"), 2)
  check.equal(count(svg, "a &lt; b"), 1)
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
  check.equal(values, { 40, 10, 30, 20 })
end)

check.finish()
