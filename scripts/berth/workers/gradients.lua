-- Gradients as processes send them: float32, one after another.

local bit = require "bit"
local ffi = require "ffi"

local gradients = {}

-- The bits of a float's exponent: all are set where it is not finite. LuaJIT keeps other values than numbers in the
-- bits of NaNs, so that one that a peer sends must never become a value of Lua's.
local EXPONENT = 0x7f800000

-- The mean of some.
--   ARGS    of  array of bytes
--   RETURN  bytes
function gradients.mean(of)
  if #of == 1 then return of[1] end
  local count = #of[1] / 4
  local sum = ffi.new("double[?]", count)
  for _, bytes in ipairs(of) do
    if #bytes ~= 4 * count then error("workers: a gradient is of another network", 0) end
    local bits, values = ffi.cast("const int32_t*", bytes), ffi.cast("const float*", bytes)
    for k = 0, count - 1 do
      if bit.band(bits[k], EXPONENT) == EXPONENT then
        error("workers: a gradient is not finite; give smaller rewards or a lower learning rate", 0)
      end
      sum[k] = sum[k] + values[k]
    end
  end
  local mean = ffi.new("float[?]", count)
  for k = 0, count - 1 do mean[k] = sum[k] / #of end
  return ffi.string(mean, 4 * count)
end

return gradients
