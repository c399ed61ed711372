local check = require "check"
local tables = require "berth.tables"

local rows = {
  { name = "short", ms = 1.5, note = "a, b" },
  { name = "a longer name µ", ms = 22.5 },
  { name = "pipe|", note = 'says "x"' },
}
local columns = { { key = "name" }, { key = "ms", title = "time", format = "%.1f" },
                  { key = "note", format = function(value, row) return value .. " of " .. row.name end } }

check.test("aligned text, numbers to the right", function()
  check.equal(tables.text(rows, columns), table.concat({
    "name             time  note",
    "short             1.5  a, b of short",
    "a longer name µ  22.5  -",
    'pipe|               -  says "x" of pipe|',
    "",
  }, "\n"))
end)

check.test("CSV quotes what needs it", function()
  check.equal(tables.csv(rows, columns), table.concat({
    "name,time,note",
    'short,1.5,"a, b of short"',
    "a longer name µ,22.5,",
    'pipe|,,"says ""x"" of pipe|"',
    "",
  }, "\n"))
end)

check.test("CSV holds nothing that a spreadsheet computes or a terminal obeys", function()
  local columns = { { key = "name" }, { key = "change", format = "%+.1f" } }
  check.equal(tables.csv({ { name = "=cmd|' /C calc'!A0", change = -1.5 }, { name = "@sum", change = 2 },
    { name = "-1,2\27[2J", change = 0 }, { name = "'@sum", change = 1 } }, columns),
    "name,change\n'=cmd|' /C calc'!A0,-1.5\n'@sum,+2.0\n\"'-1,2?[2J\",+0.0\n''@sum,+1.0\n")
end)

check.test("Markdown, with pipes escaped", function()
  check.equal(tables.markdown(rows, columns), table.concat({
    "| name            | time | note               |",
    "| --------------- | ---: | ------------------ |",
    "| short           |  1.5 | a, b of short      |",
    "| a longer name µ | 22.5 | -                  |",
    '| pipe\\|          |    - | says "x" of pipe\\| |',
    "",
  }, "\n"))
end)

check.test("an optional column is left out where nobody has a value", function()
  local optional = { { key = "name" }, { key = "error", optional = true } }
  check.equal(tables.csv({ { name = "a" } }, optional), "name\na\n")
  check.equal(tables.csv({ { name = "a" }, { error = "b" } }, optional), "name,error\na,\n,b\n")
end)

check.test("arguments of another type are refused by name", function()
  check.fails("tables.markdown: argument 1 %(rows%): table expected, got number", tables.markdown, 3)
  check.fails("tables.csv: argument 2 %(columns%): table expected, got nil", tables.csv, {})
end)

check.test("no rows leave the titles", function()
  check.equal(tables.text({}, columns), "name  time  note\n")
  check.equal(tables.csv({}, columns), "name,time,note\n")
end)

check.finish()
