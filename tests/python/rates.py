"""How fast batches and environments are, beside Lua: processor time of one thread, the best of several runs. By hand:

    python rates.py [path/to/berth]
"""

import ctypes
import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from support import need

need("numpy")
import berth
import numpy as np

OPS, GROUPS, EPISODES, RUNS = 1000, 100, 64, 9

LUA = """
local berth, ffi = require "berth", require "ffi"
local function array(seen, name)
  local data, of = seen:view(name)
  return ffi.cast(of .. "*", data)
end
local problem = berth.problem { graph = berth.load(arg[1]), cluster = "k80x4", groups = %d }
local groups, devices = { %s }, { %s }
local best = { math.huge, math.huge, math.huge }
local env = berth.environment({ problem }, { groups = groups, devices = devices })
for run = 1, %d do
  for kind = 1, 2 do
    env:reset { samples = %d, seed = 1 }
    local start = os.clock()
    local step = 0
    repeat
      local chosen, placement = {}, nil
      for e = 1, %d do chosen[e] = 2 + (e * 7 + step * 3) %% 4 end
      if kind == 2 then
        local seen = env:observation()
        local view, current = array(seen, "placement"), array(seen, "current")
        for e = 1, %d do chosen[e] = tonumber(view[(e - 1) * %d + tonumber(current[e - 1]) - 1]) end
      end
      step = step + 1
    until env:step(chosen)
    best[kind] = math.min(best[kind], (os.clock() - start) / (%d * step))
  end
end
print(("%%.2f %%.2f"):format(best[1] * 1e6, best[2] * 1e6))
"""


def graph():
    random = np.random.default_rng(0)
    far = random.integers(0, OPS - 10, OPS)
    src = np.concatenate([np.arange(OPS - 1), far])
    dst = np.concatenate([np.arange(1, OPS), far + random.integers(2, 10, OPS)])
    return src, dst, random.uniform(10, 100, OPS), random.integers(1000, 100000, OPS)


def best_of(work, count):
    """Microseconds of processor time for each of `count`."""
    return beside([work], count)[0]


def beside(works, count):
    """The same of several, made in turn, so that what else the machine does meets all of them alike."""
    best = [np.inf] * len(works)
    for _ in range(RUNS):
        for i, work in enumerate(works):
            began = time.process_time()
            spent = work()
            took = time.process_time() - began
            best[i] = min(best[i], spent if isinstance(spent, float) else took)
    return [1e6 * each / count for each in best]


def main():
    src, dst, cost_us, sizes = graph()
    problem = berth.Problem(berth.Graph.from_arrays(src, dst, cost_us=cost_us, output_bytes=sizes), "k80x4", groups=GROUPS)
    random = np.random.default_rng(1)
    moves = random.integers(1, 5, (GROUPS, EPISODES), np.int32)
    rows = np.arange(EPISODES)

    def moving(reset, step):
        def work():
            reset()
            for devices in moves:
                step(devices)

        return best_of(work, GROUPS * EPISODES)

    def still(reset, step, arrays):
        """Steps that leave every group where it is: nothing is simulated, all else is done."""
        def work():
            reset()
            for _ in range(GROUPS):
                step(arrays["placement"][rows, np.maximum(arrays["current"], 0)])

        return best_of(work, GROUPS * EPISODES)

    bare = berth.Episodes(problem, EPISODES, threads=1, group_features=(), device_features=())
    full = berth.Episodes(problem, EPISODES, threads=1)
    arrays = full.reset(1)
    print(f"{OPS} ops, {problem.group_count} groups, {EPISODES} episodes; microseconds of processor time per step")
    print(f"Episodes without features  {moving(lambda: bare.reset(1), bare.step):8.2f}")
    print(f"Episodes                   {moving(lambda: full.reset(1), full.step):8.2f}")
    print(f"Episodes that stay         {still(lambda: full.reset(1), full.step, arrays):8.2f}")

    def call_alone():
        """The call of C's that such a step makes."""
        full.reset(1)
        spent = 0.0
        for _ in range(GROUPS):
            chosen = np.ascontiguousarray(arrays["placement"][rows, np.maximum(arrays["current"], 0)])
            pointer, done = berth._c.pointer(chosen, ctypes.c_int32), ctypes.c_int32()
            began = time.process_time()
            berth._c.call("environment_step", full._core.handle, pointer, EPISODES, done)
            spent += time.process_time() - began
        return spent

    print(f"the call in C alone        {best_of(call_alone, GROUPS * EPISODES):8.2f}")
    try:
        gym = importlib.import_module("berth.gym")
    except ImportError as error:
        print(f"skipped: Gymnasium: {error}")
    else:
        envs = gym.PlacementVectorEnv(problem, num_envs=EPISODES, threads=1)
        print(f"PlacementVectorEnv         {moving(lambda: envs.reset(seed=1), envs.step):8.2f}")
        inner = envs._all.episodes.arrays
        print(f"PlacementVectorEnv, staying{still(lambda: envs.reset(seed=1), envs.step, inner):8.2f}")

    evaluator = berth.Evaluator(problem, threads=1)
    by_group = random.integers(1, 5, (500, problem.group_count), np.int32)
    by_op = np.ascontiguousarray(by_group[:, problem.array("groups")], np.int32)
    core, out = evaluator._core.handle, np.empty(500)
    rates = beside([lambda: evaluator.batch(by_group, by_group=True), lambda: evaluator.batch(by_op),
                    lambda: berth._c.call("evaluator_batch", core, 0, berth._c.pointer(by_op, ctypes.c_int32), 500, OPS,
                                          berth._c.pointer(out, ctypes.c_double), None, None)], 500)
    for what, rate in zip(("Evaluator.batch by group  ", "Evaluator.batch by op     ", "the call in C alone       "), rates):
        print(f"{what} {rate:8.2f}  per placement")
    if len(sys.argv) < 2:
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        ops = [{"name": f"op{i}", "type": "", "cost_us": float(cost_us[i]), "output_bytes": [int(sizes[i])]} for i in range(OPS)]
        edges = [{"src": int(a), "output": 0, "dst": int(b)} for a, b in zip(src, dst)]
        (folder / "chain.graph.json").write_text(json.dumps({"format": "berth.graph/1", "name": "chain", "ops": ops, "edges": edges}))

        def names(features):
            return ", ".join(f'"{name}"' for name in features)

        (folder / "rates.lua").write_text(LUA % (GROUPS, names(berth.GROUP_FEATURES), names(berth.DEVICE_FEATURES), RUNS, EPISODES,
                                                 EPISODES, EPISODES, GROUPS, EPISODES))
        out = subprocess.run([sys.argv[1], "run", str(folder / "rates.lua"), str(folder / "chain.graph.json")],
                             capture_output=True, text=True, env={"PATH": "/usr/bin", "BERTH_CONFIG": '{"format": "berth.settings/1", "threads": 1}'})
        print("Lua: steps, steps that stay", out.stdout.strip() or out.stderr)


if __name__ == "__main__":
    main()
