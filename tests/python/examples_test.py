"""The scripts of examples/python, as somebody runs them; what one lacks is skipped aloud."""

import subprocess
import sys
import unittest

from support import ROOT, need

need("gymnasium")


class Examples(unittest.TestCase):
    def run_example(self, name, *arguments, needs=()):
        for module in needs:
            try:
                __import__(module)
            except ImportError as error:
                print(f"skipped: {name}: {error}")
                self.skipTest(str(error))
        done = subprocess.run([sys.executable, str(ROOT / "examples" / "python" / name), *arguments],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_two_cards(self):
        out = self.run_example("two_cards.py", "--budget", "500ms")
        for part in ("one step", "is on gpu:", "one card alone", "device_map"):
            self.assertIn(part, out)

    def test_ppo(self):
        out = self.run_example("ppo.py", "--updates", "8", "--groups", "24", "--envs", "8", needs=("torch",))
        means = [float(line.split("episodes end at")[1].split()[0]) for line in out.splitlines() if "episodes end at" in line]
        self.assertEqual(len(means), 8)
        self.assertLess(means[-1], 0.75 * means[0])  # the first update's episodes are untrained; about half is reached
        self.assertIn("one step", out)

    def test_sweep(self):
        out = self.run_example("sweep.py", "--trials", "3", "--moves", "30", needs=("optuna",))
        self.assertIn("best of 3", out)


if __name__ == "__main__":
    unittest.main()
