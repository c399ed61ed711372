#!/usr/bin/env python3
"""Checks a berth.certificate/1: a proof that no feasible placement is better than its bound.

It shares no code with Berth and needs the standard library alone. Every step is recomputed from the
problem in the certificate; compare_certificate.py compares that with the files it was made from.
What each step means, and why it holds, is in certificate.md among the pages of the file formats.
Exit status: 0 = the proof holds, 1 = a step of one does not hold, or usage.
"""
import heapq
import json
import sys
from math import ceil, fsum, inf


def require(holds, message):
    if not holds:
        raise ValueError(message)


def amount(text):
    value = float(text) if set(text) & set(".eE") else int(text)
    require(0 <= value < inf, f"the number {text}")
    return value


class Problem:
    """What the proof uses of the problem. Ops are numbered in topological order."""

    def __init__(self, data):
        self.latency, self.placeto = data["objective"] == "latency", data["semantics"] == "placeto"
        require((self.latency or data["objective"] == "throughput") and
                (self.placeto or data["semantics"] == "dataflow"), "an unknown rule of a step")
        self.kinds = range(len(data["kinds"]))
        self.devices = [kind["devices"] for kind in data["kinds"]]
        self.memory = [kind["memory_bytes"] for kind in data["kinds"]]
        self.links, self.queues = {}, [not self.placeto for _ in self.kinds]
        for src, dst, latency, bandwidth, queues in data["transfers"]:
            self.links[src, dst] = latency, bandwidth
            self.queues[dst] = self.queues[dst] and queues is True
        self.us = [[inf if us is None else us for us in op["us"]] for op in data["ops"]]
        require(all(len(row) == len(self.kinds) for row in self.us), "a cost is missing")
        gap = data["device_gap_us"] if self.placeto and self.latency else 0
        self.rules = data["semantics"] + (f" with pauses of {gap!r} us" if gap else "")
        self.pause = [[gap if us != 0 else 0 for us in row] for row in self.us]
        self.param_bytes = [op["param_bytes"] for op in data["ops"]]
        self.shared = data["shared_parameters"]
        self.before, self.after = [[] for _ in self.us], [[] for _ in self.us]
        for src, dst, *tensor in data["edges"]:
            require(src < dst, f"edge {src} -> {dst} runs backwards")
            size, output = tensor or (0, None)
            self.before[dst].append((src, size, output))
            self.after[src].append((dst, size, output))

    def transfer(self, size, src, dst):
        latency, bandwidth = self.links.get((src, dst), (inf, inf))
        return (size / (bandwidth / 1e6) if self.placeto and bandwidth < inf else
                latency + size / bandwidth * 1e6)

    def shares(self, weights):
        require(len(weights) == len(self.kinds), "not a weight for each kind")
        total = sum(weight * count for weight, count in zip(weights, self.devices))
        return [weight / total for weight in weights]  # which add up to 1 over all devices


def one_machine(jobs):
    """The least time in which one machine that may interrupt jobs ends all (head, work, tail)."""
    jobs, longest = sorted(jobs), 0.0
    for least in {tail for _, _, tail in jobs}:  # of those with no shorter a tail
        end = 0.0
        for head, work, tail in jobs:
            if tail >= least:
                end = max(end, head) + work
        longest = max(longest, end + least)
    return longest


def within(first, work, last, start, stop):
    """How much of a piece of work, not before first nor after last, a window holds at least."""
    return max(0.0, min(work, stop - start, first + work - start, stop - last + work))


def done(pieces, time):
    """How much of all (first, work) one machine can have done by a time at most."""
    total, end = 0.0, -inf
    for first, work in sorted(pieces):
        if first < time:
            total, end = total + work, max(end, first) + work
    return total - max(0.0, end - time)


class Heads:
    """The least time before each op starts on each kind, or (backwards) after it has ended."""

    def __init__(self, proof, forward, raised, backlogs):
        self.problem, self.us, self.root = proof.problem, proof.us, proof.root
        self.forward, self.near = forward, self.problem.before if forward else self.problem.after
        self.head, self.with_op, self.arrival = ([None] * len(self.us) for _ in range(3))
        claims = {(op, kind): inf if us is None else us for op, kind, us in raised}
        late, least = {op: claim for op, *claim in backlogs}, proof.least[forward]
        for op in range(len(self.us)) if forward else reversed(range(len(self.us))):
            self.arrival[op] = [self.arrivals(op, *edge) for edge in self.near[op]]
            self.head[op] = [self.joined(op, kind, claims[op, kind]) if (op, kind) in claims else
                             self.path(op, kind) for kind in self.problem.kinds]
            if op in late:
                least[op] = self.backlog(op, proof.weights, *late[op])
            self.head[op] = [max(head, least.get(op, 0)) for head in self.head[op]]
            self.with_op[op] = [h + work for h, work in zip(self.head[op], self.us[op])]

    def arrivals(self, op, other, size, _):
        """By kind of op's device: when a tensor of another device is there."""
        kinds, ahead, transfer = self.problem.kinds, self.forward, self.problem.transfer
        return [inf if self.root[other] == self.root[op] else
                min(self.with_op[other][far] +
                    transfer(size, *((far, kind) if ahead else (kind, far))) for far in kinds)
                for kind in kinds]

    def path(self, op, kind):
        pause = self.problem.pause
        ready = [min(there[kind], self.with_op[other][kind] +
                     pause[other if self.forward else op][kind])
                 for (other, *_), there in zip(self.near[op], self.arrival[op])]
        return max(ready + [0 if self.forward else pause[op][kind]])

    def joined(self, op, kind, claimed):
        """Whoever would arrive at or after the claimed time, from elsewhere, is on op's device."""
        pause, jobs, looked, heap, near_us = self.problem.pause, [], set(), [], {}

        def look(at, far, near):
            for (other, *_), there in zip(self.near[at], self.arrival[at]):
                near_us[other] = max(near_us.get(other, 0), near)
                together = self.root[other] == self.root[op]
                if other not in looked and (together or there[kind] + far >= claimed):
                    looked.add(other)
                    heapq.heappush(heap, -other if self.forward else other)

        look(op, 0, 0 if self.forward else pause[op][kind])
        while heap and len(jobs) < 48:  # any number would be valid
            other = abs(heapq.heappop(heap))
            work, gap, near = self.us[other][kind], pause[other][kind], near_us[other]
            jobs.append((self.head[other][kind] - (0 if self.forward else gap), work + gap, near))
            look(other, near + work + (gap if self.forward else 0), near + work + gap)
        require(one_machine(jobs) >= claimed, f"op {op} on kind {kind} can be before {claimed} us")
        return claimed

    def backlog(self, op, weights, claimed, start, of):
        """What op waits for from `start` on takes all devices so long, or one: that of a class."""
        weights, ops, seen = weights if of is None else [1] * len(weights), [op], {op}
        for at in ops:  # which grows
            new = {other for other, *_ in self.near[at] if min(self.head[other]) >= start} - seen
            seen |= new
            ops += new
        counted = [other for other in ops[1:] if of is None or self.root[other] == self.root[of]]
        require(counted, f"op {op} waits for none of the ops of its backlog")
        us = start + fsum(min(us * weight for us, weight in zip(self.us[other], weights))
                          for other in counted)
        require(us >= claimed, f"op {op} can be before {claimed} us: its backlog takes until {us}")
        return claimed


class Proof:
    """`us` is infinite where an op cannot be; ops with one root share a device."""

    def __init__(self, data):
        self.bound, self.problem = data["bound_us"], Problem(data["problem"])
        self.us = [list(row) for row in self.problem.us]
        self.weights, self.least = self.problem.shares(data["weights"]), {True: {}, False: {}}
        rounding = 1e-14 * len(self.us) + 5e-13
        self.limit = self.bound * (1 + rounding)
        self.margin = self.bound * rounding * (len(self.us) * len(self.problem.kinds) + 1)
        self.root, self.members = [op["class"] for op in data["problem"]["ops"]], {}
        for op, root in enumerate(self.root):
            self.members.setdefault(root, []).append(op)

    def round(self, step):
        require(self.problem.latency, "only the latency of a step has rounds")
        self.heads = Heads(self, True, step["heads"], step["backlog_heads"])
        self.tails = Heads(self, False, step["tails"], step["backlog_tails"])
        for op, kind in step["op_not_on"]:
            self.cannot_be(self.members[self.root[op]], kind, [op])
        for src, dst in step["together"]:
            self.merge(src, dst)
        for op, kind in step["cluster_not_on"]:
            self.cannot_be(self.members[self.root[op]], kind, self.members[self.root[op]])
        for op, *content in step["hub_not_on"]:
            self.hub(self.members[self.root[op]], *content)

    def cannot_be(self, cluster, kind, ops):
        us = one_machine([self.job(op, kind) for op in ops])
        require(us > self.limit, f"ops {ops} fit on kind {kind}: {us} us")
        for op in cluster:
            self.us[op][kind] = inf

    def merge(self, src, dst):
        kinds, edges = self.problem.kinds, self.problem.after[src]
        size = max(size for other, size, _ in edges if other == dst)
        cut = min(self.heads.with_op[src][j] + self.problem.transfer(size, j, k) +
                  self.tails.with_op[dst][k] for j in kinds for k in kinds)
        require(cut > self.limit, f"there is time for edge {src} -> {dst}: {cut} us")
        kept, gone = self.root[src], self.root[dst]
        for op in self.members.pop(gone) if kept != gone else []:
            self.root[op] = kept
            self.members[kept].append(op)

    def job(self, op, kind):
        pause, tail = self.problem.pause[op][kind], self.tails.head[op][kind]
        return self.heads.head[op][kind], self.us[op][kind] + pause, max(0.0, tail - pause)

    def needed(self, cluster, kind, start, stop):
        """How long a cluster's device runs it within a window, at least; endless: not this kind."""
        require(start < stop, "no window")
        if any(self.us[op][kind] == inf for op in cluster):
            return inf
        jobs = [self.job(op, kind) for op in cluster]
        each = sum(within(head, work, self.bound - rest, start, stop) for head, work, rest in jobs)
        outside = (done([(head, work) for head, work, _ in jobs], start) +
                   done([(rest, work) for _, work, rest in jobs], self.bound - stop))
        return max(each, sum(work for _, work, _ in jobs) - outside)

    def hub(self, hub, kind, start, stop, opens, closes, price):
        """What a cluster reads comes over links in time, or is made on its device."""
        require(self.problem.queues[kind], f"transfers to kind {kind} do not queue")
        sent = {}
        for op in hub:
            latest = self.bound - self.tails.with_op[op][kind]
            for other, size, output in self.problem.before[op]:
                if self.root[other] != self.root[op] and output is not None:
                    us = min(self.problem.transfer(size, far, kind) for far in self.problem.kinds)
                    us = within(min(self.heads.with_op[other]), us, latest, opens, closes)
                    tensors = sent.setdefault(self.root[other], {})
                    tensors[other, output] = max(us, tensors.get((other, output), 0))
        total = self.needed(hub, kind, start, stop)
        for root, tensors in sent.items():
            near = self.needed(self.members[root], kind, start, stop)
            total += min(near, price * sum(tensors.values()))
        most = stop - start + price * max(0.0, closes - opens) + self.margin * (1 + price)
        require(total > most, f"kind {kind} holds the cluster of op {hub[0]}: {total} us")
        for op in hub:
            self.us[op][kind] = inf

    def window(self, end):
        weights, start, stop = self.problem.shares(end["weights"]), end["from_us"], end["to_us"]
        long, parts, terms = stop - start, end["parts"], []
        require(type(parts) is int and start < stop, "no window, or no number of its parts")
        for cluster in self.members.values():
            needs = [self.needed(cluster, kind, start, stop) for kind in self.problem.kinds]
            terms.append(min((weight * (max(0, ceil((parts + 1) * (us - self.margin) / long) - 1)
                                        if parts > 0 else us)
                              for weight, us in zip(weights, needs) if us < inf), default=inf))
        most = parts * (1 + 5e-10) if parts > 0 else long + self.margin
        require(fsum(terms) > most, f"the window holds its work: {fsum(terms)}")

    def class_us(self, ops):
        return [sum(self.us[op][kind] + self.problem.pause[op][kind] for op in ops)
                for kind in self.problem.kinds]

    def work(self, end):
        weights, prices, problem = self.problem.shares(end["weights"]), end["prices"], self.problem
        counted = not (problem.latency and problem.placeto)  # memory
        require(len(prices) == len(weights) and (counted or not any(prices)), "what prices?")
        rows = [(self.class_us(ops), sum(problem.param_bytes[op] for op in ops))
                for ops in self.members.values()]
        for size, readers in problem.shared:
            rows.append(([0 if any(self.us[op][kind] < inf for op in readers) else inf
                          for kind in problem.kinds], size))
        spread = fsum(min(y * us + z * size for y, z, us in zip(weights, prices, each) if us < inf)
                      for each, size in rows)
        price = fsum(z * m for z, m in zip(prices, problem.memory) if z > 0)
        require(spread - price >= self.bound, f"the work proves {spread - price} us only")

    def crowd(self, end):
        """Of `each` times all devices, plus 1, largest classes, `each` + 1 are on one device."""
        us = sorted((min(self.class_us(ops)) for ops in self.members.values()), reverse=True)
        last = end["each"] * sum(self.problem.devices)
        least = fsum(us[last - end["each"]:last + 1])
        require(last < len(us) and least >= self.bound, f"these classes take {least} us only")


def main(paths):
    status = 0
    for path in paths:
        step = "reading the file"
        try:
            with open(path, encoding="utf-8") as file:
                data = json.load(file, parse_int=amount, parse_float=amount, parse_constant=amount)
            require(data["format"] == "berth.certificate/1", "not a berth.certificate/1")
            proof = Proof(data)
            for number, content in enumerate(data["rounds"]):
                step = f"round {number}"
                proof.round(content)
            step = f"the end, by {data['end']['by']}"
            {"window": proof.window, "work": proof.work,
             "crowd": proof.crowd}[data["end"]["by"]](data["end"])
            what = "latency" if proof.problem.latency else "largest load"
            print(f"{path}: proven: {what} at least {proof.bound!r} us, of {len(proof.us)} ops, "
                  f"semantics {proof.problem.rules}")
        except Exception as error:  # whatever else a file may hold is no proof either
            status = 1
            print(f"{path}: REJECTED at {step}: {type(error).__name__}: {error}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else
             f"{__doc__}\nUsage: check_certificate.py CERTIFICATE...")
