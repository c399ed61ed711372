#!/usr/bin/env python3
"""Places a graph by OR-Tools' CP-SAT; cp_sat.lua runs it.

    cp_sat.py PROBLEM ANSWER SECONDS WORKERS SEED

PROBLEM, ids from 1: ops, devices, groups, whether transfers have latency (0 or 1), the length of a
step that some feasible placement has (inf: none is known); per device the overhead of an
op and the memory for parameters; per ordered pair of devices latency and bandwidth; per op its group, the
device to start from (0: none) and the cost on each device (inf: cannot); per group the bytes of its
own parameters; then "shared BYTES GROUP.." of each that several ops read, "apart GROUP GROUP" and
"edge SRC DST BYTES" (-1: a control edge).

Times become whole ticks, rounded down, so that the model's optimum is a lower bound. It relaxes what both
semantics have in common: a device runs one op at a time, in any order; a tensor reaches another device no
earlier than one transfer after it is made; groups share a device; parameters fit.
"""
import math
import sys

from ortools.sat.python import cp_model

TICKS = 10_000_000  # of the longest step that is looked at
MOST_KEPT = 40      # placements, the last found


class Problem:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            lines = iter([line.split() for line in file])
        ops, devices, groups, dataflow, known_us = map(float, next(lines))
        ops, devices, groups = int(ops), int(devices), int(groups)
        self.known_us = known_us
        self.devices = range(devices)
        per_device = [tuple(map(float, next(lines))) for _ in self.devices]
        self.overhead = [us if dataflow else 0 for us, _ in per_device]
        self.memory = [size for _, size in per_device]
        links = [[tuple(map(float, next(lines))) for _ in self.devices] for _ in self.devices]
        rows = [next(lines) for _ in range(ops)]
        self.group = [int(row[0]) - 1 for row in rows]
        self.start = [int(row[1]) - 1 for row in rows]
        self.us = [[cost + (self.overhead[d] if cost > 0 else 0)
                    for d, cost in enumerate(map(float, row[2:]))] for row in rows]
        self.bytes = [float(next(lines)[0]) for _ in range(groups)]
        self.shared, self.apart, self.edges = [], [], []
        for what, *row in lines:
            if what == "shared":
                self.shared.append((float(row[0]), [int(group) - 1 for group in row[1:]]))
            elif what == "apart":
                self.apart.append(tuple(int(group) - 1 for group in row))
            else:
                self.edges.append((int(row[0]) - 1, int(row[1]) - 1, float(row[2])))
        self.transfer = [[[self.transfer_us(links[a][b], size, dataflow) if a != b else 0
                           for b in self.devices] for a in self.devices] for _, _, size in self.edges]

    @staticmethod
    def transfer_us(link, size, dataflow):
        latency, bandwidth = link
        return (latency if dataflow else 0) + max(size, 0) / bandwidth * 1e6

    def horizon_us(self):
        """Some placement's step is as short: the known one's, or one op after the other."""
        if self.known_us < math.inf:
            return self.known_us * (1 + 1e-9)
        slowest = sum(max(us for us in row if us < math.inf) for row in self.us)
        return slowest + sum(max(map(max, matrix)) for matrix in self.transfer)


class Model:
    def __init__(self, problem):
        self.problem, self.model = problem, cp_model.CpModel()
        self.horizon = problem.horizon_us()
        self.tick_us = max(self.horizon, 1e-9) / TICKS
        model, devices = self.model, problem.devices
        able = [set(devices) for _ in problem.bytes]
        for group, row in zip(problem.group, problem.us):
            able[group] &= {d for d in devices if row[d] < math.inf}
        self.on = [[model.NewBoolVar("") if d in able[g] else None for d in devices]
                   for g in range(len(able))]
        for row in self.on:
            model.AddExactlyOne(x for x in row if x is not None)
        for d in devices:
            if problem.memory[d] < math.inf:
                held = [(size, row[d]) for size, row in zip(problem.bytes, self.on)
                        if size > 0 and row[d] is not None]
                held += [(size, self.literal_any(model, d, groups)) for size, groups in problem.shared]
                model.Add(sum(int(size) * x for size, x in held) <= int(problem.memory[d]))
        for a, b in problem.apart:
            for x, y in zip(self.on[a], self.on[b]):
                if x is not None and y is not None:
                    model.AddBoolOr([x.Not(), y.Not()])
        self.add_ops(model, devices)
        self.add_edges(model)
        self.makespan = model.NewIntVar(0, TICKS, "")
        for end in self.end:
            model.Add(self.makespan >= end)
        model.Minimize(self.makespan)
        self.break_symmetry()

    def ticks(self, us):
        return int(us / self.tick_us)

    def add_ops(self, model, devices):
        on_device = [[] for _ in devices]
        self.begin, self.end = [], []
        for group, row in zip(self.problem.group, self.problem.us):
            begin = model.NewIntVar(0, TICKS, "")
            least = min(self.ticks(us) for us in row if us < math.inf)
            end = model.NewIntVar(least, TICKS, "")
            for d in devices:
                literal = self.on[group][d]
                if literal is None:
                    continue
                ticks = self.ticks(row[d])
                on_device[d].append(model.NewOptionalIntervalVar(begin, ticks, end, literal, ""))
            self.begin.append(begin)
            self.end.append(end)
        for intervals in on_device:
            model.AddNoOverlap(intervals)

    def add_edges(self, model):
        apart = {}
        for (src, dst, _), matrix in zip(self.problem.edges, self.problem.transfer):
            model.Add(self.begin[dst] >= self.end[src])
            a, b = self.problem.group[src], self.problem.group[dst]
            ticks = {(d, e): self.ticks(matrix[d][e]) for d in self.problem.devices
                     for e in self.problem.devices if d != e}
            if a == b or not any(ticks.values()):
                continue
            if (a, b) not in apart:
                apart[a, b] = self.literal_apart(model, a, b)
            if min(ticks.values()) > 0:
                model.Add(self.begin[dst] >= self.end[src] + min(ticks.values())).OnlyEnforceIf(
                    apart[a, b])
            for (d, e), time in ticks.items():
                if time > min(ticks.values()) and self.on[a][d] is not None and self.on[b][e] is not None:
                    model.Add(self.begin[dst] >= self.end[src] + time).OnlyEnforceIf(
                        [self.on[a][d], self.on[b][e]])

    def literal_any(self, model, device, groups):
        """True where any of the groups is on the device."""
        here = model.NewBoolVar("")
        for group in groups:
            if self.on[group][device] is not None:
                model.AddImplication(self.on[group][device], here)
        return here

    def literal_apart(self, model, a, b):
        apart = model.NewBoolVar("")
        for d in self.problem.devices:
            x, y = self.on[a][d], self.on[b][d]
            if x is None or y is None:
                if x is not None:
                    model.AddImplication(x, apart)
                continue
            model.AddBoolOr([x.Not(), y, apart])
        return apart

    def break_symmetry(self):
        """Devices that are alike in all that the model knows: the heaviest group is on the first."""
        problem = self.problem
        alike = all(len({row[d] for d in problem.devices}) == 1 for row in problem.us) and \
            len(set(problem.memory)) == 1 and \
            all(len({matrix[a][b] for a in problem.devices for b in problem.devices if a != b}) <= 1
                for matrix in problem.transfer)
        if alike and self.on:
            work = [0.0] * len(self.on)
            for group, row in zip(problem.group, problem.us):
                work[group] += row[0]
            self.model.Add(self.on[work.index(max(work))][0] == 1)
            self.first = work.index(max(work))

    first = None

    def hint(self):
        start = self.problem.start
        if min(start) < 0:
            return
        to = list(self.problem.devices)
        if self.first is not None:  # rename devices so that the hint keeps the symmetry
            held = start[self.problem.group.index(self.first)]
            to[0], to[held] = to[held], to[0]
        seen = set()
        for group, device in zip(self.problem.group, start):
            if group in seen:
                continue
            seen.add(group)
            for d, literal in enumerate(self.on[group]):
                if literal is not None:
                    self.model.AddHint(literal, int(d == to[device]))


class Keeper(cp_model.CpSolverSolutionCallback):
    def __init__(self, model):
        super().__init__()
        self.model, self.found = model, []

    def on_solution_callback(self):
        devices = []
        for row in self.model.on:
            devices.append(next(d for d, x in enumerate(row) if x is not None and self.Value(x)))
        self.found.append([devices[group] + 1 for group in self.model.problem.group])


def main():
    path, answer, seconds, workers, seed = sys.argv[1:]
    model = Model(Problem(path))
    model.hint()
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = float(seconds)
    solver.parameters.num_workers = int(workers)
    solver.parameters.random_seed = int(seed)
    keeper = Keeper(model)
    status = solver.Solve(model.model, keeper)
    with open(answer, "w", encoding="utf-8") as file:
        known = status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN)
        bound_us = max(0.0, solver.BestObjectiveBound() * model.tick_us * (1 - 1e-9)) if known else 0
        print("status", solver.StatusName(status), file=file)
        print("bound_us", repr(bound_us), file=file)
        for devices in keeper.found[-MOST_KEPT:]:
            print("devices", *devices, file=file)


if __name__ == "__main__":
    main()
