"""Trains a few steps with --optimizer muon, and compares what each step did to the weights with numpy's Muon and AdamW.

The moments in consecutive checkpoints tell the gradient, so that a step can be computed from files alone.

usage: muon_test.py GOSS_TRAIN
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors.numpy import load_file

PROGRAM = sys.argv.pop()
STEPS, MOMENTUM, DECAY, BETAS = 4, 0.9, 0.1, (0.9, 0.95)
FLAGS = ["--layers", "2", "--channels", "16", "--heads", "2", "--context", "16", "--steps", str(STEPS), "--batch", "4", "--lr", "1e-2",
         "--warmup", "2", "--val-every", "0", "--val-samples", "2", "--sample", "0", "--optimizer", "muon", "--muon-momentum", str(MOMENTUM),
         "--weight-decay", str(DECAY), "--checkpoint-every", "1", "--keep", str(STEPS)]


def orthogonal(u):
    """What Newton and Schulz's iteration makes of u, through the singular values: each goes through the polynomial by itself."""
    left, sigma, right = np.linalg.svd(u, full_matrices=False)
    sigma = sigma / np.sqrt(np.square(sigma).sum())
    for _ in range(5):
        sigma = 3.4445 * sigma - 4.7750 * sigma ** 3 + 2.0315 * sigma ** 5
    return (left * sigma) @ right, sigma


class Muon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="goss-muon-")
        text, cls.log, cls.checkpoints = (os.path.join(cls.directory.name, name) for name in ("text", "log", "run"))
        with open(text, "w", encoding="ascii") as file:
            file.write("in the beginning was the word, and the word was with those who counted. " * 200)
        done = subprocess.run([PROGRAM, "--data", text, *FLAGS, "--checkpoint", cls.checkpoints, "--log", cls.log], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stdout + done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def state(self, step):
        """Parameters, first and second moments by name, in double."""
        folder = os.path.join(self.checkpoints, f"step-{step:08}")
        model, moments = (load_file(os.path.join(folder, f"{name}.safetensors")) for name in ("model", "rank-0000"))
        return {name: tuple(np.asarray(x, dtype=np.float64) for x in (p, moments[f"exp_avg/{name}"], moments[f"exp_avg_sq/{name}"]))
                for name, p in model.items()}

    def test_every_step_is_numpys(self):
        with open(self.log, encoding="utf-8") as file:
            rates = {line["step"]: line["lr"] for line in map(json.loads, file) if line["event"] == "step"}
        hidden = 0
        for step in range(2, STEPS + 1):
            before, after = self.state(step - 1), self.state(step)
            lr = rates[step]
            for name, (p, m, v) in before.items():
                moved, m2, v2 = after[name]
                with self.subTest(step=step, name=name):
                    if name.startswith("h.") and p.ndim == 2:
                        hidden += 1
                        self.assertFalse(v2.any())
                        rate = lr * 0.2 * np.sqrt(max(p.shape))
                        expected, sigma = orthogonal(MOMENTUM * m2 + (m2 - MOMENTUM * m))
                        self.assertGreater(np.median(sigma), 0.3)  # or nothing was made orthogonal
                        # The difference of two momenta has the rounding of 1e-6 of them, and the iteration multiplies small
                        # singular values, and so their errors, by at most 3.4445^5 = 485.
                        np.testing.assert_allclose((p * (1 - lr * DECAY) - moved) / rate, expected, rtol=0, atol=2e-3)
                    else:
                        decay = lr * DECAY if p.ndim == 2 else 0
                        update = m2 / (1 - BETAS[0] ** step) / (np.sqrt(v2 / (1 - BETAS[1] ** step)) + 1e-8)
                        np.testing.assert_allclose(moved, p * (1 - decay) - lr * update, rtol=1e-5, atol=1e-7)
        self.assertEqual(hidden, 2 * 4 * (STEPS - 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
