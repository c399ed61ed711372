#!/usr/bin/env python3
"""A tiny random decoder of the Llama family in GGUF: python make_gguf.py OUT.gguf LAYERS EXPERTS"""

import sys

import gguf
import numpy as np


def main():
    path, layers, experts = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    width, inner, heads, words = 64, 128, 4, 96
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(256)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(words)
    writer.add_tokenizer_model("none")
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)

    def tensor(name, *shape):
        writer.add_tensor(name, random.standard_normal(shape).astype(np.float32) * 0.05)

    tensor("token_embd.weight", words, width)
    for layer in range(layers):
        at = f"blk.{layer}."
        tensor(at + "attn_norm.weight", width)
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensor(at + name + ".weight", width, width)
        tensor(at + "ffn_norm.weight", width)
        if experts:
            tensor(at + "ffn_gate_inp.weight", experts, width)
            tensor(at + "ffn_gate_exps.weight", experts, inner, width)
            tensor(at + "ffn_up_exps.weight", experts, inner, width)
            tensor(at + "ffn_down_exps.weight", experts, width, inner)
        else:
            tensor(at + "ffn_gate.weight", inner, width)
            tensor(at + "ffn_up.weight", inner, width)
            tensor(at + "ffn_down.weight", width, inner)
    tensor("output_norm.weight", width)
    tensor("output.weight", words, width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
