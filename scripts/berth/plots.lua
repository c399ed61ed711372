-- Pictures for papers: lines with bands, dots, distributions, boxes and bars, on linear or logarithmic
-- axes. SVG text, which follows the reader's light or dark preference; PNG through librsvg.
--
--   local plots = require "berth.plots"
--   plots.save("curve.svg", plots.lines {
--     title = "Learning", x = "episodes", y = "runtime [ms]", y_log = true,
--     series = { { name = "placeto", points = { { 0, 9.1 }, { 100, 4.5 } },
--                  band = { { 0, 8.9, 9.4 }, { 100, 4.2, 5.0 } } } } })
--
-- All take title, x and y (texts of the axes), x_log and y_log (true: logarithmic), and theme ("light",
-- "dark"; default: the reader's), and return SVG text.

local files = require "berth.files"
local known = require "berth.known"
local statistics = require "berth.statistics"

local plots = {}

local WIDTH, HEIGHT = 720, 420
local LEFT, RIGHT, TOP, BOTTOM = 70, 180, 40, 50
-- Told apart by readers who do not see red and green alike (Okabe and Ito, 2008); on dark paper the same
-- hues, lighter.
local COLOURS = { "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8c8c00" }
local DARK_COLOURS = { "#4da3e0", "#ff8a3d", "#2fcb9b", "#e59ac3", "#f0b83a", "#8fd3f5", "#ffffff",
  "#c9c94a" }
-- Paper, text, grid and the ink of axes, as in the pages of `berth report`.
local LIGHT = { "#ffffff", "#1f2328", "#d1d9e0", "#59636e" }
local DARK = { "#0d1117", "#e6edf3", "#3d444d", "#9198a1" }

local function escape(text)
  return (tostring(text):gsub("[&<>\"]",
    { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ["\""] = "&quot;" }))
end

local function rules(inks, colours)
  local out = { (".paper{fill:%s}text{fill:%s}.grid{stroke:%s}.axis{stroke:%s;fill:none}"):format(
    unpack(inks)) }
  for i, colour in ipairs(colours) do
    out[#out + 1] = (".s%d{stroke:%s}.f%d{fill:%s}"):format(i, colour, i, colour)
  end
  return table.concat(out)
end

local function style(theme)
  if theme == "light" then return rules(LIGHT, COLOURS) end
  if theme == "dark" then return rules(DARK, DARK_COLOURS) end
  return rules(LIGHT, COLOURS) .. "@media (prefers-color-scheme:dark){" .. rules(DARK, DARK_COLOURS) .. "}"
end

local function colour_of(i) return (i - 1) % #COLOURS + 1 end

-- Series with a colour that was used before have dashes.
local DASHES = { "6 3", "2 3", "8 3 2 3" }
local function dashes_of(i)
  local round = math.floor((i - 1) / #COLOURS)
  if round == 0 then return "" end
  return (' stroke-dasharray="%s"'):format(DASHES[(round - 1) % #DASHES + 1])
end

local function number(value) return ("%.10g"):format(value) end

-- Some round numbers from at most `low` to at least `high`.
local function linear_ticks(low, high)
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

-- Powers of ten around the two; with few of them, twice and five times each as well. Less than a factor of
-- five has round numbers at equal steps, which a logarithmic axis shows as unequal ones.
local function log_ticks(low, high)
  if low < high and high / low < 5 then
    local list = linear_ticks(low, high)
    while list[1] <= 0 do table.remove(list, 1) end
    if list[1] <= low then return list end
  end
  local first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
  if first == last then last = last + 1 end
  if last - first <= 2 then
    local list = {}
    for power = first, last do
      for _, factor in ipairs { 1, 2, 5 } do list[#list + 1] = factor * 10 ^ power end
    end
    -- From the last one below to the first one above.
    while list[2] and list[2] <= low * (1 + 1e-9) do table.remove(list, 1) end
    while list[3] and list[#list - 1] >= high * (1 - 1e-9) do list[#list] = nil end
    return list
  end
  local every = math.ceil((last - first) / 8)
  local list = {}
  for power = first, last, every do list[#list + 1] = 10 ^ power end
  if list[#list] < high then list[#list + 1] = 10 ^ (first + every * math.ceil((last - first) / every)) end
  return list
end

-- The ends of an axis that shows every value that `each` is called with.
local function ends_of(log, visit, axis)
  local low, high = math.huge, -math.huge
  visit(function(value, what)
    if type(value) ~= "number" or value - value ~= 0 then
      error(("plots: %s is at %s = %s; give finite numbers"):format(what, axis, tostring(value)), 0)
    end
    if log and value <= 0 then
      error(("plots: %s is at %s = %s, which a logarithmic axis has no place for; leave %s_log out")
        :format(what, axis, tostring(value), axis), 0)
    end
    low, high = math.min(low, value), math.max(high, value)
  end)
  if low > high then error("plots: there are no points to show", 0) end
  if low == high and not log then low, high = low - 0.5, high + 0.5 end
  return low, high
end

-- An axis: its ticks, and a function from values to pixels.
local function scale(log, low, high, from, to)
  local list = (log and log_ticks or linear_ticks)(low, high)
  local first, last = list[1], list[#list]
  if log then
    first, last = math.log(first), math.log(last)
    return list, function(v) return from + (math.log(v) - first) / (last - first) * (to - from) end
  end
  return list, function(v) return from + (v - first) / (last - first) * (to - from) end
end

local Picture = {}
Picture.__index = Picture

function Picture:add(...) self.parts[#self.parts + 1] = string.format(...) end

function Picture:finish() return table.concat(self.parts, "\n") .. "\n</svg>\n" end

local THEMES = { light = true, dark = true }

-- The paper, the title and the legend.
local function begin(options, series)
  if options.theme ~= nil and not THEMES[options.theme] then
    error(("plots: no theme '%s'; known: dark, light"):format(tostring(options.theme)), 0)
  end
  local picture = setmetatable({ parts = {} }, Picture)
  local width = WIDTH
  for _, each in ipairs(series) do
    width = math.max(width, WIDTH - RIGHT + 40 + math.ceil(6.8 * #tostring(each.name or "")))
  end
  picture:add('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
    .. 'font-family="sans-serif" font-size="12" role="img"><title>%s</title><style>%s</style>', width,
    HEIGHT, width, HEIGHT, escape(options.title or ""), style(options.theme))
  picture:add('<rect class="paper" width="%d" height="%d"/>', width, HEIGHT)
  picture:add('<text x="%d" y="22" font-size="15">%s</text>', LEFT, escape(options.title or ""))
  for i, each in ipairs(series) do
    local y = TOP + 14 * i
    if i <= #COLOURS then
      picture:add('<rect x="%d" y="%d" width="12" height="4" class="f%d"/>', WIDTH - RIGHT + 12, y - 6,
        colour_of(i))
    else
      picture:add('<line x1="%d" y1="%d" x2="%d" y2="%d" class="s%d" stroke-width="2"%s/>', WIDTH - RIGHT + 8,
        y - 4, WIDTH - RIGHT + 28, y - 4, colour_of(i), dashes_of(i))
    end
    picture:add('<text x="%d" y="%d">%s</text>', WIDTH - RIGHT + 30, y, escape(each.name or ""))
  end
  return picture
end

local function horizontal_axis(picture, options, list, x_of)
  for _, v in ipairs(list) do
    picture:add('<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>', x_of(v), TOP, x_of(v),
      HEIGHT - BOTTOM)
    picture:add('<text x="%.1f" y="%d" text-anchor="middle">%s</text>', x_of(v), HEIGHT - BOTTOM + 17,
      number(v))
  end
  picture:add('<text x="%d" y="%d" text-anchor="middle">%s</text>', (LEFT + WIDTH - RIGHT) / 2,
    HEIGHT - 12, escape(options.x or ""))
end

local function vertical_axis(picture, options, list, y_of)
  for _, v in ipairs(list) do
    picture:add('<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>', LEFT, y_of(v),
      WIDTH - RIGHT, y_of(v))
    picture:add('<text x="%d" y="%.1f" text-anchor="end">%s</text>', LEFT - 6, y_of(v) + 4, number(v))
  end
  picture:add('<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>',
    (TOP + HEIGHT - BOTTOM) / 2, escape(options.y or ""))
end

-- Two axes around the points and bands of the series. Returns the picture and functions to pixels.
local function frame(options, series)
  local function visit(k)
    return function(seen)
      for _, each in ipairs(series) do
        for p, point in ipairs(each.points) do
          seen(point[k], ("point %d of series '%s'"):format(p, tostring(each.name)))
        end
        for p, point in ipairs(each.band or {}) do
          local what = ("band %d of series '%s'"):format(p, tostring(each.name))
          seen(point[k], what)
          if k == 2 then seen(point[3], what) end
        end
      end
    end
  end
  local x_low, x_high = ends_of(options.x_log, visit(1), "x")
  local y_low, y_high = ends_of(options.y_log, visit(2), "y")
  local x_list, x_of = scale(options.x_log, x_low, x_high, LEFT, WIDTH - RIGHT)
  local y_list, y_of = scale(options.y_log, y_low, y_high, HEIGHT - BOTTOM, TOP)
  local picture = begin(options, series)
  horizontal_axis(picture, options, x_list, x_of)
  vertical_axis(picture, options, y_list, y_of)
  return picture, x_of, y_of
end

local OPTIONS = { "title", "x", "y", "x_log", "y_log", "theme", "series" }

-- Checks the options of all kinds of picture, and `more` of one.
local function check(options, field, more)
  local shape = field == "values" and "values = { .. }" or "points = { { x, y }, .. }"
  local function wrong() error(("plots: give series = { { name =, %s }, .. }"):format(shape), 3) end
  if type(options) ~= "table" or type(options.series) ~= "table" or #options.series == 0 then wrong() end
  for _, each in ipairs(options.series) do
    if type(each) ~= "table" or type(each[field]) ~= "table" then wrong() end
  end
  known.check("plots", options, more and { more, unpack(OPTIONS) } or OPTIONS, 4)
end

local function path_of(points, x_of, y_of, k)
  local path = {}
  for p, point in ipairs(points) do path[p] = ("%.1f,%.1f"):format(x_of(point[1]), y_of(point[k])) end
  return path
end

-- One line per series, through its points in their order.
--   ARGS    options  see above; a series may have a band = { { x, low, high }, .. } behind its line
--   RETURN  SVG text
function plots.lines(options)
  check(options, "points")
  local picture, x_of, y_of = frame(options, options.series)
  for i, each in ipairs(options.series) do
    if each.band and #each.band > 0 then
      local path, back = path_of(each.band, x_of, y_of, 2), path_of(each.band, x_of, y_of, 3)
      for p = #back, 1, -1 do path[#path + 1] = back[p] end
      picture:add('<polygon points="%s" class="f%d" fill-opacity="0.18"/>', table.concat(path, " "),
        colour_of(i))
    end
  end
  for i, each in ipairs(options.series) do
    picture:add('<polyline points="%s" fill="none" class="s%d" stroke-width="1.6"%s/>',
      table.concat(path_of(each.points, x_of, y_of, 2), " "), colour_of(i), dashes_of(i))
  end
  return picture:finish()
end

-- One dot per point.
--   ARGS    options  and diagonal (true: the line on which x = y)
--   RETURN  SVG text
function plots.scatter(options)
  check(options, "points", "diagonal")
  local picture, x_of, y_of = frame(options, options.series)
  if options.diagonal then
    local low, high = -math.huge, math.huge
    for k = 1, 2 do
      local least, most = math.huge, -math.huge
      for _, each in ipairs(options.series) do
        for _, point in ipairs(each.points) do
          least, most = math.min(least, point[k]), math.max(most, point[k])
        end
      end
      low, high = math.max(low, least), math.min(high, most)
    end
    if low < high then
      picture:add('<line class="axis" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>', x_of(low), y_of(low),
        x_of(high), y_of(high))
    end
  end
  for i, each in ipairs(options.series) do
    for _, point in ipairs(each.points) do
      picture:add('<circle cx="%.1f" cy="%.1f" r="3" class="f%d" fill-opacity="0.6"/>', x_of(point[1]),
        y_of(point[2]), colour_of(i))
    end
  end
  return picture:finish()
end

local function sorted_values(each)
  local values = {}
  for k, value in ipairs(each.values) do
    if type(value) ~= "number" or value - value ~= 0 then
      error(("plots: value %d of series '%s' is %s; give finite numbers"):format(k, tostring(each.name),
        tostring(value)), 0)
    end
    values[k] = value
  end
  table.sort(values)
  return values
end

-- Cumulative distributions: the share of a series' values that are at most x.
--   ARGS    options  series = { { name =, values = { .. } }, .. }
--   RETURN  SVG text
function plots.distributions(options)
  check(options, "values")
  local series = {}
  for i, each in ipairs(options.series) do
    local values, points = sorted_values(each), {}
    for k, value in ipairs(values) do
      points[#points + 1] = { value, (k - 1) / #values }
      points[#points + 1] = { value, k / #values }
    end
    series[i] = { name = each.name, points = points }
  end
  return plots.lines { title = options.title, x = options.x, x_log = options.x_log,
    y = options.y or "share", theme = options.theme, series = series }
end

-- The names below the columns; a long one loses its end, which a tooltip keeps.
local function column_names(picture, options, names, x_of, width)
  local fits = math.max(3, math.floor(width / 6.5))
  for i, name in ipairs(names) do
    local text = #name > fits and name:sub(1, fits - 2):gsub("[\192-\255][\128-\191]*$", "") .. ".." or name
    picture:add('<text x="%.1f" y="%d" text-anchor="middle">%s<title>%s</title></text>', x_of(i),
      HEIGHT - BOTTOM + 17, escape(text), escape(name))
  end
  picture:add('<text x="%d" y="%d" text-anchor="middle">%s</text>', (LEFT + WIDTH - RIGHT) / 2,
    HEIGHT - 12, escape(options.x or ""))
end

-- A box per series: the quartiles and the median, whiskers to the furthest value within 1.5 times the
-- box (Tukey), and a dot for each value beyond.
--   ARGS    options  series = { { name =, values = { .. } }, .. }
--   RETURN  SVG text
function plots.boxes(options)
  check(options, "values")
  local boxes, names = {}, {}
  for i, each in ipairs(options.series) do
    boxes[i], names[i] = sorted_values(each), tostring(each.name or "")
  end
  local low, high = ends_of(options.y_log, function(seen)
    for i, values in ipairs(boxes) do
      for _, value in ipairs(values) do seen(value, "a value of series '" .. names[i] .. "'") end
    end
  end, "y")
  local list, y_of = scale(options.y_log, low, high, HEIGHT - BOTTOM, TOP)
  local picture = begin(options, options.series)
  vertical_axis(picture, options, list, y_of)
  local width = (WIDTH - LEFT - RIGHT) / #boxes
  local function x_of(i) return LEFT + (i - 0.5) * width end
  local half = math.min(24, width * 0.35)
  for i, values in ipairs(boxes) do
    if #values > 0 then
      local x, colour = x_of(i), colour_of(i)
      local first, middle, third = statistics.quantile(values, 0.25), statistics.median(values),
        statistics.quantile(values, 0.75)
      local reach = 1.5 * (third - first)
      local least, most = third, first
      for _, value in ipairs(values) do
        if value >= first - reach then least = math.min(least, value) end
        if value <= third + reach then most = math.max(most, value) end
        if value < first - reach or value > third + reach then
          picture:add('<circle cx="%.1f" cy="%.1f" r="2.5" class="f%d"/>', x, y_of(value), colour)
        end
      end
      picture:add('<path class="s%d" fill="none" d="M%.1f %.1fV%.1fM%.1f %.1fV%.1f"/>', colour, x,
        y_of(most), y_of(third), x, y_of(first), y_of(least))
      picture:add('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f%d s%d" fill-opacity="0.25"/>',
        x - half, y_of(third), 2 * half, math.max(0.5, y_of(first) - y_of(third)), colour, colour)
      picture:add('<line class="s%d" stroke-width="2.4" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>', colour,
        x - half, y_of(middle), x + half, y_of(middle))
    end
  end
  column_names(picture, options, names, x_of, width)
  return picture:finish()
end

-- Bars side by side: for each name of `groups` one per series.
--   ARGS    options  groups = { name, .. }; series = { { name =, values = { a number or false per group },
--                    low =, high = arrays of the same: ends of intervals, optional }, .. }
--   RETURN  SVG text
function plots.bars(options)
  check(options, "values", "groups")
  local names = options.groups
  if type(names) ~= "table" or #names == 0 then error("plots: give groups = { name, .. }", 2) end
  local low, high = ends_of(options.y_log, function(seen)
    if not options.y_log then seen(0, "the foot of a bar") end
    for _, each in ipairs(options.series) do
      for g in ipairs(names) do
        for _, field in ipairs { "values", "low", "high" } do
          local value = each[field] and each[field][g]
          if value then seen(value, ("group '%s' of series '%s'"):format(names[g], tostring(each.name))) end
        end
      end
    end
  end, "y")
  local list, y_of = scale(options.y_log, low, high, HEIGHT - BOTTOM, TOP)
  local foot = y_of(options.y_log and list[1] or 0)
  local picture = begin(options, options.series)
  vertical_axis(picture, options, list, y_of)
  local width = (WIDTH - LEFT - RIGHT) / #names
  local bar = width * 0.8 / #options.series
  for i, each in ipairs(options.series) do
    for g, name in ipairs(names) do
      local value = each.values[g]
      if value then
        local x, y = LEFT + (g - 0.9) * width + (i - 1) * bar, y_of(value)
        picture:add('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" class="f%d">'
          .. '<title>%s, %s: %s</title></rect>', x, math.min(y, foot), bar * 0.92, math.abs(foot - y),
          colour_of(i), escape(name), escape(each.name or ""), number(value))
        local from, to = each.low and each.low[g], each.high and each.high[g]
        if from and to then
          picture:add('<path class="axis" d="M%.1f %.1fV%.1f"/>', x + bar * 0.46, y_of(from), y_of(to))
        end
      end
    end
  end
  picture:add('<line class="axis" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>', LEFT, foot, WIDTH - RIGHT, foot)
  column_names(picture, options, names, function(g) return LEFT + (g - 0.5) * width end, width)
  return picture:finish()
end

-- Bars of a table's rows.
--   ARGS    rows     array of records
--           options  title, y, y_log; name (a key, or function(row): the name below the bars); then
--                    either columns = { { key =, title = }, .. }, a bar per column, with value (optional:
--                    function(row, key), false where there is none)
--                    or series and key: the key of what tells bars of one name apart, and that of the value
--   RETURN  SVG text; nil where no row has a number
function plots.table_bars(rows, options)
  local groups, series, at, by_name = {}, {}, {}, {}
  local function add(group, name, value)
    if type(value) ~= "number" or value - value ~= 0 or options.y_log and value <= 0 then return end
    if not at[group] then
      groups[#groups + 1] = group
      at[group] = #groups
    end
    if not by_name[name] then
      series[#series + 1] = { name = name, values = {} }
      by_name[name] = series[#series]
    end
    by_name[name].values[at[group]] = value
  end
  for _, row in ipairs(rows) do
    local name = options.name
    local group = tostring(type(name) == "function" and name(row) or row[name])
    if options.columns then
      for _, column in ipairs(options.columns) do
        add(group, column.title or column.key, options.value and options.value(row, column.key)
          or not options.value and row[column.key])
      end
    else
      add(group, tostring(row[options.series]), row[options.key])
    end
  end
  if #groups == 0 then return nil end
  return plots.bars { title = options.title, y = options.y, y_log = options.y_log, groups = groups,
    series = series }
end

-- Writes a picture of an experiment as folder/name.svg; nothing where there is no folder or no picture.
function plots.keep(folder, name, svg)
  if folder and svg then plots.save(("%s/%s.svg"):format(folder, name:gsub("[^%w_.-]+", "_")), svg) end
end

-- Writes a picture: "name.svg", or "name.png" where librsvg is installed.
--   ARGS    path
--           svg      text of a function above
--           options  table, optional: scale (of a PNG; 2: twice as many pixels each way)
function plots.save(path, svg, options)
  local ending = path:match "%.(%w+)$"
  options = known.check("plots.save", options, { "scale" })
  if ending == "png" then return require("berth.png").save(path, svg, options.scale or 2) end
  if ending ~= "svg" then
    error(("plots.save: %s: no picture of this kind; name it .svg or .png"):format(path), 2)
  end
  files.write(path, svg)
end

return plots
