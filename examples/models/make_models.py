#!/usr/bin/env python3
"""Makes the example models of this folder again.

    python make_models.py                 all of them, beside this script
    python make_models.py resnet50        only the named ones
    python make_models.py --check         build elsewhere and compare with the files here

The models keep the whole graph and lose the numbers. A placement depends on the ops, on how they
are connected and on how many bytes every tensor has, and on nothing that training changes. So each
network is built from its configuration with random parameters, exported, saved with its large
initializers as ONNX external data, and the file with that data is thrown away. What remains is what
a user's own large model looks like to a frontend that does not read weights.

Steps, in the order of the code: build (one function per model) -> export -> tidy -> save -> verify.

The output is a function of this file and of the versions pinned in requirements.txt: same versions,
same bytes.
"""

import argparse
import collections
import dataclasses
import math
import pathlib
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable

import onnx
import onnx.checker
import onnx.shape_inference
import torch

HERE = pathlib.Path(__file__).resolve().parent

# Initializers of this many bytes or more go to the external file; the default of onnx.save. Reshape
# targets, axes and scalars are far below it, so shapes can be inferred from the .onnx file alone.
INLINE_LIMIT_BYTES = 1024

# The files live in version control; a graph without weights has no reason to be larger.
FILE_LIMIT_BYTES = 1_000_000

# Sizes that `verify` binds to the named dimensions: primes that no layer and no example input has,
# so that a shape frozen in the export contradicts a bound one.
BOUND_DIMS = {"batch": 11, "sequence": 131}

BATCH = {0: "batch"}
BATCH_SEQUENCE = {0: "batch", 1: "sequence"}


@dataclasses.dataclass(frozen=True)
class Recipe:
    """One model: how it is built, and how it is exported."""

    build: Callable[[], torch.nn.Module]
    inputs: dict  # input name -> (example tensor, {axis: dimension name})
    outputs: dict  # output name -> {axis: dimension name}
    opset: int
    exporter: str  # "torchscript" or "dynamo"
    fold: bool = True  # fold constants, and BatchNormalization into the Conv before it
    weights: str = "external"  # or "inline"


# --------------------------------------------------------------------------------------------------
# Build


def tiny_cnn():
    """Two parallel branches between a stem and a head: the smallest graph with a choice to make."""

    class TinyCnn(torch.nn.Module):
        def __init__(self):
            super().__init__()
            nn = torch.nn
            self.stem = nn.Sequential(
                nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()
            )
            self.left = nn.Sequential(nn.Conv2d(8, 8, 1), nn.ReLU())
            self.right = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
            self.pool = nn.MaxPool2d(2)
            self.head = nn.Linear(16, 10)

        def forward(self, image):
            stem = self.stem(image)
            joined = self.pool(torch.cat([self.left(stem), self.right(stem)], dim=1))
            return torch.softmax(self.head(joined.mean(dim=(2, 3))), dim=1)

    return TinyCnn()


def inception_v3():
    import torchvision

    # The auxiliary head works in training only.
    return torchvision.models.inception_v3(weights=None, init_weights=False, aux_logits=False)


def resnet50():
    import torchvision

    return torchvision.models.resnet50(weights=None)


class Positional(torch.nn.Module):
    """Gives a Hugging Face model positional inputs and one output tensor, as both exporters want.

    The children keep the names they have in `model`, and with them do parameters and scopes.
    """

    def __init__(self, model, names, forward):
        super().__init__()
        for name in names:
            setattr(self, name, getattr(model, name))
        self._forward = forward

    def forward(self, *args):
        return self._forward(self, *args)


def bert_base():
    from transformers import BertConfig, BertForSequenceClassification

    # The written-out attention: MatMul, Softmax, MatMul. The fused function of PyTorch is exported
    # with a guard against rows of NaN in every layer, which other producers do not emit.
    model = BertForSequenceClassification(BertConfig(attn_implementation="eager"))

    def forward(self, input_ids, attention_mask, token_type_ids):
        _, pooled = self.bert(
            input_ids=input_ids,
            attention_mask=attention_mask,
            token_type_ids=token_type_ids,
            return_dict=False,
        )
        return self.classifier(pooled)

    return Positional(model, ["bert", "classifier"], forward)


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    # The default configuration is the small GPT-2: 12 layers, 768 hidden, 12 heads, 50257 tokens.
    model = GPT2LMHeadModel(GPT2Config(attn_implementation="eager"))

    def forward(self, input_ids, attention_mask):
        hidden = self.transformer(
            input_ids=input_ids, attention_mask=attention_mask, use_cache=False, return_dict=False
        )[0]
        return self.lm_head(hidden)

    return Positional(model, ["transformer", "lm_head"], forward)


def image(size):
    return {"image": (torch.zeros(2, 3, size, size), BATCH)}


def tokens(*names):
    return {name: (torch.ones(2, 16, dtype=torch.int64), BATCH_SEQUENCE) for name in names}


# ResNet-50 is what a deployed network looks like, with normalization folded into its convolutions;
# Inception-V3 is left as it was written, so that the examples have BatchNormalization too. The two
# transformers come from the two exporters: the older one computes shapes with many small ops, the
# newer one leaves most of them constant and notes the rest in value_info.
RECIPES = {
    "tiny_cnn": Recipe(
        tiny_cnn, image(32), {"probabilities": BATCH}, 17, "torchscript", weights="inline"
    ),
    "inception_v3": Recipe(
        inception_v3, image(299), {"logits": BATCH}, 17, "torchscript", fold=False
    ),
    "resnet50": Recipe(resnet50, image(224), {"logits": BATCH}, 17, "torchscript"),
    "bert_base": Recipe(
        bert_base,
        tokens("input_ids", "attention_mask", "token_type_ids"),
        {"logits": BATCH},
        17,
        "torchscript",
    ),
    "gpt2": Recipe(
        gpt2, tokens("input_ids", "attention_mask"), {"logits": BATCH_SEQUENCE}, 18, "dynamo"
    ),
}


def randomize(model, seed):
    """Gives every parameter and statistic values of its own.

    Fresh layers have equal biases, scales and statistics. An exporter sees that two such tensors
    are equal and keeps one of them, with an Identity op for each copy, which no trained model would
    allow. (Uniform and not normal values, because PyTorch draws those alike on every processor.)
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for tensor in [*model.parameters(), *model.buffers()]:
            if not tensor.is_floating_point():
                continue
            if tensor.dim() > 1:
                bound = math.sqrt(3 * tensor.shape[0] / tensor.numel())  # keeps the variance
                tensor.uniform_(-bound, bound, generator=generator)
            else:
                tensor.uniform_(0.5, 1.5, generator=generator)  # some are variances: positive


# --------------------------------------------------------------------------------------------------
# Export


def export(recipe):
    model = recipe.build().eval()
    randomize(model, seed=0)
    args = tuple(example for example, _ in recipe.inputs.values())
    common = {
        "input_names": list(recipe.inputs),
        "output_names": list(recipe.outputs),
        "opset_version": recipe.opset,
        "verbose": False,
    }
    with tempfile.TemporaryDirectory() as folder, torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = pathlib.Path(folder, "model.onnx")
        if recipe.exporter == "torchscript":
            axes = {name: dims for name, (_, dims) in recipe.inputs.items()} | recipe.outputs
            mode = torch.onnx.TrainingMode.EVAL if recipe.fold else torch.onnx.TrainingMode.PRESERVE
            common |= {"training": mode, "do_constant_folding": recipe.fold}
            torch.onnx.export(model, args, path, dynamo=False, dynamic_axes=axes, **common)
        else:
            # `forward` takes *args: the shapes of all of them go under that one parameter.
            shapes = (tuple(dims for _, dims in recipe.inputs.values()),)
            torch.onnx.export(model, args, path, dynamo=True, dynamic_shapes=shapes, **common)
        return onnx.load(path)


# --------------------------------------------------------------------------------------------------
# Tidy

# The module an op comes from, in models of the newer exporter, whose op names do not tell.
KEPT_METADATA = {"pkg.torch.onnx.name_scopes"}


def tidy(model):
    """Removes what describes the machine of the export rather than the model."""
    model.producer_version = model.producer_version.split("+")[0]  # the build: CPU or some CUDA
    graph = model.graph
    for item in [
        graph,
        *graph.node,
        *graph.initializer,
        *graph.value_info,
        *graph.input,
        *graph.output,
    ]:
        item.doc_string = ""
        kept = [entry for entry in item.metadata_props if entry.key in KEPT_METADATA]
        del item.metadata_props[:]
        item.metadata_props.extend(kept)
    # The newer exporter lists initializers a second time here.
    initializers = {tensor.name for tensor in graph.initializer}
    shapes = [info for info in graph.value_info if info.name not in initializers]
    del graph.value_info[:]
    graph.value_info.extend(shapes)


# --------------------------------------------------------------------------------------------------
# Save


def save(model, name, recipe, folder):
    """Writes folder/name.onnx and, beside it, nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, f"{name}.onnx")
        if recipe.weights == "inline":
            onnx.save(model, path)
        else:
            onnx.save(
                model,
                path,
                save_as_external_data=True,
                all_tensors_to_one_file=True,
                location=f"{name}.onnx.data",
                size_threshold=INLINE_LIMIT_BYTES,
                convert_attribute=False,
            )
        # Checked by path while the data is still there, because the checker follows the references to it.
        onnx.checker.check_model(path, full_check=True)
        return pathlib.Path(shutil.copyfile(path, folder / path.name))


# --------------------------------------------------------------------------------------------------
# Verify


def verify(path):
    """Fails unless the file is small, of the standard domain, and consistent in its shapes.

    Returns the facts that the README tabulates.
    """
    model = onnx.load(path, load_external_data=False)
    graph = model.graph
    size = path.stat().st_size
    assert size < FILE_LIMIT_BYTES, f"{path.name}: {size} bytes"
    assert [entry.domain for entry in model.opset_import] == [""] and not model.functions, (
        f"{path.name}: domains"
    )
    names = [node.name for node in graph.node]
    assert all(names) and len(set(names)) == len(names), f"{path.name}: op names are not unique"

    # Bind the named dimensions, forget what the exporter said about shapes in between, and infer
    # them all. Strict: a shape inferred for an output must be the declared one.
    for value in [*graph.input, *graph.output]:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.dim_value = BOUND_DIMS[dim.dim_param]
    del graph.value_info[:]
    graph = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    known = {
        value.name
        for value in [*graph.value_info, *graph.output]
        if all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    }
    unknown = [
        output for node in graph.node for output in node.output if output and output not in known
    ]

    return {
        "file bytes": size,
        "ops": len(graph.node),
        "parameter bytes": sum(
            math.prod(tensor.dims) * onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
            for tensor in graph.initializer
        ),
        "initializers": len(graph.initializer),
        "external": sum(
            tensor.data_location == onnx.TensorProto.EXTERNAL for tensor in graph.initializer
        ),
        "shapes not inferred": len(unknown),
        "op types": ", ".join(
            f"{count} {kind}"
            for kind, count in collections.Counter(n.op_type for n in graph.node).most_common()
        ),
    }


def main():
    parser = argparse.ArgumentParser(description="Makes the example models again.")
    parser.add_argument(
        "names", nargs="*", metavar="MODEL", help=f"one of {', '.join(RECIPES)}; default: all"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing here; fail if a file would change"
    )
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in RECIPES:
            parser.error(f"unknown model '{name}'; known: {', '.join(RECIPES)}")

    changed = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.names or RECIPES:
            model = export(RECIPES[name])
            tidy(model)
            path = save(model, name, RECIPES[name], pathlib.Path(scratch))
            facts = verify(path)
            print(
                f"{name}.onnx",
                *(f"{key}: {value}" for key, value in facts.items()),
                sep="\n  ",
                flush=True,
            )
            target = HERE / path.name
            if not arguments.check:
                shutil.copyfile(path, target)
            elif not target.exists() or target.read_bytes() != path.read_bytes():
                changed.append(name)
    if changed:
        sys.exit(f"not the same bytes as here: {', '.join(changed)}")


if __name__ == "__main__":
    main()
