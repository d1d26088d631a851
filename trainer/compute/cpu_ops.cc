#include "trainer/compute/cpu_ops.h"

#include <cblas.h>

#include <cmath>
#include <cstring>
#include <new>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

constexpr std::align_val_t kAlignment{64};

blasint toBlas(std::size_t n) { return static_cast<blasint>(n); }

} // namespace

CpuOps::CpuOps() { openblas_set_num_threads(1); }

void* CpuOps::allocate(std::size_t bytes) {
  void* memory = ::operator new(bytes, kAlignment, std::nothrow);
  if (memory == nullptr)
    fail("out of memory: cannot allocate {} MiB; choose a smaller model or --micro-batch", bytes >> 20);
  return memory;
}

void CpuOps::release(void* memory) { ::operator delete(memory, kAlignment); }

void CpuOps::upload(void* to, const void* from_host, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to, from_host, bytes);
}

void CpuOps::download(void* to_host, const void* from, std::size_t bytes) {
  if (bytes != 0) std::memcpy(to_host, from, bytes);
}

void CpuOps::fill(float* x, float value, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] = value;
}

void CpuOps::copy(float* to, const float* from, std::size_t n) { std::memcpy(to, from, n * sizeof(float)); }

void CpuOps::axpy(float a, const float* __restrict x, float* __restrict y, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] += a * x[i];
}

void CpuOps::scale(float a, float* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] *= a;
}

double CpuOps::squaredNorm(const float* x, std::size_t n) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < n; ++i)
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  return sum;
}

void CpuOps::gemm(const GemmShape& s, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, s.trans_a ? CblasTrans : CblasNoTrans, s.trans_b ? CblasTrans : CblasNoTrans, toBlas(s.m),
              toBlas(s.n), toBlas(s.k), s.alpha, a, toBlas(s.trans_a ? s.m : s.k), b, toBlas(s.trans_b ? s.k : s.n),
              s.beta, c, toBlas(s.n));
}

void CpuOps::addBias(float* __restrict y, const float* __restrict bias, std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, y += n) {
    for (std::size_t i = 0; i < n; ++i)
      y[i] += bias[i];
  }
}

void CpuOps::addBiasResidual(float* __restrict y, const float* __restrict bias, const float* __restrict x,
                             std::size_t rows, std::size_t n) {
  for (std::size_t r = 0; r < rows; ++r, y += n, x += n) {
    for (std::size_t i = 0; i < n; ++i)
      y[i] += bias[i] + x[i];
  }
}

void CpuOps::biasGrad(float* __restrict dbias, const float* __restrict dy, std::size_t rows, std::size_t n) {
  fill(dbias, 0.0f, n);
  for (std::size_t r = 0; r < rows; ++r, dy += n) {
    for (std::size_t i = 0; i < n; ++i)
      dbias[i] += dy[i];
  }
}

void CpuOps::adamw(const AdamwSettings& s, const AdamwTensors& t, std::size_t n) {
  float* __restrict p = t.p;
  const float* __restrict g = t.g;
  float* __restrict m = t.m;
  float* __restrict v = t.v;
  const float keep = 1.0f - s.lr * s.weight_decay;
  const float step = s.lr / s.correction1;
  const float root2 = std::sqrt(s.correction2);
  for (std::size_t i = 0; i < n; ++i) {
    const float grad = g[i] * s.grad_scale;
    m[i] = s.beta1 * m[i] + (1.0f - s.beta1) * grad;
    v[i] = s.beta2 * v[i] + (1.0f - s.beta2) * grad * grad;
    p[i] = p[i] * keep - step * m[i] / (std::sqrt(v[i]) / root2 + s.eps);
  }
}

} // namespace goss::trainer
