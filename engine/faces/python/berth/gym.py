"""Progressive placement for Gymnasium: one group of ops after another goes to a device.

    import berth.gym, gymnasium

    env = gymnasium.make("berth/Placement-v0", model="model.onnx", cluster="k80x4", groups=64)
    envs = gymnasium.make_vec("berth/Placement-v0", num_envs=16, model="model.onnx", cluster="k80x4", groups=64)

Observations are dictionaries of arrays: "groups" [groups, features], "devices" [devices, features], "allowed"
[devices] (the mask of actions), "current" (the group to place) and "placement" [groups]. `info["action_mask"]` is the
mask for `env.action_space.sample(mask)`. An action that the mask excludes raises berth.InvalidArgument.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, NamedTuple, Optional, Tuple, Union

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import _c
from .evaluate import Episodes
from .problem import Problem

ID = "berth/Placement-v0"


class Figures(NamedTuple):
    """Figures that rewards are made of, an entry per episode."""

    objective_us: np.ndarray
    excess_bytes: np.ndarray


#: reward(before, after, last): Figures before and after a step, whether it was the last -> an entry per episode
Reward = Callable[[Figures, Figures, bool], np.ndarray]


def _seconds(figures: Figures, memory_penalty: float) -> np.ndarray:
    return figures.objective_us / 1e6 + memory_penalty * figures.excess_bytes / 1e9


def improvement(memory_penalty: float = 2.0) -> Reward:
    """T before - T after, in seconds, with seconds per GB that lack (Placeto, NeurIPS 2019)."""
    return lambda before, after, _: _seconds(before, memory_penalty) - _seconds(after, memory_penalty)


def terminal(memory_penalty: float = 2.0) -> Reward:
    """-T of the last placement, 0 before."""
    return lambda _, after, last: -_seconds(after, memory_penalty) * last


REWARDS: Dict[str, Callable[[], Reward]] = {"improvement": improvement, "terminal": terminal}


class _Placement:
    """The common part of both environments: `num_envs` episodes, their observations as arrays, rewards."""

    def __init__(self, model: Any, cluster: Any, count: int, reward: Union[str, Reward], episodes: Dict[str, Any],
                 choices: Dict[str, Any]) -> None:
        if isinstance(model, Problem) and (cluster is not None or choices):
            raise _c.InvalidArgument("a problem has its cluster and settings; give them to berth.Problem")
        self.problem = model if isinstance(model, Problem) else Problem(model, cluster, **choices)
        self.episodes = Episodes(self.problem, count, **episodes)
        if not callable(reward) and reward not in REWARDS:
            raise _c.InvalidArgument(f"no reward {reward!r}; give one of {', '.join(REWARDS)}, or a function")
        self.reward: Reward = reward if callable(reward) else REWARDS[reward]()
        self.groups, self.devices = self.problem.group_count, len(self.problem.devices)
        if self.groups == 0:
            raise _c.InvalidArgument("the model has no ops; there is nothing to place")
        arrays = self.episodes.reset(0)

        def box(name: str) -> spaces.Box:
            return spaces.Box(-4, 4, arrays[name].shape[1:], np.float32)  # all features are within

        self.observation_space = spaces.Dict({
            "groups": box("groups"), "devices": box("devices"), "allowed": spaces.MultiBinary(self.devices),
            "current": spaces.Discrete(self.groups),
            "placement": spaces.MultiDiscrete(np.full(self.groups, self.devices), dtype=np.int32)})
        self.action_space = spaces.Discrete(self.devices)

    def observed(self, copy: bool) -> Dict[str, np.ndarray]:
        arrays = self.episodes.arrays
        keep = np.copy if copy else np.asarray
        return {"groups": keep(arrays["groups"]), "devices": keep(arrays["devices"]),
                "allowed": keep(arrays["allowed"]).view(np.int8),
                "current": np.maximum(arrays["current"], 0).astype(np.int64), "placement": keep(arrays["placement"])}

    def figures(self) -> Figures:
        arrays = self.episodes.arrays
        return Figures(arrays["objective_us"].copy(), arrays["excess_bytes"].copy())

    def information(self) -> Dict[str, np.ndarray]:
        arrays = self.episodes.arrays
        return {"objective_us": arrays["objective_us"].copy(), "excess_bytes": arrays["excess_bytes"].copy(),
                "feasible": arrays["feasible"].astype(bool), "action_mask": arrays["allowed"].astype(np.int8)}

    def step(self, devices: np.ndarray) -> Tuple[np.ndarray, bool]:
        before = self.figures()
        last = self.episodes.step(devices)
        return self.reward(before, self.figures(), last), last

    def reset(self, random: np.random.Generator, options: Optional[Dict[str, Any]]) -> None:
        options = dict(options or {})
        initial = options.pop("initial", None)
        if options:
            raise _c.InvalidArgument(f"no option {next(iter(options))!r} of reset; there is 'initial': placements "
                                     "[k, groups] to start from")
        self.episodes.reset(int(random.integers(1 << 62)), initial=initial)


class PlacementEnv(gymnasium.Env):
    """One episode: as many steps as there are groups, each of which moves the current group to a device.

    `reward` is "improvement", "terminal" or a function (see Reward). `choices` are those of berth.Problem and of
    berth.Episodes: group_features, device_features, look_ahead, threads, traversal, start.
    """

    metadata: Dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}

    def __init__(self, model: Any, cluster: Any = None, *, reward: Union[str, Reward] = "improvement",
                 render_mode: Optional[str] = None, **choices: Any) -> None:
        self._all = _Placement(model, cluster, 1, reward, _taken(choices, threads=1), choices)
        self.problem, self.render_mode = self._all.problem, render_mode
        self.observation_space, self.action_space = self._all.observation_space, self._all.action_space

    @staticmethod
    def _first(values: Dict[str, np.ndarray]) -> Dict[str, Any]:
        return {name: value[0] for name, value in values.items()}

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Any]:
        super().reset(seed=seed)
        self._all.reset(self.np_random, options)
        return self._first(self._all.observed(copy=True)), self._first(self._all.information())

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Any]:
        device = _c.whole(action.item() if isinstance(action, np.ndarray) and action.size == 1 else action, "the action")
        reward, last = self._all.step(np.array([device], np.int32))
        return (self._first(self._all.observed(copy=True)), float(reward[0]), last, False,
                self._first(self._all.information()))

    def placement(self) -> np.ndarray:
        """The state as a device for every op, which problem.simulate takes."""
        return self._all.episodes.placement(0)

    def render(self) -> Optional[str]:
        return self.problem.simulate(self.placement()).text if self.render_mode == "ansi" else None

    def close(self) -> None:
        self._all.episodes.close()


class PlacementVectorEnv(VectorEnv):
    """`num_envs` episodes of one problem, simulated as a batch. All end at the same step; the next step starts them
    anew, whatever its actions are (AutoresetMode.NEXT_STEP), unless `reset` was called. With `copy=False` observations
    are views that the next step changes, except "current"."""

    metadata: Dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, model: Any, cluster: Any = None, num_envs: int = 1, *, reward: Union[str, Reward] = "improvement",
                 copy: bool = True, render_mode: Optional[str] = None, **choices: Any) -> None:
        self._all = _Placement(model, cluster, num_envs, reward, _taken(choices), choices)
        self.problem, self.num_envs, self.render_mode = self._all.problem, num_envs, render_mode
        self._copy, self._ended = copy, False
        self.single_observation_space, self.single_action_space = self._all.observation_space, self._all.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: Optional[int] = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Any]:
        super().reset(seed=seed)
        self._all.reset(self.np_random, options)
        self._ended = False
        return self._all.observed(self._copy), self._all.information()

    def step(self, actions: Any) -> Tuple[Any, np.ndarray, np.ndarray, np.ndarray, Any]:
        never = np.zeros(self.num_envs, bool)
        if self._ended:
            observation, info = self.reset()
            return observation, np.zeros(self.num_envs), never, never.copy(), info
        reward, self._ended = self._all.step(actions)
        return (self._all.observed(self._copy), np.asarray(reward, np.float64), np.full(self.num_envs, self._ended), never,
                self._all.information())

    def placement(self, episode: int) -> np.ndarray:
        """The state of an episode as a device for every op, which problem.simulate takes."""
        return self._all.episodes.placement(episode)

    def close_extras(self, **_: Any) -> None:
        self._all.episodes.close()


def _taken(choices: Dict[str, Any], **defaults: Any) -> Dict[str, Any]:
    """The choices of episodes, taken out of all."""
    names = ("group_features", "device_features", "look_ahead", "threads", "traversal", "start")
    return {**defaults, **{name: choices.pop(name) for name in names if name in choices}}


if ID not in gymnasium.registry:
    gymnasium.register(ID, entry_point="berth.gym:PlacementEnv", vector_entry_point="berth.gym:PlacementVectorEnv")
