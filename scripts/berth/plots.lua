-- Plots as SVG text: lines, steps (distributions) and points on two linear axes.
--
--   local plots = require "berth.plots"
--   io.open("curve.svg", "w"):write(plots.lines {
--     title = "Learning", x = "episodes", y = "runtime [ms]",
--     series = { { name = "placeto", points = { { 0, 9.1 }, { 100, 4.5 } } } } }):close()

local plots = {}

local WIDTH, HEIGHT = 720, 420
local LEFT, RIGHT, TOP, BOTTOM = 70, 180, 40, 50
-- Told apart by readers who do not see red and green alike (Okabe and Ito, 2008).
local COLOURS = { "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8c8c00" }

local function escape(text)
  return (text:gsub("[&<>\"]", { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["\""] = "&quot;" }))
end

-- Some round numbers from at most `low` to at least `high`.
local function ticks(low, high)
  local rough = (high - low) / 6
  local size = 10 ^ math.floor(math.log10(rough))
  local step = 10 * size
  for _, factor in ipairs { 1, 2, 5 } do
    if factor * size >= rough then step = factor * size break end
  end
  local list = {}
  for i = math.floor(low / step), math.ceil(high / step) do list[#list + 1] = i * step end
  return list
end

local function range_of(series, k)
  local low, high = math.huge, -math.huge
  for _, each in ipairs(series) do
    for p, point in ipairs(each.points) do
      local value = point[k]
      if type(value) ~= "number" or value - value ~= 0 then
        error(("plots: point %d of series '%s' is at %s = %s; give finite numbers"):format(p,
          tostring(each.name), k == 1 and "x" or "y", tostring(value)), 4)
      end
      low, high = math.min(low, value), math.max(high, value)
    end
  end
  if low > high then error("plots: there are no points to show", 3) end
  if low == high then low, high = low - 0.5, high + 0.5 end
  return low, high
end

local function number(value) return ("%.10g"):format(value) end

-- The frame: title, axes with ticks and grid. Returns the parts and two functions to pixels.
local function frame(options)
  local x_ticks = ticks(range_of(options.series, 1))
  local y_ticks = ticks(range_of(options.series, 2))
  local x_low, x_high = x_ticks[1], x_ticks[#x_ticks]
  local y_low, y_high = y_ticks[1], y_ticks[#y_ticks]
  local function x_of(v)
    return LEFT + (v - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
  end
  local function y_of(v)
    return HEIGHT - BOTTOM - (v - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
  end
  local parts = {
    ('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
      .. 'font-family="sans-serif" font-size="12">'):format(WIDTH, HEIGHT, WIDTH, HEIGHT),
    ('<rect width="%d" height="%d" fill="white"/>'):format(WIDTH, HEIGHT),
    ('<text x="%d" y="22" font-size="15">%s</text>'):format(LEFT, escape(options.title or "")),
  }
  local function add(...) parts[#parts + 1] = string.format(...) end
  for _, v in ipairs(x_ticks) do
    add('<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>', x_of(v), TOP, x_of(v),
      HEIGHT - BOTTOM)
    add('<text x="%.1f" y="%d" text-anchor="middle">%s</text>', x_of(v), HEIGHT - BOTTOM + 17,
      number(v))
  end
  for _, v in ipairs(y_ticks) do
    add('<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>', LEFT, y_of(v), WIDTH - RIGHT,
      y_of(v))
    add('<text x="%d" y="%.1f" text-anchor="end">%s</text>', LEFT - 6, y_of(v) + 4, number(v))
  end
  add('<text x="%d" y="%d" text-anchor="middle">%s</text>', (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12,
    escape(options.x or ""))
  add('<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>',
    (TOP + HEIGHT - BOTTOM) / 2, escape(options.y or ""))
  for i, each in ipairs(options.series) do
    local y = TOP + 14 * i
    add('<rect x="%d" y="%d" width="12" height="4" fill="%s"/>', WIDTH - RIGHT + 12, y - 6,
      COLOURS[(i - 1) % #COLOURS + 1])
    add('<text x="%d" y="%d">%s</text>', WIDTH - RIGHT + 30, y, escape(each.name))
  end
  return parts, x_of, y_of
end

local function check(options)
  if type(options) ~= "table" or type(options.series) ~= "table" or #options.series == 0 then
    error("plots: give series = { { name =, points = { { x, y }, .. } }, .. }", 3)
  end
end

-- One line per series, through its points in their order.
--   ARGS    options  title, x, y (texts of the axes), series
--   RETURN  SVG text
function plots.lines(options)
  check(options)
  local parts, x_of, y_of = frame(options)
  for i, each in ipairs(options.series) do
    local path = {}
    for _, point in ipairs(each.points) do
      path[#path + 1] = ("%.1f,%.1f"):format(x_of(point[1]), y_of(point[2]))
    end
    parts[#parts + 1] = ('<polyline points="%s" fill="none" stroke="%s" stroke-width="1.6"/>')
      :format(table.concat(path, " "), COLOURS[(i - 1) % #COLOURS + 1])
  end
  parts[#parts + 1] = "</svg>\n"
  return table.concat(parts, "\n")
end

-- One dot per point.
--   ARGS    options  as of plots.lines, and diagonal (true: the line on which x = y)
--   RETURN  SVG text
function plots.scatter(options)
  check(options)
  local parts, x_of, y_of = frame(options)
  if options.diagonal then
    local low = math.max((range_of(options.series, 1)), (range_of(options.series, 2)))
    local _, x_high = range_of(options.series, 1)
    local _, y_high = range_of(options.series, 2)
    local high = math.min(x_high, y_high)
    parts[#parts + 1] = ('<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#888"/>'):format(
      x_of(low), y_of(low), x_of(high), y_of(high))
  end
  for i, each in ipairs(options.series) do
    for _, point in ipairs(each.points) do
      parts[#parts + 1] = ('<circle cx="%.1f" cy="%.1f" r="3" fill="%s" fill-opacity="0.6"/>')
        :format(x_of(point[1]), y_of(point[2]), COLOURS[(i - 1) % #COLOURS + 1])
    end
  end
  parts[#parts + 1] = "</svg>\n"
  return table.concat(parts, "\n")
end

-- Cumulative distributions: the share of a series' values that are at most x.
--   ARGS    options  title, x (text of the axis), series = { { name =, values = { .. } }, .. }
--   RETURN  SVG text
function plots.distributions(options)
  check(options)
  local series = {}
  for i, each in ipairs(options.series) do
    local values, points = {}, {}
    for k, value in ipairs(each.values) do
      if type(value) ~= "number" or value ~= value then
        error(("plots: value %d of series '%s' is %s; give finite numbers"):format(k,
          tostring(each.name), tostring(value)), 2)
      end
      values[k] = value
    end
    table.sort(values)
    for k, value in ipairs(values) do
      points[#points + 1] = { value, (k - 1) / #values }
      points[#points + 1] = { value, k / #values }
    end
    series[i] = { name = each.name, points = points }
  end
  return plots.lines { title = options.title, x = options.x, y = "share of graphs", series = series }
end

return plots
