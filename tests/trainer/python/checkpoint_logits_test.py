"""Trains a few steps of either architecture with goss-train, and compares the logits of the checkpoint's model with numpy's.

usage: checkpoint_logits_test.py GOSS_TRAIN
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors import safe_open

import numpy_gpt2
import numpy_llama

PROGRAM = sys.argv.pop()
CONTEXT = 16
FLAGS = ["--layers", "2", "--channels", "16", "--heads", "2", "--context", str(CONTEXT), "--steps", "20", "--batch", "4", "--lr", "1e-2",
         "--warmup", "2", "--val-every", "0", "--val-samples", "2", "--sample", "0"]


def run(*arguments):
    done = subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")


class Gpt2Logits(unittest.TestCase):
    FLAGS = []
    forward = staticmethod(numpy_gpt2.forward)

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="goss-logits-")
        text = os.path.join(cls.directory.name, "text")
        with open(text, "w", encoding="ascii") as file:
            file.write("in the beginning was the word, and the word was with those who counted. " * 200)
        run("--data", text, *FLAGS, *cls.FLAGS, "--checkpoint", os.path.join(cls.directory.name, "run"))
        cls.folder = os.path.join(cls.directory.name, "run", "step-00000020")

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def logits(self, seed):
        out = os.path.join(self.directory.name, f"logits{seed}")
        run("logits", self.folder, "--out", out, "--seed", str(seed))
        with safe_open(out, framework="numpy") as file:
            return json.loads(file.metadata()["tokens"]), file.get_tensor("logits")

    def test_numpy_computes_the_same_logits_within_the_rounding_of_float32(self):
        for seed in (1, 2):
            tokens, logits = self.logits(seed)
            self.assertEqual(len(tokens), CONTEXT)
            expected = self.forward(self.folder, tokens)
            self.assertEqual(logits.shape, expected.value.shape)
            excess = abs(logits - expected.value) - expected.tolerance()
            self.assertLessEqual(excess.max(), 0)
            # The bound would not hide a mistake: it is far below what logits differ by.
            self.assertLess(expected.tolerance().max(), 0.001 * expected.value.std())

    def test_the_bound_notices_one_wrong_token(self):
        tokens, logits = self.logits(1)
        tokens[3] = (tokens[3] + 1) % 256
        expected = self.forward(self.folder, tokens)
        wrong = (abs(logits - expected.value) > expected.tolerance()).any(-1)
        np.testing.assert_array_equal(wrong, np.arange(CONTEXT) >= 3)  # attention sees no future


class LlamaLogits(Gpt2Logits):
    FLAGS = ["--arch", "llama"]
    forward = staticmethod(numpy_llama.forward)


if __name__ == "__main__":
    unittest.main(verbosity=2)
