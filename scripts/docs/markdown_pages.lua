-- Copies the project's Markdown files for Doxygen, as one flat folder of pages that link to each
-- other.
--
--   luajit scripts/docs/markdown_pages.lua FOLDER FILE.md..
--
-- Doxygen takes every README.md for the main page and does not follow relative links. Here each file
-- gets a page name from its path, and links follow: to a page of the site, from a folder to the page
-- of its README.md. A link to any other file becomes plain text, since the site holds no sources.

local files = { ... }
local folder = table.remove(files, 1)
assert(folder and files[1], "usage: markdown_pages.lua FOLDER FILE.md..")

local function page_name(path) return "page_" .. path:lower():gsub("%.md$", ""):gsub("[^%w]", "_") end

local is_page = {}
for _, path in ipairs(files) do is_page[path] = true end

-- "a/b/../c" without its dots.
local function resolved(path)
  local parts = {}
  for part in path:gmatch "[^/]+" do
    if part == ".." then
      table.remove(parts)
    elseif part ~= "." then
      parts[#parts + 1] = part
    end
  end
  return table.concat(parts, "/")
end

local function link(from, label, target)
  if target:find "^%a+://" or target:find "^#" then return ("[%s](%s)"):format(label, target) end
  local path = resolved((from:match "^(.*/)" or "") .. target:gsub("#.*$", ""))
  if is_page[path .. "/README.md"] then path = path .. "/README.md" end
  if is_page[path] then return ("[%s](@ref %s)"):format(label, page_name(path)) end
  return label
end

local function write_page(path)
  local out = assert(io.open(("%s/%s.md"):format(folder, page_name(path)), "w"))
  local in_code, titled = false, false
  for line in io.lines(path) do
    if line:find "^```" then in_code = not in_code end
    if not in_code then
      if not titled and line:find "^# " then
        line, titled = ("%s {#%s}"):format(line, page_name(path)), true
      end
      line = line:gsub("!%[(.-)%]%((.-)%)", function(label, target)
        return ("!\1%s](%s)"):format(label, target:match "[^/]+$")  -- Doxygen finds images by name
      end)
      line = line:gsub("%[([^%[%]]*)%]%(([^()]*)%)", function(label, target)
        return link(path, label, target)
      end)
      line = line:gsub("\1", "[")
    end
    assert(out:write(line, "\n"))
  end
  assert(titled, path .. ": the first heading is missing")
  assert(out:close())
end

for _, path in ipairs(files) do write_page(path) end
