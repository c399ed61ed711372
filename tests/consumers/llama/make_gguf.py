#!/usr/bin/env python3
"""A decoder of the Llama family in GGUF: python make_gguf.py OUT.gguf layers=7 width=64 inner=128 heads=4 kv=4 words=96
experts=0 weights=random|none

`none` leaves a hole in the file where weights would be: for programs that look at sizes alone.
"""

import os
import sys

import gguf
import numpy as np


def main():
    path, given = sys.argv[1], dict(pair.split("=") for pair in sys.argv[2:])
    random_weights = given.pop("weights") == "random"
    layers, width, inner, heads, kv, words, experts = (
        int(given[name]) for name in ("layers", "width", "inner", "heads", "kv", "words", "experts"))
    random = np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // heads)
    writer.add_vocab_size(words)
    writer.add_tokenizer_model("none")
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)
    hole = 0

    def tensor(name, *shape):
        nonlocal hole
        if random_weights:
            writer.add_tensor(name, random.standard_normal(shape).astype(np.float32) * 0.05)
            return
        kind = np.dtype(np.float16 if len(shape) > 1 and "gate_inp" not in name else np.float32)
        size = int(np.prod(shape)) * kind.itemsize
        writer.add_tensor_info(name, shape, kind, size)
        hole += -(-size // 32) * 32

    tensor("token_embd.weight", words, width)
    for layer in range(layers):
        at = f"blk.{layer}."
        tensor(at + "attn_norm.weight", width)
        for name, rows in (("attn_q", width), ("attn_k", width // heads * kv), ("attn_v", width // heads * kv), ("attn_output", width)):
            tensor(f"{at}{name}.weight", rows, width)
        tensor(at + "ffn_norm.weight", width)
        if experts:
            tensor(at + "ffn_gate_inp.weight", experts, width)
        for name, shape in (("gate", (inner, width)), ("up", (inner, width)), ("down", (width, inner))):
            if experts:
                tensor(f"{at}ffn_{name}_exps.weight", experts, *shape)
            else:
                tensor(f"{at}ffn_{name}.weight", *shape)
    tensor("output_norm.weight", width)
    tensor("output.weight", words, width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    if random_weights:
        writer.write_tensors_to_file()
        writer.close()
        return
    writer.write_ti_data_to_file()
    writer.close()
    with open(path, "r+b") as file:
        file.truncate(-(-os.path.getsize(path) // 32) * 32 + hole)


if __name__ == "__main__":
    main()
