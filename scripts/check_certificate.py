#!/usr/bin/env python3
"""Checks a berth.certificate/1: a proof that no feasible placement is better than its bound.

It shares no code with Berth and needs the standard library alone. Every step of the proof is
recomputed from the problem that the certificate holds; compare_certificate.py compares that
problem with the files that it was made from. What each step means, and why it holds, is in
certificate.md among the pages of the file formats.

Exit status: 0 = the proof holds, 1 = a step of one does not hold, or usage.
"""
import heapq
import json
import math
import sys

INFINITY = math.inf
MOST_TOGETHER = 48  # ops of one join; any number would be valid


def require(holds, message):
    if not holds:
        raise ValueError(message)


def amount(value, name):
    """A finite number >= 0."""
    require(type(value) in (int, float) and 0 <= value < INFINITY, f"{name} is {value!r}")
    return value


class Problem:
    """What the proof uses of the problem. Ops are numbered in topological order."""

    def __init__(self, data):
        self.latency = data["objective"] == "latency"
        self.placeto = data["semantics"] == "placeto"
        require(data["objective"] in ("latency", "throughput"), "an unknown objective")
        require(data["semantics"] in ("dataflow", "placeto"), "unknown semantics")
        kinds = data["kinds"]
        self.kinds = range(len(kinds))
        self.devices = [kind["devices"] for kind in kinds]
        require(all(type(n) is int and n > 0 for n in self.devices), "a kind without devices")
        self.memory = [INFINITY if kind["memory_bytes"] is None else
                       amount(kind["memory_bytes"], "memory") for kind in kinds]
        self.links = {}
        for src, dst, latency, bandwidth in data["transfers"]:
            require(amount(bandwidth, "a bandwidth") > 0, "a link without bandwidth")
            self.links[src, dst] = amount(latency, "a latency"), bandwidth
        self.us = [[INFINITY if us is None else amount(us, "a cost") for us in op["us"]]
                   for op in data["ops"]]
        require(all(len(row) == len(kinds) for row in self.us), "a cost is missing")
        gap = amount(data["device_gap_us"], "a gap") if self.placeto and self.latency else 0
        self.pause = [[gap if us != 0 else 0 for us in row] for row in self.us]
        self.classes = [op["class"] for op in data["ops"]]
        self.param_bytes = [amount(op["param_bytes"], "a size") for op in data["ops"]]
        self.shared = [(amount(size, "a size"), [self.op(reader) for reader in readers])
                       for size, readers in data["shared_parameters"]]
        self.before = [[] for _ in self.us]
        self.after = [[] for _ in self.us]
        for src, dst, size in data["edges"]:
            require(self.op(src) < self.op(dst), f"edge {src} -> {dst} runs backwards")
            size = 0 if size is None else amount(size, "a size")
            self.before[dst].append((src, size))
            self.after[src].append((dst, size))

    def op(self, value):
        require(type(value) is int and 0 <= value < len(self.us), f"there is no op {value!r}")
        return value

    def kind(self, value):
        require(type(value) is int and value in self.kinds, f"there is no kind {value!r}")
        return value

    def transfer(self, size, src, dst):
        latency, bandwidth = self.links.get((src, dst), (INFINITY, INFINITY))
        if self.placeto and bandwidth < INFINITY:
            return size / (bandwidth / 1e6)
        return latency + size / bandwidth * 1e6

    def class_rows(self):
        """Time by kind, and size of the parameters, of each class."""
        rows = {}
        for op, name in enumerate(self.classes):
            us, size = rows.get(name, ([0.0 for _ in self.kinds], 0))
            us = [sum(each) for each in zip(us, self.us[op], self.pause[op])]
            rows[name] = us, size + self.param_bytes[op]
        return list(rows.values())


def one_machine(jobs):
    """The least time in which one machine that may interrupt jobs ends all (head, work, tail)."""
    jobs = sorted(jobs)
    available, now, end, i = [], 0.0, 0.0, 0
    if any(work == INFINITY for _, work, _ in jobs):
        return INFINITY
    while i < len(jobs) or available:
        if not available:
            now = max(now, jobs[i][0])
        while i < len(jobs) and jobs[i][0] <= now:
            heapq.heappush(available, [-jobs[i][2], jobs[i][1]])
            i += 1
        until = jobs[i][0] if i < len(jobs) else INFINITY
        if now + available[0][1] > until:
            available[0][1] -= until - now
            now = until
        else:
            tail, work = heapq.heappop(available)
            now += work
            end = max(end, now - tail)
    return end


class Heads:
    """The least time before each op starts on each kind, or (backwards) after it has ended."""

    def __init__(self, problem, us, root, forward, raised):
        self.problem, self.us, self.root, self.forward = problem, us, root, forward
        self.near = problem.before if forward else problem.after
        self.head, self.with_op, self.arrival = ([None] * len(us) for _ in range(3))
        claims = {}
        for op, kind, claimed in raised:
            claims[problem.op(op), problem.kind(kind)] = INFINITY if claimed is None else claimed
        for op in range(len(us)) if forward else reversed(range(len(us))):
            self.arrival[op] = [self.arrivals(op, *edge) for edge in self.near[op]]
            self.head[op] = [self.path(op, kind) for kind in problem.kinds]
            for kind in problem.kinds:
                if (op, kind) in claims:
                    self.head[op][kind] = self.joined(op, kind, claims[op, kind])
            self.with_op[op] = [h + work for h, work in zip(self.head[op], us[op])]

    def arrivals(self, op, other, size):
        """By kind of op's device: when a tensor of another device is there."""
        if self.root[other] == self.root[op]:
            return [INFINITY for _ in self.problem.kinds]
        transfer, kinds = self.problem.transfer, self.problem.kinds
        return [min(self.with_op[other][far] +
                    (transfer(size, far, kind) if self.forward else transfer(size, kind, far))
                    for far in kinds) for kind in kinds]

    def path(self, op, kind):
        pause = self.problem.pause
        head = 0 if self.forward else pause[op][kind]
        for (other, _), there in zip(self.near[op], self.arrival[op]):
            here = self.with_op[other][kind] + pause[other if self.forward else op][kind]
            head = max(head, min(there[kind], here))
        return head

    def joined(self, op, kind, claimed):
        """Whoever would arrive at or after the claimed time, from elsewhere, is on op's device."""
        pause, jobs, looked, heap, near_us = self.problem.pause, [], set(), [], {}

        def look(at, far, near):
            for (other, _), there in zip(self.near[at], self.arrival[at]):
                near_us[other] = max(near_us.get(other, 0), near)
                together = self.root[other] == self.root[op]
                if other not in looked and (together or there[kind] + far >= claimed):
                    looked.add(other)
                    heapq.heappush(heap, -other if self.forward else other)

        look(op, 0, 0 if self.forward else pause[op][kind])
        while heap and len(jobs) < MOST_TOGETHER:
            other = abs(heapq.heappop(heap))
            work, gap, near = self.us[other][kind], pause[other][kind], near_us[other]
            jobs.append((self.head[other][kind] - (0 if self.forward else gap), work + gap, near))
            look(other, near + work + (gap if self.forward else 0), near + work + gap)
        require(one_machine(jobs) >= claimed * (1 - 1e-14),
                f"head or tail of op {op} on kind {kind} does not follow: {claimed} us")
        return claimed


class Proof:
    """`us` is infinite where an op cannot be; ops with one root share a device."""

    def __init__(self, data):
        self.data, self.bound = data, amount(data["bound_us"], "the bound")
        self.problem = Problem(data["problem"])
        self.us = [list(row) for row in self.problem.us]
        self.rounding = 2e-14 * len(self.us) + 1e-12
        self.limit = self.bound * (1 + self.rounding)
        first = {}
        self.root = [first.setdefault(name, op) for op, name in enumerate(self.problem.classes)]
        self.members = {root: [] for root in self.root}
        for op, root in enumerate(self.root):
            self.members[root].append(op)

    def steps(self):
        """What each step is called, what checks it, and its content."""
        for number, step in enumerate(self.data["rounds"]):
            yield f"round {number}", self.round, step
        ways = {"nowhere": self.nowhere, "window": self.window, "work": self.work,
                "crowd": self.crowd, "ends": self.ends}
        end = self.data["end"]
        yield f"the end, by {end['by']}", ways[end["by"]], end

    def not_on(self, op, kind):
        for member in self.members[self.root[op]]:
            self.us[member][kind] = INFINITY

    def round(self, step):
        problem = self.problem
        require(problem.latency, "only the latency of a step has rounds")
        known = [list(row) for row in self.us]
        self.heads = Heads(problem, known, self.root, True, step["heads"])
        self.tails = Heads(problem, known, self.root, False, step["tails"])
        for op, kind in step["op_not_on"]:
            op, kind = problem.op(op), problem.kind(kind)
            whole = self.heads.with_op[op][kind] + self.tails.head[op][kind]
            require(whole > self.limit, f"op {op} fits on kind {kind}: {whole} us")
            self.not_on(op, kind)
        for src, dst in step["together"]:
            sizes = [size for other, size in problem.after[problem.op(src)] if other == dst]
            require(sizes, f"there is no edge {src} -> {dst}")
            cut = min(self.heads.with_op[src][j] + problem.transfer(max(sizes), j, k) +
                      self.tails.with_op[dst][k] for j in problem.kinds for k in problem.kinds)
            require(cut > self.limit, f"there is time for edge {src} -> {dst}: {cut} us")
            self.merge(self.root[src], self.root[dst])
        for op, kind in step["cluster_not_on"]:
            op, kind = problem.op(op), problem.kind(kind)
            cluster = self.members[self.root[op]]
            long = one_machine([(self.heads.head[each][kind], self.work_us(each, kind),
                                 self.rest(each, kind)) for each in cluster])
            require(long > self.limit, f"op {op}'s cluster fits on kind {kind}: {long} us")
            self.not_on(op, kind)

    def merge(self, a, b):
        a, b = sorted((a, b), key=lambda root: len(self.members[root]))
        if a != b:
            self.members[b] += self.members[a]
            for op in self.members.pop(a):
                self.root[op] = b

    def work_us(self, op, kind):
        return self.us[op][kind] + self.problem.pause[op][kind]

    def rest(self, op, kind):
        return max(0.0, self.tails.head[op][kind] - self.problem.pause[op][kind])

    def kinds_of(self, cluster):
        return [kind for kind in self.problem.kinds
                if all(self.us[op][kind] < INFINITY for op in cluster)]

    def nowhere(self, end):
        op = self.problem.op(end["op"])
        require(not self.kinds_of(self.members[self.root[op]]), f"op {op} has a kind left")

    def shares(self, weights):
        """Weights that add up to 1 over all devices."""
        require(len(weights) == len(self.problem.kinds), "not a weight for each kind")
        total = sum(amount(w, "a weight") * n for w, n in zip(weights, self.problem.devices))
        require(total > 0, "all weights are 0")
        return [w / total for w in weights]

    def window(self, end):
        weights = self.shares(end["weights"])
        start, stop = amount(end["from_us"], "from_us"), amount(end["to_us"], "to_us")
        require(start < stop <= self.bound * (1 + 1e-15), "no window of the step")
        terms, spans = [], 0
        for cluster in self.members.values():
            sums = []
            for kind in self.kinds_of(cluster):
                within = []
                for op in cluster:
                    work = self.work_us(op, kind)
                    latest = self.bound - self.tails.head[op][kind] - self.us[op][kind]
                    within.append(max(0.0, min(work, stop - start, stop - latest,
                                               self.heads.head[op][kind] + work - start)))
                    spans += work > 0
                sums.append(weights[kind] * math.fsum(within))
            require(sums, "a cluster without a kind")
            terms.append(min(sums))
        most = stop - start + self.bound * self.rounding * (spans + 1) / 2
        require(math.fsum(terms) > most, f"the window holds its work: {math.fsum(terms)} us")

    def work(self, end):
        weights, problem = self.shares(end["weights"]), self.problem
        prices = [amount(price, "a price") for price in end["prices"]]
        require(len(prices) == len(weights), "not a price for each kind")
        counted = not problem.latency or not problem.placeto
        require(counted or not any(prices), "these semantics do not count parameters")
        rows = problem.class_rows()
        for size, readers in problem.shared:
            rows.append(([0 if any(self.us[op][kind] < INFINITY for op in readers) else INFINITY
                          for kind in problem.kinds], size))
        spread = math.fsum(min(y * us + z * size for y, z, us in zip(weights, prices, each)
                               if us < INFINITY) for each, size in rows)
        price = math.fsum(z * m for z, m in zip(prices, problem.memory) if z > 0)
        require(spread - price >= self.bound, f"the work proves {spread - price} us only")

    def crowd(self, end):
        """Of `each` times all devices, plus 1, largest classes, `each` + 1 are on one device."""
        us = sorted((min(us) for us, _ in self.problem.class_rows()), reverse=True)
        each, devices = end["each"], sum(self.problem.devices)
        require(type(each) is int and 0 <= each * devices < len(us), "not so many classes")
        least = math.fsum(us[each * devices - each:each * devices + 1])
        require(least >= self.bound, f"these classes take {least} us only")

    def ends(self, end):
        """Ops that start (or rest) no less than from_us; m devices have m first and m last ones."""
        least, by_start, rows = amount(end["from_us"], "from_us"), end["of"] == "starts", []
        for op in range(len(self.us)):
            able = [kind for kind in self.problem.kinds if self.us[op][kind] < INFINITY]
            start = min(self.heads.head[op][kind] for kind in able)
            rest = min(self.rest(op, kind) for kind in able)
            work = min(self.work_us(op, kind) for kind in able)
            if (start if by_start else rest) >= least:
                rows.append((start, rest, work))
        starts, rests = sorted(row[0] for row in rows), sorted(row[1] for row in rows)
        work, value = math.fsum(row[2] for row in rows), INFINITY
        for m in range(1, min(len(rows), sum(self.problem.devices)) + 1):
            value = min(value, (math.fsum(starts[:m]) + work + math.fsum(rests[:m])) / m)
        value *= 1 - 1e-14 * len(self.us)
        require(rows and value >= self.bound, f"work and ends prove {value} us only")


def verdict(path):
    """Whether the proof holds, and what to say."""
    step = "reading the file"
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file, parse_constant=lambda text: f"the text {text}")
        step = "the problem"
        require(data["format"] == "berth.certificate/1", "not a berth.certificate/1")
        proof = Proof(data)
        for step, check, content in proof.steps():
            check(content)
    except Exception as error:  # whatever else a file may hold is no proof either
        return False, f"REJECTED at {step}: {type(error).__name__}: {error}"
    what = "the latency of a step" if proof.problem.latency else "the largest load"
    return True, (f"proven: {what} is at least {proof.bound!r} us in every feasible placement of "
                  f"the {len(proof.us)} ops in this certificate")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip() + "\n\nUsage: check_certificate.py CERTIFICATE...")
    verdicts = [(path, *verdict(path)) for path in sys.argv[1:]]
    for path, _, text in verdicts:
        print(f"{path}: {text}")
    sys.exit(0 if all(holds for _, holds, _ in verdicts) else 1)
