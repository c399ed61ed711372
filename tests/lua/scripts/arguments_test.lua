local arguments = require "berth.arguments"
local check = require "check"

check.test("a policy of the command line has its options behind colons, numbers as numbers", function()
  local name, options = arguments.policy "placeto:weights=none:groups=64"
  check.equal({ name, options.weights, options.groups }, { "placeto", "none", 64 })
  name, options = arguments.policy "auto"
  check.equal({ name, next(options) }, { "auto" })
  check.fails("policy 'auto:moves': 'moves' is not of the form key=value", arguments.policy, "auto:moves")
end)
