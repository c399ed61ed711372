-- The command line of an experiment: `--name value` pairs between positional arguments.
--
--   local line = arguments.parser()
--   line.read({ ... }, options.models, {
--     ["--clusters"] = line.list_into(options, "clusters"),
--     ["--budget"] = line.number_into(options, "budget_s", "--budget"),
--   })
--
-- The comment that an experiment begins with names its arguments in a paragraph of their own, which errors repeat:
--
--   --   berth run scripts/experiments/compare.lua MODEL.. [--clusters a,b]
--   --       [--budget SECONDS]

local berth = require "berth"
local known = require "berth.known"
local processes = require "berth.processes"

local arguments = {}

-- Whether a flag stands on the command line of the script that runs.
function arguments.given(flag)
  for _, text in ipairs(type(arg) == "table" and arg or {}) do
    if text == flag then return true end
  end
  return false
end

-- The items of "a,b,c".
function arguments.list(text)
  local items = {}
  for item in text:gmatch "[^,]+" do items[#items + 1] = item end
  return items
end

-- As berth.named_policy, with numbers as numbers.
function arguments.policy(text)
  local name, options = berth.named_policy(text)
  for key, value in pairs(options) do options[key] = tonumber(value) or value end
  return name, options
end

-- "FILE" or, with dynamic dimensions, "FILE@batch=4,sequence=64".
--
-- RETURN  the file, and the dimensions by name; nil where the text gives none
function arguments.model(text)
  local file, sizes = text:match "^(.-)@([%w_]+=%d+[%w_=,]*)$"
  if not file then return text end
  local dims = {}
  for name, size in sizes:gmatch "([%w_]+)=(%d+)" do dims[name] = tonumber(size) end
  return file, dims
end

-- The part of "FILE:CLUSTER" before the colon and the part behind it. A cluster may have colons too, as in
-- "rtx4090+host:64GiB", and a file's name as well: the last colon that has a file before it counts, where none has, the first.
local function split(text)
  for at = #text - 1, 2, -1 do
    if text:sub(at, at) == ":" then
      local file = io.open((arguments.model(text:sub(1, at - 1))))
      if file then
        file:close()
        return text:sub(1, at - 1), text:sub(at + 1)
      end
    end
  end
  return text:match "^(.-[^:]):(.+)$"
end

-- "FILE:CLUSTER" or, with dynamic dimensions, "FILE@batch=4,sequence=64:CLUSTER", where CLUSTER is a preset, also one with
-- sizes as "sd8gen3:12GiB", or a berth.cluster/1 file.
--
-- ARGS    text
--         given  table, optional: further fields of the problem, as of berth.problem
-- RETURN  table: name, "file, cluster" without their folders; problem(), which loads and makes it. nil for a text
--         of another form
function arguments.problem(text, given)
  local what, cluster = split(text)
  if not what then return nil end
  local file, dims = arguments.model(what)
  return {
    graph = what,
    name = ("%s, %s"):format(what:match "([^/]+)$", cluster:match "([^/]+)$"),
    problem = function()
      local fields = { graph = berth.load(file, { dims = dims }), cluster = cluster }
      for key, value in pairs(given or {}) do fields[key] = value end
      return berth.problem(fields)
    end,
  }
end

-- The comment that a script begins with, without its "-- ".
local function head_of(path)
  local lines = {}
  for text in io.lines(path) do
    if text:sub(1, 2) ~= "--" then break end
    lines[#lines + 1] = text:gsub("^%-%- ?", "")
  end
  return table.concat(lines, "\n")
end

-- The command line of the script that calls it.
--
-- RETURN  table of functions
--           usage(problem)          raises the problem with the usage
--           number(text, option)    the number, or raises naming the option
--           one_of(text, option, names, listed)
--                                   `text` where `names` has it, or raises with `listed`, how a
--                                   person would write the names
--           problem(text)           arguments.problem, or raises
--           number_into(options, key, option), text_into(options, key)
--                                   functions of a value for `read`: store it under the key; option: its name in
--                                   errors, where that is not "--key"
--           numbers_into(options, key), list_into(options, key)
--                                   the same for an array of numbers or texts, "a,b,c"
--           folder_into(options, key)
--                                   the same for a folder, which is made at once
--           flag_into(options, key) the same for an option without a value, which becomes true
--           format_into(options)    the same for --format text|markdown
--           read(given, positional, options)
--                                   calls options[name](value) for every `--name value` of `given`
--                                   and appends all else to `positional`; for --help it prints
--                                   the comment that the script begins with, and ends
function arguments.parser()
  local line, script = {}, debug.getinfo(2, "S").source:sub(2)

  function line.usage(problem)
    local usage = head_of(script):match "berth run scripts/experiments/(.-)\n\n"
    error(problem .. "\nusage: " .. usage:gsub("%s+", " "), 0)
  end

  function line.number(text, option)
    return tonumber(text) or line.usage(("%s: number expected, got '%s'"):format(option, text))
  end

  function line.one_of(text, option, names, listed)
    if not names[text] then line.usage(("%s: %s, got '%s'"):format(option, listed, text)) end
    return text
  end

  function line.problem(text)
    return arguments.problem(text) or line.usage(("'%s' is not of the form GRAPH:CLUSTER"):format(text))
  end

  function line.number_into(options, key, option)
    return function(text) options[key] = line.number(text, option or "--" .. key) end
  end

  function line.numbers_into(options, key)
    return function(text)
      local numbers = {}
      for i, item in ipairs(arguments.list(text)) do numbers[i] = line.number(item, "--" .. key) end
      options[key] = numbers
    end
  end

  function line.list_into(options, key)
    return function(text) options[key] = arguments.list(text) end
  end

  function line.text_into(options, key)
    return function(text) options[key] = text end
  end

  -- A folder that is written to in the end is made now: hours later is too late to learn that it cannot be.
  function line.folder_into(options, key)
    return function(text)
      local fine, why = pcall(processes.make_folder, text)
      local probe = fine and io.open(text .. "/.probe", "wb")
      if not probe then
        line.usage(("--%s: nothing can be written to '%s'%s"):format(key, text, fine and "" or ": " .. why))
      end
      probe:close()
      os.remove(text .. "/.probe")
      options[key] = text
    end
  end

  function line.flag_into(options, key)
    return { flag = function() options[key] = true end }
  end

  function line.format_into(options)
    return function(text)
      options.format = line.one_of(text, "--format", { text = true, markdown = true },
        "text or markdown")
    end
  end

  function line.read(given, positional, options)
    local i = 1
    while i <= #given do
      local argument = given[i]
      if argument == "--help" then
        print(head_of(script))
        os.exit(0)
      end
      if argument == "--mix" then  -- of studies and trainings, which look for it themselves
        i = i + 1
      elseif argument:sub(1, 2) == "--" then
        local set = options[argument]
          or line.usage(("unknown option '%s'%s"):format(argument, known.text(argument, options)))
        if type(set) == "table" then
          set.flag()
          i = i + 1
        else
          set(given[i + 1] or line.usage(argument .. ": a value is missing"))
          i = i + 2
        end
      else
        positional[#positional + 1] = argument
        i = i + 1
      end
    end
  end

  return line
end

return arguments
