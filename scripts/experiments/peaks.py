#!/usr/bin/env python3
"""Simulated and measured peaks of memory, of one step on one device.

    python peaks.py [--berth build/release/bin/berth] [MODEL ...]

Needs onnx, onnxruntime and numpy of PyPI. Makes models of a dozen kinds with their data in a folder of
their own, and takes more from the command line. For each, the peak as `berth` simulates it on one
device, as its own executor counts it where tensors are allocated, and as a process of ONNX Runtime
shows it: CPU, one thread, without arena, without memory patterns and prepacked weights, resident
memory over that of a process that has run a trivial model. The feeds are a caller's and count, as
inputs do in a simulated step. Kernels' own scratch memory is not part of a simulation from a roofline:
the last column simulates with what `berth profile` measured of it.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
value = helper.make_tensor_value_info
node = helper.make_node


class Network:
    """Nodes and weights of a model; weights are drawn."""

    def __init__(self):
        self.nodes, self.initializers = [], []
        self.random = np.random.default_rng(0)

    def weight(self, *shape, dtype=np.float32):
        name = f"w{len(self.initializers)}"
        drawn = self.random.standard_normal(shape, np.float32) * 0.02
        if np.issubdtype(dtype, np.integer):
            drawn = drawn * 1000
        self.initializers.append(numpy_helper.from_array(drawn.astype(dtype), name))
        return name

    def ints(self, *values):
        name = f"w{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def op(self, op_type, *inputs, output=None, **attributes):
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(node(op_type, list(inputs), [output], **attributes))
        return output

    def save(self, path, inputs, outputs):
        graph = helper.make_graph(self.nodes, path.stem, inputs, outputs, self.initializers)
        onnx.save(
            helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
        )


# --------------------------------------------------------------------------------------------------
# Models


def layers_of(change):
    """Eight layers whose weights pass through a constant of the step."""

    def make(path):
        net, x = Network(), "x"
        for _ in range(8):
            x = net.op("Tanh", net.op("MatMul", x, change(net)))
        net.save(path, [value("x", FLOAT, [512, 1024])], [value(x, FLOAT, [512, 1024])])

    return make


def quantised(net):
    # Scales that layers share, or that are equal numbers, keep ONNX Runtime 1.32 from fusing them.
    return net.op("DequantizeLinear", net.weight(1024, 1024, dtype=np.int8), net.weight(1024), axis=1)


def fetched(path):
    net, x, outputs = Network(), "x", []
    for _ in range(8):
        x = net.op("Tanh", x)
        outputs.append(value(x, FLOAT, [2048, 2048]))
    net.save(path, [value("x", FLOAT, [2048, 2048])], outputs)


def cache(path):
    net = Network()
    inputs, outputs = [value("x", FLOAT, [1, 8, 1, 64])], []
    for k in range(8):
        inputs.append(value(f"past_key_values.{k}.key", FLOAT, [1, 8, 8192, 64]))
        outputs.append(value(f"present.{k}.key", FLOAT, [1, 8, 8193, 64]))
        net.op("Concat", inputs[-1].name, "x", output=outputs[-1].name, axis=2)
    net.save(path, inputs, outputs)


def filled(path):
    net = Network()
    zeros = net.op("ConstantOfShape", net.ints(4096, 4096))
    y = net.op("Relu", net.op("MatMul", "x", zeros))
    net.save(path, [value("x", FLOAT, [256, 4096])], [value(y, FLOAT, [256, 4096])])


def unet(path):
    net, x, skips = Network(), "x", []
    for k in range(4):
        x = net.op("Conv", x, net.weight(32, 32 if k else 3, 3, 3), pads=[1] * 4)
        x = net.op("Relu", x)
        skips.append(x)
        x = net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    for skip in reversed(skips):
        x = net.op("ConvTranspose", x, net.weight(32, 32, 2, 2), strides=[2, 2])
        x = net.op("Conv", net.op("Concat", x, skip, axis=1), net.weight(32, 64, 3, 3), pads=[1] * 4)
    net.save(path, [value("x", FLOAT, [1, 3, 512, 512])], [value(x, FLOAT, [1, 32, 512, 512])])


def recurrent(path):
    net = Network()
    x = net.op("LSTM", "x", net.weight(1, 4096, 1024), net.weight(1, 4096, 1024), hidden_size=1024)
    net.save(path, [value("x", FLOAT, [32, 8, 1024])], [value(net.op("Relu", x), FLOAT, None)])


def encoder(path):
    net, x, width = Network(), "x", 768
    heads, whole = net.ints(0, 0, 12, 64), net.ints(0, 0, width)
    for _ in range(6):
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            part = net.op("Reshape", net.op("MatMul", x, net.weight(width, width)), heads)
            parts.append(net.op("Transpose", part, perm=perm))
        shares = net.op("Softmax", net.op("MatMul", parts[0], parts[1]), axis=-1)
        mixed = net.op("Transpose", net.op("MatMul", shares, parts[2]), perm=[0, 2, 1, 3])
        mixed = net.op("MatMul", net.op("Reshape", mixed, whole), net.weight(width, width))
        x = net.op("Add", x, mixed)
        inner = net.op("Relu", net.op("MatMul", x, net.weight(width, 4 * width)))
        x = net.op("Add", x, net.op("MatMul", inner, net.weight(4 * width, width)))
    net.save(path, [value("x", FLOAT, [2, 256, width])], [value(x, FLOAT, [2, 256, width])])


def lookups(path):
    """A recommender's tables: a lookup of eight rows each, summed."""
    net = Network()
    sums = [net.op("ReduceSum", net.op("Gather", net.weight(1000, 64), "x"), net.ints(1), keepdims=0)
            for _ in range(16)]
    y = net.op("Concat", *sums, axis=1)
    net.save(path, [value("x", INT64, [4096, 8])], [value(y, FLOAT, [4096, 1024])])


MODELS = {
    "plain weights": layers_of(lambda net: net.weight(1024, 1024)),
    "transposed weights": layers_of(
        lambda net: net.op("Transpose", net.weight(1024, 1024), perm=[1, 0])
    ),
    "Identity of weights": layers_of(lambda net: net.op("Identity", net.weight(1024, 1024))),
    "weights cast from f16": layers_of(
        lambda net: net.op("Cast", net.weight(1024, 1024, dtype=np.float16), to=FLOAT)
    ),
    "weights in int8": layers_of(quantised),
    "eight outputs": fetched,
    "cache, copied": cache,
    "a constant of a shape": filled,
    "UNet": unet,
    "LSTM": recurrent,
    "encoder": encoder,
    "lookups": lookups,
}

# --------------------------------------------------------------------------------------------------
# Peaks


def resident(key):
    """A line of /proc/self/status, in bytes."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    raise KeyError(key)


def run_in_onnx_runtime(path):
    """Prints the peak of one step; a process of its own calls it."""
    import ctypes

    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    # Other layouts of weights are made for the processor beside them.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.add_session_config_entry("session.disable_prepacking", "1")

    def session(model):
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    trivial = Network()
    trivial_path = pathlib.Path(tempfile.mkstemp(suffix=".onnx")[1])
    trivial.save(trivial_path, [value("x", FLOAT, [4])], [value(trivial.op("Relu", "x"), FLOAT, [4])])
    session(str(trivial_path)).run(None, {"x": np.zeros(4, np.float32)})
    trivial_path.unlink()
    libc = ctypes.CDLL("libc.so.6")
    libc.malloc_trim(0)
    before = resident("VmRSS")
    model = session(path)
    types = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
    feeds = {
        each.name: np.ones(each.shape, types[each.type]) for each in model.get_inputs()
    }
    libc.malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")  # the peak is that of now
    outputs = model.run(None, feeds)
    print(json.dumps({"peak": resident("VmHWM") - before, "outputs": len(outputs)}))


def measured_by_onnx_runtime(path):
    # Freed memory is given back.
    environment = dict(os.environ, MALLOC_MMAP_THRESHOLD_="65536", OMP_NUM_THREADS="1")
    done = subprocess.run(
        [sys.executable, __file__, "--run", str(path)],
        env=environment, capture_output=True, text=True,
    )
    if done.returncode != 0:
        return None
    return json.loads(done.stdout)["peak"]


def berth_json(berth, *arguments):
    done = subprocess.run([berth, *arguments, "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


ONE = {
    "format": "berth.cluster/1", "name": "one", "links": [],
    "devices": [{"name": "cpu:0", "kind": "cpu", "host": True, "memory_bytes": 2**40, "flops": 1e11,
                 "memory_bandwidth_bytes_per_s": 1e10}],
}


def peaks(berth, path, folder):
    """Simulated, counted by Berth's executor, simulated with profiled workspaces, of ONNX Runtime."""
    cluster, placement = folder / "one.json", folder / "placement.json"
    costs, machine = folder / "costs.json", folder / "machine.json"
    cluster.write_text(json.dumps(ONE))
    backend = ["--backend", "cpu:devices=1,threads=1", "--warm-up", "0"]

    def simulated(*arguments):
        return berth_json(berth, "place", str(path), "--policy", "single", "-o", str(placement),
                          *arguments)["devices"][0]["peak_bytes"]

    roofline = simulated("--cluster", str(cluster))
    try:
        own = berth_json(berth, "measure", str(path), *backend, "--placement", str(placement),
                         "--repeats", "1")["devices"][0]["peak_bytes"]
        subprocess.run([berth, "profile", str(path), *backend, "--repeats", "3", "-o", str(costs),
                        "--cluster-output", str(machine)], check=True, capture_output=True)
        profiled = simulated("--cluster", str(machine), "--costs", str(costs))
    except SystemExit as refusal:
        print(refusal, file=sys.stderr)
        own = profiled = None
    return roofline, own, profiled, measured_by_onnx_runtime(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", type=pathlib.Path)
    parser.add_argument("--berth", default="build/release/bin/berth")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        run_in_onnx_runtime(options.run)
        return
    print("| model | simulated, MB | ONNX Runtime, MB | off | own executor, MB | off "
          "| with its workspaces | off |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")

    def cells(simulated, found):
        if found is None:
            return "- | -"
        return f"{found / 1e6:.1f} | {100 * (simulated / found - 1):+.1f} %"

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, make in list(MODELS.items()) + [(path.stem, path) for path in options.models]:
            path = make
            if callable(make):
                path = folder / f"{name.replace(' ', '_').replace(',', '')}.onnx"
                make(path)
            roofline, own, profiled, runtime = peaks(options.berth, path, folder)
            more = "- | -"
            if profiled is not None:
                more = f"{profiled / 1e6:.1f} | {100 * (profiled / own - 1):+.1f} %"
            print(f"| {name} | {roofline / 1e6:.1f} | {cells(roofline, runtime)} | "
                  f"{cells(roofline, own)} | {more} |", flush=True)
            if callable(make):
                path.unlink()


if __name__ == "__main__":
    main()
