-- Tells what a study's results come from: its script, the modules that this loads, and its command line.
--
-- A command line also says how many runs there are to be, or how many processes work: that is not of the results. Other
-- arguments are another experiment where the objective holds something else than it did, or reads `arg` itself.

local sources = require "berth.sources"

local origins = {}

local ARGUMENTS = "arguments"

-- The arguments of a script for people; the flag that is for studies is none of them.
local function line_of(arguments)
  local texts = {}
  for _, each in ipairs(arguments) do
    local text = tostring(each):gsub("[%c;]", " ")
    if text ~= "--mix" then texts[#texts + 1] = text:find "[%s']" and ("'%s'"):format(text) or text end
  end
  return #texts > 0 and table.concat(texts, " ") or "none"
end

local function reads_arguments(text) return text:find "%f[%w_]arg%f[^%w_]" ~= nil end

-- The command line of a run as one of berth.sources' files.
--   ARGS    arguments  array
--           objective  function(run); nil for a script that asks for its run
function origins.of_arguments(arguments, objective)
  local line = line_of(arguments)
  local held = objective and sources.held_by(objective) or line
  return { name = ARGUMENTS, path = line, hash = sources.hash(reads_arguments(held) and line .. held or held) }
end

-- A text that differs for a script that was changed.
function origins.version_of(script)
  for _, each in ipairs(sources.loaded(script)) do
    if each.name == "script" then return ("%s (fnv1a %s)"):format(script, each.hash) end
  end
  return script
end

-- Everything that a run's results come from, as a text for a file.
function origins.text(script, own_arguments)
  local files = sources.loaded(script)
  files[#files + 1] = own_arguments
  return sources.text(files)
end

local HOW_ON = "Give the study another name, or set mix = true (--mix) to put both under one median"

-- Refuses to go on with what the study's results do not come from.
--   ARGS    kept           the file of studies
--           the_study      of that
--           script         its path here
--           own_arguments  as of of_arguments
function origins.check(kept, the_study, script, own_arguments)
  for _, each in ipairs(kept:sources(the_study.id)) do
    local files, then_ = sources.read(each.text), nil
    for i = #files, 1, -1 do
      if files[i].name == ARGUMENTS then then_ = table.remove(files, i) end
    end
    local other = sources.changed(files, script)
    if other then
      error(("%s: study '%s' has %d results of another %s: %s has changed since. %s"):format(kept.path, the_study.name,
        each.runs, other.name, other.path, HOW_ON), 0)
    end
    if then_ and then_.hash ~= own_arguments.hash and then_.path ~= own_arguments.path then
      error(("%s: study '%s' has %d results of other arguments: they were %s, and here they are %s. %s"):format(kept.path,
        the_study.name, each.runs, then_.path, own_arguments.path, HOW_ON), 0)
    end
  end
end

-- The objectives that this process has run studies with, by file and name: array of { objective, keys }.
local asked = {}

-- Refuses a second objective for runs that this process has asked for with another: a loop over models whose studies have
-- one name would show the first one's results for all.
--   ARGS    keys  of the runs, as a set
function origins.check_objective(file, name, objective, keys)
  local study = file .. "\n" .. name
  asked[study] = asked[study] or {}
  for _, before in ipairs(asked[study]) do
    -- Both as they are now: what they share may have changed since.
    if before.objective ~= objective and sources.held_by(before.objective) ~= sources.held_by(objective) then
      for key in pairs(keys) do
        if before.keys[key] then
          error(("%s: study '%s' was run before by this script, with another objective. %s"):format(file, name, HOW_ON), 0)
        end
      end
    end
  end
  table.insert(asked[study], { objective = objective, keys = keys })
end

-- How many versions of each file, and of the command line, some runs come from.
--   ARGS    texts  array of texts for a file
--   RETURN  "script (2 versions), module net (3 versions)"; "" where all are of the same
function origins.mixed(texts)
  local versions, names = {}, {}
  for _, text in ipairs(texts) do
    for _, each in ipairs(sources.read(text)) do
      local seen = versions[each.name]
      if not seen then
        seen = { count = 0 }
        versions[each.name], names[#names + 1] = seen, each.name
      end
      local known = seen[each.hash] or each.name == ARGUMENTS and seen[each.path]
      if not known then seen.count = seen.count + 1 end
      seen[each.hash], seen[each.path] = true, each.name == ARGUMENTS or nil
    end
  end
  table.sort(names)
  local parts = {}
  for _, name in ipairs(names) do
    if versions[name].count > 1 then parts[#parts + 1] = ("%s (%d versions)"):format(name, versions[name].count) end
  end
  return table.concat(parts, ", ")
end

return origins
