#!/usr/bin/env python3
"""Runs a model under a plan that berth wrote, and compares requested with executed, op for op.

    python executed.py tensorflow|onnxruntime|split|openvino|accelerate|transformers|torch-pipelining|llama.cpp path/to/berth path/to/examples/models

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
    decoder_onnx(path, 6)
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
    results = {tensor.get_any_name() for tensor in model.outputs}  # their names are those of the ops that make them
    for op, device in wanted["affinity"].items():
        assert op in results or device == {"gpu:0": "GPU", "cpu:0": "CPU"}[requested[op]], op
        names[op].get_rt_info()["affinity"] = device if has_gpu else "CPU"
    nodes = sum(op.get_type_name() not in ("Constant", "Parameter", "Result") for op in names.values())
    shape = [dim.get_length() if dim.is_static else 1 for dim in model.input().partial_shape]
    feed = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    alone = core.compile_model(core.read_model(models / "tiny_cnn.onnx"), "CPU")(feed)[0]
    for op in names.values():  # constants and what OpenVINO adds go with what reads them, results with what makes them
        if "affinity" not in op.get_rt_info():
            op.get_rt_info()["affinity"] = "CPU"
    result = core.compile_model(model, wanted["device"] if has_gpu else "HETERO:CPU")(feed)[0]
    assert np.allclose(result, alone, atol=1e-4)
    return f"all {len(wanted['affinity'])} ops of the plan are ops of OpenVINO by name ({nodes} compute); same result"


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
    requested = place(berth, model, machine, folder, "fill", f"device_map={plan}")

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


def transformers(berth, _, folder):
    """accelerate runs what `--for accelerate` plans for models of Transformers, exported as they are: decoders,
    one with tied embeddings, an encoder-decoder. Devices are stood in for as above."""
    torch, _, hugging, zoo = need("torch", "onnxscript", "accelerate", "transformers")
    small = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4, vocab_size=100)
    kinds = {
        "llama": lambda: zoo.LlamaForCausalLM(zoo.LlamaConfig(**small, num_key_value_heads=2, tie_word_embeddings=False)),
        "qwen2, tied": lambda: zoo.Qwen2ForCausalLM(zoo.Qwen2Config(**small, num_key_value_heads=2, tie_word_embeddings=True)),
        "gpt2, tied": lambda: zoo.GPT2LMHeadModel(zoo.GPT2Config(n_embd=64, n_layer=4, n_head=4, n_positions=16, vocab_size=100)),
        "opt": lambda: zoo.OPTForCausalLM(zoo.OPTConfig(hidden_size=64, ffn_dim=128, num_hidden_layers=4, num_attention_heads=4,
                                                        vocab_size=100, word_embed_proj_dim=64, max_position_embeddings=16, tie_word_embeddings=False)),
        "t5": lambda: zoo.T5ForConditionalGeneration(zoo.T5Config(d_model=64, d_ff=128, d_kv=16, num_layers=3, num_decoder_layers=3,
                                                                  num_heads=4, vocab_size=100, decoder_start_token_id=0)),
    }

    class Logits(torch.nn.Module):
        def __init__(self, model, pair):
            super().__init__()
            self.network, self.pair = model, pair

        def forward(self, tokens):
            more = {"decoder_input_ids": tokens.flip(1)} if self.pair else {}
            return self.network(input_ids=tokens, use_cache=False, **more).logits

    has_gpu, tokens, told = torch.cuda.is_available(), torch.arange(8).unsqueeze(0), []
    stand_in = {0: 0 if has_gpu else "cpu", "cpu": "cpu" if has_gpu else "disk"}
    for number, (kind, make) in enumerate(kinds.items()):
        torch.manual_seed(1)
        model = Logits(make().eval(), kind == "t5").eval()
        with torch.no_grad():  # the exporter makes one of equal parameters
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) / 50)
        expected = model(tokens).detach()
        file = folder / f"{number}.onnx"
        torch.onnx.export(model, (tokens,), str(file), dynamo=kind != "t5", verbose=False)
        weights = sum(p.numel() * p.element_size() for p in model.parameters())
        machine, plan = folder / f"{number}.json", folder / f"{number}.map.json"
        cluster(machine, "gpu:0", "cpu:0", memory_bytes=10 * weights)
        described = json.loads(machine.read_text())
        room = described["devices"][0]["memory_bytes"] = int(0.8 * weights)
        machine.write_text(json.dumps(described))
        done = subprocess.run([berth, "place", str(file), "--cluster", str(machine), "--for", "accelerate", "--seed", "1",
                               "--moves", "2000", "--write", f"device_map={plan}"], capture_output=True, text=True)
        assert done.returncode == 0, (kind, done.stderr)
        device_map = {module: stand_in[device] for module, device in json.loads(plan.read_text()).items()}
        assert len(set(device_map.values())) == 2, (kind, device_map)
        # The exporter computes the rows of a table of positions, so that the file lacks the table: a note says so.
        lacked = [name for name in model.state_dict() if not any(f"{name}.".startswith(known + ".") for known in device_map)]
        assert not lacked or "exporter computed in" in done.stderr, (kind, lacked)
        device_map |= {name.rsplit(".", 1)[0]: stand_in[0] for name in lacked}
        # accelerate's own arithmetic: room for the largest layer that is elsewhere. The longest name counts.
        def place_of(tensor):
            return device_map[max((name for name in device_map if f"{tensor}.".startswith(name + ".")), key=len)]

        sizes, blocks = hugging.utils.compute_module_sizes(model), model.network._no_split_modules or []
        elsewhere = [(name, model.get_submodule(name)) for name, where in device_map.items() if where != stand_in[0]]
        largest, _ = hugging.utils.modeling.get_max_layer_size(elsewhere, sizes, list(blocks))
        here = sum(p.numel() * p.element_size() for name, p in model.named_parameters() if place_of(name) == stand_in[0])
        assert here + largest <= room, (kind, here, largest, room)
        model = hugging.dispatch_model(model, device_map, main_device=stand_in[0], offload_dir=str(folder / f"offload{number}"))
        offloaded = sum(p.numel() * p.element_size() for p in model.parameters() if p.device.type == "meta")
        assert 0 < offloaded < weights, (kind, offloaded)
        assert torch.allclose(model(tokens.to(stand_in[0])).cpu(), expected, atol=1e-4), kind
        told.append(f"{kind} ({offloaded / weights:.0%} on the host)")
    return "same results: " + ", ".join(told)


STAGE = """
import json, sys, torch, torch.distributed as dist
from torch.distributed.pipelining import ScheduleGPipe, SplitPoint, pipeline
sys.path.insert(0, sys.argv[1])
from network import make
rank, plan = int(sys.argv[2]), json.load(open(sys.argv[3]))
dist.init_process_group("gloo", init_method="file://" + sys.argv[4], rank=rank, world_size=2)
model, tokens, expected = make()
points = {module: SplitPoint[where] for module, where in plan["split_spec"].items()}
pipe = pipeline(model, mb_args=(tokens,), split_spec=points)
assert pipe.num_stages == 2, pipe.num_stages
stage = pipe.build_stage(rank, torch.device("cpu"))
names = sorted({name.rsplit(".", 1)[0] for name, _ in pipe.get_stage_module(rank).named_parameters()})
schedule = ScheduleGPipe(stage, n_microbatches=1)
result = schedule.step(tokens) if rank == 0 else schedule.step()
print(json.dumps({"modules": names, "same": bool(rank == 0 or torch.allclose(result, expected, atol=1e-5))}))
dist.destroy_process_group()
"""

NETWORK = """
import torch

class Block(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up_proj, self.down_proj = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down_proj(torch.relu(self.up_proj(x)))

class Decoder(torch.nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed_tokens = torch.nn.Embedding(100, width)
        self.layers = torch.nn.ModuleList(Block(width) for _ in range(6))
        self.lm_head = torch.nn.Linear(width, 100, bias=False)
        self.lm_head.weight = self.embed_tokens.weight

    def forward(self, tokens):
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(x)

def make():
    torch.manual_seed(1)
    model, tokens = Decoder().eval(), torch.arange(8).unsqueeze(0)
    return model, tokens, model(tokens).detach()
"""


def torch_pipelining(berth, _, folder):
    """Two processes with gloo run the stages of the plan; each has the modules that were planned for its GPU, and
    its own copy of the tied weight."""
    torch, _ = need("torch", "onnxscript")
    (folder / "network.py").write_text(NETWORK)
    (folder / "stage.py").write_text(STAGE)
    sys.path.insert(0, str(folder))
    model, tokens, _ = importlib.import_module("network").make()
    file, plan = folder / "decoder.onnx", folder / "plan.json"
    torch.onnx.export(model, (tokens,), str(file), dynamo=False)
    machine = cluster(folder / "machine.json", "gpu:0", "gpu:1", memory_bytes=150_000)
    requested = folder / "requested.csv"
    done = subprocess.run([berth, "place", str(file), "--cluster", str(machine), "--for", "torch-pipelining",
                           "--write", f"torch-pipelining={plan}", "--write", f"csv={requested}"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    gpus = json.loads(plan.read_text())["gpus"]
    assert sorted(gpus) == [0, 1], gpus
    with open(requested, newline="") as table:
        device = {row["op"]: row["device"] for row in csv.DictReader(table)}
    ranks = [subprocess.Popen([sys.executable, str(folder / "stage.py"), str(folder), str(rank), str(plan),
                               str(folder / "rendezvous")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for rank in range(2)]
    told, elsewhere = [], []
    for rank, process in enumerate(ranks):
        out, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
        found = json.loads(out.splitlines()[-1])
        assert found["same"], rank
        told.append(len(found["modules"]))
        for module in set(found["modules"]) - {"embed_tokens", "lm_head"}:  # one weight, by either name
            scope = "/" + module.replace("layers.", "layers#").replace(".", "/").replace("#", ".") + "/"
            on = {where for op, where in device.items() if op.startswith(scope)}
            if on != {f"gpu:{gpus[rank]}"}:
                elsewhere.append((module, on, gpus[rank]))
    assert not elsewhere, elsewhere
    return f"two processes with {told[0]} and {told[1]} modules, as planned; same result"


def decoder_onnx(path, layers):
    """A decoder with the names of the Llama family, as large in each part as another of its kind."""
    (onnx,) = need("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes, weights = [], []

    def matmul(module, value, rows, columns):
        name = module + ".weight"
        weights.append(helper.make_tensor(name, kind, (rows, columns), bytes(4 * rows * columns), raw=True))
        out = f"{module}.out"
        scope = "/" + module.replace(".layers.", ".layers#").replace(".", "/").replace("#", ".")
        nodes.append(helper.make_node("MatMul", [value, name], [out], name=scope + "/MatMul"))
        return out

    value = matmul("model.embed_tokens", "x", 64, 64)
    for layer in range(layers):
        at = f"model.layers.{layer}"
        value = matmul(at + ".self_attn.q_proj", value, 64, 64)
        value = matmul(at + ".mlp.down_proj", value, 64, 64)
    value = matmul("lm_head", value, 64, 64)
    graph = helper.make_graph(nodes, "decoder", [helper.make_tensor_value_info("x", kind, (1, 64))],
                              [helper.make_tensor_value_info(value, kind, (1, 64))], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def reach_models():
    """The models of scripts/experiments/reach_models.py, which have names and sizes but no weights."""
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts" / "experiments"))
    return importlib.import_module("reach_models")


TINY = dict(width=64, inner=128, heads=4, kv=4, words=96)
LLAMA_7B = dict(width=4096, inner=11008, heads=32, kv=32, words=32000)
LLAMA_8B = dict(width=4096, inner=14336, heads=32, kv=8, words=128256)
MIXTRAL = dict(width=4096, inner=14336, heads=32, kv=8, words=32000)
LLAMA_CASES = (
    (dict(layers=7, experts=0, **TINY), "2xrtx3090", ("--policy", "even", "--within", "0")),
    (dict(layers=12, experts=0, **TINY), "3xrtx3090", ("--policy", "even", "--set", "by=layers", "--within", "0")),
    (dict(layers=8, experts=0, **LLAMA_7B), "rtx3090:2GiB+rtx3070:1.4GiB", ()),
    (dict(layers=8, experts=0, **LLAMA_8B), "rtx3090:2.5GiB+rtx3070:2.5GiB+rtx3060:2.5GiB", ()),
    (dict(layers=8, experts=0, **LLAMA_8B), "rtx3090:2.2GiB+rtx3070:2.2GiB", ()),
    (dict(layers=4, experts=8, **MIXTRAL), "rtx3090:8GiB+rtx3070:6GiB", ()),
    (dict(layers=4, experts=8, **MIXTRAL), "rtx3090:8GiB", ()),
    (dict(layers=4, experts=8, **MIXTRAL), "rtx3090:3GiB", ()),
)


def llama_cpp(berth, _, folder):
    """The layers, caches and overridden tensors of llama.cpp's own log are where the plan has them. Local
    RPC servers stand for GPUs; BERTH_LLAMA_PLACES names the program of llama/places.cpp. Tiny models decode a
    token; of large ones llama.cpp reserves its buffers without allocating them. With BERTH_LLAMA_LOG, a file, what
    tests/engine/writers/llama_log_test.cpp reads is written."""
    need("gguf", "numpy", "onnx")
    program = os.environ.get("BERTH_LLAMA_PLACES")
    if not program:
        print("skipped: BERTH_LLAMA_PLACES does not name the program of llama/places.cpp")
        sys.exit(SKIPPED)
    make = pathlib.Path(__file__).parent / "llama" / "make_gguf.py"
    told, recorded = [], []
    for sizes, words, more in LLAMA_CASES:
        layers, experts, tiny = sizes["layers"], sizes["experts"], sizes["width"] == TINY["width"]
        model, gguf, plan = folder / "decoder.onnx", folder / "decoder.gguf", folder / "plan.txt"
        reach_models().decoder(**sizes).save(model)
        subprocess.run([sys.executable, str(make), str(gguf), *(f"{name}={size}" for name, size in sizes.items()),
                        f"weights={'random' if tiny else 'none'}"], check=True)
        requested, context = folder / "requested.csv", 256 if tiny else 4096
        dims = [f"--dim={name}" for name in ("batch=1", "sequence_length=1", f"past_sequence_length={context - 1}")]
        done = subprocess.run([berth, "place", str(model), *dims, "--cluster", words, "--for", "llama.cpp", *more,
                               "--write", f"llama.cpp={plan}", "--write", f"csv={requested}"],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with open(requested, newline="") as table:
            device = {row["op"]: row["device"] for row in csv.DictReader(table)}
        options = plan.read_text().splitlines()
        gpus = words.count("+") + (int(words[0]) if words[0].isdigit() else 1)
        ran = subprocess.run([program, str(gguf), str(gpus), *options, f"-c {context}", *([] if tiny else ["--sizes"])],
                             capture_output=True, text=True, timeout=120)
        log = ran.stdout
        assert ran.returncode == 0 and ("decoded 0" in log) == tiny, log + ran.stderr
        names = {"CPU": "cpu:0", **{f"RPC{i}": f"gpu:{i}" for i in range(gpus)}}
        layer_of = {int(i): names[d] for i, d in re.findall(r"layer +(\d+) assigned to device (\w+)", log)}
        cache_of = {int(i): names[d] for i, d in re.findall(r"layer +(\d+): dev = (\w+)", log)}
        hosted = {int(i) for i in re.findall(r"blk\.(\d+)\.ffn_up_exps.* overridden to CPU", log)}
        assert len(cache_of) == layers and len(layer_of) == layers + 1
        for i in range(layers):
            wanted = device[f"/model/layers.{i}/self_attn/q_proj/MatMul"]
            assert layer_of[i] == cache_of[i] == wanted, (i, layer_of[i], cache_of[i], wanted, options)
            if experts:
                experts_on = device[f"/model/layers.{i}/mlp/experts.0/up_proj/MatMul"]
                assert ("cpu:0" if i in hosted else layer_of[i]) == experts_on, (i, hosted, options)
        assert layer_of[layers] == device["/lm_head/MatMul"], (layer_of, options)
        assert device["/model/embed_tokens/Gather"] == "cpu:0"
        assert len(set(layer_of.values())) > 1 or hosted, "the plan uses one device; it would show nothing"
        told.append(f"{layers} layers on {len(set(layer_of.values()))} devices" +
                    (f", experts of {len(hosted)} on the host" if experts else ""))
        recorded += [" ".join(["model", *(f"{name}={size}" for name, size in sizes.items()), f"gpus={gpus}", f"context={context}"]),
                     *options, *(line for line in log.splitlines() if re.search("assigned|dev =|overridden|pipeline|compute buffer", line))]
    if os.environ.get("BERTH_LLAMA_LOG"):
        pathlib.Path(os.environ["BERTH_LLAMA_LOG"]).write_text("\n".join(recorded) + "\n")
    return "each layer, cache and expert is where it was asked for: " + "; ".join(told)


def main():
    runtime, berth, models = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        print(globals()[runtime.replace(".", "_").replace("-", "_")](berth, pathlib.Path(models), pathlib.Path(folder)))


if __name__ == "__main__":
    main()
