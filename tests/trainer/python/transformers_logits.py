"""Compares the logits that goss-train wrote with those of Hugging Face transformers' GPT2LMHeadModel from the same folder.

usage: transformers_logits.py FOLDER LOGITS; run by scripts/check-transformers.
"""
import json
import sys

import torch
import transformers
from safetensors import safe_open

import numpy_gpt2


def main(folder, path):
    with safe_open(path, framework="numpy") as file:
        tokens, ours = json.loads(file.metadata()["tokens"]), file.get_tensor("logits")
    model, loading = transformers.GPT2LMHeadModel.from_pretrained(folder, output_loading_info=True)
    # The output projection is the embedding, which transformers ties after loading.
    missing = set(loading["missing_keys"]) - {"lm_head.weight"}
    if missing or loading["unexpected_keys"]:
        raise SystemExit(f"missing: {missing}, unexpected: {loading['unexpected_keys']}")
    with torch.no_grad():
        theirs = model.eval()(torch.tensor([tokens])).logits[0].numpy()
    reference = numpy_gpt2.forward(folder, tokens)
    tolerance = reference.tolerance()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: {ours.shape[0]} x {ours.shape[1]} logits")
    print(f"largest difference: goss-train and transformers {abs(ours - theirs).max():.1e}, goss-train and numpy "
          f"{abs(ours - reference.value).max():.1e}; largest tolerance {tolerance.max():.1e}, spread of logits {reference.value.std():.1e}")
    # Each is within its own rounding of the exact value.
    if (abs(ours - theirs) > 2 * tolerance).any() or (abs(ours - reference.value) > tolerance).any():
        raise SystemExit("the logits differ by more than rounding")


if __name__ == "__main__":
    main(*sys.argv[1:])
