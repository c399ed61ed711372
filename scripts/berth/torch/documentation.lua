-- The operations of the table as editors read them: a file of types.

local KINDS = {
  tensor = "torch.Tensor", ["tensor?"] = "torch.Tensor", operand = "torch.Tensor | number",
  index = "torch.Tensor | integer[]", tensors = "torch.Tensor[]", number = "number",
  boolean = "boolean", integer = "integer", dim = "integer", ["dim?"] = "integer",
  dims = "integer[]", shape = "integer[]", type = "torch.dtype", text = "string",
}

local HEAD = [[
---@meta berth.torch
-- The operations of `require "berth.torch"`, for editors and people, written by the build from the table of
-- plugins/torch. Those whose first parameter is `self` are methods of tensors too. Dimensions and positions count
-- from 1.

---@alias torch.dtype "float32" | "float64" | "int64" | "int32" | "uint8" | "bool"
---@class torch.Tensor
local torch = {}
]]

return function(torch)
  local lines = { HEAD }
  for _, operation in ipairs(torch.operations) do
    lines[#lines + 1] = "---" .. operation.doc .. "."
    local names = {}
    for i, parameter in ipairs(operation.parameters) do
      names[i] = parameter.name
      local default = parameter.default and parameter.default ~= "nil"
        and (" default " .. parameter.default) or ""
      lines[#lines + 1] = ("---@param %s%s %s%s"):format(parameter.name, parameter.default and "?" or "",
        KINDS[parameter.kind], default)
    end
    lines[#lines + 1] = "---@return torch.Tensor"
    lines[#lines + 1] = ("function torch.%s(%s) end\n"):format(operation.name, table.concat(names, ", "))
  end
  lines[#lines + 1] = "return torch\n"
  return table.concat(lines, "\n")
end
