"""Trains with the shares of a plan of replicas, which need not be equal, by PyTorch's DistributedDataParallel:

    berth place MODEL --cluster MACHINE --replicate auto --write replicas=plan.json
    torchrun --nproc-per-node 2 ddp.py plan.json        # a process per replica
"""

import json
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(model, loss_of, optimizer, batches, plan):
    """Takes a step for each (inputs, targets) of the whole batch; returns the whole batch's mean losses."""
    shares = [replica["samples"] for replica in plan["replicas"]]
    begin, rank = sum(shares[: dist.get_rank()]), dist.get_rank()
    replica, losses = DistributedDataParallel(model), []
    for inputs, targets in batches:
        own = slice(begin, begin + shares[rank])
        loss = loss_of(replica(inputs[own]), targets[own]) * plan["replicas"][rank]["weight"]
        optimizer.zero_grad()
        (loss * len(shares)).backward()  # DDP takes the gradients' mean over the processes
        optimizer.step()
        dist.all_reduce(total := loss.detach().clone())
        losses.append(total.item())
    return losses


if __name__ == "__main__":
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    data = [(torch.randn(plan["batch"], 8), torch.randn(plan["batch"], 1)) for _ in range(5)]
    print(train(net, torch.nn.functional.mse_loss, torch.optim.SGD(net.parameters(), lr=0.1), data, plan))
