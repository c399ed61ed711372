#!/usr/bin/env python3
"""Compares the problem in a berth.certificate/1 with the files that it was made from.

check_certificate.py says whether the proof holds for the problem that the certificate states. This
says whether that is the problem of a berth.graph/1, a berth.cluster/1 and perhaps a berth.costs/1.
It shares no code with Berth and needs the standard library alone.

Models of other formats become a berth.graph/1 by graph:save in Lua (scripts/README.md).

Exit status: 0 = it is, 1 = it is not (where, is said), 2 = usage, or a file that cannot be read.
"""
import argparse
import json
import math
import sys

INFINITY = math.inf
# A device that runs some types alone holds the model's inputs too.
INPUTS = ("Input", "input", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg")


class Different(Exception):
    """The certificate states something else than the files."""


def require(holds, message):
    if not holds:
        raise Different(message)


def matched(pattern, name):
    return pattern in ("*", name)


def compare_cluster(data, cluster, constrained):
    kinds = {kind["name"]: i for i, kind in enumerate(data["kinds"])}
    counts, memory, overhead = [0] * len(kinds), [0] * len(kinds), [0] * len(kinds)
    for device in cluster["devices"]:
        require(device["kind"] in kinds, f"device {device['name']}'s kind is missing")
        kind = kinds[device["kind"]]
        counts[kind] += 1
        memory[kind] += device.get("memory_bytes", INFINITY)
        overhead[kind] = device.get("op_overhead_us", 0)
    for kind, count, total in zip(data["kinds"], counts, memory):
        stated = INFINITY if kind["memory_bytes"] is None else kind["memory_bytes"]
        require(count == kind["devices"], f"kind {kind['name']} has {count} devices")
        require(stated == total or constrained and stated <= total, "another memory")
    best = {}
    for a in cluster["devices"]:
        for b in cluster["devices"]:
            links = [link for link in cluster["links"]
                     if matched(link["src"], a["name"]) and matched(link["dst"], b["name"])]
            if a is not b:
                link = min(reversed(links), key=lambda each: (each["src"] == "*") + (each["dst"] == "*"))
                pair = kinds[a["kind"]], kinds[b["kind"]]
                placeto = data["semantics"] == "placeto"
                old = best.get(pair, (INFINITY, 0, not placeto))
                latency = 0 if placeto else link["latency_us"]
                best[pair] = (min(old[0], latency), max(old[1], link["bandwidth_bytes_per_s"]),
                              old[2] and not (link.get("parallel") or "receiver_us" in link
                                              or b.get("engine_per_link")))
    require(best == {(src, dst): (*link,) for src, dst, *link in data["transfers"]}, "other links")
    return overhead


def topological(graph):
    """Ids of the ops, each after its producers."""
    waits, readers = [0] * len(graph["ops"]), [[] for _ in graph["ops"]]
    for edge in graph["edges"]:
        waits[edge["dst"]] += 1
        readers[edge["src"]].append(edge["dst"])
    order = [op for op, count in enumerate(waits) if count == 0]
    for op in order:
        for reader in readers[op]:
            waits[reader] -= 1
            if waits[reader] == 0:
                order.append(reader)
    return order


def is_view(kind):
    return kind in ("Identity", "GuaranteeConst", "StopGradient", "ReadVariableOp", "tosa.identity") or "global" in kind


def constants_of(graph):
    """Constants of the step (graph.md, "pure"), as a set of ids, and who keeps what as parameters: {(op, output): readers}."""
    inputs, producers = [[] for _ in graph["ops"]], [set() for _ in graph["ops"]]
    for edge in graph["edges"]:
        producers[edge["dst"]].add(edge["src"])
        if "output" in edge:
            inputs[edge["dst"]].append((edge["src"], edge["output"]))
    def size(tensor):
        return graph["ops"][tensor[0]]["output_bytes"][tensor[1]]
    constants, kept = set(), {}
    for i in topological(graph):
        op = graph["ops"][i]
        outputs = [(i, port) for port in range(len(op["output_bytes"]))]
        view = bool(inputs[i]) and is_view(op["type"])
        most = max(sum(map(size, set(inputs[i]))), 100 * 1024)
        grows = inputs[i] and not view and sum(map(size, outputs)) > most
        if op.get("pure") and outputs and producers[i] <= constants and not grows:
            constants.add(i)
            for output in outputs:
                kept[output] = set().union(*(kept[each] for each in inputs[i])) if view else {output}
    if all(i in constants or not inputs[i] for i in range(len(graph["ops"]))):
        return set(), {}  # no work is left
    readers, read = {}, set()
    for i, tensors in enumerate(inputs):
        for tensor in tensors:
            read.add(tensor[0])
            if i not in constants and tensor in kept:
                for each in kept[tensor]:
                    readers.setdefault(each, set()).add(i)
    for output in kept:
        if output[0] not in read:  # it resides where the op is named
            for each in kept[output]:
                readers.setdefault(each, set()).add(output[0])
    return constants, readers


def kept_bytes(graph, tensor):
    """Of what keeps a variable elsewhere, the variable's."""
    op = graph["ops"][tensor[0]]
    alone = op["output_bytes"] == [0] and not any(edge["dst"] == tensor[0] and "output" in edge for edge in graph["edges"])
    return op.get("param_bytes", 0) if alone else op["output_bytes"][tensor[1]]


def classes_of(graph):
    """By op's id the name of its co-location class, the op's own where it has none. A state's maker and input share one."""
    names = [op.get("colocate", op["name"]) for op in graph["ops"]]
    for state in graph.get("states", []):
        joined, other = names[state["src"]], names[state["input"]]
        names = [joined if name == other else name for name in names]
    return names


def compare(data, graph, cluster, costs, device_gap_us):
    """The certificate's problem against the files of the graph, the machine and the costs."""
    constrained = data["constrained"]
    require(pause_us(data) in (None, device_gap_us),
            f"a device pauses for {pause_us(data)} us after an op; say so with --device-gap-us")
    overhead = compare_cluster(data, cluster, constrained)
    ops = {op["name"]: op for op in graph["ops"]}
    ids = {op["name"]: i for i, op in enumerate(graph["ops"])}
    cost_of = (costs or {}).get("ops") or {op["name"]: op.get("cost_us") for op in graph["ops"]}
    types = {device["kind"]: device.get("runs", {}).get("types") for device in cluster["devices"]}
    hosts = {device["kind"] for device in cluster["devices"] if device.get("host")}
    consumers = {edge["dst"] for edge in graph["edges"]}
    class_names = classes_of(graph)
    constants, readers = constants_of(graph)
    own, shared = [0] * len(ops), []
    for tensor, its in readers.items():
        size = kept_bytes(graph, tensor)
        if len(its) > 1:
            shared.append((size, sorted(graph["ops"][i]["name"] for i in its)))
        else:
            own[min(its)] += size
    classes = {}
    listed = set()
    for op in data["ops"]:
        require(op["name"] in ops, f"op {op['name']} is not in the graph")
        require(op["name"] not in listed, f"op {op['name']} is listed twice")
        listed.add(op["name"])
        i, stated_op = ids[op["name"]], ops[op["name"]]
        cost = cost_of.get(op["name"]) if i in constants else cost_of[op["name"]]
        is_input = stated_op["type"] in INPUTS and i not in consumers
        for kind, us, extra in zip(data["kinds"], op["us"], overhead):
            stated = cost.get(kind["name"]) if isinstance(cost, dict) else cost
            runs = not types[kind["name"]] or stated_op["type"] in types[kind["name"]]
            if not runs and not is_input:
                stated = None
            if i in constants:  # it takes no time, wherever it is
                stated = None if stated is None and us is None else 0
            if stated is not None and stated != 0 and data["semantics"] == "dataflow":
                stated += extra
            # The command has inputs on hosts where nobody says otherwise.
            taken = constrained or is_input and hosts and kind["name"] not in hosts
            require(us == stated or taken and us is None, f"op {op['name']} costs {stated}")
        stated = own[i] + (0 if i in constants else stated_op.get("param_bytes", 0))
        require(op["param_bytes"] == stated, f"op {op['name']} has other parameters")
        if i not in constants:  # which need no device of their own
            classes.setdefault(op["class"], set()).add(class_names[i])
    require(constrained or all(len(names) == 1 for names in classes.values()), "other classes")
    stated = [(size, sorted(data["ops"][i]["name"] for i in its)) for size, its in data["shared_parameters"]]
    require(sorted(stated) == sorted(shared), "other shared parameters")
    edges = set()
    for edge in graph["edges"]:
        src, dst, output = graph["ops"][edge["src"]], graph["ops"][edge["dst"]], edge.get("output")
        tensor = () if output is None else (src["output_bytes"][output], output)
        edges.add((src["name"], dst["name"], *tensor))
    for src, dst, *tensor in data["edges"]:
        edge = data["ops"][src]["name"], data["ops"][dst]["name"], *tensor
        require(edge in edges, f"the graph has no edge {edge}")


def pause_us(data):
    """How long a device pauses after an op by the certificate; None where its rules know no pauses."""
    pauses = data["semantics"] == "placeto" and data["objective"] == "latency"
    return data["device_gap_us"] if pauses else None


class Unreadable(Exception):
    """A file that says nothing of a problem."""


def read(path, kind):
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path}: cannot be read as {kind}: {error}") from error
    if not isinstance(data, dict) or data.get("format") != kind:
        raise Unreadable(f"{path}: is no {kind}; name one")
    return data


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("certificate")
    parser.add_argument("graph", help="a berth.graph/1 file")
    parser.add_argument("cluster", help="a berth.cluster/1 file")
    parser.add_argument("--costs", help="a berth.costs/1 file")
    parser.add_argument("--device-gap-us", type=float, default=5.7, metavar="US",
                        help="the pause of a device after an op that was asked for (placeto); default: 5.7")
    given = parser.parse_args()
    try:
        certificate = read(given.certificate, "berth.certificate/1")
        graph = read(given.graph, "berth.graph/1")
        cluster = read(given.cluster, "berth.cluster/1")
        costs = read(given.costs, "berth.costs/1") if given.costs else None
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    try:
        compare(certificate["problem"], graph, cluster, costs, given.device_gap_us)
    except (Different, KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        print(f"DIFFERENT: {type(error).__name__}: {error}")
        return 1
    problem = certificate["problem"]
    pause = pause_us(problem)
    print(f"the same problem: {len(problem['ops'])} of {len(graph['ops'])} ops of the graph, "
          f"objective {problem['objective']}, semantics {problem['semantics']}"
          + ("" if pause is None else f" with pauses of {pause!r} us")
          + (", constraints taken from the certificate" * problem["constrained"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
