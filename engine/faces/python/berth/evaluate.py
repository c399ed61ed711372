"""Many placements, or many episodes, at a time: NumPy in, NumPy out."""

from __future__ import annotations

import ctypes as c
import json
import threading
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _c
from .problem import Problem

#: A few that need no simulation besides that of the state.
GROUP_FEATURES = ("cost", "output_bytes", "param_bytes", "placed", "current", "start", "tail", "device")
DEVICE_FEATURES = ("cost", "load", "near_in", "near_out", "memory", "host", "same_device", "ends_later")


class _Single:
    """An object that one thread at a time may use, until it is closed."""

    def __init__(self, what: str) -> None:
        self._what, self._core, self._lock = what, None, threading.Lock()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Nothing can be asked of it any more. Views that were given out stay valid."""
        with _Use(self):
            self._core = None


class _Use:
    def __init__(self, single: _Single) -> None:
        self._single = single

    def __enter__(self) -> Optional[_c.Object]:
        single = self._single
        if not single._lock.acquire(blocking=False):
            raise _c.InvalidArgument(f"the {single._what} is in use on another thread; give each thread its own")
        return single._core

    def __exit__(self, *_: Any) -> None:
        self._single._lock.release()


def _open(core: Optional[_c.Object], what: str) -> _c.Object:
    if core is None:
        raise _c.InvalidArgument(f"the {what} was closed; make another one")
    return core


def _problem(problem: Any) -> Problem:
    if not isinstance(problem, Problem):
        raise _c.InvalidArgument(f"a {type(problem).__name__} is no problem; give berth.Problem(model, cluster)")
    return problem


class Batch(NamedTuple):
    """Figures of placements, one entry for each."""

    objective_us: np.ndarray
    excess_bytes: np.ndarray
    feasible: np.ndarray


class Evaluator(_Single):
    """Simulates batches of placements on up to `threads` threads (0 = one per core). For one thread at a time."""

    def __init__(self, problem: Problem, *, threads: int = 0) -> None:
        super().__init__("evaluator")
        self.problem = _problem(problem)
        self._core = _c.Object("evaluator_new", problem.handle, _c.whole(threads, "threads", 0, 1024))
        self._widths = len(problem.graph), problem.group_count

    def batch(self, placements: Any, *, by_group: bool = False) -> Batch:
        """Placements are whole numbers [n, ops], or [n, groups]. What the engine cannot place is InvalidArgument, and
        nothing is evaluated then."""
        grouped = _c.flag(by_group, "by_group")
        rows = _c.integers(placements, [None, self._widths[grouped]], "placements")
        count, width = rows.shape
        out = Batch(np.empty(count, np.float64), np.empty(count, np.int64), np.empty(count, np.bool_))
        with _Use(self) as core:
            _c.call("evaluator_batch", _open(core, "evaluator").handle, grouped, _c.pointer(rows, c.c_int32),
                    count, width, _c.pointer(out.objective_us, c.c_double), _c.pointer(out.excess_bytes, c.c_int64),
                    _c.pointer(out.feasible, c.c_uint8))
        return out


def features() -> Dict[str, Dict[str, str]]:
    """All that can be observed, by name, with its meaning: of "groups" and of "devices"."""
    return json.loads(_c.given("features"))


class Episodes(_Single):
    """`count` episodes of one problem that step together; what berth.gym's environments are made of.

    The state is a whole placement. A step moves one group, and an episode visits each group once. `arrays` has views
    by name, whose values change with every step: "groups" [n, groups, features], "devices" [n, devices, features],
    "allowed" [n, devices], "current" [n], "placement" [n, groups], "objective_us" [n], "excess_bytes" [n],
    "feasible" [n], "alternatives" [n, devices] (with `look_ahead`).
    """

    NAMES = ("groups", "devices", "allowed", "current", "placement", "objective_us", "excess_bytes", "feasible",
             "alternatives")

    def __init__(self, problem: Problem, count: int = 1, *, group_features: Sequence[str] = GROUP_FEATURES,
                 device_features: Sequence[str] = DEVICE_FEATURES, look_ahead: bool = False, threads: int = 0,
                 traversal: str = "topological", start: str = "random") -> None:
        super().__init__("environment")
        self.problem, self.count = _problem(problem), _c.whole(count, "the number of episodes", 1, 1 << 20)
        groups, devices = _c.texts(group_features, "features"), _c.texts(device_features, "features")
        options = _c.EnvironmentOptions(c.sizeof(_c.EnvironmentOptions), groups, len(groups), devices, len(devices),
                                        _c.flag(look_ahead, "look_ahead"), _c.whole(threads, "threads", 0, 1024))
        self._core = _c.Object("environment_new", problem.handle, options)
        self._order = _c.text(traversal, "a traversal"), _c.text(start, "a start")
        self.arrays: Mapping[str, np.ndarray] = {}
        self._devices = np.zeros(self.count, np.int32)

    def reset(self, seed: int = 0, *, initial: Any = None) -> Mapping[str, np.ndarray]:
        """Starts anew. `initial`: placements [k, groups] to start from, in turn, instead of `start`."""
        rows = None
        if initial is not None:
            rows = _c.integers(initial, [None, self.problem.group_count], "initial")
            if len(rows) == 0:
                raise _c.InvalidArgument("initial holds no placement to start from; give at least one, or None for `start`")
        traversal, start = self._order
        given = _c.EpisodesOptions(c.sizeof(_c.EpisodesOptions), self.count, _c.whole(seed, "the seed", 0, (1 << 64) - 1), traversal,
                            start, _c.pointer(rows, c.c_int32), 0 if rows is None else len(rows))
        with _Use(self) as core:
            core = _open(core, "environment")
            _c.call("environment_reset", core.handle, given)
            if not self.arrays:
                self.arrays = {name: core.array("environment_array", name) for name in self.NAMES}
        return self.arrays

    def step(self, devices: Any) -> bool:
        """Moves the current group of each episode; True when all groups have been visited."""
        chosen = _c.integers(devices, [self.count], "devices")
        done = c.c_int32()
        with _Use(self) as core:
            _c.call("environment_step", _open(core, "environment").handle, _c.pointer(chosen, c.c_int32), self.count, done)
        return bool(done.value)

    def placement(self, episode: int) -> np.ndarray:
        """The state of an episode as a device for every op, which Problem.simulate takes."""
        if not self.arrays:
            raise _c.InvalidArgument("there are no episodes; call reset() first")
        return self.arrays["placement"][_c.whole(episode, "the episode", 0, self.count - 1)][self.problem.array("groups")]
