-- Writes scripts/berth/torch/meta.lua: berth run scripts/docs/torch_meta.lua > scripts/berth/torch/meta.lua
io.write(require "berth.torch.documentation" (require "berth.torch"))
