"""GPT-2's forward pass in numpy, from nothing but a folder in Hugging Face's form, with a bound of what float32 may differ.

Values are float64. Beside each array x goes e: to first order, element by element, the standard deviation of the distance
between x and what a float32 program computes, in any order of additions, when rounding errors are independent with mean zero
(Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, SISC 41, 2019): a sum of n products has the relative
error sqrt(n) u of the sum of their magnitudes. The worst case, in which all errors conspire, is a million times larger after a
few layers and would hide mistakes. tolerance() is LAMBDA deviations.
"""
import json
import os

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

U = 2.0 ** -24  # rounding to nearest float32
ULPS = 8  # of expf, tanhf and rsqrt as vector libraries compute them
LAMBDA = 10


def together(*errors):
    """Of independent errors."""
    return np.sqrt(sum(np.square(error) for error in errors))


def of_sum(n):
    return np.sqrt(n + 2) * U


class Bounded:
    """Values and their float32 error."""

    def __init__(self, value, error):
        self.value, self.error = value, error

    def tolerance(self):
        return LAMBDA * self.error

    def __add__(self, other):
        value = self.value + other.value
        return Bounded(value, together(self.error, other.error, U * value))

    def scaled(self, factor):
        return Bounded(self.value * factor, together(factor * self.error, U * self.value * factor))

    def __matmul__(self, other):
        a, b = self.value, other.value
        carried = np.square(self.error) @ np.square(b) + np.square(a) @ np.square(other.error)
        return Bounded(a @ b, together(np.sqrt(carried), of_sum(a.shape[-1]) * (abs(a) @ abs(b))))

    def part(self, *index):
        return Bounded(self.value[index], self.error[index])

    def transposed(self):
        return Bounded(self.value.T, self.error.T)


def exact(value):
    value = np.asarray(value, dtype=np.float64)
    return Bounded(value, np.zeros_like(value))


def mean_error(errors):
    """Of the mean over the last axis."""
    return np.sqrt(np.square(errors).mean(-1, keepdims=True) / errors.shape[-1])


def layer_norm(x, weight, bias, epsilon):
    n = x.value.shape[-1]
    mean = x.value.mean(-1, keepdims=True)
    centered = x.value - mean
    centered_error = together(x.error, mean_error(x.error), of_sum(n) * abs(x.value).mean(-1, keepdims=True), U * centered)
    variance = (centered ** 2).mean(-1, keepdims=True) + epsilon
    variance_error = together(2 * mean_error(centered * centered_error), of_sum(n) * variance)
    scale = variance ** -0.5
    normed = centered * scale
    # d(v^-1/2) = -1/2 v^-3/2 dv
    error = together(centered_error * scale, normed * 0.5 * variance_error / variance, normed * ULPS * U)
    value = normed * weight.value + bias.value
    return Bounded(value, together(error * weight.value, U * normed * weight.value, U * value))


def gelu(x):
    root = np.sqrt(2 / np.pi)
    value = 0.5 * x.value * (1 + np.tanh(root * (x.value + 0.044715 * x.value ** 3)))
    steepest = 1.13  # the largest slope of gelu
    return Bounded(value, together(steepest * x.error, ULPS * U * x.value))


def softmax(x):
    """Over the last axis; -inf has no error."""
    value = np.exp(x.value - x.value.max(-1, keepdims=True))
    value /= value.sum(-1, keepdims=True)
    finite = np.where(np.isfinite(x.value), abs(x.value), 0)
    # d p_i = p_i (d x_i - sum_j p_j d x_j); the shift by the maximum rounds each x once more
    error = together(x.error, U * (finite + finite.max(-1, keepdims=True)))
    total = together(error, np.sqrt(np.square(value * error).sum(-1, keepdims=True)))
    return Bounded(value, value * together(total, 2 * ULPS * U, of_sum(value.shape[-1])))


def attention(x, heads):
    """x: queries, keys and values [T, 3C] -> [T, C]."""
    length, width = x.value.shape
    channels = width // 3
    size = channels // heads
    future = np.triu(np.ones((length, length), dtype=bool), 1)
    values, errors = [], []
    for head in range(heads):
        q, k, v = (x.part(slice(None), slice(i * channels + head * size, i * channels + (head + 1) * size)) for i in range(3))
        scores = (q @ k.transposed()).scaled(size ** -0.5)
        scores.value[future], scores.error[future] = -np.inf, 0
        out = softmax(scores) @ v
        values.append(out.value)
        errors.append(out.error)
    return Bounded(np.concatenate(values, -1), np.concatenate(errors, -1))


def forward(folder, tokens):
    """The logits [T, V] of `tokens`, with their bound."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    if config["model_type"] != "gpt2" or config["activation_function"] != "gelu_new":
        raise ValueError(f"{folder} holds no GPT-2 with the tanh form of GELU")
    path = os.path.join(folder, "model.safetensors")
    with safe_open(path, framework="numpy") as file:
        if file.metadata()["format"] != "pt":
            raise ValueError(f"{path} does not say the format that transformers wants")
    w = {name: exact(value) for name, value in load_file(path).items()}
    shapes = {"wte.weight": (config["vocab_size"], config["n_embd"]), "wpe.weight": (config["n_positions"], config["n_embd"])}
    for name, shape in shapes.items():
        if w[name].value.shape != shape:
            raise ValueError(f"{path}: {name} is {w[name].value.shape}, but config.json says {shape}")

    def linear(name, value):
        return value @ w[f"{name}.weight"] + w[f"{name}.bias"]

    def norm(name, value):
        return layer_norm(value, w[f"{name}.weight"], w[f"{name}.bias"], config["layer_norm_epsilon"])

    x = w["wte.weight"].part(tokens) + w["wpe.weight"].part(slice(0, len(tokens)))
    for layer in range(config["n_layer"]):
        h = f"h.{layer}"
        attended = attention(linear(f"{h}.attn.c_attn", norm(f"{h}.ln_1", x)), config["n_head"])
        x = x + linear(f"{h}.attn.c_proj", attended)
        x = x + linear(f"{h}.mlp.c_proj", gelu(linear(f"{h}.mlp.c_fc", norm(f"{h}.ln_2", x))))
    return norm("ln_f", x) @ w["wte.weight"].transposed()
