-- The file of studies: SQLite, so that other programs read it too.
--
--   studies   a row per study
--   runs      a row per run: what it was given, how far it is, where and by what it ran
--   options   what a run was given beside its seed
--   results   what it returned
--   points    what it reported on the way, by step
--   directions  which results are to be small or large, where that is not the goal's
--
-- A run is `waiting`, `running`, then `done`, `stopped` (early, by the median rule) or `failed`. A process
-- that runs one owns it: its claim stands in the row, and nothing is written to a row of another
-- claim. So several processes may work on one file.

local berth = require "berth"
local processes = require "berth.processes"
local sqlite = require "berth.sqlite"

local store = {}

local APPLICATION = 0x42525448  -- "BRTH"
local VERSION = 2
-- A claim of another machine that was not renewed for so long is of a process that is gone.
local CLAIM_S = 300

local SCHEMA = {
  [[CREATE TABLE studies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, goal TEXT NOT NULL,
    direction TEXT NOT NULL, created_s REAL NOT NULL, startup_runs INTEGER, warmup_steps REAL)]],
  [[CREATE TABLE runs (id INTEGER PRIMARY KEY, study INTEGER NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL, key TEXT NOT NULL, seed INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting', error TEXT, claim TEXT, seen_s REAL, began_s REAL,
    wall_s REAL, berth TEXT, lua TEXT, script TEXT, sources TEXT, host TEXT, processor TEXT, processors INTEGER,
    memory_bytes INTEGER, system TEXT, UNIQUE (study, key), UNIQUE (study, number))]],
  [[CREATE TABLE options (run INTEGER NOT NULL REFERENCES runs (id), name TEXT NOT NULL, value,
    PRIMARY KEY (run, name)) WITHOUT ROWID]],
  [[CREATE TABLE results (run INTEGER NOT NULL REFERENCES runs (id), name TEXT NOT NULL, value,
    PRIMARY KEY (run, name)) WITHOUT ROWID]],
  [[CREATE TABLE points (run INTEGER NOT NULL REFERENCES runs (id), step REAL NOT NULL,
    value REAL NOT NULL, PRIMARY KEY (run, step)) WITHOUT ROWID]],
}

-- Made where a study has any: files without it are of the same format.
local DIRECTIONS = [[CREATE TABLE IF NOT EXISTS directions (study INTEGER NOT NULL REFERENCES studies (id),
  result TEXT NOT NULL, direction TEXT NOT NULL, PRIMARY KEY (study, result)) WITHOUT ROWID]]

local function single(database, pragma)
  local row = database:row("PRAGMA " .. pragma)
  return row and row[pragma]
end

-- Makes the tables of a file that is empty, and refuses one that is not ours.
local function prepare(database, path, may_make)
  local function ours()
    local application, version = single(database, "application_id"), single(database, "user_version")
    if application == APPLICATION and version == VERSION then return true end
    if application == APPLICATION then
      error(("%s: it is of format %d of studies, and this berth %s knows format %d; open it with the "
        .. "version that wrote it, or name another file"):format(path, version, berth.version, VERSION), 0)
    end
    if database:row "SELECT name FROM sqlite_master" or application ~= 0 then
      error(path .. ": it is a database of another program; name another file", 0)
    end
    return false
  end
  -- Another process may be making the tables just now.
  if database:transaction(ours, true) then return end
  if not may_make then error(path .. ": it holds no study; name a file that berth.study wrote", 0) end
  database:transaction(function()
    if ours() then return end
    for _, statement in ipairs(SCHEMA) do database:run(statement) end
    database:run(("PRAGMA application_id = %d"):format(APPLICATION))
    database:run(("PRAGMA user_version = %d"):format(VERSION))
  end)
end

-- The claim of this process: host, process id, when that began.
local function own_claim()
  local pid = processes.own_id()
  return ("%s %d %s"):format(processes.host(), pid, processes.began(pid) or "?")
end

-- Whether the process of a claim is gone.
local function abandoned(claim, seen_s, now_s)
  local host, pid, began = (claim or ""):match "^(.*) (%d+) (%S+)$"
  if host ~= processes.host() then return now_s - (seen_s or 0) > CLAIM_S end
  return processes.began(tonumber(pid)) ~= began
end

-- SQLite has no booleans.
local function plain(value)
  if type(value) == "boolean" then return tostring(value) end
  return value
end
local function restored(value)
  if value == "true" then return true end
  if value == "false" then return false end
  return value
end

local Store = {}
Store.__index = Store

-- Opens a file of studies.
--   ARGS    path
--           mode  "create", the default: makes the file where there is none; "open"
function store.open(path, mode)
  if mode == "open" then
    local file, problem = io.open(path, "rb")
    if not file then error(problem .. "; name a file that berth.study wrote", 0) end
    file:close()
  end
  local database = sqlite.open(path, mode)
  local self = setmetatable({ path = path, database = database, claim = own_claim() }, Store)
  local fine, message = pcall(prepare, database, path, mode ~= "open")
  if not fine then
    database:close()
    error(message, 0)
  end
  return self
end

function Store:close() self.database:close() end

-- The studies of the file, in the order they were made: { id, name, goal, direction, created_s,
-- startup_runs, warmup_steps, runs, waiting, running, done, stopped, failed }.
function Store:studies()
  return self.database:rows [[SELECT s.*, count(r.id) AS runs,
    coalesce(sum(r.state = 'waiting'), 0) AS waiting, coalesce(sum(r.state = 'running'), 0) AS running,
    coalesce(sum(r.state = 'done'), 0) AS done, coalesce(sum(r.state = 'stopped'), 0) AS stopped,
    coalesce(sum(r.state = 'failed'), 0) AS failed
    FROM studies s LEFT JOIN runs r ON r.study = s.id GROUP BY s.id ORDER BY s.id]]
end

-- The study `name`, or the only one where `name` is nil.
function Store:study(name)
  local studies, names = self:studies(), {}
  for i, each in ipairs(studies) do
    if each.name == name or not name and #studies == 1 then return each end
    names[i] = each.name
  end
  if #names == 0 then error(self.path .. ": it holds no study yet", 0) end
  error(("%s: %s; it holds %s"):format(self.path,
    name and ("no study '" .. name .. "'") or "name one of its studies", table.concat(names, ", ")), 0)
end

-- The directions of a study's results by their names, without the goal's.
--   ARGS    study  id
function Store:directions(study)
  local directions = {}
  if self.database:row "SELECT name FROM sqlite_master WHERE name = 'directions'" then
    for _, row in ipairs(self.database:rows("SELECT result, direction FROM directions WHERE study = ?", study)) do
      directions[row.result] = row.direction
    end
  end
  return directions
end

-- Keeps the directions that a study is run with, instead of those it had.
local function keep_directions(database, study, directions)
  if next(directions) then
    database:run(DIRECTIONS)
  elseif not database:row "SELECT name FROM sqlite_master WHERE name = 'directions'" then
    return
  end
  database:run("DELETE FROM directions WHERE study = ?", study)
  for result, direction in pairs(directions) do
    database:run("INSERT INTO directions VALUES (?, ?, ?)", study, result, direction)
  end
end

-- Adds the study where it is not there yet, and those of `wanted` runs that are not: what was run stays.
--   ARGS    study   name, goal, direction; directions, startup_runs and warmup_steps of the median rule, or nil
--           wanted  array of { key, seed, options }
--   RETURN  the study's id
function Store:add(study, wanted)
  local database = self.database
  return database:transaction(function()
    database:run([[INSERT INTO studies (name, goal, direction, created_s) VALUES (?, ?, ?, ?)
      ON CONFLICT (name) DO NOTHING]], study.name, study.goal, study.direction, os.time())
    database:run("UPDATE studies SET startup_runs = ?, warmup_steps = ? WHERE name = ?",
      study.startup_runs, study.warmup_steps, study.name)
    local kept = database:row("SELECT * FROM studies WHERE name = ?", study.name)
    for _, field in ipairs { "goal", "direction" } do
      if kept[field] ~= study[field] then
        error(("%s: study '%s' has %s '%s' there, and '%s' is asked for; give it another name"):format(
          self.path, study.name, field, kept[field], study[field]), 0)
      end
    end
    keep_directions(database, kept.id, study.directions or {})
    local number = database:row("SELECT coalesce(max(number), 0) AS n FROM runs WHERE study = ?", kept.id).n
    for _, run in ipairs(wanted) do
      local known = database:row("SELECT id FROM runs WHERE study = ? AND key = ?", kept.id, run.key)
      if not known then
        number = number + 1
        local _, id = database:run("INSERT INTO runs (study, number, key, seed) VALUES (?, ?, ?, ?)",
          kept.id, number, run.key, run.seed)
        for name, value in pairs(run.options) do
          database:run("INSERT INTO options VALUES (?, ?, ?)", id, name, plain(value))
        end
      end
    end
    return kept.id
  end)
end

-- Takes a run that waits, or whose process is gone, in the order of their numbers.
--   ARGS    study  id
--           keys   the keys to choose from, as a set
--   RETURN  { id, number, seed, options, key }; nil where none is left
function Store:take(study, keys)
  local database, now_s = self.database, os.time()
  local run = database:transaction(function()
    for _, row in ipairs(database:rows([[SELECT id, number, key, seed, state, claim, seen_s FROM runs
      WHERE study = ? AND state IN ('waiting', 'running') ORDER BY number]], study)) do
      if keys[row.key] then
        if row.state == "waiting" or row.claim ~= self.claim and abandoned(row.claim, row.seen_s, now_s) then
          database:run([[UPDATE runs SET state = 'running', claim = ?, seen_s = ?, began_s = ?, error = NULL
            WHERE id = ?]], self.claim, now_s, now_s, row.id)
          database:run("DELETE FROM results WHERE run = ?", row.id)
          return row
        end
      end
    end
  end)
  if not run then return nil end
  run.options = self:options(run.id)
  return run
end

-- The run of that id, for a process that its owner started; nil where it is no longer the owner's.
function Store:taken(id, claim)
  self.claim = claim
  local run = self.database:row("SELECT * FROM runs WHERE id = ? AND claim = ? AND state = 'running'", id,
    claim)
  if run then run.options = self:options(id) end
  return run
end

function Store:options(id)
  local options = {}
  for _, row in ipairs(self.database:rows("SELECT name, value FROM options WHERE run = ?", id)) do
    options[row.name] = restored(row.value)
  end
  return options
end

-- Says that the owner is still there.
function Store:renew()
  self.database:run("UPDATE runs SET seen_s = ? WHERE claim = ? AND state = 'running'", os.time(),
    self.claim)
end

local function owned(self, id, body)
  return self.database:transaction(function()
    if not self.database:row("SELECT 1 AS one FROM runs WHERE id = ? AND claim = ? AND state = 'running'",
      id, self.claim) then
      error(("%s: run %d is no longer of this process; another one has taken it over"):format(self.path,
        id), 0)
    end
    return body()
  end)
end

-- Begins to report: a run that was begun before, and goes on from a checkpoint, keeps the points that stand before
-- `step`; those from there on come again.
--   RETURN  array of the values that are kept
function Store:begin_points(id, step)
  return owned(self, id, function()
    self.database:run("DELETE FROM points WHERE run = ? AND step >= ?", id, step)
    local values = {}
    for i, row in ipairs(self.database:rows("SELECT value FROM points WHERE run = ?", id)) do values[i] = row.value end
    return values
  end)
end

function Store:point(id, step, value)
  owned(self, id, function()
    self.database:run("INSERT OR REPLACE INTO points VALUES (?, ?, ?)", id, step, value)
  end)
end

-- Ends a run.
--   ARGS    id, state   done, stopped, failed, or waiting: to be run again
--           facts       wall_s, error, script (how the script is told from others), sources (of berth.sources), results; all
--               optional
function Store:finish(id, state, facts)
  local machine = processes.machine()
  owned(self, id, function()
    for name, value in pairs(facts.results or {}) do
      self.database:run("INSERT OR REPLACE INTO results VALUES (?, ?, ?)", id, name, plain(value))
    end
    self.database:run([[UPDATE runs SET state = ?, wall_s = ?, error = ?, berth = ?, lua = ?, script = ?,
      sources = ?, host = ?, processor = ?, processors = ?, memory_bytes = ?, system = ?, claim = NULL WHERE id = ?]],
      state, facts.wall_s, facts.error, berth.version, jit.version, facts.script, facts.sources, machine.host,
      machine.processor, machine.processors, machine.memory_bytes, machine.system, id)
  end)
end

-- The different sources that the study's results come from: { text, runs } by number of runs.
function Store:sources(study)
  return self.database:rows([[SELECT sources AS text, count(*) AS runs FROM runs
    WHERE study = ? AND state IN ('done', 'stopped') AND sources IS NOT NULL
    GROUP BY sources ORDER BY runs DESC, text]], study)
end

function Store:state(id) return self.database:row("SELECT state FROM runs WHERE id = ?", id).state end

-- Puts failed runs back among those that wait.
function Store:retry(study)
  self.database:run("UPDATE runs SET state = 'waiting' WHERE study = ? AND state = 'failed'", study)
end

-- All runs of a study by number, each with options, results and points ({ step, value } by step).
function Store:runs(study)
  local runs, by_id = self.database:rows("SELECT * FROM runs WHERE study = ? ORDER BY number", study), {}
  for _, run in ipairs(runs) do
    by_id[run.id], run.options, run.results, run.points = run, {}, {}, {}
  end
  for _, name in ipairs { "options", "results" } do
    for _, row in ipairs(self.database:rows(([[SELECT t.* FROM %s t JOIN runs r ON t.run = r.id
      WHERE r.study = ?]]):format(name), study)) do
      by_id[row.run][name][row.name] = restored(row.value)
    end
  end
  for _, row in ipairs(self.database:rows([[SELECT p.* FROM points p JOIN runs r ON p.run = r.id
    WHERE r.study = ? ORDER BY p.run, p.step]], study)) do
    local points = by_id[row.run].points
    points[#points + 1] = { row.step, row.value }
  end
  return runs
end

-- For the median rule: what the study's runs that are done reported up to `step`, one average each.
function Store:averages(study, step)
  local averages = {}
  for _, row in ipairs(self.database:rows([[SELECT avg(p.value) AS average FROM points p
    JOIN runs r ON p.run = r.id WHERE r.study = ? AND r.state = 'done' AND p.step <= ?
    GROUP BY p.run]], study, step)) do
    averages[#averages + 1] = row.average
  end
  return averages
end

return store
