"""Llama's forward pass in numpy, from nothing but a folder in Hugging Face's form, with numpy_gpt2's bounds."""
import json
import os

import numpy as np
from safetensors.numpy import load_file

from numpy_gpt2 import ULPS, U, Bounded, attention, exact, mean_error, of_sum, together


def rms_norm(x, weight, epsilon):
    square = (x.value ** 2).mean(-1, keepdims=True) + epsilon
    square_error = together(2 * mean_error(x.value * x.error), of_sum(x.value.shape[-1]) * square)
    scale = square ** -0.5
    normed = x.value * scale
    error = together(x.error * scale, normed * 0.5 * square_error / square, normed * ULPS * U)
    value = normed * weight.value
    return Bounded(value, together(error * weight.value, U * value))


def rotate(x, heads, base):
    """x[T, C]: channels i and i + D/2 of each head of token t are turned by t * base^(-2i/D)."""
    length, channels = x.value.shape
    half = channels // heads // 2
    angles = np.outer(np.arange(length), base ** (-np.arange(half) / half))
    cosine, sine = (np.tile(np.concatenate([part, part], -1), (1, heads)) for part in (np.cos(angles), np.sin(angles)))

    def partner(values, sign):  # what the sine multiplies
        split = values.reshape(length, heads, 2, half)
        return np.stack([sign * split[:, :, 1], split[:, :, 0]], 2).reshape(length, channels)

    other, other_error = partner(x.value, -1), partner(x.error, 1)
    value = x.value * cosine + other * sine
    rounding = together(2 * U * x.value * cosine, 2 * U * other * sine, U * value)
    return Bounded(value, together(x.error * cosine, other_error * sine, rounding))


def swiglu(gate, up):
    active = gate.value / (1 + np.exp(-gate.value))
    steepest = 1.1  # the largest slope of silu
    error = together(steepest * gate.error, ULPS * U * active)
    value = active * up.value
    return Bounded(value, together(error * up.value, active * up.error, U * value))


def forward(folder, tokens):
    """The logits [T, V] of `tokens`, with their bound."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if config["model_type"] != "llama" or not config["tie_word_embeddings"] or config["num_key_value_heads"] != config["num_attention_heads"]:
        raise ValueError(f"{folder} holds no Llama of the kind that goss-train writes")
    w = {name: exact(value) for name, value in load_file(os.path.join(folder, "model.safetensors")).items()}
    heads = config["num_attention_heads"]
    if w["model.layers.0.mlp.gate_proj.weight"].value.shape != (config["intermediate_size"], config["hidden_size"]):
        raise ValueError(f"{folder}: config.json has another intermediate_size than the weights")

    def linear(name, value):
        return value @ w[f"{name}.weight"].transposed()

    def norm(name, value):
        return rms_norm(value, w[f"{name}.weight"], config["rms_norm_eps"])

    x = w["model.embed_tokens.weight"].part(tokens)
    for layer in range(config["num_hidden_layers"]):
        h = f"model.layers.{layer}"
        normed = norm(f"{h}.input_layernorm", x)
        q, k = (rotate(linear(f"{h}.self_attn.{part}_proj", normed), heads, config["rope_theta"]) for part in "qk")
        v = linear(f"{h}.self_attn.v_proj", normed)
        together_qkv = Bounded(*(np.concatenate([getattr(part, which) for part in (q, k, v)], -1) for which in ("value", "error")))
        x = x + linear(f"{h}.self_attn.o_proj", attention(together_qkv, heads))
        normed = norm(f"{h}.post_attention_layernorm", x)
        x = x + linear(f"{h}.mlp.down_proj", swiglu(linear(f"{h}.mlp.gate_proj", normed), linear(f"{h}.mlp.up_proj", normed)))
    return norm("model.norm", x) @ w["model.embed_tokens.weight"].transposed()
