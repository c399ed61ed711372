#!/usr/bin/env python3
"""Processor time of a step on one device of one thread, beside ONNX Runtime.

    python steps.py [--berth build/release/bin/berth] [--seconds S] MODEL ...

Needs onnxruntime and numpy of PyPI. Both run one thread, with inputs drawn, all optimisations of ONNX
Runtime on. Processor time and not wall time, so that other programs on the machine count for little:
the difference of a run of many steps and one of a single step, the smallest of three, the two programs
in turns. Models have no open dimensions.
"""

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

RUNS = 3
ONNX_RUNTIME = """
import sys, time
import numpy as np
import onnxruntime
path, steps = sys.argv[1], int(sys.argv[2])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
options.log_severity_level = 3
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
feeds = {}
for value in session.get_inputs():
    floats = np.random.default_rng(0).random(value.shape, np.float32)
    feeds[value.name] = floats if "float" in value.type else np.ones(value.shape, np.int64)
session.run(None, feeds)
begin = time.process_time()
for _ in range(steps):
    session.run(None, feeds)
print((time.process_time() - begin) / steps * 1e3)
"""


def processor_seconds(command):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return used() - before


class Berth:
    backend = "cpu:devices=1,threads=1"

    def __init__(self, program, folder):
        self.program = program
        self.machine = folder / "machine.json"
        self.placement = folder / "placement.json"
        listed = subprocess.run(
            [program, "devices", "--backend", self.backend, "--json"], check=True, capture_output=True
        )
        self.machine.write_bytes(listed.stdout)

    def place(self, model):
        subprocess.run(
            [self.program, "place", model, "--policy", "single", "--cluster", self.machine,
             "-o", self.placement],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def step_ms(self, model, steps):
        def run(count):
            return processor_seconds(
                [self.program, "measure", model, "--backend", self.backend, "--placement", self.placement,
                 "--warm-up", "1", "--repeats", str(count)]
            )  # fmt: skip

        return (run(steps + 1) - run(1)) / steps * 1e3


def onnx_runtime_ms(model, steps):
    command = [sys.executable, "-c", ONNX_RUNTIME, model, str(steps)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--berth", default="build/release/bin/berth", help="the command")
    parser.add_argument("--seconds", type=float, default=3, help="of ONNX Runtime's steps, about, in a run")
    parser.add_argument("models", nargs="+", help="ONNX models")
    arguments = parser.parse_args()
    print("| model | Berth, ms | ONNX Runtime, ms | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as name:
        berth = Berth(arguments.berth, pathlib.Path(name))
        for model in arguments.models:
            berth.place(model)
            steps = max(5, min(500, round(arguments.seconds * 1e3 / onnx_runtime_ms(model, 2))))
            ours, theirs = [], []
            for _ in range(RUNS):
                ours.append(berth.step_ms(model, steps))
                theirs.append(onnx_runtime_ms(model, steps))
            a, b = min(ours), min(theirs)
            print(f"| {pathlib.Path(model).stem} | {a:.1f} | {b:.1f} | {a / b:.2f} |", flush=True)


if __name__ == "__main__":
    main()
