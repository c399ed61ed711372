"""An Optuna sweep over the options of a policy, with equal work for every trial.

    python sweep.py [MODEL] [--trials 30]

`moves` is a limit that does not depend on the machine, so a study with the same seed finds the same.
"""

import argparse
import pathlib

import berth
import numpy as np
import optuna

MODELS = pathlib.Path(__file__).parents[1] / "models"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("model", nargs="?", default=str(MODELS / "inception_v3.onnx"))
parser.add_argument("--cluster", default="k80x4")
parser.add_argument("--trials", type=int, default=30)
parser.add_argument("--moves", type=int, default=300)
parser.add_argument("--seeds", type=int, default=2)
args = parser.parse_args()

problem = berth.Problem(args.model, args.cluster, groups=64, batch=32)


def objective(trial: optuna.Trial) -> float:
    """The mean objective over seeds, in milliseconds."""
    options = {
        "beta": trial.suggest_float("beta", 1e1, 1e6, log=True),
        "start": trial.suggest_categorical("start", ["single", "contiguous", "random"]),
        "chains": trial.suggest_int("chains", 1, 4),
    }
    options["moves"] = args.moves // options["chains"]
    results = [problem.place(policy="mcmc", options=options, seed=seed, threads=1, bound="none")
               for seed in range(args.seeds)]
    if any(result.end == "cancelled" for result in results):
        trial.study.stop()  # Ctrl-C
    return float(np.mean([result.objective_us if result.feasible else 1e9 for result in results])) / 1e3


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
study.enqueue_trial({"beta": 1e4, "start": "contiguous", "chains": 3})  # near the defaults
study.optimize(objective, n_trials=args.trials)
print(f"first {study.trials[0].value:.3f} ms, best of {len(study.trials)}: {study.best_value:.3f} ms with {study.best_params}")
