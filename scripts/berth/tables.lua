-- Tables of results as text: aligned, CSV, Markdown.
--
-- All take
--   rows     an array of records
--   columns  an array of { key =, title = key, format = tostring, optional = false },
--            format: a format of string.format or a function(value, row) -> text
--            csv: the same for CSV alone, where a figure is to be read by a program; default: format
--            optional: left out where no row has a value
-- and return a text with a newline after each line. A missing value shows as "-" (empty in CSV).
-- Columns of numbers are aligned to the right.

local known = require "berth.known"

local tables = {}

-- A stranger's text in CSV: control characters do nothing to a terminal, and what a spreadsheet would compute stands
-- behind an apostrophe, which tells it that this is a text. One of its own has another before it, so that it stays one.
local function harmless(text)
  return (text:gsub("[%z\1-\8\11\12\14-\31\127]", "?"):gsub("^['=+%-@\t\r]", "'%0"))
end

local function cell(row, column, missing, csv)
  local value = row[column.key]
  if value == nil then return missing end
  local format, text = csv and column.csv or column.format, nil
  if type(format) == "function" then
    text = format(value, row)
  else
    text = type(format) == "string" and format:format(value) or tostring(value)
  end
  return csv and type(value) ~= "number" and harmless(text) or text
end

local function shown(rows, columns)
  local result = {}
  for _, column in ipairs(columns) do
    local wanted = not column.optional
    for _, row in ipairs(rows) do wanted = wanted or row[column.key] ~= nil end
    if wanted then result[#result + 1] = column end
  end
  return result
end

-- One array of texts per row, the titles first; then which columns hold numbers only.
local function cells(rows, columns, missing, csv)
  local lines, numeric = { {} }, {}
  columns = shown(rows, columns)
  for c, column in ipairs(columns) do
    lines[1][c] = column.title or column.key
    numeric[c] = #rows > 0
  end
  for r, row in ipairs(rows) do
    lines[r + 1] = {}
    for c, column in ipairs(columns) do
      lines[r + 1][c] = cell(row, column, missing, csv)
      local value = row[column.key]
      if value ~= nil and type(value) ~= "number" then numeric[c] = false end
    end
  end
  return lines, numeric
end

-- Characters of UTF-8 text: the bytes that do not continue one.
local function width(text) return select(2, text:gsub("[^\128-\191]", "")) end

local function pad(text, to, right)
  local space = (" "):rep(to - width(text))
  return right and space .. text or text .. space
end

local function widths(lines)
  local result = {}
  for _, line in ipairs(lines) do
    for c, text in ipairs(line) do result[c] = math.max(result[c] or 0, width(text)) end
  end
  return result
end

local function joined(lines) return table.concat(lines, "\n") .. "\n" end

-- Columns two spaces apart under their titles.
function tables.text(rows, columns)
  local lines, numeric = cells(rows, columns, "-")
  local to = widths(lines)
  local out = {}
  for l, line in ipairs(lines) do
    local padded = {}
    for c, text in ipairs(line) do padded[c] = pad(text, to[c], numeric[c]) end
    out[l] = table.concat(padded, "  "):gsub("%s+$", "")
  end
  return joined(out)
end

-- RFC 4180: commas, and quotes where a value needs them.
function tables.csv(rows, columns)
  local lines = cells(rows, columns, "", true)
  local out = {}
  for l, line in ipairs(lines) do
    local quoted = {}
    for c, text in ipairs(line) do
      quoted[c] = text:find '[,"\r\n]' and '"' .. text:gsub('"', '""') .. '"' or text
    end
    out[l] = table.concat(quoted, ",")
  end
  return joined(out)
end

-- A pipe table.
function tables.markdown(rows, columns)
  local lines, numeric = cells(rows, columns, "-")
  for _, line in ipairs(lines) do
    for c, text in ipairs(line) do line[c] = text:gsub("|", "\\|"):gsub("\n", " ") end
  end
  local to = widths(lines)
  for c in ipairs(to) do to[c] = math.max(to[c], 3) end  -- room for the rule below the titles
  local out = {}
  for l, line in ipairs(lines) do
    local padded, rule = {}, {}
    for c, text in ipairs(line) do
      padded[c] = pad(text, to[c], numeric[c])
      rule[c] = ("-"):rep(to[c] - 1) .. (numeric[c] and ":" or "-")
    end
    out[#out + 1] = "| " .. table.concat(padded, " | ") .. " |"
    if l == 1 then out[#out + 1] = "| " .. table.concat(rule, " | ") .. " |" end
  end
  return joined(out)
end

local ARGUMENTS = "rows: table, columns: table"

return known.arguments(tables, "tables", { text = ARGUMENTS, csv = ARGUMENTS, markdown = ARGUMENTS })
