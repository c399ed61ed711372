"""Graphs of onnx.ModelProto, torch.export and NetworkX."""

import unittest

from support import MODELS, need

need("onnx", "networkx")
import berth
import networkx
import onnx


class Models(unittest.TestCase):
    def test_onnx(self):
        path = MODELS / "tiny_cnn.onnx"
        by_path, by_proto = (berth.place(model, "k80x2", policy="heft") for model in (path, onnx.load(path)))
        self.assertEqual(by_path.assignment, by_proto.assignment)
        self.assertEqual(by_path.objective_us, by_proto.objective_us)
        with self.assertRaises(berth.Error):
            berth.place(onnx.ModelProto(), "k80x2")

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

    def test_torch(self):
        try:
            import onnxscript  # noqa: F401  what the exporter needs
            import torch
        except ImportError as error:
            self.skipTest(str(error))
        module = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
        program = torch.export.export(module, (torch.zeros(4, 64),))
        plan = berth.place(program, "k80x2", policy="heft")
        self.assertTrue(plan.feasible)
        self.assertGreaterEqual(len(plan.devices), 3)
        with self.assertRaisesRegex(berth.InvalidArgument, "torch.export.export"):
            berth.place(module, "k80x2")


if __name__ == "__main__":
    unittest.main()
