-- SQLite databases, by the system's own library, which is opened when the first database is: nothing of
-- Berth is linked to it. For what `berth.study` keeps; a small part of SQLite.
--
--   local sqlite = require "berth.sqlite"
--   local database = sqlite.open "results.db"
--   database:run("INSERT INTO results VALUES (?, ?)", "best_us", 12.5)
--   for _, row in ipairs(database:rows "SELECT name, value FROM results") do print(row.name) end
--
-- Values are numbers, texts, booleans (0 and 1) and nil. Errors name the file, what happened and the fix.

local ffi = require "ffi"
local libraries = require "berth.library"

local sqlite = {}

ffi.cdef [[
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;
const char* sqlite3_libversion(void);
int sqlite3_open_v2(const char*, sqlite3**, int, const char*);
int sqlite3_close_v2(sqlite3*);
int sqlite3_busy_timeout(sqlite3*, int);
int sqlite3_prepare_v2(sqlite3*, const char*, int, sqlite3_stmt**, const char**);
int sqlite3_bind_double(sqlite3_stmt*, int, double);
int sqlite3_bind_int64(sqlite3_stmt*, int, int64_t);
int sqlite3_bind_text(sqlite3_stmt*, int, const char*, int, void (*)(void*));
int sqlite3_bind_parameter_count(sqlite3_stmt*);
int sqlite3_step(sqlite3_stmt*);
int sqlite3_column_count(sqlite3_stmt*);
const char* sqlite3_column_name(sqlite3_stmt*, int);
int sqlite3_column_type(sqlite3_stmt*, int);
double sqlite3_column_double(sqlite3_stmt*, int);
const unsigned char* sqlite3_column_text(sqlite3_stmt*, int);
int sqlite3_column_bytes(sqlite3_stmt*, int);
int sqlite3_finalize(sqlite3_stmt*);
int sqlite3_changes(sqlite3*);
int64_t sqlite3_last_insert_rowid(sqlite3*);
int sqlite3_get_autocommit(sqlite3*);
const char* sqlite3_errmsg(sqlite3*);
]]

local OK, ROW, DONE = 0, 100, 101
local BUSY, LOCKED, READONLY, CORRUPT, FULL, CANTOPEN, NOT_A_DATABASE = 5, 6, 8, 11, 13, 14, 26
local INTEGER, FLOAT, TEXT = 1, 2, 3
local OPEN_READWRITE, OPEN_CREATE = 2, 4
local COPY = ffi.cast("void (*)(void*)", -1)  -- SQLite copies a text while it is bound
-- How long a process waits for one that is writing.
local PATIENCE_MS = 30000

local FIXES = {
  [BUSY] = "another process has been writing it for " .. PATIENCE_MS / 1000 .. " s; end it, or try again",
  [LOCKED] = "another process is using it; end it, or try again",
  [READONLY] = "it may not be written; change its permissions, or name another file",
  [CORRUPT] = "it is damaged; take a copy of it from before, or name another file",
  [FULL] = "the disk is full; make room and start again: what was written before is kept",
  [CANTOPEN] = "it cannot be opened; name a file in a folder that exists and may be written",
  [NOT_A_DATABASE] = "it is no SQLite database; name another file",
}

local library
local function loaded()
  library = library or libraries.open({ "libsqlite3.so.0", "sqlite3" },
    "SQLite's library is not here: install libsqlite3-0 (Debian's name), which studies are kept with")
  return library
end

local Database = {}
Database.__index = Database

local function fail(database, code, what)
  local message = ffi.string(library.sqlite3_errmsg(database.handle))
  error(("%s: %s (SQLite %d: %s)"):format(database.path, FIXES[code % 256] or what, code, message), 0)
end

local function bind(database, statement, values, count)
  local wanted = library.sqlite3_bind_parameter_count(statement)
  if wanted ~= count then error(("%d values for %d places of a statement"):format(count, wanted), 0) end
  for i = 1, count do
    local value, code = values[i], OK
    local kind = type(value)
    if kind == "boolean" then value, kind = value and 1 or 0, "number" end
    if kind == "number" then
      if value % 1 == 0 and math.abs(value) < 2 ^ 53 then
        code = library.sqlite3_bind_int64(statement, i, value)
      else
        code = library.sqlite3_bind_double(statement, i, value)
      end
    elseif kind == "string" then
      code = library.sqlite3_bind_text(statement, i, value, #value, COPY)
    elseif value ~= nil then
      error(("a %s is no value of a database; give a number, a text or a boolean"):format(kind), 0)
    end
    if code ~= OK then fail(database, code, "a value was refused") end
  end
end

local function column(statement, c)
  local kind = library.sqlite3_column_type(statement, c)
  if kind == INTEGER or kind == FLOAT then return library.sqlite3_column_double(statement, c) end
  if kind ~= TEXT then return nil end
  local text = library.sqlite3_column_text(statement, c)  -- before its length, as SQLite asks
  return ffi.string(text, library.sqlite3_column_bytes(statement, c))
end

local function names_of(statement)
  local names = {}
  for c = 0, library.sqlite3_column_count(statement) - 1 do
    names[c] = ffi.string(library.sqlite3_column_name(statement, c))
  end
  return names
end

-- Runs one statement.
--   ARGS    text  SQL with a "?" per value
--   RETURN  array of rows, each a table by the names of the columns
function Database:rows(text, ...)
  if not self.handle then error(self.path .. ": it was closed", 2) end
  local pointer = ffi.new "sqlite3_stmt*[1]"
  local code = library.sqlite3_prepare_v2(self.handle, text, #text, pointer, nil)
  if code ~= OK then fail(self, code, "a statement was refused") end
  local statement = pointer[0]
  local values, count = { ... }, select("#", ...)
  local fine, rows = pcall(function()
    bind(self, statement, values, count)
    local rows, names = {}, names_of(statement)
    while true do
      local step = library.sqlite3_step(statement)
      if step == DONE then return rows end
      if step ~= ROW then fail(self, step, "a statement failed") end
      local row = {}
      for c = 0, #names do
        if names[c] then row[names[c]] = column(statement, c) end
      end
      rows[#rows + 1] = row
    end
  end)
  library.sqlite3_finalize(statement)
  if not fine then error(rows, 0) end
  return rows
end

-- The same for a statement without rows.
--   RETURN  the rows it changed, and the id of the last row it inserted
function Database:run(text, ...)
  self:rows(text, ...)
  return library.sqlite3_changes(self.handle), tonumber(library.sqlite3_last_insert_rowid(self.handle))
end

-- The first row; nil where there is none.
function Database:row(text, ...) return self:rows(text, ...)[1] end

-- Runs `body` so that others see all or nothing of what it writes; an error in it undoes it. Nobody else
-- writes from its first statement on. With `reading`, it only reads, all of it from one moment.
--   RETURN  what `body` returns
function Database:transaction(body, reading)
  self:run(reading and "BEGIN" or "BEGIN IMMEDIATE")
  local fine, result = pcall(body)
  -- A full disk has undone it already.
  local open = self.handle and library.sqlite3_get_autocommit(self.handle) == 0
  if fine then
    fine, result = pcall(function()
      self:run "COMMIT"
      return result
    end)
    open = self.handle and library.sqlite3_get_autocommit(self.handle) == 0
  end
  if fine then return result end
  if open then pcall(self.run, self, "ROLLBACK") end
  error(result, 0)
end

function Database:close()
  if not self.handle then return end
  library.sqlite3_close_v2(ffi.gc(self.handle, nil))
  self.handle = nil
end

-- Opens a database.
--   ARGS    path
--           mode  "create", the default: makes the file where there is none; "open". A file that may not
--                 be written can be read
--   RETURN  table with rows, row, run, transaction, close
function sqlite.open(path, mode)
  local flags = mode == "open" and OPEN_READWRITE or OPEN_READWRITE + OPEN_CREATE
  loaded()
  local pointer = ffi.new "sqlite3*[1]"
  local code = library.sqlite3_open_v2(path, pointer, flags, nil)
  local database = setmetatable({ path = path }, Database)
  if pointer[0] ~= nil then database.handle = ffi.gc(pointer[0], library.sqlite3_close_v2) end
  if code ~= OK then
    local fine, message = pcall(fail, database, code, "it cannot be opened")
    database:close()
    error(message, 0)
  end
  library.sqlite3_busy_timeout(database.handle, PATIENCE_MS)
  return database
end

-- The library's version.
function sqlite.version() return ffi.string(loaded().sqlite3_libversion()) end

return sqlite
