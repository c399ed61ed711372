#!/usr/bin/env python3
"""Runs a model under a plan that berth wrote, and compares requested with executed, op for op.

    python executed.py tensorflow|onnxruntime|split|openvino|accelerate|llama.cpp path/to/berth path/to/examples/models

Ends with status 77, which CTest takes for skipped, where the runtime is not installed. On a machine
without GPUs, what a plan wants of them is stood in for; each test says how.
"""

import csv
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["HF_HUB_OFFLINE"] = "1"


def need(*modules):
    """Imports them, or ends the test as skipped."""
    found = []
    for name in modules:
        try:
            found.append(importlib.import_module(name))
        except ImportError as error:
            print(f"skipped: {error}; pip install {name.split('.')[0]} to run this")
            sys.exit(SKIPPED)
    return found


def cluster(path, *names, **figures):
    """A machine of equal devices; processors are hosts."""
    figures = {"flops": 1e9, "memory_bandwidth_bytes_per_s": 1e8, **figures}
    devices = [{"name": n, "kind": n.split(":")[0], "host": n.startswith("cpu"), **figures} for n in names]
    links = [{"src": "*", "dst": "*", "bandwidth_bytes_per_s": 1e12, "latency_us": 0}]
    path.write_text(json.dumps({"format": "berth.cluster/1", "name": "test", "devices": devices, "links": links}))
    return path


def place(berth, model, machine, folder, policy, *plans):
    """Writes the plans; returns the requested device of every op."""
    requested = folder / "requested.csv"
    command = [berth, "place", str(model), "--cluster", str(machine), "--policy", policy, "--seed", "1"]
    for plan in (*plans, f"csv={requested}"):
        command += ["--write", plan]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with open(requested, newline="") as table:
        devices = {row["op"]: row["device"] for row in csv.DictReader(table)}
    assert len(set(devices.values())) > 1, "the plan uses one device; it would show nothing"
    return devices


def tensorflow(berth, models, folder):
    """Three logical CPUs; every node of the trace on the one that was asked for."""
    np, tf = need("numpy", "tensorflow.compat.v1")
    from tensorflow.core.protobuf import rewriter_config_pb2

    machine = cluster(folder / "machine.json", "cpu:0", "cpu:1", "cpu:2")
    placed = folder / "placed.pb"
    requested = place(berth, models / "tf" / "nmt_tiny.pb", machine, folder, "random", f"model={placed}")

    graph_def = tf.GraphDef.FromString(placed.read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    random = np.random.default_rng(1)
    feeds = {}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            tensor = op.outputs[0]
            feeds[tensor] = random.integers(1, 20, tensor.shape.as_list()).astype(tensor.dtype.as_numpy_dtype)
    config = tf.ConfigProto(device_count={"CPU": 3}, allow_soft_placement=False)
    # The graph as it was placed: no op is folded, fused or removed.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session(graph=graph, config=config) as session:
        session.run("init")
        session.run(["loss/total:0", "train/train_op"], feeds, options=options, run_metadata=metadata)

    executed, elsewhere = 0, []
    for device in metadata.step_stats.dev_stats:
        name = device.device.split("/device:")[1].lower()
        for node in device.node_stats:
            if node.node_name not in requested:
                continue
            executed += 1
            if requested[node.node_name] != name:
                elsewhere.append(f"{node.node_name}: {requested[node.node_name]}, not {name}")
    assert not elsewhere, elsewhere[:5]
    assert executed > 0.9 * len(requested), f"only {executed} of {len(requested)} ops are in the trace"
    return f"{executed} of {len(requested)} ops executed, each on the device that was asked for"


def onnxruntime(berth, models, folder):
    """Nodes that were asked for the host are executed there; those for the GPU on a GPU's provider if
    this machine has one, else on the host, which is what the runtime does without one."""
    np, onnx, ort = need("numpy", "onnx", "onnxruntime")
    if tuple(map(int, ort.__version__.split(".")[:2])) < (1, 25):
        print(f"skipped: onnxruntime {ort.__version__} has no layer annotations; 1.25 has")
        sys.exit(SKIPPED)
    machine = cluster(folder / "machine.json", "gpu:0", "cpu:0")
    placed, settings = folder / "placed.onnx", folder / "session.json"
    requested = place(berth, models / "tiny_cnn.onnx", machine, folder, "random", f"model={placed}",
                      f"onnxruntime={settings}")

    model = onnx.load(placed)
    noted = {n.name: p.value for n in model.graph.node for p in n.metadata_props if p.key == "layer_ann"}
    for name, device in noted.items():
        assert requested.get(name, device) == device, f"{name}: {requested[name]}, noted {device}"
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_profiling = True
    options.profile_file_prefix = str(folder / "profile")
    options.log_severity_level = 4
    for key, value in json.loads(settings.read_text()).items():
        options.add_session_config_entry(key, value)
    session = ort.InferenceSession(str(placed), options, providers=ort.get_available_providers())
    random = np.random.default_rng(1)
    feeds = {}
    for tensor in session.get_inputs():
        shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
        feeds[tensor.name] = random.standard_normal(shape).astype(np.float32)
    session.run(None, feeds)
    profile = json.loads(pathlib.Path(session.end_profiling()).read_text())

    providers = {"gpu:0": "CPUExecutionProvider", "cpu:0": "CPUExecutionProvider"}
    if "CUDAExecutionProvider" in ort.get_available_providers():
        providers["gpu:0"] = "CUDAExecutionProvider"
    counts = dict.fromkeys(providers, 0)
    for event in profile:
        name = event.get("name", "").removesuffix("_kernel_time")
        if event.get("cat") != "Node" or name not in noted or name == event["name"]:
            continue
        counts[noted[name]] += 1
        assert event["args"]["provider"] == providers[noted[name]], (name, noted[name], event["args"]["provider"])
    assert sum(counts.values()) == len(noted) and all(counts.values()), (counts, len(noted))
    return "; ".join(f"{n} nodes for {d} executed by {providers[d]}" for d, n in counts.items())


def random_decoder(path):
    """A decoder of decoder_onnx whose weights are random and lie in a file beside the model."""
    np, onnx = need("numpy", "onnx")
    decoder_onnx(path, 6, 0)
    model, random = onnx.load(path), np.random.default_rng(2)
    for weight in model.graph.initializer:
        values = random.standard_normal(tuple(weight.dims)).astype(np.float32) / 8
        weight.CopyFrom(onnx.numpy_helper.from_array(values, weight.name))
    onnx.save(model, path, save_as_external_data=True, location="decoder.weights", size_threshold=0)


def split(berth, models, folder):
    """The parts of a model, run one after the other, give what the model gives, to the last bit."""
    np, ort = need("numpy", "onnxruntime")
    options = ort.SessionOptions()
    # The same nodes in whole and parts: what is fused across a cut would round in another way.
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3

    def session(path):
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    external, told = folder / "decoder.onnx", []
    random_decoder(external)
    machine = cluster(folder / "machine.json", "gpu:0", "gpu:1", "cpu:0", memory_bytes=150_000)
    for model, policy, most in ((external, "stages", 3), (external, "random", 99), (models / "tiny_cnn.onnx", "random", 99)):
        parts = folder / f"{model.stem}-{policy}"
        place(berth, model, machine, folder, policy, f"split={parts}")
        whole, random = session(model), np.random.default_rng(1)
        have = {}
        for tensor in whole.get_inputs():
            shape = [size if isinstance(size, int) else 1 for size in tensor.shape]
            have[tensor.name] = random.standard_normal(shape).astype(np.float32)
        expected = whole.run(None, have)
        index = json.loads((parts / "split.json").read_text())["parts"]
        assert 2 <= len(index) <= most, index
        for part in index:
            one = session(parts / part["file"])
            assert [t.name for t in one.get_inputs()] == part["inputs"]
            have.update(zip(part["outputs"], one.run(part["outputs"], {n: have[n] for n in part["inputs"]})))
        for tensor, values in zip(whole.get_outputs(), expected):
            assert np.array_equal(values, have[tensor.name]), (model, policy, tensor.name)
        told.append(f"{model.stem} by {policy} in {len(index)} parts")
    return "equal to the last bit: " + "; ".join(told)


def openvino(berth, models, folder):
    """HETERO compiles the model with the plan's affinities. On a machine without a GPU its device is
    checked in the plan, and every affinity is turned to the processor, which executes."""
    np, ov = need("numpy", "openvino")
    machine = cluster(folder / "machine.json", "gpu:0", "cpu:0")
    plan = folder / "affinity.json"
    requested = place(berth, models / "tiny_cnn.onnx", machine, folder, "random", f"openvino={plan}")
    wanted = json.loads(plan.read_text())
    assert wanted["device"] == "HETERO:GPU,CPU", wanted["device"]
    core = ov.Core()
    has_gpu = "GPU" in core.available_devices
    model = core.read_model(models / "tiny_cnn.onnx")
    names = {op.get_friendly_name(): op for op in model.get_ops()}
    found = 0
    for op, device in wanted["affinity"].items():
        assert device == {"gpu:0": "GPU", "cpu:0": "CPU"}[requested[op]], op
        if op not in names:
            continue
        found += 1
        names[op].get_rt_info()["affinity"] = device if has_gpu else "CPU"
    nodes = sum(op.get_type_name() not in ("Constant", "Parameter", "Result") for op in names.values())
    assert found > 0.5 * len(wanted["affinity"]), (found, len(wanted["affinity"]))
    shape = [dim.get_length() if dim.is_static else 1 for dim in model.input().partial_shape]
    feed = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    alone = core.compile_model(core.read_model(models / "tiny_cnn.onnx"), "CPU")(feed)[0]
    for op in names.values():  # constants and what OpenVINO adds go with what reads them
        if "affinity" not in op.get_rt_info():
            op.get_rt_info()["affinity"] = "CPU"
    result = core.compile_model(model, wanted["device"] if has_gpu else "HETERO:CPU")(feed)[0]
    assert np.allclose(result, alone, atol=1e-4)
    return f"{found} of {len(wanted['affinity'])} ops of the plan are ops of OpenVINO by name ({nodes} compute); same result"


def accelerate(berth, _, folder):
    """The weights of every module lie where the ops that read them were asked for. Without GPUs the
    first stands for the processor and the host for the disk: accelerate treats what lies on a host
    beside GPUs, and what lies on a disk beside a processor, alike."""
    torch, _, hugging = need("torch", "onnxscript", "accelerate")

    class Block(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm = torch.nn.LayerNorm(width)
            self.up_proj = torch.nn.Linear(width, 4 * width, bias=False)
            self.down_proj = torch.nn.Linear(4 * width, width, bias=False)

        def forward(self, x):
            return x + self.down_proj(torch.relu(self.up_proj(self.norm(x))))

    class Decoder(torch.nn.Module):
        def __init__(self, width=32):
            super().__init__()
            self.embed_tokens = torch.nn.Embedding(100, width)
            self.layers = torch.nn.ModuleList(Block(width) for _ in range(6))
            self.lm_head = torch.nn.Linear(width, 100, bias=False)

        def forward(self, tokens):
            x = self.embed_tokens(tokens)
            for layer in self.layers:
                x = layer(x)
            return self.lm_head(x)

    torch.manual_seed(1)
    decoder = Decoder().eval()
    with torch.no_grad():  # the exporter makes one of equal parameters
        for layer in decoder.layers:
            layer.norm.weight.normal_()
            layer.norm.bias.normal_()
    tokens = torch.arange(8).unsqueeze(0)
    model = folder / "decoder.onnx"
    torch.onnx.export(decoder, (tokens,), str(model), dynamo=False)
    # Neither device has room for more than two thirds of the weights.
    machine = cluster(folder / "machine.json", "gpu:0", "cpu:0", memory_bytes=150_000)
    plan = folder / "map.json"
    requested = place(berth, model, machine, folder, "topo", f"device_map={plan}")

    has_gpu = torch.cuda.is_available()
    stand_in = {0: 0 if has_gpu else "cpu", "cpu": "cpu" if has_gpu else "disk"}
    device_map = {module: stand_in[device] for module, device in json.loads(plan.read_text()).items()}
    expected = decoder(tokens)
    hugging.dispatch_model(decoder, device_map, main_device=stand_in[0], offload_dir=str(folder / "offload"))
    result = decoder(tokens.to(stand_in[0])).cpu()
    assert torch.allclose(result, expected, atol=1e-5)

    modules, elsewhere = 0, []
    for name, module in decoder.named_modules():
        if not list(module.parameters(recurse=False)):
            continue
        modules += 1
        # The ops of a module have its name as scope: "/layers.0/up_proj/MatMul".
        scope = "/" + "/".join(name.replace("layers.", "layers#").split(".")).replace("#", ".") + "/"
        devices = {device for op, device in requested.items() if op.startswith(scope)}
        offloaded = any(p.device.type == "meta" for p in module.parameters(recurse=False))
        if devices != {"cpu:0" if offloaded else "gpu:0"}:
            elsewhere.append(f"{name}: {devices or 'no op'}, offloaded: {offloaded}")
    assert modules == 20 and not elsewhere, elsewhere
    return f"the weights of {modules} modules lie where they were asked for; same result"


def decoder_onnx(path, layers, experts):
    """A decoder with the names of the Llama family, as large in each part as another of its kind."""
    (onnx,) = need("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes, weights = [], []

    def matmul(module, value, rows, columns):
        name = module + ".weight"
        weights.append(helper.make_tensor(name, kind, (rows, columns), bytes(4 * rows * columns), raw=True))
        out = f"{module}.out"
        scope = "/" + module.replace(".layers.", ".layers#").replace(".experts.", ".experts#").replace(".", "/").replace("#", ".")
        nodes.append(helper.make_node("MatMul", [value, name], [out], name=scope + "/MatMul"))
        return out

    value = matmul("model.embed_tokens", "x", 64, 64)
    for layer in range(layers):
        at = f"model.layers.{layer}"
        value = matmul(at + ".self_attn.q_proj", value, 64, 64)
        for expert in range(experts):
            value = matmul(f"{at}.mlp.experts.{expert}", value, 64, 64)
        value = matmul(at + ".mlp.down_proj", value, 64, 64)
    value = matmul("lm_head", value, 64, 64)
    graph = helper.make_graph(nodes, "decoder", [helper.make_tensor_value_info("x", kind, (1, 64))],
                              [helper.make_tensor_value_info(value, kind, (1, 64))], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def llama_cpp(berth, _, folder):
    """The layers, caches and overridden tensors of llama.cpp's own log are where the plan has them. Local
    RPC servers stand for GPUs; BERTH_LLAMA_PLACES names the program of llama/places.cpp."""
    need("gguf", "numpy")
    program = os.environ.get("BERTH_LLAMA_PLACES")
    if not program:
        print("skipped: BERTH_LLAMA_PLACES does not name the program of llama/places.cpp")
        sys.exit(SKIPPED)
    make = pathlib.Path(__file__).parent / "llama" / "make_gguf.py"
    weight, told = 64 * 64 * 4, []
    for layers, experts, gpus in ((7, 0, (6, 12)), (7, 0, (3, 5)), (5, 4, (7, 9)), (12, 0, (4, 20, 3))):
        model, gguf, plan = folder / "decoder.onnx", folder / "decoder.gguf", folder / "plan.txt"
        decoder_onnx(model, layers, experts)
        subprocess.run([sys.executable, str(make), str(gguf), str(layers), str(experts)], check=True)
        words = "+".join(f"rtx3090:{(room + 1) * weight}B" for room in gpus)
        requested = folder / "requested.csv"
        done = subprocess.run([berth, "place", str(model), "--cluster", words, "--for", "llama.cpp",
                               "--write", f"llama.cpp={plan}", "--write", f"csv={requested}"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open(requested, newline="") as table:
            device = {row["op"]: row["device"] for row in csv.DictReader(table)}
        options = plan.read_text().splitlines()
        ran = subprocess.run([program, str(gguf), str(len(gpus)), *options], capture_output=True, text=True,
                             timeout=120)
        log = ran.stdout
        assert ran.returncode == 0 and "decoded 0" in log, log + ran.stderr
        names = {"CPU": "cpu:0", **{f"RPC{i}": f"gpu:{i}" for i in range(len(gpus))}}
        layer_of = {int(i): names[d] for i, d in re.findall(r"layer +(\d+) assigned to device (\w+)", log)}
        cache_of = {int(i): names[d] for i, d in re.findall(r"layer +(\d+): dev = (\w+)", log)}
        hosted = {int(i) for i in re.findall(r"blk\.(\d+)\.ffn_up_exps.* overridden to CPU", log)}
        for i in range(layers):
            wanted = device[f"/model/layers.{i}/self_attn/q_proj/MatMul"]
            assert layer_of[i] == cache_of[i] == wanted, (i, layer_of[i], cache_of[i], wanted, options)
            if experts:
                experts_on = device[f"/model/layers.{i}/mlp/experts.0/MatMul"]
                assert ("cpu:0" if i in hosted else layer_of[i]) == experts_on, (i, hosted, options)
        assert layer_of[layers] == device["/lm_head/MatMul"], (layer_of, options)
        assert device["/model/embed_tokens/MatMul"] == "cpu:0"
        told.append(f"{layers} layers on {len(set(layer_of.values()))} devices" +
                    (f", experts of {len(hosted)} on the host" if experts else ""))
    return "each layer, cache and expert is where it was asked for: " + "; ".join(told)


def main():
    runtime, berth, models = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        print(globals()[runtime.replace(".", "_")](berth, pathlib.Path(models), pathlib.Path(folder)))


if __name__ == "__main__":
    main()
