-- The policy of `berth tune`: placements and costs from a few measured steps.

require("berth.tune").register()
