#!/usr/bin/env python3
"""Writes the models of reach.lua as ONNX: published hyperparameters, no weights.

    python reach_models.py FOLDER [NAME..]

A decoder's step: one token, with caches of keys and values that have room for what --dim
past_sequence_length says. In 4.5 bits weights are blocks of 32 with a scale in 16 bits
(com.microsoft.MatMulNBits). Needs `onnx` of PyPI.
"""

import argparse
import pathlib

import onnx
from onnx import TensorProto as T
from onnx import helper as h

HALF = T.FLOAT16


class Net:
    """A graph that is built op by op. Scopes are those of PyTorch's exporter: "/model/layers.0/mlp/MatMul"."""

    def __init__(self, bits=16):
        self.bits, self.nodes, self.weights, self.inputs, self.outputs = bits, [], [], [], []
        self.domains, self.counts = {"": 17}, {}

    def weight(self, name, *shape, kind=HALF):
        tensor = T(name=name, data_type=kind, dims=shape, data_location=T.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        self.weights.append(tensor)
        return name

    def ints(self, *values):
        name = "ints_" + "_".join(map(str, values)).replace("-", "m")
        if all(w.name != name for w in self.weights):
            self.weights.append(h.make_tensor(name, T.INT64, [len(values)], values))
        return name

    def half(self, value):
        name = f"half_{value}"
        if all(w.name != name for w in self.weights):
            self.weights.append(h.make_tensor(name, HALF, [], [value]))
        return name

    def op(self, scope, kind, *inputs, outputs=1, domain="", name=None, **attributes):
        number = self.counts[scope, kind] = self.counts.get((scope, kind), -1) + 1
        called = f"/{scope}/{kind}" + (f"_{number}" if number else "")
        self.domains.setdefault(domain, 1)
        out = name or [f"{called}_output_{i}" for i in range(outputs)]
        self.nodes.append(h.make_node(kind, inputs, out, called, domain=domain, **attributes))
        return out[0] if len(out) == 1 else out

    def linear(self, module, x, rows, columns, bias=False):
        scope = module.replace(".", "/").replace("layers/", "layers.").replace("experts/", "experts.")
        scope = scope.replace("blocks/", "blocks.").replace("resnets/", "resnets.").replace("attentions/", "attentions.")
        if self.bits == 16:
            y = self.op(scope, "MatMul", x, self.weight(module + ".weight", rows, columns))
        else:
            packed = self.weight(module + ".qweight", columns, rows // 32, 16, kind=T.UINT8)
            scales = self.weight(module + ".scales", columns * rows // 32)
            y = self.op(scope, "MatMulNBits", x, packed, scales, domain="com.microsoft", K=rows, N=columns,
                        bits=4, block_size=32)
        return self.op(scope, "Add", y, self.weight(module + ".bias", columns)) if bias else y

    def norm(self, module, x, width):
        scope = module.replace(".", "/").replace("layers/", "layers.")
        mean = self.op(scope, "ReduceMean", self.op(scope, "Pow", x, self.half(2)), axes=[-1])
        root = self.op(scope, "Sqrt", self.op(scope, "Add", mean, self.half(1e-5)))
        return self.op(scope, "Mul", self.op(scope, "Div", x, root), self.weight(module + ".weight", width))

    def silu(self, scope, x):
        return self.op(scope, "Mul", x, self.op(scope, "Sigmoid", x))

    def heads(self, scope, x, count, width, transposed=False):
        split = self.op(scope, "Reshape", x, self.ints(0, -1, count, width))
        return self.op(scope, "Transpose", split, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])

    def attend(self, scope, q, k, v, inner):
        """q [b, h, s, d], k [b, h, d, t], v [b, h, t, d] -> [b, s, inner]"""
        weights = self.op(scope, "Softmax", self.op(scope, "MatMul", q, k), axis=-1)
        mixed = self.op(scope, "Transpose", self.op(scope, "MatMul", weights, v), perm=[0, 2, 1, 3])
        return self.op(scope, "Reshape", mixed, self.ints(0, -1, inner))

    def save(self, path):
        graph = h.make_graph(self.nodes, path.stem, self.inputs, self.outputs, self.weights)
        opsets = [h.make_opsetid(domain, version) for domain, version in self.domains.items()]
        onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=10), path)


def decoder(layers, width, heads, kv, inner, words, bits=16, experts=0, bias=False, tied=False):
    net, size = Net(bits), width // heads
    net.inputs.append(h.make_tensor_value_info("input_ids", T.INT64, ["batch", "sequence_length"]))
    net.inputs.append(h.make_tensor_value_info("seqlens_k", T.INT32, ["batch"]))
    net.inputs.append(h.make_tensor_value_info("total_length", T.INT32, []))
    table = net.weight("model.embed_tokens.weight", words, width)
    x = net.op("model/embed_tokens", "Gather", table, "input_ids")
    for i in range(layers):
        at, scope = f"model.layers.{i}", f"model/layers.{i}"
        attn, mlp = scope + "/self_attn", scope + "/mlp"
        y = net.norm(at + ".input_layernorm", x, width)
        q = net.linear(at + ".self_attn.q_proj", y, width, width, bias)
        k = net.linear(at + ".self_attn.k_proj", y, width, kv * size, bias)
        v = net.linear(at + ".self_attn.v_proj", y, width, kv * size, bias)
        caches = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
        kept = [name.replace("past_key_values", "present") for name in caches]
        net.inputs += [h.make_tensor_value_info(c, HALF, ["batch", kv, "past_sequence_length", size]) for c in caches]
        net.outputs += [h.make_tensor_value_info(
            c, HALF, ["batch", kv, "past_sequence_length + sequence_length", size]) for c in kept]
        mixed, _, _ = net.op(attn, "GroupQueryAttention", q, k, v, *caches, "seqlens_k", "total_length",
                             domain="com.microsoft", name=[f"/{attn}/mixed", *kept], num_heads=heads, kv_num_heads=kv)
        x = net.op(scope, "Add", x, net.linear(at + ".self_attn.o_proj", mixed, width, width))
        y = net.norm(at + ".post_attention_layernorm", x, width)

        def gated(module, scope, y):
            gate = net.silu(scope, net.linear(module + ".gate_proj", y, width, inner))
            up = net.linear(module + ".up_proj", y, width, inner)
            return net.linear(module + ".down_proj", net.op(scope, "Mul", gate, up), inner, width)

        if not experts:
            x = net.op(scope, "Add", x, gated(at + ".mlp", mlp, y))
            continue
        router = net.op(mlp, "Softmax", net.op(mlp + "/gate", "MatMul", y, net.weight(at + ".mlp.gate.weight", width, experts)), axis=-1)
        share, chosen = net.op(mlp, "TopK", router, net.ints(2), outputs=2, axis=-1)
        total = None
        for e in range(experts):
            here = f"{mlp}/experts.{e}"
            mask = net.op(here, "Equal", chosen, net.ints(e))
            weight = net.op(here, "ReduceSum", net.op(here, "Mul", share, net.op(here, "Cast", mask, to=HALF)), net.ints(-1))
            rows = net.op(here, "NonZero", net.op(here, "Squeeze", weight, net.ints(-1)))
            rows = net.op(here, "Transpose", rows, perm=[1, 0])
            out = gated(f"{at}.mlp.experts.{e}", here, net.op(here, "GatherND", y, rows))
            out = net.op(here, "Mul", out, net.op(here, "GatherND", weight, rows))
            empty = net.op(here, "Mul", y, net.half(0)) if total is None else total
            total = net.op(here, "ScatterND", empty, rows, out, reduction="add")
        x = net.op(scope, "Add", x, total)
    x = net.norm("model.norm", x, width)
    if tied:
        logits = net.op("lm_head", "MatMul", x, net.op("lm_head", "Transpose", table, perm=[1, 0]), name=["logits"])
    else:
        logits = net.linear("lm_head", x, width, words)
    net.outputs.append(h.make_tensor_value_info(logits, HALF, ["batch", "sequence_length", words]))
    return net


def whisper(layers, width, heads, words, bands=128, seconds=3000):
    """A word after the encoder heard 30 s."""
    net, size = Net(), width // heads
    net.inputs.append(h.make_tensor_value_info("input_features", HALF, ["batch", bands, seconds]))
    net.inputs.append(h.make_tensor_value_info("decoder_input_ids", T.INT64, ["batch", "sequence_length"]))

    def conv(module, x, rows, columns, stride):
        scope = module.replace(".", "/")
        y = net.op(scope, "Conv", x, net.weight(module + ".weight", columns, rows, 3), net.weight(module + ".bias", columns),
                   kernel_shape=[3], pads=[1, 1], strides=[stride])
        return net.op(scope, "Mul", y, net.op(scope, "Sigmoid", y))

    def attention(module, scope, x, source):
        q = net.heads(scope, net.linear(module + ".q_proj", x, width, width, True), heads, size)
        k = net.heads(scope, net.linear(module + ".k_proj", source, width, width), heads, size, True)
        v = net.heads(scope, net.linear(module + ".v_proj", source, width, width, True), heads, size)
        return net.linear(module + ".out_proj", net.attend(scope, q, k, v, width), width, width, True)

    def layer(at, scope, x, source=None):
        y = net.norm(at + ".self_attn_layer_norm", x, width)
        x = net.op(scope, "Add", x, attention(at + ".self_attn", scope + "/self_attn", y, y))
        if source is not None:
            y = net.norm(at + ".encoder_attn_layer_norm", x, width)
            x = net.op(scope, "Add", x, attention(at + ".encoder_attn", scope + "/encoder_attn", y, source))
        y = net.norm(at + ".final_layer_norm", x, width)
        y = net.silu(scope, net.linear(at + ".fc1", y, width, 4 * width, True))
        return net.op(scope, "Add", x, net.linear(at + ".fc2", y, 4 * width, width, True))

    x = conv("model.encoder.conv2", conv("model.encoder.conv1", "input_features", bands, width, 1), width, width, 2)
    x = net.op("model/encoder", "Transpose", x, perm=[0, 2, 1])
    for i in range(layers):
        x = layer(f"model.encoder.layers.{i}", f"model/encoder/layers.{i}", x)
    heard = net.norm("model.encoder.layer_norm", x, width)
    table = net.weight("model.decoder.embed_tokens.weight", words, width)
    y = net.op("model/decoder/embed_tokens", "Gather", table, "decoder_input_ids")
    for i in range(layers):
        y = layer(f"model.decoder.layers.{i}", f"model/decoder/layers.{i}", y, heard)
    y = net.norm("model.decoder.layer_norm", y, width)
    logits = net.op("proj_out", "MatMul", y, net.op("proj_out", "Transpose", table, perm=[1, 0]), name=["logits"])
    net.outputs.append(h.make_tensor_value_info(logits, HALF, ["batch", "sequence_length", words]))
    return net


def unet(widths=(320, 640, 1280, 1280), depth=2, words=768, heads=8):
    """A step of Stable Diffusion's kind, on latents of 64 x 64."""
    net, time_width = Net(), 4 * widths[0]
    net.inputs += [h.make_tensor_value_info("sample", HALF, ["batch", 4, 64, 64]),
                   h.make_tensor_value_info("time", HALF, ["batch", widths[0]]),
                   h.make_tensor_value_info("encoder_hidden_states", HALF, ["batch", 77, words])]

    def scope_of(module):
        parts, scope = module.split("."), ""
        for part in parts:
            scope += ("." if part.isdigit() else "/") + part
        return scope[1:]

    def conv(module, x, rows, columns, kernel=3, stride=1):
        pad = kernel // 2
        return net.op(scope_of(module), "Conv", x, net.weight(module + ".weight", columns, rows, kernel, kernel),
                      net.weight(module + ".bias", columns), kernel_shape=[kernel] * 2, pads=[pad] * 4, strides=[stride] * 2)

    def normed(module, x, width):
        scope = scope_of(module)
        flat = net.op(scope, "Reshape", x, net.ints(0, 32, -1))
        flat = net.op(scope, "InstanceNormalization", flat, net.weight(module + ".ones", 32), net.weight(module + ".zeros", 32))
        back = net.op(scope, "Reshape", flat, net.op(scope, "Shape", x))
        return net.op(scope, "Mul", back, net.weight(module + ".weight", width, 1, 1))

    hot = net.linear("time_embedding.linear_1", "time", widths[0], time_width, True)
    hot = net.silu("time_embedding", hot)
    hot = net.silu("time_embedding", net.linear("time_embedding.linear_2", hot, time_width, time_width, True))

    def resnet(module, x, rows, columns):
        scope = scope_of(module)
        y = conv(module + ".conv1", net.silu(scope, normed(module + ".norm1", x, rows)), rows, columns)
        t = net.op(scope, "MatMul", hot, net.weight(module + ".time_emb_proj.weight", time_width, columns))
        y = net.op(scope, "Add", y, net.op(scope, "Unsqueeze", t, net.ints(2, 3)))
        y = conv(module + ".conv2", net.silu(scope, normed(module + ".norm2", y, columns)), columns, columns)
        return net.op(scope, "Add", x if rows == columns else conv(module + ".conv_shortcut", x, rows, columns, 1), y)

    def transformer(module, x, width, side):
        scope = scope_of(module)
        y = net.op(scope, "Reshape", conv(module + ".proj_in", normed(module + ".norm", x, width), width, width, 1), net.ints(0, width, -1))
        y = net.op(scope, "Transpose", y, perm=[0, 2, 1])

        def matmul(name, x, rows, columns):
            return net.op(scope_of(name), "MatMul", x, net.weight(name + ".weight", rows, columns))

        for name, source, rows in (("attn1", None, width), ("attn2", "encoder_hidden_states", words)):
            at, size = f"{module}.{name}", width // heads
            from_ = y if source is None else source
            q = net.heads(scope, matmul(at + ".to_q", y, width, width), heads, size)
            k = net.heads(scope, matmul(at + ".to_k", from_, rows, width), heads, size, True)
            v = net.heads(scope, matmul(at + ".to_v", from_, rows, width), heads, size)
            y = net.op(scope, "Add", y, matmul(at + ".to_out", net.attend(scope, q, k, v, width), width, width))
        inner = matmul(module + ".ff.net", y, width, 4 * width)
        y = net.op(scope, "Add", y, matmul(module + ".ff.out", net.silu(scope, inner), 4 * width, width))
        y = net.op(scope, "Reshape", net.op(scope, "Transpose", y, perm=[0, 2, 1]), net.ints(0, width, side, side))
        return net.op(scope, "Add", x, conv(module + ".proj_out", y, width, width, 1))

    side, x = 64, conv("conv_in", "sample", 4, widths[0])
    kept, before = [(x, widths[0])], widths[0]
    for i, width in enumerate(widths):
        at = f"down_blocks.{i}"
        for j in range(depth):
            x, before = resnet(f"{at}.resnets.{j}", x, before, width), width
            if i + 1 < len(widths):
                x = transformer(f"{at}.attentions.{j}", x, width, side)
            kept.append((x, width))
        if i + 1 < len(widths):
            x, side = conv(f"{at}.downsamplers.0.conv", x, width, width, 3, 2), side // 2
            kept.append((x, width))
    x = resnet("mid_block.resnets.0", x, before, before)
    x = resnet("mid_block.resnets.1", transformer("mid_block.attentions.0", x, before, side), before, before)
    for i, width in enumerate(reversed(widths)):
        at = f"up_blocks.{i}"
        for j in range(depth + 1):
            skip, its = kept.pop()
            x = net.op(scope_of(at), "Concat", x, skip, axis=1)
            x, before = resnet(f"{at}.resnets.{j}", x, before + its, width), width
            if i > 0:
                x = transformer(f"{at}.attentions.{j}", x, width, side)
        if i + 1 < len(widths):
            scales = h.make_tensor("twice", T.FLOAT, [4], [1, 1, 2, 2])
            if i == 0:
                net.weights.append(scales)
            x = net.op(scope_of(at + ".upsamplers.0"), "Resize", x, "", "twice", mode="nearest")
            x, side = conv(f"{at}.upsamplers.0.conv", x, width, width), side * 2
    x = conv("conv_out", net.silu("conv_out", normed("conv_norm_out", x, before)), before, 4)
    net.outputs.append(h.make_tensor_value_info(x, HALF, ["batch", 4, 64, 64]))
    return net


LLAMA_7B = dict(layers=32, width=4096, heads=32, kv=32, inner=11008, words=32000)
LLAMA_8B = dict(layers=32, width=4096, heads=32, kv=8, inner=14336, words=128256)
LLAMA_13B = dict(layers=40, width=5120, heads=40, kv=40, inner=13824, words=32000)
QWEN_14B = dict(layers=48, width=5120, heads=40, kv=8, inner=13824, words=152064, bias=True)
LLAMA_34B = dict(layers=48, width=8192, heads=64, kv=8, inner=22016, words=32000)
LLAMA_70B = dict(layers=80, width=8192, heads=64, kv=8, inner=28672, words=32000)
MIXTRAL = dict(layers=32, width=4096, heads=32, kv=8, inner=14336, words=32000, experts=8)
MODELS = {
    "7b": lambda: decoder(**LLAMA_7B),
    "8b": lambda: decoder(**LLAMA_8B),
    "8b-q4": lambda: decoder(**LLAMA_8B, bits=4),
    "13b": lambda: decoder(**LLAMA_13B),
    "14b": lambda: decoder(**QWEN_14B),
    "34b-q4": lambda: decoder(**LLAMA_34B, bits=4),
    "70b-q4": lambda: decoder(**LLAMA_70B, bits=4),
    "70b": lambda: decoder(**LLAMA_70B),
    "8x7b-q4": lambda: decoder(**MIXTRAL, bits=4),
    "unet": unet,
    "whisper": lambda: whisper(32, 1280, 20, 51866),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="made where it is not there")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(MODELS)}; default: all")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in MODELS]
    if unknown:
        parser.error(f"no model is called {unknown[0]}; there are {', '.join(MODELS)}")
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or MODELS:
        MODELS[name]().save(options.folder / f"{name}.onnx")


if __name__ == "__main__":
    main()
