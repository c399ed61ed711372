"""Parts that the tests of the package share."""

import importlib
import pathlib
import sys

ROOT = pathlib.Path(__file__).parents[2]
MODELS = ROOT / "examples" / "models"


def need(*modules):
    """Ends the test as skipped where one is not there; 77 is what CTest takes for that."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            print(f"skipped: {error}; name a Python that has it in BERTH_TEST_PYTHON")
            sys.exit(77)


need("numpy")
import berth  # noqa: E402
import numpy as np  # noqa: E402


def chain(n=8, **choices):
    """n ops of 100 us in a row, each of which also reads the one two before it."""
    src = np.concatenate([np.arange(n - 1), np.arange(n - 2)])
    dst = np.concatenate([np.arange(1, n), np.arange(2, n)])
    graph = berth.Graph.from_arrays(src, dst, cost_us=np.full(n, 100.0), output_bytes=np.full(n, 1 << 16),
                                    names=[f"layer{i}" for i in range(n)])
    return berth.Problem(graph, "k80x2", **choices)
