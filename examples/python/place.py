"""Berth from Python by its C ABI: ctypes, and NumPy for what is bulk.

    python3 place.py path/to/libberth_c.so [ops] [policy]
"""

import ctypes as c
import sys
import time

import numpy as np


class Text(c.Structure):
    _fields_ = [("data", c.c_char_p), ("size", c.c_size_t)]

    def __str__(self):
        return c.string_at(self.data, self.size).decode() if self.size else ""


def text(words):
    data = words.encode()
    return Text(data, len(data))


class Option(c.Structure):
    _fields_ = [("name", Text), ("value", Text)]


class PlaceOptions(c.Structure):
    _fields_ = [
        ("size", c.c_size_t), ("policy", Text), ("options", c.POINTER(Option)),
        ("option_count", c.c_size_t), ("fallbacks", c.POINTER(Text)),
        ("fallback_count", c.c_size_t), ("budget_s", c.c_double), ("moves", c.c_int64),
        ("seed", c.c_int64), ("threads", c.c_int32), ("initial", c.POINTER(c.c_int32)),
        ("should_stop", c.c_void_p), ("progress", c.c_void_p), ("user", c.c_void_p),
    ]


def main(library, ops=10_000, policy="topo"):
    berth = c.CDLL(library)
    berth.berth_message.restype = Text
    berth.berth_result_devices.restype = c.POINTER(c.c_int32)

    def check(status):
        if status != 0:
            raise RuntimeError(str(berth.berth_message()))

    def array(numbers, kind):
        return numbers.ctypes.data_as(c.POINTER(kind))

    # A chain of layers, each of which also reads the layer ten before it.
    names = (Text * ops)(*[text(f"layer{i}") for i in range(ops)])
    costs = np.full(ops, 10.0)
    sizes = np.full(ops, 1 << 16, dtype=np.int64)
    src = np.concatenate([np.arange(ops - 1), np.arange(ops - 10)]).astype(np.int32)
    dst = np.concatenate([np.arange(1, ops), np.arange(10, ops)]).astype(np.int32)

    began = time.perf_counter()
    builder, graph = c.c_void_p(), c.c_void_p()
    check(berth.berth_builder_new(text("chain"), text(""), c.byref(builder)))
    check(berth.berth_builder_ops(builder, c.c_size_t(ops), names, None, array(costs, c.c_double),
                                  array(sizes, c.c_int64), None, None))
    check(berth.berth_builder_edges(builder, c.c_size_t(len(src)), array(src, c.c_int32),
                                    array(dst, c.c_int32)))
    check(berth.berth_builder_finish(builder, c.byref(graph)))
    print(f"{ops} ops and {len(src)} edges in {1e3 * (time.perf_counter() - began):.1f} ms")

    engine, cluster, problem, result = (c.c_void_p() for _ in range(4))
    check(berth.berth_engine_new(None, c.byref(engine)))
    check(berth.berth_cluster_new(engine, text("k80x4"), c.byref(cluster)))
    check(berth.berth_problem_new(engine, graph, cluster, None, c.byref(problem)))
    options = PlaceOptions(size=c.sizeof(PlaceOptions), policy=text(policy), budget_s=-1, seed=-1)
    check(berth.berth_place(engine, problem, c.byref(options), c.byref(result)))

    count = c.c_size_t()
    devices = berth.berth_result_devices(result, c.byref(count))
    placement = np.ctypeslib.as_array(devices, shape=(count.value,))
    print("ops per device:", np.bincount(placement).tolist())
    report = Text()
    check(berth.berth_result_text(result, 5, c.byref(report)))
    print(report, end="")
    for handle in (result, problem, cluster, engine, graph, builder):
        berth.berth_release(handle)


if __name__ == "__main__":
    main(sys.argv[1], *[int(a) for a in sys.argv[2:3]], *sys.argv[3:4])
