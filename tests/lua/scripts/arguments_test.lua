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
  check.fails("nowhere.onnx", arguments.problem("nowhere.onnx:k80x2").problem)
end)
