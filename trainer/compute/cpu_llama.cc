// The operations of Llama's blocks.
#include <cmath>

#include "trainer/compute/cpu_ops.h"
#include "trainer/compute/vector_math.h"

namespace goss::trainer {

namespace {

constexpr float kRmsNormEps = 1e-5f;

float sigmoid(float x) { return 1.0f / (1.0f + fastExp(-x)); }

} // namespace

void CpuOps::rmsNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) {
  const float inverse = 1.0f / static_cast<float>(channels);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* __restrict x = t.x + r * channels;
    float* __restrict y = t.y + r * channels;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t c = 0; c < channels; ++c)
      squares += x[c] * x[c];
    const float rstd = 1.0f / std::sqrt(squares * inverse + kRmsNormEps);
    for (std::size_t c = 0; c < channels; ++c)
      y[c] = x[c] * rstd * t.weight[c];
    t.rstd[r] = rstd;
  }
}

// With x^ = x rstd and d^ = dy weight: dx = rstd (d^ - x^ mean(d^ x^)).
void CpuOps::rmsNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) {
  const float inverse = 1.0f / static_cast<float>(channels);
  float* __restrict dweight = t.dweight;
  const float* __restrict weight = t.weight;
  fill(dweight, 0.0f, channels);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* __restrict x = t.x + r * channels;
    const float* __restrict dy = t.dy + r * channels;
    float* __restrict dx = t.dx + r * channels;
    const float rstd = t.rstd[r];
    float dot = 0;
#pragma omp simd reduction(+ : dot)
    for (std::size_t c = 0; c < channels; ++c) {
      dot += dy[c] * weight[c] * x[c] * rstd;
      dweight[c] += dy[c] * x[c] * rstd;
    }
    dot *= inverse;
    for (std::size_t c = 0; c < channels; ++c)
      dx[c] += rstd * (dy[c] * weight[c] - x[c] * rstd * dot);
  }
}

void CpuOps::rotate(const AttentionShape& s, float* qkv, bool is_inverse) {
  angles_.prepare(s);
  const std::size_t half = s.channels / s.heads / 2;
  const float sign = is_inverse ? -1.0f : 1.0f;
  for (std::size_t row = 0; row < s.batch * s.context; ++row) {
    const float* __restrict cosines = angles_.cosines().data() + row % s.context * half;
    const float* __restrict sines = angles_.sines().data() + row % s.context * half;
    for (std::size_t head = 0; head < 2 * s.heads; ++head) { // of queries, then of keys
      float* __restrict low = qkv + row * 3 * s.channels + head * 2 * half;
      float* __restrict high = low + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float a = low[i], b = high[i], sine = sign * sines[i];
        low[i] = a * cosines[i] - b * sine;
        high[i] = b * cosines[i] + a * sine;
      }
    }
  }
}

void CpuOps::swiglu(const float* __restrict pre, float* __restrict out, std::size_t rows, std::size_t width) {
  for (std::size_t r = 0; r < rows; ++r, pre += 2 * width, out += width) {
    for (std::size_t i = 0; i < width; ++i)
      out[i] = pre[i] * sigmoid(pre[i]) * pre[width + i];
  }
}

void CpuOps::swigluGrad(const SwigluGradTensors& t, std::size_t rows, std::size_t width) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* __restrict pre = t.pre + r * 2 * width;
    const float* __restrict dout = t.dout + r * width;
    float* __restrict dpre = t.dpre + r * 2 * width;
    for (std::size_t i = 0; i < width; ++i) {
      const float gate = pre[i], part = sigmoid(gate);
      dpre[i] = dout[i] * pre[width + i] * part * (1.0f + gate * (1.0f - part));
      dpre[width + i] = dout[i] * gate * part;
    }
  }
}

} // namespace goss::trainer
