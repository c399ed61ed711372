"""Graphs of NetworkX."""

import unittest
import warnings

from support import need

need("networkx")
import berth
import networkx


def two(about=None, edge=None):
    graph = networkx.DiGraph()
    graph.add_node("a", **({"cost_us": 400} if about is None else about))
    graph.add_node("b", cost_us=500)
    graph.add_edge("a", "b", **(edge or {}))
    return graph


class NetworkX(unittest.TestCase):
    def test_bytes_of_an_edge_are_instead_of_the_nodes(self):
        def peaks(*sizes):
            graph = networkx.DiGraph()
            graph.add_node("in", cost_us=10, output_bytes=1000)
            for number, about in enumerate(sizes):
                graph.add_node(f"out{number}", cost_us=10)
                graph.add_edge("in", f"out{number}", **about)
            return berth.Problem(graph, "k80x2").simulate([1] + [2] * len(sizes)).peak_bytes.tolist()

        self.assertEqual(peaks({}), [0, 1000, 1000])
        self.assertEqual(peaks({"bytes": 1000}), [0, 1000, 1000])
        self.assertEqual(peaks({"bytes": 400}, {"bytes": 300}), [0, 700, 700])
        self.assertEqual(peaks({"bytes": 400}, {}), [0, 1400, 1400])

    def test_flops_make_no_bytes_free(self):
        def costs(**about):
            graph = networkx.DiGraph()
            graph.add_node("in", output_bytes=10**7, cost_us=0)
            graph.add_node("layer", output_bytes=10**6, param_bytes=10**8, **about)
            graph.add_node("out", cost_us=0)
            graph.add_edge("in", "layer")
            graph.add_edge("layer", "out", bytes=10**9)
            return berth.Problem(graph, "k80x2").array("cost_us")[1].tolist()

        for with_flops, without in zip(costs(flops=1), costs()):
            self.assertAlmostEqual(with_flops, without)

    def test_networkx(self):
        graph = networkx.DiGraph(name="diamond")
        graph.add_node("in", cost_us=10, output_bytes=1000)
        graph.add_node("left", cost_us={"k80": 500}, param_bytes=1 << 20)
        graph.add_node("right", cost_us={"k80": 500})
        graph.add_node("out", cost_us=1, type="Add")
        graph.add_edges_from([("in", "left"), ("in", "right"), ("left", "out")])
        graph.add_edge("right", "out", bytes=1 << 10)
        plan = berth.place(graph, "k80x2", policy="exact")
        self.assertEqual(plan.end, "proven")
        self.assertEqual(set(plan.assignment), {"in", "left", "right", "out"})
        self.assertNotEqual(plan.assignment["left"], plan.assignment["right"])
        self.assertNotIn("cpu:0", (plan.assignment["left"], plan.assignment["right"]))  # they have a cost on a k80 alone
        for wrong, part in ((graph.to_undirected(), "DiGraph"), (networkx.DiGraph([("a", "b"), ("b", "a")]), "cycle")):
            with self.assertRaisesRegex(berth.Error, part):
                berth.place(wrong, "k80x2")
        graph.nodes["in"]["output_bytes"] = 1.5
        with self.assertRaisesRegex(berth.InvalidArgument, "output_bytes of 'in'"):
            berth.place(graph, "k80x2")

    def test_names_that_are_nearly_known_are_refused(self):
        for wrong, meant in (("costus", "cost_us"), ("cost", "cost_us"), ("out_bytes", "output_bytes"), ("flop", "flops")):
            with self.assertRaisesRegex(berth.InvalidArgument, f"{wrong!r} of 'a'; did you mean {meant!r}"):
                berth.Graph.from_networkx(two({wrong: 1}))
        with self.assertRaisesRegex(berth.InvalidArgument, "'nbytes' of the edge 'a' -> 'b'; did you mean 'bytes'"):
            berth.Graph.from_networkx(two(edge={"nbytes": 1}))

    def test_other_names_are_told_once(self):
        with self.assertWarnsRegex(UserWarning, "attributes of nodes that are not read: colour, dtype; known are cost_us") as told:
            berth.Graph.from_networkx(two({"colour": "red", "dtype": "f32", "cost_us": 1}))
        self.assertEqual(told.filename, __file__)
        with self.assertWarnsRegex(UserWarning, "attributes of edges that are not read: weight; known are bytes"):
            berth.Graph.from_networkx(two(edge={"weight": 3}))

    def test_a_graph_without_any_cost_is_told(self):
        with self.assertWarnsRegex(UserWarning, "every placement takes no time"):
            berth.Graph.from_networkx(networkx.DiGraph([("a", "b")]))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            berth.Graph.from_networkx(two())
            berth.Graph.from_networkx(networkx.DiGraph([("a", "b", {"bytes": 1})]))

    def test_floats_that_are_whole_are_sizes(self):
        self.assertEqual(len(berth.Graph.from_networkx(two({"output_bytes": 1.6e10}, {"bytes": 1e6}))), 2)
        with self.assertRaisesRegex(berth.InvalidArgument, "output_bytes of 'a' is a float; give a whole number"):
            berth.Graph.from_networkx(two({"output_bytes": float("inf")}))


if __name__ == "__main__":
    unittest.main()
