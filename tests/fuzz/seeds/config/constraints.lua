return { policy = "auto", budget = "2s", constraints = {
  { pin = "enc*", to = "gpu:0" }, { forbid = "dec*", on = { "cpu:0", "gpu:*" } },
  { colocate = { "a", "b" } }, { separate = { "c", "d" } } } }
