"""Starts goss-train from random models that the safetensors package wrote, and compares the first checkpoint with them.

usage: pretrained_test.py GOSS_TRAIN
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors.numpy import load_file, save_file

PROGRAM = sys.argv.pop()
CHANNELS, POSITIONS, CONTEXT, VOCAB = 16, 24, 16, 256
GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_embd": CHANNELS, "n_head": 2, "n_positions": POSITIONS, "n_ctx": POSITIONS, "n_inner": None,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "vocab_size": VOCAB, "bos_token_id": 255}
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": CHANNELS, "num_attention_heads": 2, "num_key_value_heads": 2,
         "intermediate_size": 64, "max_position_embeddings": POSITIONS, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "rope_scaling": None,
         "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True, "vocab_size": VOCAB}


def gpt2_shapes():
    shapes = {"wte.weight": (VOCAB, CHANNELS), "wpe.weight": (POSITIONS, CHANNELS), "ln_f.weight": (CHANNELS,), "ln_f.bias": (CHANNELS,)}
    for layer in range(2):
        for name, shape in {"ln_1.weight": (1,), "ln_1.bias": (1,), "attn.c_attn.weight": (1, 3), "attn.c_attn.bias": (3,), "attn.c_proj.weight": (1, 1),
                            "attn.c_proj.bias": (1,), "ln_2.weight": (1,), "ln_2.bias": (1,), "mlp.c_fc.weight": (1, 4), "mlp.c_fc.bias": (4,),
                            "mlp.c_proj.weight": (4, 1), "mlp.c_proj.bias": (1,)}.items():
            shapes[f"h.{layer}.{name}"] = tuple(CHANNELS * extent for extent in shape)
    return shapes


def llama_shapes():
    shapes = {"model.embed_tokens.weight": (VOCAB, CHANNELS), "model.norm.weight": (CHANNELS,)}
    for layer in range(2):
        for name, shape in {"input_layernorm": (1,), "post_attention_layernorm": (1,), "self_attn.q_proj": (1, 1), "self_attn.k_proj": (1, 1),
                            "self_attn.v_proj": (1, 1), "self_attn.o_proj": (1, 1), "mlp.gate_proj": (4, 1), "mlp.up_proj": (4, 1),
                            "mlp.down_proj": (1, 4)}.items():
            shapes[f"model.layers.{layer}.{name}.weight"] = tuple(CHANNELS * extent for extent in shape)
    return shapes


class Pretrained(unittest.TestCase):
    def check(self, config, shapes, prefix, dtype):
        random = np.random.default_rng(1)
        weights = {name: random.normal(0, 0.1, shape).astype(dtype) for name, shape in shapes.items()}
        with tempfile.TemporaryDirectory(prefix="goss-pretrained-") as directory:
            model, run, text = (os.path.join(directory, name) for name in ("model", "run", "text"))
            os.mkdir(model)
            with open(os.path.join(model, "config.json"), "w", encoding="ascii") as file:
                json.dump(config, file)
            save_file({prefix + name: value for name, value in weights.items()}, os.path.join(model, "model.safetensors"), {"format": "pt"})
            with open(text, "w", encoding="ascii") as file:
                file.write("in the beginning was the word, and the word was with those who counted. " * 200)
            # so small a rate moves no weight
            done = subprocess.run([PROGRAM, "--init", model, "--data", text, "--context", str(CONTEXT), "--steps", "1", "--batch", "2", "--lr", "1e-30",
                                   "--val-samples", "2", "--sample", "0", "--checkpoint", run], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            saved = load_file(os.path.join(run, "step-00000001", "model.safetensors"))
            self.assertEqual(set(saved), set(weights))
            for name, value in saved.items():
                np.testing.assert_array_equal(value, weights[name][:value.shape[0]].astype(np.float32), name)
                self.assertEqual(len(value), CONTEXT if name == "wpe.weight" else len(weights[name]))

    def test_gpt2(self):
        self.check(GPT2, gpt2_shapes(), "transformer.", np.float32)

    def test_gpt2_of_halves_without_a_prefix(self):
        self.check(GPT2, gpt2_shapes(), "", np.float16)

    def test_llama(self):
        self.check(LLAMA, llama_shapes(), "", np.float32)


if __name__ == "__main__":
    unittest.main(verbosity=2)
