"""What the exporters of PyTorch write, without the numbers."""

import functools
import inspect
import pathlib
import tempfile

import onnx
import torch

# Initializers from this size on lose their numbers; shapes and axes are far smaller.
INLINE_LIMIT_BYTES = 1024


def _graphs(graph):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else ())):
                yield from _graphs(inner)


def strip(model):
    """Turns large initializers and constants into external ones whose file does not exist."""
    for graph in _graphs(model.graph):
        tensors = list(graph.initializer)
        for node in graph.node:
            tensors += [a.t for a in node.attribute if a.HasField("t")]
        for tensor in tensors:
            inline = max(len(tensor.raw_data), 4 * len(tensor.float_data), 8 * len(tensor.int64_data))
            external = tensor.data_location == onnx.TensorProto.EXTERNAL
            if inline < INLINE_LIMIT_BYTES and not external:
                continue
            for field in ("raw_data", "float_data", "int64_data", "int32_data", "double_data"):
                tensor.ClearField(field)
            tensor.data_location = onnx.TensorProto.EXTERNAL
            del tensor.external_data[:]
            tensor.external_data.add(key="location", value="weights.bin")
    return model


def export(model, arguments, path, *, exporter, dynamic=None, names=None, keywords=None):
    """Writes `model` to `path`; `dynamic` gives each input's named dimensions, {axis: name}."""
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder) / "model.onnx"
        options = {"kwargs": keywords} if keywords else {}
        if exporter == "torchscript":
            if dynamic:
                options["dynamic_axes"] = dict(zip(names, dynamic))
            torch.onnx.export(
                model, arguments, str(made), dynamo=False, input_names=names,
                do_constant_folding=True, opset_version=17, **options,
            )  # fmt: skip
        else:
            if dynamic:
                # Names alone: a dimension that the network fixes after all becomes static.
                shapes = tuple(dynamic)
                kinds = [p.kind for p in inspect.signature(model.forward).parameters.values()]
                options["dynamic_shapes"] = (
                    (shapes,) if inspect.Parameter.VAR_POSITIONAL in kinds else shapes
                )
            torch.onnx.export(
                model, arguments, str(made), dynamo=True, input_names=names, external_data=True,
                optimize=True, **options,
            )  # fmt: skip
        loaded = onnx.load(str(made), load_external_data=False)
    onnx.save(strip(loaded), str(path))


def parameter_bytes(module):
    """Parameters and buffers, each storage once."""
    held = {}
    for tensor in (*module.parameters(), *module.buffers()):
        held[tensor.data_ptr() or id(tensor)] = tensor.numel() * tensor.element_size()
    return sum(held.values())


def training_step(model, inputs, loss_of, rate=0.1):
    """One step of gradient descent as a graph of ATen ops: loss, gradients, new parameters.

    PyTorch exports no optimizer, and ONNX has no gradient of a convolution; so this is for networks
    of matrix products. Returns the module, whose inputs are `inputs` (a tuple of tensors).
    """
    import torch.utils._pytree as pytree
    from torch.fx.experimental.proxy_tensor import make_fx

    values, shape = pytree.tree_flatten(dict(model.named_parameters()))

    def step(values, *inputs):
        parameters = pytree.tree_unflatten([v.detach().requires_grad_() for v in values], shape)
        call = functools.partial(torch.func.functional_call, model, parameters)
        loss = loss_of(lambda **keywords: call((), keywords), inputs)
        gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        new = [v if g is None else v - rate * g for v, g in zip(parameters.values(), gradients)]
        return (loss, *new)

    graph = make_fx(step, decomposition_table=torch._decomp.core_aten_decompositions())(
        [v.detach() for v in values], *inputs
    )

    for name, value in list(vars(graph).items()):  # constants, which the exporter wants as buffers
        if isinstance(value, torch.Tensor):
            delattr(graph, name)
            graph.register_buffer(name, value)

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.graph = graph
            self.held = torch.nn.ParameterList(values)

        def forward(self, *inputs):
            return self.graph(list(self.held), *inputs)

    return Step()
