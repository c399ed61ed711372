"""Policies in Python: a function that gives every group of ops a device is a policy like all others."""

from __future__ import annotations

import ctypes as c
import inspect
import json
import threading
import weakref
from collections.abc import Mapping
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _c

Place = Callable[["Search"], Any]
_FAILED = 14  # BERTH_CALLBACK
_lock = threading.Lock()
_policies: Dict[str, Any] = {}  # name -> struct; callbacks live as long as the process
_engines: "weakref.WeakSet[_c.Object]" = weakref.WeakSet()
_thread = threading.local()
_KINDS: Dict[type, str] = {bool: "true or false", int: "an integer", float: "a number"}


def _option_text(value: Any) -> str:
    """As the engine writes a value: `true`, where Python's own text is `True`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_options(search: "Search", defaults: "Mapping[str, Any]") -> None:
    """The engine takes the options of a policy by the C interface as texts; each must be of its default's type."""
    for name, default in defaults.items():
        kind, text = type(default), search.option(name)
        try:
            fits = text in ("true", "false") if kind is bool else kind not in _KINDS or kind(text) is not None
        except ValueError:
            fits = False
        if not fits:
            raise _c.InvalidArgument(f"option '{name}' takes {_KINDS[kind]}, got '{text}'")


class Search:
    """The problem that a policy is asked to place, valid until it returns.

    `cost_us` is [groups, devices], infinite where a group cannot be. `param_bytes` is [groups], what
    stays through the step or to its end: parameters, and inputs and results that last; `memory_bytes` is
    [devices] (the largest int64 = no limit). `edges` is [edges, 2], sender and receiver, with
    `edge_bytes`. Groups are in a topological order where there is one. `seed` is the only source of
    randomness.
    """

    def __init__(self, search: Any) -> None:
        inner = search.contents
        self._search: Any = search
        self.groups, self.devices, self.seed = inner.group_count, inner.device_count, inner.seed

        def copied(values: Any, dtype: Any, *shape: int) -> np.ndarray:
            if 0 in shape:
                return np.zeros(shape, dtype)
            return np.array(np.ctypeslib.as_array(values, shape), dtype)

        self.cost_us = copied(inner.cost_us, np.float64, self.groups, self.devices)
        self.param_bytes = copied(inner.param_bytes, np.int64, self.groups)
        self.memory_bytes = copied(inner.memory_bytes, np.int64, self.devices)
        ends = [copied(each, np.int32, inner.edge_count) for each in (inner.edge_src, inner.edge_dst)]
        self.edges = np.stack(ends, axis=1)
        self.edge_bytes = copied(inner.edge_bytes, np.int64, inner.edge_count)

    def _running(self) -> Any:
        if self._search is None:
            raise _c.InvalidArgument("this search has ended; it is valid until the policy returns")
        return self._search.contents

    def evaluate(self, devices: Any) -> Tuple[float, bool]:
        """The objective in microseconds, and whether it fits in memory, of a device for every group."""
        inner = self._running()
        row = _c.integers(devices, [self.groups], "devices")
        objective, feasible = c.c_double(), c.c_int32()
        status = inner.evaluate(self._search, _c.pointer(row, c.c_int32), objective, feasible)
        if status != 0:
            raise _c.error_of(status, str(_c.library().berth_message()))
        return objective.value, bool(feasible.value)

    def should_stop(self) -> bool:
        """Whether the budget is used up, or Ctrl-C was pressed: return the best so far, now."""
        return bool(self._running().should_stop(self._search))

    def option(self, name: str) -> str:
        """The value of an option, as text, `true` or `false` of a boolean; empty where there is none of that name."""
        return str(self._running().option(self._search, _c.text(name)))

    def say(self, note: str) -> None:
        """A note for the user, among those of the result."""
        self._running().say(self._search, _c.text(note, "a note"))


def _callback(place: Place, defaults: "Mapping[str, Any]") -> Any:
    def run(_user: Any, search: Any, devices: Any) -> int:
        seen: Optional[Search] = None
        try:
            seen = Search(search)
            _check_options(seen, defaults)
            answer = _c.integers(place(seen), [seen.groups], "the devices of the policy")
            c.memmove(devices, answer.ctypes.data, answer.nbytes)
            return 0
        except BaseException as error:  # nothing may be thrown through the library
            _thread.failure = error
            words = _c.text(f"{type(error).__name__}: {error}".encode("utf-8", "replace").decode())
            search.contents.say(search, words)
            return _FAILED
        finally:
            if seen is not None:
                seen._search = None

    return _c.PlaceFunction(run)


def take_failure() -> Optional[BaseException]:
    """The exception that a policy of this thread has thrown since this was last asked."""
    failure = getattr(_thread, "failure", None)
    _thread.failure = None
    return failure


def join(engine: _c.Object) -> None:
    """From now on the engine knows all policies that are registered, and those to come."""
    with _lock:
        for policy in _policies.values():
            _c.call("engine_register", engine.handle, policy)
        _engines.add(engine)


def register(name: str, place: Place, *, options: Optional["Mapping[str, Any]"] = None, description: str = "",
             version: str = "1.0") -> None:
    """Makes `place` a policy that `berth.place` and `berth.compare` know by `name` (a-z, 0-9, '-', '_').

    It gets a Search and returns a device for every group. `options` are its options with their defaults; where one is a
    boolean, an integer or a real number, what is given must be one. Searches on several threads may call it at the same
    time. A name is given once.
    """
    if not callable(place):
        raise _c.InvalidArgument(f"the policy '{name}' is a {type(place).__name__}; give a function of a Search")
    defaults: "Mapping[str, Any]" = {} if options is None else options
    if not isinstance(defaults, Mapping) or not isinstance(description, str):
        raise _c.InvalidArgument("options are a dictionary of names and defaults, and the description is text; give such")
    defaults = dict(defaults)
    rows: List[Any] = [
        _c.PolicyOption(_c.text(key), _c.text(_option_text(value)), _c.text("")) for key, value in defaults.items()]
    table = (_c.PolicyOption * len(rows))(*rows)
    if not isinstance(name, str):
        raise _c.InvalidArgument(f"the name of a policy is a {type(name).__name__}; give text")
    first = (description or inspect.getdoc(place) or "a policy in Python").strip().splitlines()[0]
    policy = _c.Policy(size=c.sizeof(_c.Policy), name=_c.text(name, "the name of a policy"),
                       version=_c.text(version, "a version"), description=_c.text(first, "a description"),
                       options=table, option_count=len(rows), place=_callback(place, defaults))
    with _lock:
        if name in _policies:
            raise _c.InvalidArgument(f"there is a policy '{name}' already; choose another name")
        engines = [each for each in _engines if each.is_own()] or [_c.Object("engine_new", None)]
        for engine in engines:
            for each in json.loads(_c.given("engine_describe", engine.handle))["plugins"]:
                if each["kind"] == "policy" and each["name"] == name:
                    raise _c.InvalidArgument(f"there is a policy '{name}' already; choose another name")
        for engine in engines:
            _c.call("engine_register", engine.handle, policy)
        _policies[name] = policy


def policy(name: str, **about: Any) -> Callable[[Place], Place]:
    """The same as a decorator."""

    def decorate(place: Place) -> Place:
        register(name, place, **about)
        return place

    return decorate
