-- Steps below one another, small enough for a page, of pictures that `berth place --svg` drew:
--
--   berth run scripts/experiments/step_pictures.lua OUT.svg "TITLE=FILE.svg" ..
--
-- A row per device. Work is grey, what replicas reduce blue; links are left out. All steps have one scale of time.

local arguments = require "berth.arguments"
local files = require "berth.files"

local PLOT, ROW, HEAD, LEFT = 900, 12, 26, 60
local SOURCE_LEFT, SOURCE_PLOT, DEVICE = 150, 900, 24 -- of engine/show/reports/timeline_svg.cpp
local MERGED = 1.2 -- pixels between bars that become one

local UNIT = { us = 1, ms = 1e3, s = 1e6 }

-- Bars by row of a device: { from, to, reduces } in the step's time from 0 to 1.
local function step_of(text)
  local amount, unit = text:match '>([%d.]+) (%a+), %a+ semantics'
  local rows, names = {}, {}
  for y, name in text:gmatch '<text x="142.00" y="([%d.]+)" text%-anchor="end">([^<]*)</text>' do
    if not name:find "-&gt;" then
      rows[#rows + 1], names[#names + 1] = { y = tonumber(y) }, name
    end
  end
  for kind, x, y, width, height, label in text:gmatch '<rect class="(%a+)" x="([%d.]+)" y="([%d.]+)" width="([%d.]+)" height="([%d.]+)"><title>([^<]*)' do
    if tonumber(height) == DEVICE and kind ~= "tr" then
      for _, row in ipairs(rows) do
        if math.abs(row.y - y - 16) < 4 then
          local from = (x - SOURCE_LEFT) / SOURCE_PLOT
          row[#row + 1] = { from, from + width / SOURCE_PLOT, label:find "/reduce/" ~= nil }
        end
      end
    end
  end
  return { us = tonumber(amount) * UNIT[unit], rows = rows, names = names }
end

local line = arguments.parser()
local given = {}
line.read({ ... }, given, {})
if #given < 2 then line.usage "name a file to write and at least one picture" end
local output = table.remove(given, 1)
local steps, longest = {}, 0
for _, argument in ipairs(given) do
  local title, path = argument:match "^(.-)=(.*)$"
  if not title then line.usage(("'%s': TITLE=FILE.svg expected"):format(argument)) end
  local step = step_of(files.read(path) or line.usage(("there is no file '%s'"):format(path)))
  step.title = title
  steps[#steps + 1], longest = step, math.max(longest, step.us)
end

local parts, y = {}, 6
local function add(...) parts[#parts + 1] = string.format(...) end
for _, step in ipairs(steps) do
  local scale = PLOT * step.us / longest
  add('<text class="h" x="%d" y="%d">%s: %.1f ms</text>', LEFT, y + 16, step.title, step.us / 1e3)
  y = y + HEAD
  for r, row in ipairs(step.rows) do
    add('<text x="%d" y="%d" text-anchor="end">%s</text>', LEFT - 6, y + 9, step.names[r])
    add('<path class="r" d="M%d %dh%.0fv%dH%dz"/>', LEFT, y + 1, scale, ROW - 2, LEFT)
    table.sort(row, function(a, b) return a[1] < b[1] end)
    for _, reduces in ipairs { false, true } do
      local path, from, to = {}, nil, nil
      local function flush()
        if from then
          path[#path + 1] = ("M%.1f %dh%.1fv%dh-%.1fz"):format(LEFT + from, y + 1, to - from, ROW - 2, to - from)
        end
      end
      for _, bar in ipairs(row) do
        if bar[3] == reduces then
          local a, b = bar[1] * scale, bar[2] * scale
          if from and a - to < MERGED then
            to = math.max(to, b)
          else
            flush()
            from, to = a, b
          end
        end
      end
      flush()
      if #path > 0 then add('<path class="%s" d="%s"/>', reduces and "d" or "w", table.concat(path)) end
    end
    y = y + ROW
  end
  y = y + 8
end

files.write(output, ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d"><style>' ..
  'text{font:10px system-ui,sans-serif;fill:#24292f}.h{font-size:12px;font-weight:600}.r{fill:#f0f2f4}' ..
  '.w{fill:#8c959f}.d{fill:#0969da}</style><rect width="%d" height="%d" fill="#fff"/>\n'):format(
  LEFT + PLOT + 10, y, LEFT + PLOT + 10, y, LEFT + PLOT + 10, y), table.concat(parts, "\n"), "\n</svg>\n")
