"""A model on a machine: the problem, what searches it, and the results."""

from __future__ import annotations

import base64
import ctypes as c
import html
import json
import math
import os
import pathlib
import signal
import threading
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _c, policy as _policy
from .graph import Graph

ENDS = ("done", "proven", "budget", "cancelled", "gave_up")
WHOSE = ("none", "own", "passed", "start", "given", "search", "repaired")  # BERTH_WHOSE_...
SEARCH_KEYS = {"policy", "options", "fallbacks", "seed", "threads", "budget", "moves", "bound", "within",
               "plugins", "plugin_folders"}
_TEXTS = {"policy": 0, "notes": 1, "placement": 2, "trace": 3, "svg": 4, "report": 5, "bound_source": 6}


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a {type(value).__name__}")


def settings_json(choices: Mapping[str, Any]) -> str:
    """berth.settings/1 of what a caller chose; None = not chosen."""
    chosen = {key: value for key, value in choices.items() if value is not None}
    if isinstance(chosen.get("options"), Mapping):  # texts, as on a command line, fit options of every type
        chosen["options"] = {key: str(value).lower() if isinstance(value, (bool, np.bool_)) else str(value)
                             for key, value in chosen["options"].items()}
    if isinstance(chosen.get("budget"), float) and math.isinf(chosen["budget"]):
        chosen["budget"] = "none"
    try:
        return json.dumps({"format": "berth.settings/1", **chosen}, default=_plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _c.InvalidArgument(f"the settings hold what JSON has not: {error}; give texts, numbers, lists and "
                                 "dictionaries") from None


def _lines(words: str) -> List[str]:
    """What the library gives by line. str.splitlines also breaks at form feeds and the like within one."""
    return [line for line in words.split("\n") if line]


class Engine:
    """Plugins and settings. `settings` is a dictionary or a file of berth.settings/1; what BERTH_CONFIG names is
    stronger than it, and `choices`, the same keys, are stronger than both."""

    def __init__(self, settings: Any = None, **choices: Any) -> None:
        if settings is None:
            base = ""
        elif isinstance(settings, Mapping):
            base = settings_json(settings)
        else:
            base = os.fspath(settings) if isinstance(settings, os.PathLike) else settings
        options = _c.EngineOptions(size=c.sizeof(_c.EngineOptions), settings=_c.text(base, "settings"),
                                   overrides=_c.text(settings_json(choices)))
        self._core = _c.Object("engine_new", options)
        _policy.join(self._core)

    @property
    def handle(self) -> Any:
        return self._core.handle

    def describe(self) -> Dict[str, Any]:
        """All that is in force and where it comes from: "settings", "plugins", "problems"."""
        return json.loads(_c.given("engine_describe", self.handle))

    def policies(self) -> List[str]:
        return [each["name"] for each in self.describe()["plugins"] if each["kind"] == "policy"]


def refuse_late(choices: Mapping[str, Any], hint: str) -> None:
    """Keys that come too late; of one that does not exist the engine says so, and which are like it."""
    if choices:
        Engine(**choices)
        raise _c.InvalidArgument(f"'{next(iter(choices))}' is settled when a problem is made; {hint}")


class _Interrupt:
    """Ctrl-C asks the search to end; pressed again, it does what it always does."""

    def __init__(self) -> None:
        self.asked = False
        self._before: Any = None

    def _ask(self, *_: Any) -> None:
        self.asked = True
        signal.signal(signal.SIGINT, self._before)

    def __enter__(self) -> "_Interrupt":
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *_: Any) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)


class _Hooks:
    """The callbacks of one search. What they throw ends it and is raised when it has ended."""

    def __init__(self, initial: Optional[np.ndarray], progress: Any, should_stop: Any) -> None:
        self.failure: Optional[BaseException] = None
        self.interrupt = _Interrupt()
        self._initial = initial
        for each, what in ((progress, "progress"), (should_stop, "should_stop")):
            if each is not None and not callable(each):
                raise _c.InvalidArgument(f"{what} is a {type(each).__name__}; give a function")

        def stops(_user: Any) -> int:
            try:
                return int(self.interrupt.asked or self.failure is not None or
                           bool(should_stop is not None and should_stop()))
            except BaseException as error:
                self.failure = error
                return 1

        def tells(_user: Any, best_us: float, words: Any) -> None:
            try:
                progress(best_us, str(words))
            except BaseException as error:
                self.failure = error

        self.options = _c.PlaceOptions(size=c.sizeof(_c.PlaceOptions), budget_s=-1, seed=-1, ask_every_s=0.01,
                                       should_stop=_c.StopFunction(stops))
        if progress is not None:
            self.options.progress = _c.ProgressFunction(tells)
        if initial is not None:
            self.options.initial = _c.pointer(initial, c.c_int32)

    def run(self, function: str, *arguments: Any) -> None:
        _policy.take_failure()
        try:
            with self.interrupt:
                _c.call(function, *arguments)
        except _c.Cancelled as error:
            if self.failure is None and self.interrupt.asked:
                raise KeyboardInterrupt("before there was a placement") from error
            self._raise(error)
        except _c.Error as error:
            self._raise(error)

    def told(self, results: List["Result"]) -> None:
        """What the callbacks threw, once the results have an owner, which ends them. A search that ended by itself, or never
        asks, has not seen Ctrl-C: the result of the last says so nevertheless."""
        if self.failure is not None:
            raise self.failure
        if self.interrupt.asked and results:
            results[-1]._summary.end = ENDS.index("cancelled")

    def _raise(self, error: _c.Error) -> None:
        failure = self.failure or _policy.take_failure()
        if isinstance(failure, KeyboardInterrupt) or (failure is not None and failure is self.failure):
            raise failure from error
        raise error from failure


class Problem:
    """A model on a machine with costs and constraints. Immutable; any number of threads may use one.

    `model`: a path, onnx.ModelProto, torch.export program, networkx.DiGraph or Graph. `cluster`: words such as
    "rtx4090+rtx4060", a preset, a file, or a dictionary of berth.cluster/1. `choices` are the keys of
    berth.settings/1: objective, costs, groups, constraints, dims, batch, ...
    """

    def __init__(self, model: Any, cluster: Any = None, *, settings: Any = None, **choices: Any) -> None:
        self._settings, self._choices = settings, {"cluster": cluster, **choices}
        engine = Engine(settings, **self._choices)
        self.graph = Graph._of(model, engine._core)
        machine = _c.Object("cluster_new", engine.handle, _c.text(""))
        self._core = _c.Object("problem_new", engine.handle, self.graph.handle, machine.handle, None)
        devices, name, kind = [], _c.GivenText(), _c.GivenText()
        for device in range(_c.library().berth_cluster_device_count(machine.handle)):
            _c.call("cluster_device", machine.handle, device, name, kind)
            devices.append((str(name), str(kind)))
        self.devices: List[str] = [name for name, _ in devices]
        self.kinds: List[str] = [kind for _, kind in devices]

    @property
    def handle(self) -> Any:
        return self._core.handle

    def array(self, name: str) -> np.ndarray:
        """Facts by name: "groups" [ops] (the group of each op), "cost_us" [groups, devices], "param_bytes"
        [groups] (what stays through the step or to its end: parameters, and inputs and results that last),
        "memory_bytes" [devices], "edges" [edges, 2] between groups, "edge_bytes" [edges]."""
        return self._core.array("problem_array", name)

    @property
    def group_count(self) -> int:
        return int(self.array("param_bytes").shape[0])

    def engine(self, **choices: Any) -> Engine:
        """One for a search of this problem, under the settings that it was made with."""
        refuse_late({key: value for key, value in choices.items() if key not in SEARCH_KEYS},
                    f"a search of it takes {', '.join(sorted(SEARCH_KEYS))}")
        merged = dict(self._choices)
        if choices.get("policy") is not None:  # options belong to their policy
            merged.pop("options", None)
        merged.update({key: value for key, value in choices.items() if value is not None})
        return Engine(self._settings, **merged)

    def read(self, placement: Any) -> np.ndarray:
        """A device for every op: from an array, a dictionary of names, a berth.placement/1 file, or a Result."""
        names, count = self.graph.names, len(self.graph)
        if isinstance(placement, Result):  # of another problem: its numbers may mean other ops and devices
            if placement.problem is not self:
                return self._parsed(placement.placement)
            placement = placement.devices
        if isinstance(placement, Mapping):
            by_name = {device: i for i, device in enumerate(self.devices)}
            lacking = [name for name in names if name not in placement]
            if lacking:
                raise _c.InvalidArgument(f"{len(lacking)} ops have no device, such as '{lacking[0]}'; give one for each")
            try:
                placement = [by_name[placement[name]] for name in names]
            except (KeyError, TypeError):
                raise _c.InvalidArgument(f"a device that there is not; this machine has {', '.join(self.devices)}") from None
        if isinstance(placement, (str, os.PathLike)):
            try:
                words = pathlib.Path(placement).read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise _c.NotFound(f"the placement '{placement}' cannot be read: {error}") from None
            return self._parsed(words)
        return _c.integers(placement, [count], "devices")

    def _parsed(self, words: str) -> np.ndarray:
        """Of berth.placement/1."""
        devices = np.zeros(len(self.graph), np.int32)
        _c.call("problem_read", self.handle, _c.text(words), _c.pointer(devices, c.c_int32), len(devices))
        return devices

    def simulate(self, placement: Any) -> "Result":
        """One step of a placement, and its figures; see `read` for what a placement may be."""
        devices = self.read(placement)
        return Result(self, _c.Object("evaluate", self.handle, _c.pointer(devices, c.c_int32), len(devices)))

    def place(self, *, initial: Any = None, progress: Optional[Callable[[float, str], None]] = None,
              should_stop: Optional[Callable[[], bool]] = None, **choices: Any) -> "Result":
        """Places by one policy. Ctrl-C ends it with the best so far (Result.end says "cancelled").

        `progress(best_us, text)` is told what happens; `should_stop()`, asked a hundred times a second, ends the search
        where it says True.
        Without a budget the policy decides how long it takes.
        """
        hooks = _Hooks(None if initial is None else self.read(initial), progress, should_stop)
        engine, out = self.engine(**choices), _c.Handle()
        hooks.run("place", engine.handle, self.handle, hooks.options, out)
        result = Result(self, _c.Object.take(out.value))
        hooks.told([result])
        return result

    def compare(self, policies: Optional[Sequence[str]] = None, *, progress: Any = None, should_stop: Any = None,
                **choices: Any) -> "Comparison":
        """Places by each policy with its default options, all else alike; None = all that are there. A `budget`
        is that of each."""
        hooks, engine = _Hooks(None, progress, should_stop), self.engine(**choices)
        names = _c.texts(engine.policies() if policies is None else policies, "policies")
        results, statuses, messages = (c.c_void_p * len(names))(), (c.c_int32 * len(names))(), _c.GivenText()
        hooks.run("compare", engine.handle, self.handle, names, len(names), hooks.options,
                  c.cast(results, c.POINTER(c.c_void_p)), statuses, messages)
        told = iter(_lines(str(messages)))
        rows: List[Result] = []
        failures: Dict[str, str] = {}
        for name, handle in zip(names, results):
            if handle:
                rows.append(Result(self, _c.Object.take(handle)))
            else:
                failures[name.data.decode()] = next(told, "").partition(": ")[2]
        hooks.told(rows)
        rows.sort(key=lambda row: (not row.feasible, row.objective_us))
        return Comparison(rows, failures)

    def __repr__(self) -> str:
        return f"<berth.Problem: {len(self.graph)} ops in {self.group_count} groups on {', '.join(self.devices)}>"


class VllmPlan(NamedTuple):
    """How vLLM is started: variables of its environment, and arguments of vllm.LLM."""

    environment: Dict[str, str]
    arguments: Dict[str, int]


class Result:
    """A placement with its figures. Arrays are views of the engine's own, which nobody may write to."""

    def __init__(self, problem: Problem, core: _c.Object) -> None:
        self.problem, self._core = problem, core
        self._summary = _c.Summary(size=c.sizeof(_c.Summary))
        _c.call("result_summary", core.handle, self._summary)

    @property
    def handle(self) -> Any:
        return self._core.handle

    def _view(self, name: str) -> np.ndarray:
        return self._core.array("result_array", name)

    def _text(self, kind: str) -> str:
        return _c.given("result_text", self.handle, _TEXTS[kind])

    devices = property(lambda self: self._view("devices"), doc="The device of every op, int32 [ops].")
    op_start_us = property(lambda self: self._view("op_start_us"), doc="When every op starts, float64 [ops].")
    op_end_us = property(lambda self: self._view("op_end_us"), doc="When every op ends, float64 [ops].")
    busy_us = property(lambda self: self._view("busy_us"), doc="Compute time, float64 [devices].")
    peak_bytes = property(lambda self: self._view("peak_bytes"), doc="Peak memory, int64 [devices].")
    feasible = property(lambda self: bool(self._summary.feasible), doc="Whether it fits in every device's memory.")
    objective_us = property(lambda self: self._summary.objective_us, doc="What was minimised.")
    runtime_us = property(lambda self: self._summary.runtime_us, doc="The runtime of one simulated step.")
    bound_us = property(lambda self: self._summary.bound_us, doc="Nothing below exists; 0 = no bound is known.")
    best_single_us = property(lambda self: self._summary.best_single_us, doc="Of the best device alone; 0 = none holds it.")
    excess_bytes = property(lambda self: self._summary.excess_bytes, doc="What the fullest device lacks.")
    evaluations = property(lambda self: self._summary.evaluations, doc="Placements that the policy tried.")
    wall_s = property(lambda self: self._summary.wall_s, doc="How long the search took.")
    end = property(lambda self: ENDS[self._summary.end], doc='Why it ended: "done", "proven", "budget", "cancelled" '
                                                             '(Ctrl-C) or "gave_up".')
    own_us = property(lambda self: self._summary.own_us, doc="Of the own placement of a policy that learns; 0 = it does "
                                                             "not learn, or had no time for one.")
    best_us = property(lambda self: self._summary.best_us, doc="Of the best that such a policy saw: the one to use.")
    start_us = property(lambda self: self._summary.start_us, doc="Of the best of its starts; 0 = it has none that fits.")
    whose = property(lambda self: WHOSE[self._summary.whose], doc='Whose the best is: "own", "passed", "start", "given", '
                                                                  '"search", "repaired"; "none" = it does not learn.')
    policy = property(lambda self: self._text("policy"), doc="Who found it; empty for a placement that was given.")
    svg = property(lambda self: self._text("svg"), doc="A drawing of the step.")
    trace = property(lambda self: self._text("trace"), doc="The step for Perfetto and chrome://tracing, JSON.")
    placement = property(lambda self: self._text("placement"), doc="berth.placement/1, JSON.")
    text = property(lambda self: self._text("report"), doc="Figures, gap to the bound, and advice, for people.")
    notes = property(lambda self: _lines(self._text("notes")), doc="What a user should know, as sentences.")

    @property
    def gap(self) -> float:
        """How far above the bound; infinity where none is known."""
        return self.objective_us / self.bound_us - 1 if self.bound_us > 0 else math.inf

    @property
    def speed_up(self) -> float:
        """Over the best device alone; NaN where none holds everything."""
        return self.best_single_us / self.objective_us if self.best_single_us > 0 else math.nan

    @property
    def assignment(self) -> Dict[str, str]:
        """The name of each op's device, by the op's name."""
        return json.loads(self.placement)["assignment"]

    @property
    def transfers(self) -> np.ndarray:
        """All that devices send each other, by start time: tensor, producer, src, dst, bytes, start_us, end_us."""
        all_of_them, count = np.zeros(self._summary.transfer_count, _c.TRANSFER), c.c_size_t()
        _c.call("result_transfers", self.handle, _c.TRANSFER.itemsize, all_of_them.ctypes.data, len(all_of_them), count)
        return all_of_them

    def explain(self, op: Any) -> str:
        """Why an op (name or id) is where it is, and what it would cost elsewhere."""
        if isinstance(op, str):
            try:
                op = self.problem.graph.names.index(op)
            except ValueError:
                raise _c.InvalidArgument(f"no op is called '{op}'; Graph.names has all") from None
        return _c.given("result_explain", self.handle, _c.whole(op, "the op"))

    def plan(self, form: str) -> str:
        """The placement as another tool takes it: "device_map", "vllm", "llama.cpp", "csv", ... Raises Unsupported,
        which says what of it the tool cannot have: `berth.place(..., tool=...)` finds what it can."""
        return _c.given("result_plan", self.handle, _c.text(form, "a form"))

    @property
    def device_map(self) -> Dict[str, Any]:
        """For accelerate and `from_pretrained(device_map=...)`."""
        return json.loads(self.plan("device_map"))

    @property
    def vllm(self) -> VllmPlan:
        lines = self.plan("vllm").split()
        options = {name[2:].replace("-", "_"): int(value)
                   for name, value in zip(lines, lines[1:]) if name.startswith("--")}
        environment = dict(line.split("=", 1) for line in lines if "=" in line)
        return VllmPlan(environment, options)

    def report(self, path: Any = None) -> str:
        """A page in HTML that shows it, without network; written to `path` where one is given."""
        return report([self], path)

    def save(self, path: Any) -> None:
        """Writes berth.placement/1, which `berth.simulate` and the command read."""
        _write(path, self.placement)

    def __repr__(self) -> str:
        fits = "" if self.feasible else ", does not fit"
        return f"<berth.Result: {self.objective_us / 1e3:.3f} ms by {self.policy or 'hand'}{fits}>"

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # As an image: nothing in it runs, and its names meet nothing of the notebook's.
        image = base64.b64encode(self.svg.encode()).decode()
        return (f'<pre>{html.escape(self.text)}</pre>'
                f'<img alt="timeline of one step" src="data:image/svg+xml;base64,{image}">')


class Comparison(Sequence[Result]):
    """Results of several policies, best first; `failures` says by name why others have none."""

    def __init__(self, rows: List[Result], failures: Dict[str, str]) -> None:
        self._rows, self.failures = rows, failures

    def __getitem__(self, index: Any) -> Any:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def best(self) -> Result:
        if not self._rows:
            raise _c.Infeasible("no policy found a placement: " +
                                "; ".join(f"{name}: {why}" for name, why in self.failures.items()))
        return self._rows[0]

    def _table(self) -> List[Tuple[str, str, str, str]]:
        rows = [(row.policy, f"{row.objective_us / 1e3:.3f} ms" + ("" if row.feasible else " (does not fit)"),
                 f"{100 * row.gap:.1f} %" if row.bound_us > 0 else "", f"{row.speed_up:.2f}x") for row in self._rows]
        return rows + [(name, why, "", "") for name, why in self.failures.items()]

    def report(self, path: Any = None) -> str:
        """The page of the best, with a table of all."""
        return report(self._rows, path)

    def __str__(self) -> str:
        return "\n".join(f"{name:16}{time:>16}{gap:>10}{speed:>8}".rstrip() for name, time, gap, speed in self._table())

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{each}</th>" for each in ("policy", "objective", "above bound", "vs one device"))
        body = "".join("<tr>" + "".join(f"<td>{html.escape(each)}</td>" for each in row) + "</tr>"
                       for row in self._table())
        return f"<table><tr>{head}</tr>{body}</table>"


def _write(path: Any, words: str) -> None:
    try:
        pathlib.Path(path).write_text(words, encoding="utf-8")
    except (OSError, TypeError, ValueError) as error:
        raise _c.IOFailure(f"'{path}' cannot be written: {error}") from None


def report(results: Any, path: Any = None) -> str:
    """A page in HTML of the first of several results, with a table of all; written to `path` where one is given."""
    all_of_them = list(results) if isinstance(results, Sequence) else [results]
    for each in all_of_them:
        if not isinstance(each, Result):
            raise _c.InvalidArgument(f"a {type(each).__name__} is no result; give what berth.place returned")
    handles = (c.c_void_p * len(all_of_them))(*[each.handle.value for each in all_of_them])
    page = _c.given("report", c.cast(handles, c.POINTER(c.c_void_p)), len(all_of_them))
    if path is not None:
        _write(path, page)
    return page
