#!/usr/bin/env python3
"""Checks with TensorFlow itself what Berth writes back into a graph.

    python check_placed.py --berth ../../../build/release/bin/berth              every form of the tiny graph
    python check_placed.py --berth ... nasnet_b64.pb.gz rnnlm_b64.pb.gz ...      these files

Each graph is placed on four GPUs by `berth place --annotate`, and then

- every node's `device` is a name that tf.DeviceSpec accepts, and the one of the placement;
- without its devices the written file is the one that was read, byte for byte;
- tf.import_graph_def takes it;
- the tiny graph runs: its variables are initialized and it is trained for three steps. Soft
  placement lets ops of absent GPUs run on the CPU.

The forms are GraphDef (.pb, .pbtxt, .pb.gz), MetaGraphDef (.meta) and a SavedModel's folder.
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

HERE = pathlib.Path(__file__).resolve().parent
TINY = "nmt_tiny"
STEPS = 3


# --------------------------------------------------------------------------------------------------
# Files


def read(path):
    """Content of a file, of a SavedModel's folder that of its file; decompressed."""
    if path.is_dir():
        path = next(path / name for name in ("saved_model.pb", "saved_model.pbtxt") if (path / name).exists())
    content = path.read_bytes()
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def is_text(content):
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", content[:4096])


def parse(content, message):
    if is_text(content):
        return text_format.Parse(content.decode(), message)
    message.ParseFromString(content)
    return message


def graph_of(path, content):
    """The GraphDef in a file, by the file's name."""
    if path.is_dir() or path.name.startswith("saved_model"):
        return parse(content, saved_model_pb2.SavedModel()).meta_graphs[0].graph_def
    if ".meta" in path.suffixes:
        return parse(content, meta_graph_pb2.MetaGraphDef()).graph_def
    return parse(content, tf.GraphDef())


def make_forms(folder):
    """The tiny graph in every form, made by TensorFlow."""
    graph = graph_of(HERE / f"{TINY}.pb", read(HERE / f"{TINY}.pb"))
    paths = []
    for name in (f"{TINY}.pb", f"{TINY}.pbtxt"):
        paths.append(pathlib.Path(shutil.copy(HERE / name, folder)))
    paths.append(folder / f"{TINY}_packed.pb.gz")
    paths[-1].write_bytes(gzip.compress(graph.SerializeToString()))
    meta = meta_graph_pb2.MetaGraphDef()
    meta.meta_info_def.tags.append("train")
    meta.graph_def.CopyFrom(graph)
    meta.collection_def["train_op"].node_list.value.append("train/train_op")
    paths.append(folder / f"{TINY}.meta")
    paths[-1].write_bytes(meta.SerializeToString())
    saved = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    saved.meta_graphs.add().CopyFrom(meta)
    paths.append(folder / f"{TINY}_saved_model")
    paths[-1].mkdir()
    (paths[-1] / "saved_model.pb").write_bytes(saved.SerializeToString())
    return paths


# --------------------------------------------------------------------------------------------------
# Checks


def fields(content):
    """The fields of a binary message: (number, bytes of the field, payload or None)."""
    position = 0

    def varint():
        nonlocal position
        value, shift = 0, 0
        while True:
            byte = content[position]
            position += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while position < len(content):
        begin = position
        tag = varint()
        payload = None
        if tag & 7 == 0:
            varint()
        elif tag & 7 == 2:
            size = varint()
            payload = content[position : position + size]
            position += size
        else:
            position += 8 if tag & 7 == 1 else 4
        yield tag >> 3, content[begin:position], payload


DEVICE = 4  # the field of a NodeDef
# Fields that hold nodes, by number: GraphDef.node and
# GraphDef.library.function.node_def.
GRAPH = {1: "node", 2: {1: {3: "node"}}}
LAYOUTS = {"graph": GRAPH, "meta": {2: GRAPH}, "saved": {2: {2: GRAPH}}}


def without_devices(content, layout):
    """What is left of a binary message, with lengths left out: they change with the devices."""
    out = []
    for number, whole, payload in fields(content):
        inside = layout.get(number)
        if inside == "node":
            out.append((number, b"".join(f for n, f, _ in fields(payload) if n != DEVICE)))
        elif inside is not None:
            out.append((number, without_devices(payload, inside)))
        else:
            out.append(whole)
    return out


def text_without_devices(content):
    return re.sub(rb'\s*\bdevice:\s*"[^"]*"', b"", content)


def check_bytes(path, before, after):
    if is_text(before):
        same = text_without_devices(before) == text_without_devices(after)
    else:
        kind = "saved" if path.is_dir() else "meta" if ".meta" in path.suffixes else "graph"
        same = without_devices(before, LAYOUTS[kind]) == without_devices(after, LAYOUTS[kind])
    assert same, f"{path.name}: more than devices has changed"


def tensorflow_name(device):
    kind, index = device.split(":")
    return f"/device:{kind.upper()}:{index}"


def check_devices(before, after, assignment):
    """Returns how many nodes have the device of the placement, are weights, or are not placed."""
    asked = {node.name: node.device for node in before.node}
    placed = {node.name: node.device for node in after.node}
    assert len(placed) == len(after.node) and placed.keys() == asked.keys()
    counts = [0, 0, 0]
    readers = {}
    for node in after.node:
        for name in node.input:
            readers.setdefault(name.lstrip("^").split(":")[0], []).append(node.name)
    for node in after.node:
        device = tf.DeviceSpec.from_string(node.device)
        assert device.to_string() == node.device, f"{node.name}: {node.device}"
        if node.name in assignment:
            assert node.device == tensorflow_name(assignment[node.name]), node.name
            counts[0] += 1
        elif node.device != asked[node.name]:
            # A weight is no op of the placement; it goes where it is read.
            assert node.op == "Const" and node.device in {placed[r] for r in readers[node.name]}, node.name
            counts[1] += 1
        else:
            counts[2] += 1
    assert counts[0] == len(assignment), "ops of the placement are no nodes of the file"
    return counts


def run_steps(graph_def):
    """Trains the tiny graph; returns its losses."""
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    random = np.random.default_rng(1)
    feeds = {}
    for op in graph.get_operations():
        if op.type == "Placeholder":
            tensor = op.outputs[0]
            feeds[tensor] = random.integers(1, 20, tensor.shape.as_list()).astype(tensor.dtype.as_numpy_dtype)
    config = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(graph=graph, config=config) as session:
        session.run("init")
        losses = [session.run(["loss/total:0", "train/train_op"], feeds)[0] for _ in range(STEPS)]
    assert np.all(np.isfinite(losses)) and losses[-1] < losses[0], losses
    return [float(loss) for loss in losses]


def check(berth, path, folder):
    placement = folder / "placement.json"
    suffixes = "".join(path.suffixes) if not path.is_dir() else "/saved_model.pb"
    placed_path = folder / f"placed{suffixes}"
    placed_path.parent.mkdir(exist_ok=True)
    command = [berth, "place", str(path), "--cluster", "k80x4", "--policy", "topo"]
    command += ["-o", str(placement), "--annotate", str(placed_path)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    if path.is_dir():
        placed_path = placed_path.parent
    assignment = json.loads(placement.read_text())["assignment"]

    before, after = read(path), read(placed_path)
    check_bytes(path, before, after)
    graph_before, graph_after = graph_of(path, before), graph_of(placed_path, after)
    ops, weights, others = check_devices(graph_before, graph_after, assignment)
    line = f"{path.name}: {ops} ops and {weights} weights as placed, {others} other nodes untouched"
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_after, name="")
        assert len(graph.get_operations()) == len(graph_after.node)
    line += "; all else the same bytes; imported"
    if path.name.startswith(TINY):
        line += "; runs, losses " + ", ".join(f"{loss:.3f}" for loss in run_steps(graph_after))
    print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--berth", default=shutil.which("berth"), help="the command; default: that of PATH")
    parser.add_argument("graphs", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.berth:
        sys.exit("no `berth` in PATH; name the command with --berth")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print(f"TensorFlow {tf.version.VERSION}")
        for path in arguments.graphs or make_forms(folder):
            check(arguments.berth, path, folder)


if __name__ == "__main__":
    main()
