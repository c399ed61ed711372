-- Tensors as the bytes of their values, row by row, and back: in files, and between processes.

local ffi = require "ffi"

local C_TYPE = { float32 = "float", float64 = "double", int64 = "int64_t", int32 = "int32_t", uint8 = "uint8_t",
  bool = "uint8_t" }

return function(torch)
  local bytes = {}

  function bytes.of(tensor)
    local own = tensor:detach():contiguous()
    if own:numel() == 0 then return "" end
    return ffi.string(own:cdata(), own:numel() * ffi.sizeof(C_TYPE[own:dtype()]))
  end

  -- The tensor of these bytes; an error where they are not as many as the shape takes.
  function bytes.tensor(text, dtype, shape)
    local c_type, count = C_TYPE[dtype], 1
    for _, size in ipairs(shape) do count = count * size end
    if not c_type or #text ~= count * ffi.sizeof(c_type) then
      error(("%d bytes for %d values of %s"):format(#text, count, tostring(dtype)), 0)
    end
    local values = ffi.new(c_type .. "[?]", math.max(count, 1))
    ffi.copy(values, text, #text)
    local tensor = torch.from_cdata(values, #shape == 0 and { 1 } or shape, values):clone():reshape(shape)
    return dtype == "bool" and tensor:to "bool" or tensor
  end

  return bytes
end
