#!/usr/bin/env python3
"""Makes the training graphs of this folder again.

    python make_graphs.py                     all of them, beside this script
    python make_graphs.py rnnlm_b64           only the named ones
    python make_graphs.py --check             build elsewhere and compare with the files here

Each graph is what a TensorFlow 1 training program has in its session: the network, its gradients,
the optimizer, and the ops that initialize, save and restore its variables. A GraphDef holds no
values of variables, so there is nothing to take out of it.

Steps, in the order of the code: build (one module per network) -> save -> verify.

The output is a function of this folder and of the versions pinned in requirements.txt: same
versions, same bytes.
"""

import argparse
import collections
import dataclasses
import gzip
import os
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow.compat.v1 as tf
from google.protobuf import text_format

import inception_v3
import nasnet
import nmt
import rnnlm
from training import TRAIN_OP

HERE = pathlib.Path(__file__).resolve().parent

# The files live in version control.
FILE_LIMIT_BYTES = 1_500_000

# Shapes, axes and scalars are far below it; a constant of more than this would be a weight.
CONSTANT_LIMIT_BYTES = 1024


@dataclasses.dataclass(frozen=True)
class Recipe:
    build: Callable[..., None]  # adds the training graph to the default graph
    sizes: dict  # its arguments
    suffixes: tuple = (".pb.gz",)  # the files to write, each of the same graph
    runs: bool = False  # small enough to train a few steps when it is verified


RECIPES = {
    "inception_v3_b32": Recipe(inception_v3.build, {"batch": 32}),
    "inception_v3_b64": Recipe(inception_v3.build, {"batch": 64}),
    "nasnet_b64": Recipe(nasnet.build, {"batch": 64}),
    "nmt_b64": Recipe(nmt.build, {"batch": 64, "steps": 40, "units": 1024, "vocabulary": 50_000}),
    "nmt_b256": Recipe(nmt.build, {"batch": 256, "steps": 40, "units": 1024, "vocabulary": 50_000}),
    "nmt_b64_sums": Recipe(
        nmt.build,
        {"batch": 64, "steps": 40, "units": 1024, "vocabulary": 50_000, "running_sums": True},
    ),
    "nmt_b256_sums": Recipe(
        nmt.build,
        {"batch": 256, "steps": 40, "units": 1024, "vocabulary": 50_000, "running_sums": True},
    ),
    "nmt_large": Recipe(
        nmt.build,
        {"batch": 256, "steps": 40, "units": 2048, "vocabulary": 50_000, "running_sums": True},
    ),
    "rnnlm_b64": Recipe(
        rnnlm.build, {"batch": 64, "steps": 40, "units": 2048, "vocabulary": 10_000}
    ),
    "nmt_tiny": Recipe(
        nmt.build,
        {"batch": 2, "steps": 3, "units": 16, "vocabulary": 50},
        suffixes=(".pb", ".pbtxt"),
        runs=True,
    ),
}


# --------------------------------------------------------------------------------------------------
# Save


def save(graph_def, path):
    """Writes the graph in the form that the suffix of `path` names."""
    if path.suffix == ".pbtxt":
        path.write_text(text_format.MessageToString(graph_def))
        return
    data = graph_def.SerializeToString(deterministic=True)
    # Without the time and the file name, which gzip would store.
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def load(path):
    if path.suffix == ".pbtxt":
        return text_format.Parse(path.read_text(), tf.GraphDef())
    data = path.read_bytes()
    return tf.GraphDef.FromString(gzip.decompress(data) if path.suffix == ".gz" else data)


# --------------------------------------------------------------------------------------------------
# Verify


def needed_for(graph_def, name):
    """The nodes that running the op `name` runs."""
    nodes = {node.name: node for node in graph_def.node}
    needed, open_names = {}, [name]
    while open_names:
        node = nodes[open_names.pop()]
        if node.name not in needed:
            needed[node.name] = node
            open_names.extend(source.lstrip("^").split(":")[0] for source in node.input)
    return list(needed.values())


def train_for_real(graph, steps=20):
    """Fails unless the loss falls while the train op runs on one batch."""
    feeds = {}
    values = np.random.default_rng(seed=0)
    for op in graph.get_operations():
        if op.type == "Placeholder" and op.name.startswith("input/"):
            tensor = op.outputs[0]
            if tensor.dtype == tf.int32:
                feeds[tensor] = values.integers(0, 50, tensor.shape.as_list())
            else:
                feeds[tensor] = np.ones(tensor.shape.as_list())
    with tf.Session(graph=graph) as session:
        session.run("init")
        losses = []
        for _ in range(steps):
            losses.append(session.run("loss/total:0", feeds))
            session.run(TRAIN_OP, feeds)
    assert np.isfinite(losses).all() and losses[-1] < losses[0], f"losses: {losses}"
    return f"{losses[0]:.3f} -> {losses[-1]:.3f}"


def verify(path, recipe):
    """Fails unless the file is small and TensorFlow imports it with every shape known.

    Returns the facts that the README tabulates.
    """
    size = path.stat().st_size
    assert size < FILE_LIMIT_BYTES, f"{path.name}: {size} bytes"
    graph_def = load(path)
    assert not graph_def.library.function, f"{path.name}: has functions"
    for node in graph_def.node:
        value = node.attr["value"].tensor
        if value.dtype != tf.string.as_datatype_enum:
            assert value.ByteSize() <= CONSTANT_LIMIT_BYTES, f"{path.name}: {node.name} is large"

    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    step = needed_for(graph_def, TRAIN_OP)
    for node in step:
        assert not node.device, f"{path.name}: {node.name} requests a device"
    for node in step:
        # The size of the sixth output is the kernel's own affair.
        outputs = graph.get_operation_by_name(node.name).outputs
        for tensor in outputs[:5] if node.op == "FusedBatchNormV3" else outputs:
            assert tensor.shape.is_fully_defined(), f"{path.name}: shape of {tensor.name}"
    variables = {node.name: node for node in graph_def.node if node.op == "VariableV2"}

    def nbytes(name):
        output = graph.get_operation_by_name(name).outputs[0]
        return output.shape.num_elements() * output.dtype.base_dtype.size

    updated = {node.input[0] for node in step if node.op.startswith(("Apply", "ScatterSub"))}
    facts = {
        "file bytes": size,
        "ops": len(graph_def.node),
        "ops of a step": len(step),
        "parameter bytes": sum(map(nbytes, updated)),
        "variable bytes": sum(map(nbytes, variables)),
        "variables": len(variables),
        "op types": ", ".join(
            f"{count} {kind}"
            for kind, count in collections.Counter(n.op for n in graph_def.node).most_common()
        ),
    }
    if recipe.runs:
        facts["loss"] = train_for_real(graph)
    return facts


def main():
    parser = argparse.ArgumentParser(description="Makes the training graphs again.")
    parser.add_argument(
        "names", nargs="*", metavar="GRAPH", help=f"one of {', '.join(RECIPES)}; default: all"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing here; fail if a file would change"
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in RECIPES:
            parser.error(f"unknown graph '{name}'; known: {', '.join(RECIPES)}")

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    changed = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or RECIPES:
            recipe = RECIPES[name]
            with tf.Graph().as_default() as graph:
                recipe.build(**recipe.sizes)
            graph_def = graph.as_graph_def(add_shapes=True)
            for suffix in recipe.suffixes:
                path = pathlib.Path(scratch, name + suffix)
                save(graph_def, path)
                facts = verify(path, recipe)
                print(path.name, *(f"{key}: {value}" for key, value in facts.items()), sep="\n  ")
                sys.stdout.flush()
                target = HERE / path.name
                if not arguments.check:
                    shutil.copyfile(path, target)
                elif not target.exists() or target.read_bytes() != path.read_bytes():
                    changed.append(path.name)
    if changed:
        sys.exit(f"not the same bytes as here: {', '.join(changed)}")


if __name__ == "__main__":
    main()
