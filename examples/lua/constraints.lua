-- A config with constraints, which every policy obeys:
--   berth place examples/models/inception_v3.onnx --config examples/lua/constraints.lua
-- A selector is a regular expression that must match the whole name, or a table whose fields must all
-- hold.
return {
  cluster = "k80x4",
  policy = "topo",
  constraints = {
    { pin = "image|/Conv2d_1a.*", to = { "gpu:0", "gpu:1" } },
    { forbid = { type = "Conv" }, on = "cpu" },  -- devices by name or by kind
    { colocate = { { name = "/fc/Gemm" }, { regex = "/avgpool/.*" } } },
    { separate = { "/Mixed_5b/.*", "/Mixed_7c/.*" } },  -- no device runs ops of both
    { memory_margin = "10%" },  -- stays free, on every device
    { memory_margin = "2GiB", on = "gpu:0" },
    -- { respect_devices = true }  -- where the model file asks for devices
  },
}
