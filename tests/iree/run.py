"""Models of JAX, placed on two devices by the MLIR pass, compiled by IREE and executed on two.

    run.py --pass build/release/lib/berth_mlir.so [--policy heft] [NAME ...]

Of each model: its outputs against JAX's own, and the transfers in the compiled program against the
plan's. Prints a table; the exit status is 1 if a model fails, 77 if a tool is not there."""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TOLERANCE = 1e-4


def absent(what):
    print(f"skipped: {what}")
    sys.exit(77)


try:
    import jax
    import numpy as np
except ImportError:
    absent("JAX is not there; pip install -r tests/iree/requirements.txt")

BIN = pathlib.Path(sys.executable).parent


def tool(name):
    found = shutil.which(BIN / name) or shutil.which(name)
    return found or absent(f"{name} is not there; see tests/iree/README.md")


class Refused(Exception):
    """A tool refuses a program: which one, and its first line."""


def run(command, folder):
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout + done.stderr
    lines = (done.stderr or done.stdout).strip().splitlines() or ["no words"]
    error = next((line for line in lines if "error" in line), lines[0])
    raise Refused(f"{pathlib.Path(command[0]).name}: {error[:160]}")


def stable_hlo(function, arguments):
    """The model as one function, in the generic form that mlir-opt reads without the dialect."""
    # What does not matter to a result stays: arguments keep their numbers.
    lowered = jax.jit(function, keep_unused=True).lower(*arguments)
    return lowered.compiler_ir("stablehlo").operation.get_asm(print_generic_op_form=True)


def execute(name, function, arguments, options, tools, folder):
    (folder / "model.mlir").write_text(stable_hlo(function, arguments))
    run([tools["iree-opt"],
         "--pass-pipeline=builtin.module(inline,symbol-dce,"
         "func.func(iree-stablehlo-canonicalize,cse,iree-stablehlo-canonicalize,cse))", "--mlir-print-op-generic", "model.mlir",
         "-o", "one.mlir"], folder)
    said = run([tools["mlir-opt-19"], f"--load-pass-plugin={options.plugin}",
                "--allow-unregistered-dialect", "--mlir-print-op-generic",
                "--pass-pipeline=builtin.module(berth-place{cluster="
                f"{HERE / 'two_devices.cluster.json'} policy={options.policy} form=iree}})",
                "one.mlir", "-o", "placed.mlir"], folder)
    ops, planned = map(int, re.search(r"(\d+) ops placed by \S+, transfers: (\d+);", said).groups())
    placed = (folder / "placed.mlir").read_text()
    per_device = [len(re.findall(rf"stream.affinity = #hal.device.promise<@device_{d}>", placed))
                  for d in (0, 1)]
    compiler = [tools["iree-compile"], "placed.mlir", "--iree-input-type=stablehlo",
                "--iree-hal-target-device=device_0=local[0]",
                "--iree-hal-target-device=device_1=local[1]",
                "--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host",
                # It evaluates constants in a program of their own, which has no second device; and
                # what it hoists to the start is sent there as well.
                "--iree-opt-const-eval=false", "--iree-opt-const-expr-hoisting=false"]
    run([*compiler, "--compile-to=flow", "-o", "flow.mlir"], folder)
    sent = len(re.findall(r"flow\.tensor\.transfer ", (folder / "flow.mlir").read_text()))
    run([*compiler, "-o", "model.vmfb"], folder)
    for i, argument in enumerate(arguments):
        np.save(folder / f"in{i}.npy", argument)
    wanted = jax.tree_util.tree_leaves(jax.jit(function)(*arguments))
    run([tools["iree-run-module"], "--module=model.vmfb", "--device=local-task",
         "--device=local-task", "--function=main",
         *[f"--input=@in{i}.npy" for i in range(len(arguments))],
         *[f"--output=@out{i}.npy" for i in range(len(wanted))]], folder)
    error = max(np.abs(np.load(folder / f"out{i}.npy") - np.asarray(one)).max() /
                max(1.0, np.abs(np.asarray(one)).max()) for i, one in enumerate(wanted))
    return ops, per_device, planned, sent, error


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pass", dest="plugin", type=pathlib.Path, required=True)
    parser.add_argument("--policy", default="heft")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.plugin = options.plugin.resolve()
    if not options.plugin.exists():
        absent(f"{options.plugin} is not there; build it where MLIR 19 is installed")
    tools = {name: tool(name) for name in
             ("iree-opt", "iree-compile", "iree-run-module", "mlir-opt-19")}
    from models import MODELS
    failures = 0
    print("| model | ops | on device 0, 1 | transfers planned | compiled | largest error |")
    print("|---|---|---|---|---|---|")
    for name in options.names or MODELS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                ops, per_device, planned, sent, error = execute(
                    name, *MODELS[name], options, tools, pathlib.Path(folder))
            except Refused as refusal:
                failures += 1
                print(f"| {name} | {refusal} | | | | |", flush=True)
                continue
        good = planned == sent and error <= TOLERANCE
        failures += not good
        print(f"| {name} | {ops} | {per_device[0]}, {per_device[1]} | {planned} | {sent} | "
              f"{error:.1e}{'' if good else ' **differs**'} |", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
