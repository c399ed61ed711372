"""Graphs: from a model's file, ONNX, torch.export, NetworkX or arrays."""

from __future__ import annotations

import ctypes as c
import difflib
import os
import pathlib
import sys
import tempfile
import warnings
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy as np

from . import _c


MOST_BARE = 1 << 20  # ops of which only their number is known
OF_NODES = ("cost_us", "flops", "output_bytes", "param_bytes", "type")
OF_EDGES = ("bytes",)
FOREIGN = {"dtype"}  # a letter away from ours, and often there


class Graph:
    """The ops of a step and what they send each other. Immutable; any number of threads may use one."""

    def __init__(self, core: _c.Object) -> None:
        self._core = core
        self._names: Optional[List[str]] = None

    @classmethod
    def of(cls, model: Any) -> "Graph":
        """A graph of whatever `model` is: a path (.onnx, .pb, .pbtxt, a SavedModel, .graph.json), an
        onnx.ModelProto, a torch.export program, a networkx.DiGraph, or a Graph."""
        return cls._of(model, _c.Object("engine_new", None))

    @classmethod
    def _of(cls, model: Any, engine: _c.Object) -> "Graph":
        if isinstance(model, Graph):
            return model
        if isinstance(model, (str, os.PathLike)):
            return cls(_c.Object("graph_load", engine.handle, _c.text(model, "the path of a model")))
        kind = type(model)
        if kind.__module__.startswith("onnx") and kind.__name__ == "ModelProto":
            return cls._of_file(lambda path: _save_onnx(model, path), engine)
        if kind.__module__.startswith("torch.export") and kind.__name__ == "ExportedProgram":
            return cls._of_file(lambda path: _save_torch(model, path), engine)
        if hasattr(model, "is_directed") and hasattr(model, "nodes"):
            return cls.from_networkx(model)
        hint = ""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(model, torch.nn.Module):
            hint = "; export it first: torch.export.export(module, (example, ...))"
        raise _c.InvalidArgument(f"a {kind.__module__}.{kind.__name__} is no model; give a path, an onnx.ModelProto, a "
                                 f"torch.export program, a networkx.DiGraph, or a Graph of arrays{hint}")

    @classmethod
    def _of_file(cls, save: Callable[[str], None], engine: _c.Object) -> "Graph":
        with tempfile.TemporaryDirectory(prefix="berth-") as folder:
            path = str(pathlib.Path(folder) / "model.onnx")
            save(path)
            return cls._of(path, engine)

    @classmethod
    def from_arrays(cls, src: Any, dst: Any, *, cost_us: Any = None, output_bytes: Any = None,
                    param_bytes: Any = None, count: Optional[int] = None, names: Optional[Sequence[str]] = None,
                    types: Optional[Sequence[str]] = None, name: str = "graph") -> "Graph":
        """Op dst[i] reads the output of op src[i]. Arrays by op: `cost_us` on any device, `output_bytes`,
        `param_bytes` (weights, which each step reads). `count` is needed only where no array by op says how many there are, and is then at most 2^20."""
        columns = [each for each in (names, types, cost_us, output_bytes, param_bytes) if each is not None]
        if count is None and not columns:
            raise _c.InvalidArgument("how many ops there are is not known; give `count`, or an array by op")
        for each in columns[:1]:
            if not isinstance(each, (Sequence, np.ndarray)) or isinstance(each, str) or getattr(each, "ndim", 1) == 0:
                raise _c.InvalidArgument(f"a {type(each).__name__} is no column of ops; give a list or an array")
        # A bare number costs its caller nothing, so that it alone may not ask for all memory there is.
        n = _c.whole(len(columns[0]) if count is None else count, "the number of ops", 0,
                     MOST_BARE if not columns else (1 << 31) - 1)
        sources = _c.integers(src, [None], "src")
        targets = _c.integers(dst, [len(sources)], "dst")
        builder = _Builder(name)
        builder.ops(n, names, types, None if cost_us is None else _c.reals(cost_us, [n], "cost_us"),
                    None if output_bytes is None else _c.integers(output_bytes, [n], "output_bytes", np.int64),
                    None if param_bytes is None else _c.integers(param_bytes, [n], "param_bytes", np.int64))
        builder.edges(sources, targets)
        return builder.finish()

    @classmethod
    def from_networkx(cls, graph: Any) -> "Graph":
        """Nodes are ops. They may have cost_us (a number, or one by kind of device), flops, output_bytes,
        param_bytes (weights, which each step reads) and type; an edge may have bytes of its own instead of the node's
        output_bytes. An op with flops reads its inputs and weights, and writes its outputs, as one without has to.
        Sizes may be floats that are whole. A name that is nearly one of these is InvalidArgument; others are not
        read, which a warning says."""
        if not (hasattr(graph, "is_directed") and graph.is_directed()):
            raise _c.InvalidArgument("the graph has no directions; give a networkx.DiGraph whose edges point from "
                                     "producer to reader")
        nodes = list(graph.nodes(data=True))
        edges = list(graph.edges(data=True))
        _check_names([(f"{node!r}", about) for node, about in nodes], OF_NODES, "nodes")
        _check_names([(f"the edge {source!r} -> {target!r}", about) for source, target, about in edges], OF_EDGES, "edges")
        if nodes and not any(about.get(key) for _, about in nodes for key in OF_NODES if key != "type") and \
                not any(about.get("bytes") for _, _, about in edges):
            warnings.warn("no node has cost_us, flops, output_bytes or param_bytes, and no edge has bytes: every placement "
                          "takes no time", stacklevel=2)
        index = {node: i for i, (node, _) in enumerate(nodes)}
        builder = _Builder(str(graph.name or "graph"))

        def column(key: str) -> np.ndarray:
            return np.array([_size(about.get(key, 0), f"{key} of {node!r}") for node, about in nodes], np.int64)

        outputs, weights = column("output_bytes"), column("param_bytes")
        sizes = [None if "bytes" not in about else _size(about["bytes"], f"bytes of the edge {source!r} -> {target!r}")
                 for source, target, about in edges]
        # Nobody reads the output of a node whose edges all have bytes: beside these it would last to the step's end.
        for node in {source for source, _, _ in edges} - {source for source, _, about in edges if "bytes" not in about}:
            outputs[index[node]] = 0
        builder.ops(len(nodes), [str(node) for node, _ in nodes], [str(about.get("type", "")) for _, about in nodes],
                    None, outputs, weights)
        moved = outputs + weights.astype(np.float64)  # read and written by each op
        for source, target in {(source, target) for (source, target, _), size in zip(edges, sizes) if size is None}:
            moved[index[target]] += outputs[index[source]]
        for (source, target, _), size in zip(edges, sizes):
            moved[index[source]] += size or 0
            moved[index[target]] += size or 0
        for i, (node, about) in enumerate(nodes):
            costs = about.get("cost_us")
            for kind, us in (costs.items() if isinstance(costs, dict) else [("", costs)]):
                if us is not None:
                    _c.call("builder_cost", builder.handle, i, _c.text(kind),
                            _c.real(us, f"cost_us of {node!r}"))
            if "flops" in about:
                flops = _c.real(about["flops"], f"flops of {node!r}")
                _c.call("builder_work", builder.handle, i, _c.Work(c.sizeof(_c.Work), flops, moved[i], 1))
        plain = []
        for (source, target, _), size in zip(edges, sizes):
            if size is None:
                plain.append((index[source], index[target]))
                continue
            tensor, out = _c.Tensor(size=c.sizeof(_c.Tensor), rank=-1, bytes=size), c.c_int32()
            _c.call("builder_output", builder.handle, index[source], tensor, out)
            _c.call("builder_input", builder.handle, index[target], out.value)
        ends = np.array(plain, np.int32).reshape(-1, 2)
        builder.edges(np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1]))
        return builder.finish()

    @property
    def handle(self) -> Any:
        return self._core.handle

    def __len__(self) -> int:
        return int(_c.library().berth_graph_op_count(self.handle))

    @property
    def names(self) -> List[str]:
        """The names of the ops, by id."""
        if self._names is None:
            self._names = [_c.given("graph_op_name", self.handle, op) for op in range(len(self))]
        return self._names

    def __repr__(self) -> str:
        return f"<berth.Graph of {len(self)} ops>"


def _size(number: Any, what: str) -> int:
    """Bytes; columns of pandas and NumPy have whole numbers as floats."""
    if isinstance(number, (float, np.floating)) and float(number).is_integer():
        number = int(number)
    return _c.whole(number, what, 0, 1 << 62)


def _check_names(all_about: Iterable[Tuple[str, Dict[Any, Any]]], known: Sequence[str], whose: str) -> None:
    """Raises for an attribute that is nearly a known one, and warns once of the others."""
    nearly_alike = 0.72  # of letters: "cost" and "cost_us" are, "weight" and "bytes" are not
    others = set()
    for where, about in all_about:
        for key in about:
            if key in known or key in others:
                continue
            near = [] if key in FOREIGN else difflib.get_close_matches(str(key), known, 1, nearly_alike)
            if near:
                raise _c.InvalidArgument(f"unknown attribute {key!r} of {where}; did you mean {near[0]!r}? Known: "
                                         f"{', '.join(known)}")
            others.add(key)
    if others:
        warnings.warn(f"attributes of {whose} that are not read: {', '.join(sorted(map(str, others)))}; known are "
                      f"{', '.join(known)}", stacklevel=3)


class _Builder:
    def __init__(self, name: str) -> None:
        self._core = _c.Object("builder_new", _c.text(name, "the name of a graph"), _c.text(""))
        self.handle = self._core.handle

    def ops(self, n: int, names: Optional[Sequence[str]], types: Optional[Sequence[str]],
            cost_us: Optional[np.ndarray], output_bytes: Optional[np.ndarray],
            param_bytes: Optional[np.ndarray]) -> None:
        called = _c.texts([f"op{i}" for i in range(n)] if names is None else names)
        kinds = None if types is None else _c.texts(types, "types")
        for each, what in ((called, "names"), (kinds, "types")):
            if each is not None and len(each) != n:
                raise _c.InvalidArgument(f"{len(each)} {what} for {n} ops; give one for each")
        _c.call("builder_ops", self.handle, n, called, kinds, _c.pointer(cost_us, c.c_double),
                _c.pointer(output_bytes, c.c_int64), _c.pointer(param_bytes, c.c_int64), None)

    def edges(self, src: np.ndarray, dst: np.ndarray) -> None:
        _c.call("builder_edges", self.handle, len(src), _c.pointer(src, c.c_int32), _c.pointer(dst, c.c_int32))

    def finish(self) -> Graph:
        return Graph(_c.Object("builder_finish", self.handle))


def _save_onnx(model: Any, path: str) -> None:
    try:
        data = model.SerializeToString()
    except Exception as error:  # Protobuf's limit, of whichever type this version raises
        raise _c.Unsupported(f"the model is too large for one message ({error}); save it with onnx.save_model(..., "
                             "save_as_external_data=True) and give the path") from error
    pathlib.Path(path).write_bytes(data)


def _save_torch(program: Any, path: str) -> None:
    import torch

    torch.onnx.export(program, (), path, dynamo=True, verbose=False)
