#!/usr/bin/env python3
"""The example of uneven replicas (examples/replicas/ddp.py), run by gloo in two processes under a plan that
berth wrote: losses and weights are those of one process with the whole batch.

    python replicas.py path/to/berth path/to/project

Ends with status 77, which CTest takes for skipped, where PyTorch is not installed.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as processes
except ImportError as error:
    print(f"skipped: {error}; pip install torch to run this")
    sys.exit(SKIPPED)

STEPS = 5


def example(project):
    spec = importlib.util.spec_from_file_location("ddp", pathlib.Path(project) / "examples/replicas/ddp.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def training(batch):
    """A network, its optimizer and the batches: the same in every process."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    data = [(torch.randn(batch, 8), torch.randn(batch, 1)) for _ in range(STEPS)]
    return net, torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9), data


def replica(rank, project, plan, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank,
                            world_size=len(plan["replicas"]))
    net, optimizer, data = training(plan["batch"])
    losses = example(project).train(net, torch.nn.functional.mse_loss, optimizer, data, plan)
    torch.save({"losses": losses, "weights": net.state_dict()}, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


def main():
    berth, project = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "plan.json"
        model = pathlib.Path(project) / "examples/models/tf/nmt_tiny.pb"
        done = subprocess.run([berth, "place", str(model), "--batch", "8", "--cluster", "k80x2", "--replicate",
                               "gpu:0=6,gpu:1=2", "--policy", "single", "--write", f"replicas={file}"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        plan = json.loads(file.read_text())
        assert [one["samples"] for one in plan["replicas"]] == [6, 2], plan
        processes.spawn(replica, (project, plan, folder), nprocs=2)
        net, optimizer, data = training(plan["batch"])
        losses = []
        for inputs, targets in data:
            loss = torch.nn.functional.mse_loss(net(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        worst = 0.0
        for rank in range(2):
            found = torch.load(f"{folder}/{rank}.pt")
            worst = max(worst, *(abs(a - b) for a, b in zip(found["losses"], losses, strict=True)))
            for name, value in net.state_dict().items():
                worst = max(worst, (found["weights"][name] - value).abs().max().item())
        assert worst <= 1e-5, worst
        print(f"{STEPS} steps of 6 and 2 samples: losses and weights differ by {worst:.1e} at most")


if __name__ == "__main__":
    main()
