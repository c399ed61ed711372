"""Places a model on two cards and looks at the result.

    python two_cards.py [MODEL] [--budget 2s] [--report page.html]
"""

import argparse
import pathlib

import berth

MODELS = pathlib.Path(__file__).parents[1] / "models"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("model", nargs="?", default=str(MODELS / "inception_v3.onnx"))
parser.add_argument("--cluster", default="rtx4090+rtx4060")
parser.add_argument("--budget", default="2s")
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--report", help="a page in HTML that shows the step")
args = parser.parse_args()

# The model is read once; searches and simulations share the problem.
problem = berth.Problem(args.model, args.cluster, batch=args.batch)
print(problem)

plan = problem.place(budget=args.budget, seed=1)  # Ctrl-C returns the best so far
print(plan)

# Arrays are NumPy's, without a copy: how many ops each device has, and how busy it is.
for device, name in enumerate(problem.devices):
    ops = int((plan.devices == device).sum())
    busy = plan.busy_us[device] / plan.runtime_us
    print(f"{name:6} {ops:4} ops, busy {busy:6.1%}, peak {plan.peak_bytes[device] / 2**20:8.1f} MiB")

longest = int((plan.op_end_us - plan.op_start_us).argmax())
print(plan.explain(longest))

# The same step with everything on the first card, and policies beside each other.
alone = problem.place(policy="single")
print(f"one card alone: {alone.objective_us / 1e3:.3f} ms, placed: {plan.objective_us / 1e3:.3f} ms")
print(problem.compare(["heft", "topo", "single"]))

# A plan for a tool is searched under that tool's rules.
try:
    tool = berth.place(args.model, args.cluster, batch=args.batch, tool="accelerate", budget=args.budget)
    print("device_map:", tool.device_map)
except berth.Error as error:
    print("no device_map:", error)

if args.report:
    plan.report(args.report)
    print(f"wrote {args.report}; open it in a browser")
