#!/usr/bin/env python3
"""accelerate's own choices for decoders of reach_models.py, by its own functions, simulated by Berth under its rules.

    python reach_accelerate.py path/to/berth FOLDER

FOLDER: that of reach_models.py. "auto" is what device_map="auto" gives (get_balanced_memory, then infer_auto_device_map),
"sequential" fills one GPU after the other. The norm before the head goes with it. Needs torch, transformers and accelerate; reads no weights.
"""

import json
import subprocess
import sys

import torch
from accelerate import infer_auto_device_map, init_empty_weights
from accelerate.utils import get_balanced_memory
from reach_models import LLAMA_7B, LLAMA_8B, LLAMA_13B, LLAMA_70B, QWEN_14B
from transformers import LlamaConfig, LlamaForCausalLM

PAIRS = (("7b", LLAMA_7B, "rtx4090+rtx3060"), ("8b", LLAMA_8B, "rtx3090+rtx3070"), ("13b", LLAMA_13B, "rtx4090+rtx4060+host:64GiB"),
         ("13b", LLAMA_13B, "rtx4090+rtx4070"), ("14b", QWEN_14B, "rtx3090+rtx3060"), ("70b", LLAMA_70B, "h100+a6000+a40+host"))
DIMS = [f"--dim={name}" for name in ("batch=1", "sequence_length=1", "past_sequence_length=4095")]


def empty(layers, width, heads, kv, inner, words, **_):
    config = LlamaConfig(num_hidden_layers=layers, hidden_size=width, num_attention_heads=heads, num_key_value_heads=kv,
                         intermediate_size=inner, vocab_size=words, tie_word_embeddings=False)
    with init_empty_weights():
        return LlamaForCausalLM(config).to(torch.float16)


def ops_of(module):
    """The ops of a module, as a regular expression: their scope is its name."""
    scope = module.replace(".layers.", ".layers#").replace(".", "/").replace("#", ".")
    return f"/{scope}/.*".replace(".", "\\.").replace("\\.*", ".*") if module else ".*"


def place(berth, model, machine, *more):
    done = subprocess.run([berth, "place", model, *DIMS, "--cluster", machine, "--for", "accelerate", "--bound", "none", "--json",
                           *more], capture_output=True, text=True)
    if done.returncode == 0:
        return f"{json.loads(done.stdout)['runtime_us'] / 1e3:.1f} ms"
    return "does not fit" if "do not fit" in done.stderr else done.stderr


def main():
    berth, folder = sys.argv[1:]
    for name, sizes, words in PAIRS:
        model, file = empty(**sizes), f"{folder}/{name}.onnx"
        machine = json.loads(subprocess.run([berth, "devices", "--cluster", words, "--json"], capture_output=True, text=True,
                                            check=True).stdout)
        gpus = [device for device in machine["devices"] if not device.get("host")]
        memory = {i: device["memory_bytes"] for i, device in enumerate(gpus)}
        memory["cpu"] = next(device["memory_bytes"] for device in machine["devices"] if device.get("host"))
        kinds = {"no_split_module_classes": ["LlamaDecoderLayer"], "dtype": torch.float16}
        told = [f"{name} on {words}: the plan {place(berth, file, words)}"]
        for choice in ("auto", "sequential"):
            given = get_balanced_memory(model, max_memory=dict(memory), **kinds) if choice == "auto" else dict(memory)
            chosen = infer_auto_device_map(model, max_memory=given, **kinds)
            pins = [f"--pin={ops_of(module)}={'cpu:0' if device in ('cpu', 'disk') else f'gpu:{device}'}"
                    for module, device in chosen.items() if module not in ("model.rotary_emb", "model.norm")]
            hosted = sum(device in ("cpu", "disk") for device in chosen.values())
            told.append(f"{choice} {place(berth, file, words, '--policy', 'fill', '--within', '0', *pins)}"
                        + (f" ({hosted} modules on the host)" if hosted else ""))
        print("; ".join(told), flush=True)


if __name__ == "__main__":
    main()
