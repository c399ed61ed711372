-- Which graphs nobody may learn from: those that learned policies are judged by. Split by family of
-- architectures, so that no relative of a judge is learned from.

local split = {}

-- Patterns of file names, lower case. The graphs of examples/ and tests/corpus/graphs are judges, so their
-- families are here; of the others every third family of the corpus, chosen before anything was trained.
local HELD_OUT = {
  "inception", "nasnet", "nmt", "rnnlm", "resnet", "bert", "gpt", "opt", "bart", "fnet", "hubert", "switch",
  "fasterrcnn", "googlenet", "lstm", "gru", "mixture", "video", "bloom", "convnext", "mobilenet", "vit", "swin",
  "whisper", "t5", "transformer_decoder", "tiny_cnn", "chain_mm", "ffnn", "transformer_block", "transformer_layer",
}

-- Whether a model's file is one to judge by.
function split.held_out(path)
  local name = path:match "[^/]*$":lower()
  for _, pattern in ipairs(HELD_OUT) do
    if name:find(pattern, 1, true) then return true end
  end
  return false
end

return split
