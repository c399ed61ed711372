"""PPO that learns to place one model, in one file: Gymnasium's vector environment, a network in PyTorch.

    python ppo.py [MODEL] [--updates 30]

An episode visits each group of ops once and moves it to a device. All episodes of a batch have equal length, so that
one rollout is one whole episode of each. Method: Schulman et al., "Proximal Policy Optimization Algorithms", 2017,
with advantages by GAE. The reward is that of Placeto (Addanki et al., NeurIPS 2019): how much faster a step became.
"""

import argparse
import pathlib
import time

import berth.gym
import gymnasium
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical

MODELS = pathlib.Path(__file__).parents[1] / "models"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("model", nargs="?", default=str(MODELS / "inception_v3.onnx"))
parser.add_argument("--cluster", default="k80x4")
parser.add_argument("--groups", type=int, default=48)
parser.add_argument("--batch", type=int, default=32, help="of the model")
parser.add_argument("--envs", type=int, default=16)
parser.add_argument("--updates", type=int, default=30)
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--minibatches", type=int, default=4)
parser.add_argument("--learning-rate", type=float, default=1e-3)
parser.add_argument("--gamma", type=float, default=0.98)
parser.add_argument("--gae-lambda", type=float, default=0.95)
parser.add_argument("--clip", type=float, default=0.2)
parser.add_argument("--entropy", type=float, default=0.01)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()

torch.manual_seed(args.seed)
torch.set_num_threads(1)
problem = berth.Problem(args.model, args.cluster, groups=args.groups, batch=args.batch)
envs = gymnasium.make_vec("berth/Placement-v0", num_envs=args.envs, model=problem)


class Agent(nn.Module):
    """Scores every device by its own features beside those of the group that is placed."""

    def __init__(self, group_width: int, device_width: int, hidden: int = 64) -> None:
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(group_width + device_width, hidden), nn.Tanh(), nn.Linear(hidden, hidden),
                                   nn.Tanh(), nn.Linear(hidden, 1))
        self.critic = nn.Sequential(nn.Linear(2 * group_width, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        nn.init.zeros_(self.actor[-1].weight)

    def forward(self, groups, devices, allowed, current):
        here = groups[torch.arange(len(groups)), current]
        beside = here.unsqueeze(1).expand(-1, devices.shape[1], -1)
        logits = self.actor(torch.cat([beside, devices], dim=2)).squeeze(2)
        value = self.critic(torch.cat([here, groups.mean(dim=1)], dim=1)).squeeze(1)
        return Categorical(logits=logits.masked_fill(~allowed, -1e9)), value


def tensors(observation):
    return (torch.as_tensor(observation["groups"]), torch.as_tensor(observation["devices"]),
            torch.as_tensor(observation["allowed"]).bool(), torch.as_tensor(observation["current"]))


observation, info = envs.reset(seed=args.seed)
agent = Agent(observation["groups"].shape[2], observation["devices"].shape[2])
optimizer = torch.optim.Adam(agent.parameters(), lr=args.learning_rate, eps=1e-5)
steps = problem.group_count
best_us, best = np.inf, None
scale = 1e6 / info["objective_us"].mean()  # rewards of about one
began, taken = time.perf_counter(), 0

for update in range(1, args.updates + 1):
    if update > 1:
        observation, info = envs.reset()
    seen, actions, log_probs, values, rewards = [], [], [], [], []
    for _ in range(steps):
        inputs = tensors(observation)
        with torch.no_grad():
            policy, value = agent(*inputs)
            action = policy.sample()
        observation, reward, _, _, info = envs.step(action.numpy())
        seen.append(inputs)
        actions.append(action)
        log_probs.append(policy.log_prob(action))
        values.append(value)
        rewards.append(torch.as_tensor(reward * scale, dtype=torch.float32))
        fits = np.where(info["feasible"], info["objective_us"], np.inf)
        if fits.min() < best_us:
            best_us, best = fits.min(), envs.unwrapped.placement(int(fits.argmin()))
    taken += steps * args.envs

    # An episode ends where its last group is placed: nothing is to come after it.
    advantages, following, after = [], torch.zeros(args.envs), torch.zeros(args.envs)
    for t in reversed(range(steps)):
        following = rewards[t] + args.gamma * after - values[t] + args.gamma * args.gae_lambda * following
        after = values[t]
        advantages.insert(0, following)
    flat = [torch.cat([each[i] for each in seen]) for i in range(4)]
    actions, log_probs, values = torch.cat(actions), torch.cat(log_probs), torch.cat(values)
    advantages = torch.cat(advantages)
    returns = advantages + values

    for _ in range(args.epochs):
        for chosen in torch.randperm(len(actions)).chunk(args.minibatches):
            policy, value = agent(*[each[chosen] for each in flat])
            ratio = (policy.log_prob(actions[chosen]) - log_probs[chosen]).exp()
            advantage = advantages[chosen]
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            gain = torch.min(ratio * advantage, ratio.clamp(1 - args.clip, 1 + args.clip) * advantage).mean()
            loss = -gain + 0.5 * (value - returns[chosen]).pow(2).mean() - args.entropy * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    rate = taken / (time.perf_counter() - began)
    print(f"update {update:3}: episodes end at {info['objective_us'].mean() / 1e3:8.2f} ms, best {best_us / 1e3:8.2f} ms, "
          f"{rate:.0f} steps/s", flush=True)
envs.close()

if best is None:
    raise SystemExit("no placement of any episode fits in memory; train longer, or on larger devices")
result = problem.simulate(best)
assert np.isclose(result.objective_us, best_us)
print(result)
print(problem.compare(["heft", "single", "random"]))
