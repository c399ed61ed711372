-- Prints the types of `require "berth.torch"` for editors. The build writes them to share/berth/types/torch.lua.
io.write(require "berth.torch.documentation" (require "berth.torch"))
