"""Graphs of onnx.ModelProto and torch.export."""

import unittest

from support import MODELS, need

need("onnx")
import berth
import onnx


class Models(unittest.TestCase):
    def test_onnx(self):
        path = MODELS / "tiny_cnn.onnx"
        by_path, by_proto = (berth.place(model, "k80x2", policy="heft") for model in (path, onnx.load(path)))
        self.assertEqual(by_path.assignment, by_proto.assignment)
        self.assertEqual(by_path.objective_us, by_proto.objective_us)
        with self.assertRaises(berth.Error):
            berth.place(onnx.ModelProto(), "k80x2")

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
