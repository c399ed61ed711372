"""Berth finds every op of a neural network its berth: the device it should run on.

    import berth

    plan = berth.place("model.onnx", cluster="rtx4090+rtx4060", budget="5s")
    print(plan)             # the step, how far it is from the best there is, and advice
    plan.device_map         # for accelerate
"""

from __future__ import annotations

from typing import Any, Optional, Sequence

from . import _c
from ._c import (Cancelled, Error, Infeasible, InvalidArgument, InvalidFile, InvalidGraph, IOFailure, NotFound,
                 Unsupported)
from .evaluate import DEVICE_FEATURES, GROUP_FEATURES, Batch, Episodes, Evaluator, features
from .graph import Graph
from .policy import Search, policy, register
from .problem import Comparison, Engine, Problem, Result, VllmPlan, refuse_late, report

__all__ = ["Batch", "Cancelled", "Comparison", "DEVICE_FEATURES", "Engine", "Episodes", "Error", "Evaluator",
           "GROUP_FEATURES", "Graph", "IOFailure", "Infeasible", "InvalidArgument", "InvalidFile", "InvalidGraph",
           "NotFound", "Problem", "Result", "Search", "Unsupported", "VllmPlan", "compare", "explain", "features",
           "place", "policy", "register", "report", "simulate", "version"]


def version() -> str:
    """The version of the engine."""
    return str(_c.library().berth_version())


def _problem(model: Any, cluster: Any, choices: dict) -> "tuple[Problem, dict]":
    """The problem, and the choices that are the search's."""
    if not isinstance(model, Problem):
        return Problem(model, cluster, **choices), {}
    if cluster is not None:
        choices = {"cluster": cluster, **choices}
    return model, choices


def place(model: Any, cluster: Any = None, *, initial: Any = None, progress: Any = None, should_stop: Any = None,
          **choices: Any) -> Result:
    """Finds a placement of `model` (a path, onnx.ModelProto, torch.export program, networkx.DiGraph, Graph or Problem)
    on `cluster` ("rtx4090+rtx4060", a preset, a file, a dictionary of berth.cluster/1).

    `choices` are the keys of berth.settings/1: policy, options, budget ("5s"), seed, threads, objective, groups,
    constraints, dims, batch, ...; `settings` names a file of them, or is a dictionary, and is weaker. With `tool`
    ("vllm", "accelerate", "llama.cpp", ...) the placement keeps that tool's rules, and is the simplest that is at most a
    share `within` (0.03) slower than the best. Ctrl-C returns the best so far; see Problem.place for the callbacks.
    """
    problem, rest = _problem(model, cluster, choices)
    return problem.place(initial=initial, progress=progress, should_stop=should_stop, **rest)


def compare(model: Any, cluster: Any = None, policies: Optional[Sequence[str]] = None, *, progress: Any = None,
            should_stop: Any = None, **choices: Any) -> Comparison:
    """Places by each of `policies` (None = all that are installed or registered), best first; see `place`."""
    problem, rest = _problem(model, cluster, choices)
    return problem.compare(policies, progress=progress, should_stop=should_stop, **rest)


def simulate(model: Any, placement: Any, cluster: Any = None, **choices: Any) -> Result:
    """One step of a placement: an array of devices by op, a dictionary of names, a berth.placement/1 file, or a Result."""
    problem, rest = _problem(model, cluster, choices)
    refuse_late(rest, "give it to berth.Problem")
    return problem.simulate(placement)


def explain(result: Result, op: Any) -> str:
    """Why an op (name or id) is where it is, and what it would cost elsewhere."""
    if not isinstance(result, Result):
        raise InvalidArgument(f"a {type(result).__name__} is no result; give what berth.place returned")
    return result.explain(op)
