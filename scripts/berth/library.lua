-- C libraries that a script opens when it needs them, and that a machine may lack.

local ffi = require "ffi"

ffi.cdef "void* dlopen(const char*, int);"

local library = {}

-- Threads of a library may run on after the script, whose own handle then ends: they must not lose the code that they
-- are in.
local STAYS = 0x1002  -- RTLD_NOW | RTLD_NODELETE
local function keep(name)
  ffi.C.dlopen(name:find("%.so") and name or ("lib%s.so"):format(name), STAYS)
end

-- ARGS    names   file names, the first that is there is taken
--         absent  the error where none is, with what to install
-- RETURN  the library, as ffi.load returns it
function library.open(names, absent)
  for _, name in ipairs(names) do
    local found, it = pcall(ffi.load, name)
    if found then
      keep(name)
      return it
    end
  end
  error(absent, 0)
end

return library
