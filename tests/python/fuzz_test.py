"""Every function of the package with random arguments: whatever is wrong is an exception, and nothing ends the process.

    python fuzz_test.py [CALLS] [SEED]
"""

import collections
import inspect
import os
import resource
import random
import shutil
import sys
import tempfile
import time

from support import MODELS, chain

import berth
import numpy as np

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
HUNG_S = 60  # of one call
MEMORY_BYTES = 4 << 30


class Hostile:
    """Fails whatever is asked of it."""

    def __getattr__(self, name):
        raise RuntimeError("hostile")

    def __array__(self, *_, **__):
        raise RuntimeError("hostile")


class Directed:
    """As much of networkx.DiGraph as is asked for."""

    name = "two"

    def is_directed(self):
        return True

    def nodes(self, data):
        return [("a", {"cost_us": 5}), ("b", {"flops": 1e6, "param_bytes": 8})]

    def edges(self, data):
        return [("a", "b", {}), ("a", "b", {"bytes": 100})]


def arrays(random_numbers, pick):
    """An array of some shape and type, often nearly right."""
    shape = pick([(), (0,), (1,), (8,), (8,), (7,), (3, 8), (3, 8), (0, 8), (8, 3), (2, 2, 2)])
    low, high = pick([(1, 3), (1, 3), (0, 3), (-1, 4), (-(2**31), 2**31)])
    values = random_numbers.integers(low, high, shape)
    dtype = pick([np.int32, np.int32, np.int64, np.int8, np.uint64, np.float32, np.float64, np.bool_, np.complex64, object, "U3"])
    with np.errstate(all="ignore"):
        made = values.astype(dtype)
    return pick([made, made, made, np.asfortranarray(made), made[..., ::-1] if made.ndim else made, made.tolist()])


class Fuzz:
    def __init__(self):
        self.pick = random.Random(SEED).choice
        self.numbers = np.random.default_rng(SEED)
        self.folder = tempfile.mkdtemp(prefix="berth-fuzz-")
        os.chdir(self.folder)  # where what is written goes
        self.model = shutil.copy(MODELS / "tiny_cnn.onnx", self.folder)  # a copy: what is saved may be saved over it
        self.problems = [chain(), chain(), chain(8, groups=3), chain(1)]
        self.results = [problem.place(policy="topo") for problem in self.problems[:3]]
        self.episodes = [self.fresh_episodes() for _ in range(3)]
        self.evaluators = [berth.Evaluator(problem, threads=1) for problem in self.problems]
        self.plain = [None, 0, 1, 2, 3, 7, 8, 100, -1, 2**31, 2**40, 2**63, 2**64, 0.0, 1.5, -1.0, float("nan"), float("inf"),
                      True, False, "", "topo", "single", "random", "layer1", "gpu:1", "k80x2", "csv", "device_map", "vllm",
                      "groups", "cost", "current", "\0", "\ud800", "é" * 50, b"bytes", "/no/such/file", [], {}, (), [None],
                      ["topo", "single"], ["cost"], ["current", "device"], {"moves": 3}, {"layer0": "gpu:0"}, {1: 2},
                      [{"pin": "layer1", "to": "gpu:0"}], [{"pin": 3}], object(), Hostile(), np.int64(2), np.float32(2),
                      np.datetime64("2020"), range(8), lambda *_: 1, lambda *_: 1 / 0, self.model,
                      self.folder, os.path.join(self.folder, "out")]

    def fresh_episodes(self):
        made = berth.Episodes(self.pick(self.problems), self.pick([1, 3, 8]), threads=1)
        made.reset(1)
        return made

    def value(self, name):
        """Something for an argument of that name: of the right kind half of the time."""
        kinds = {"self": None, "problem": self.problems, "model": self.problems + [self.problems[0].graph] * 3,
                 "result": self.results, "results": self.results + [self.results], "cluster": ["k80x2", None],
                 "placement": [self.results[0], self.results[1].devices], "policy": ["topo", "random"],
                 "policies": [["topo"], ["single", "topo"]], "count": [8, None], "threads": [1], "place": [lambda s: [1] * 8],
                 "group_features": [["cost"], ()],
                 "by_group": [True, False],
                 "src": [[0, 1]], "dst": [[1, 2]], "name": ["groups", "edges", "py"], "form": ["csv", "graphviz"],
                 "graph": [Directed()], "op": ["layer0", 0],
                 "device_features": [["load", "worse"]], "seed": [1, 2], "devices": [[1] * 8]}
        draw = self.numbers.random()
        if name in kinds and kinds[name] and draw < 0.6:
            return self.pick(kinds[name])
        if draw < 0.8:
            return arrays(self.numbers, self.pick)
        return self.pick(self.plain + self.problems + self.results)

    def functions(self):
        """Everything to call, with an object of its own where it is a method."""
        free = [getattr(berth, name) for name in berth.__all__ if inspect.isfunction(getattr(berth, name))]
        free += [berth.Graph, berth.Graph.of, berth.Graph.from_arrays, berth.Graph.from_arrays,
                 berth.Graph.from_networkx, berth.Engine, berth.Problem, berth.Evaluator, berth.Episodes]
        owned = [(berth.Problem, self.problems), (berth.Result, self.results), (berth.Episodes, self.episodes),
                 (berth.Episodes, self.episodes), (berth.Evaluator, self.evaluators), (berth.Engine, [berth.Engine()])]
        calls = [(function, None) for function in free]
        for kind, objects in owned:
            for name, member in inspect.getmembers(kind):
                if inspect.isfunction(member) and (not name.startswith("_") or name in ("_repr_html_", "__str__")):
                    calls.append((name, objects))
        return calls

    def once(self, function, objects):
        called = getattr(self.pick(objects), function) if objects is not None else function
        try:
            parameters = inspect.signature(called).parameters.values()
        except (TypeError, ValueError):
            parameters = ()
        positional, named = [], {}
        for each in parameters:
            if each.kind is each.VAR_KEYWORD:
                if self.numbers.random() < 0.3:
                    key = self.pick(["policy", "options", "seed", "groups", "objective", "moves", "constraints", "budget",
                                     "settings", "threads", "nonsense"])
                    named[key] = "1ms" if key == "budget" else self.value(key)
            elif each.kind is each.KEYWORD_ONLY:
                if self.numbers.random() < 0.4:
                    named[each.name] = self.value(each.name)
            elif each.default is each.empty or self.numbers.random() < 0.6:
                positional.append(self.value(each.name))
            else:
                break
        called(*positional, **named)


def main():
    # Policies that take no time, whatever is asked of them.
    os.environ["BERTH_CONFIG"] = ('{"format": "berth.settings/1", "policy": "topo", "bound": "none", "threads": 1, "plugins": '
                                  '["frontend_onnx", "policy_topo", "policy_single", "policy_random", "policy_heft"]}')
    # A request for more memory than there is must be refused, and not end the machine.
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    fuzz, ends, strange, slowest = Fuzz(), collections.Counter(), collections.Counter(), (0.0, "")
    calls = fuzz.functions()
    names = [function if isinstance(function, str) else function.__qualname__ for function, _ in calls]
    for i in range(CALLS):
        number = int(fuzz.numbers.integers(len(calls)))
        began = time.monotonic()
        try:
            fuzz.once(*calls[number])
            ends[names[number], "returned"] += 1
        except (berth.Error, MemoryError):
            ends[names[number], "refused"] += 1
        except TypeError as error:
            if "argument" not in str(error):  # Python's own word on a signature
                strange[names[number], f"TypeError: {error}"[:150]] += 1
            ends[names[number], "TypeError"] += 1
        except Exception as error:
            strange[names[number], f"{type(error).__name__}: {error}"[:150]] += 1
        slowest = max(slowest, (time.monotonic() - began, names[number]))
        if i % 50 == 0:  # some were closed
            fuzz.episodes[:] = [fuzz.fresh_episodes() for _ in fuzz.episodes]
            fuzz.evaluators[:] = [berth.Evaluator(problem, threads=1) for problem in fuzz.problems]
    for (name, end), count in sorted(ends.items()):
        print(f"{name:28}{end:10}{count:8}")
    print(f"{CALLS} calls, seed {SEED}; the slowest took {slowest[0]:.2f} s: {slowest[1]}")
    # Errors of a caller's own objects and functions pass through.
    unexpected = [key for key in strange if "hostile" not in key[1] and "division by zero" not in key[1]]
    for key in unexpected:
        print("unexpected:", *key, strange[key])
    never = sorted(set(names) - {name for name, _ in list(ends) + list(strange)})
    assert not never, f"never called: {never}"
    accepted = {name for name, end in ends if end == "returned"}
    print("never accepted:", ", ".join(sorted(set(names) - accepted)) or "none")
    shutil.rmtree(fuzz.folder)
    assert not unexpected
    assert slowest[0] < HUNG_S, slowest


if __name__ == "__main__":
    main()
