#include <cmath>
#include <cstring>

#include "trainer/compute/cpu_ops.h"
#include "trainer/compute/vector_math.h"

namespace goss::trainer {

namespace {

constexpr float kLayerNormEps = 1e-5f;
constexpr float kGeluRoot = 0.7978845608f; // sqrt(2 / pi)
constexpr float kGeluCubic = 0.044715f;

/// One row of softmax cross-entropy: returns the loss and, if asked, replaces the logits by their gradient.
float xentRow(float* __restrict x, std::size_t vocab, std::size_t target, const XentShape& shape) {
  float top = x[0];
#pragma omp simd reduction(max : top)
  for (std::size_t i = 0; i < vocab; ++i)
    top = x[i] > top ? x[i] : top;
  const float target_logit = x[target];
  float sum = 0;
  if (!shape.want_gradient) {
#pragma omp simd reduction(+ : sum)
    for (std::size_t i = 0; i < vocab; ++i)
      sum += fastExp(x[i] - top);
    return std::log(sum) + top - target_logit;
  }
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < vocab; ++i) {
    x[i] = fastExp(x[i] - top);
    sum += x[i];
  }
  const float factor = shape.grad_scale / sum;
  for (std::size_t i = 0; i < vocab; ++i)
    x[i] *= factor;
  x[target] -= shape.grad_scale;
  return std::log(sum) + top - target_logit;
}

} // namespace

void CpuOps::biasGelu(float* __restrict pre, const float* __restrict bias, float* __restrict out, std::size_t rows,
                      std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, pre += n, out += n) {
    for (std::size_t i = 0; i < n; ++i) {
      const float x = pre[i] + bias[i];
      pre[i] = x;
      out[i] = 0.5f * x * (1.0f + fastTanh(kGeluRoot * (x + kGeluCubic * x * x * x)));
    }
  }
}

void CpuOps::geluGrad(float* __restrict d, const float* __restrict pre, std::size_t rows, std::size_t n) {
  for (std::size_t i = 0; i < rows * n; ++i) {
    const float x = pre[i];
    const float tanh = fastTanh(kGeluRoot * (x + kGeluCubic * x * x * x));
    const float inner = kGeluRoot * (1.0f + 3.0f * kGeluCubic * x * x);
    d[i] *= 0.5f * (1.0f + tanh) + 0.5f * x * (1.0f - tanh * tanh) * inner;
  }
}

void CpuOps::embed(const EmbedShape& shape, const std::int32_t* tokens, const float* wte, const float* wpe,
                   float* out) {
  const std::size_t channels = shape.channels;
  for (std::size_t row = 0; row < shape.batch * shape.context; ++row, out += channels) {
    const float* token = wte + static_cast<std::size_t>(tokens[row]) * channels;
    if (wpe == nullptr) {
      copy(out, token, channels);
      continue;
    }
    const float* position = wpe + row % shape.context * channels;
    for (std::size_t c = 0; c < channels; ++c)
      out[c] = token[c] + position[c];
  }
}

void CpuOps::embedGrad(const EmbedShape& shape, const std::int32_t* tokens, const float* dout, float* dwte,
                       float* dwpe) {
  const std::size_t channels = shape.channels;
  if (dwpe != nullptr) fill(dwpe, 0.0f, shape.context * channels);
  for (std::size_t row = 0; row < shape.batch * shape.context; ++row, dout += channels) {
    if (dwte != nullptr) axpy(1.0f, dout, dwte + static_cast<std::size_t>(tokens[row]) * channels, channels);
    if (dwpe != nullptr) axpy(1.0f, dout, dwpe + row % shape.context * channels, channels);
  }
}

void CpuOps::layerNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) {
  const float inverse = 1.0f / static_cast<float>(channels);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* __restrict x = t.x + r * channels;
    float* __restrict y = t.y + r * channels;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t c = 0; c < channels; ++c)
      sum += x[c];
    const float mean = sum * inverse;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t c = 0; c < channels; ++c)
      squares += (x[c] - mean) * (x[c] - mean);
    const float rstd = 1.0f / std::sqrt(squares * inverse + kLayerNormEps);
    for (std::size_t c = 0; c < channels; ++c)
      y[c] = (x[c] - mean) * rstd * t.weight[c] + t.bias[c];
    t.mean[r] = mean;
    t.rstd[r] = rstd;
  }
}

// With x^ = (x - mean) rstd and d^ = dy weight: dx = rstd (d^ - mean(d^) - x^ mean(d^ x^)).
void CpuOps::layerNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) {
  const float inverse = 1.0f / static_cast<float>(channels);
  float* __restrict dweight = t.dweight;
  float* __restrict dbias = t.dbias;
  const float* __restrict weight = t.weight;
  fill(dweight, 0.0f, channels);
  fill(dbias, 0.0f, channels);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* __restrict x = t.x + r * channels;
    const float* __restrict dy = t.dy + r * channels;
    float* __restrict dx = t.dx + r * channels;
    const float mean = t.mean[r];
    const float rstd = t.rstd[r];
    float sum = 0;
    float dot = 0;
#pragma omp simd reduction(+ : sum, dot)
    for (std::size_t c = 0; c < channels; ++c) {
      const float normal = (x[c] - mean) * rstd;
      sum += dy[c] * weight[c];
      dot += dy[c] * weight[c] * normal;
      dweight[c] += dy[c] * normal;
      dbias[c] += dy[c];
    }
    sum *= inverse;
    dot *= inverse;
    for (std::size_t c = 0; c < channels; ++c) {
      dx[c] += rstd * (dy[c] * weight[c] - sum - (x[c] - mean) * rstd * dot);
    }
  }
}

void CpuOps::softmaxXent(const XentShape& shape, const XentTensors& t) {
  for (std::size_t r = 0; r < shape.rows; ++r) {
    t.losses[r] = xentRow(t.logits + r * shape.vocab, shape.vocab, static_cast<std::size_t>(t.targets[r]), shape);
  }
}

} // namespace goss::trainer
