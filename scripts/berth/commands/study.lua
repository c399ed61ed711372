-- `berth study`: lists, shows and draws what a file of studies holds.
--   ls FILE
--   show FILE NAME RESULT runs|groups csv|text minimize|maximize|""
--   plot FILE NAME RESULT OUTPUT KIND log|""
-- An empty text is an option that was not given.

local plots = require "berth.plots"
local store = require "berth.study.store"
local study = require "berth.study"
local tables = require "berth.tables"

local verb, file, name, result = ...

local function opened() return study.open(file, name ~= "" and name or nil) end

local verbs = {}

function verbs.ls()
  local kept = store.open(file, "open")
  local rows = kept:studies()
  kept:close()
  io.write(tables.text(rows, { { key = "name", title = "study" }, { key = "goal" }, { key = "direction" },
    { key = "runs" }, { key = "done" }, { key = "stopped" }, { key = "failed" }, { key = "running" },
    { key = "waiting" }, { key = "created_s", title = "begun", format = function(created_s)
      return os.date("!%Y-%m-%d %H:%M", created_s)
    end } }))
end

function verbs.show(what, form, direction)
  local it = opened()
  if what == "runs" then
    io.write(form == "csv" and it:csv() or it:runs_text())
  else
    io.write(form == "csv" and it:groups_csv(result, direction) or it:text(result, direction))
  end
end

function verbs.plot(output, kind, log)
  plots.save(output, opened():plot { result = result, kind = kind, log = log == "log" or nil })
end

local fine, message = pcall(verbs[verb], select(5, ...))
-- The position in the library is of no use to the person who typed the command.
if not fine then error((tostring(message):gsub("^[^\n]-%.lua:%d+: ", "")), 0) end
