local arguments = require "berth.arguments"
local check = require "check"

local folder = ...

local root = package.searchpath("check", package.path):gsub("tests/lua/support/check.lua$", "")

check.test("a policy of the command line has its options behind colons, numbers as numbers", function()
  local name, options = arguments.policy "placeto:weights=none:groups=64"
  check.equal({ name, options.weights, options.groups }, { "placeto", "none", 64 })
  name, options = arguments.policy "auto"
  check.equal({ name, next(options) }, { "auto" })
  check.fails("policy 'auto:moves': 'moves' is not of the form key=value", arguments.policy, "auto:moves")
end)

check.test("a graph and its machine, with sizes of dynamic dimensions", function()
  local asked = arguments.problem "models/a.onnx@batch=4,sequence=64:machines/own.json"
  check.equal(asked.name, "a.onnx@batch=4,sequence=64, own.json")
  check.equal({ arguments.model "models/a.onnx@batch=4,sequence=64" }, { "models/a.onnx", { batch = 4, sequence = 64 } })
  check.equal({ arguments.model "models/a@b.onnx" }, { "models/a@b.onnx" })
  check.equal(arguments.problem "models/a.onnx", nil)
  local problem = arguments.problem(root .. "examples/models/tiny_cnn.onnx:k80x2").problem()
  check.equal(problem:cluster():name(), "k80x2")
  check.fails("nowhere.onnx: no such", arguments.problem("nowhere.onnx:k80x2").problem)
end)

check.test("a machine may have colons, and so may a file's name", function()
  local model = root .. "examples/models/tiny_cnn.onnx"
  local asked = arguments.problem(model .. ":rtx4090+host:64GiB")
  check.equal({ asked.graph, asked.name }, { model, "tiny_cnn.onnx, rtx4090+host:64GiB" })
  check.equal(asked.problem():cluster():device(2).memory_bytes, 64 * 2 ^ 30)
  check.equal(arguments.problem(model .. "@batch=4:sd8gen3:12GiB").graph, model .. "@batch=4")
  check.fails("nowhere.onnx: no such", arguments.problem("nowhere.onnx:rtx4090+host:64GiB").problem)
  local odd = folder .. "/a:b.onnx"
  assert(io.open(odd, "w")):close()
  check.equal({ arguments.problem(odd .. ":k80x2").graph, arguments.problem(odd .. ":sd8gen3:12GiB").graph }, { odd, odd })
end)
