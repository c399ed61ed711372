-- C libraries that a script opens when it needs them, and that a machine may lack.

local ffi = require "ffi"

local library = {}

-- ARGS    names   file names, the first that is there is taken
--         absent  the error where none is, with what to install
-- RETURN  the library, as ffi.load returns it
function library.open(names, absent)
  for _, name in ipairs(names) do
    local found, it = pcall(ffi.load, name)
    if found then return it end
  end
  error(absent, 0)
end

return library
