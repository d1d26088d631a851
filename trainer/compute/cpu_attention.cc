// Attention as strided matrix products per sample and head. Queries go in blocks, so that about half of the products
// above the diagonal are skipped for long contexts; a softmax gradient in row form keeps the backward pass at O(T^2) a
// head.
#include <cblas.h>

#include <algorithm>
#include <cmath>

#include "trainer/compute/cpu_ops.h"
#include "trainer/compute/vector_math.h"

namespace goss::trainer {

namespace {

constexpr std::size_t kQueryBlock = 128;

/// A strided matrix: row r starts at data + r * stride.
struct Matrix {
  const float* data;
  std::size_t stride;
  bool transposed = false;
};

Matrix transpose(const Matrix& m) { return {m.data, m.stride, !m.transposed}; }

struct Result {
  float* data;
  std::size_t stride;
  float beta = 0;
};

struct Sizes {
  std::size_t m, n, k;
};

/// c = alpha a b + c.beta c.
void product(const Sizes& s, float alpha, const Matrix& a, const Matrix& b, const Result& c) {
  cblas_sgemm(CblasRowMajor, a.transposed ? CblasTrans : CblasNoTrans, b.transposed ? CblasTrans : CblasNoTrans,
              static_cast<blasint>(s.m), static_cast<blasint>(s.n), static_cast<blasint>(s.k), alpha, a.data,
              static_cast<blasint>(a.stride), b.data, static_cast<blasint>(b.stride), c.beta, c.data,
              static_cast<blasint>(c.stride));
}

/// Softmax of the first `live` scores of a row; the others, up to `width`, are above the diagonal and become zero.
void softmaxRow(float* __restrict row, std::size_t live, std::size_t width) {
  float top = row[0];
#pragma omp simd reduction(max : top)
  for (std::size_t i = 0; i < live; ++i)
    top = row[i] > top ? row[i] : top;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < live; ++i) {
    row[i] = fastExp(row[i] - top);
    sum += row[i];
  }
  const float inverse = 1.0f / sum;
  for (std::size_t i = 0; i < live; ++i)
    row[i] *= inverse;
  std::fill(row + live, row + width, 0.0f);
}

/// d = p * (d - sum(p * d)); p is zero above the diagonal, and so is the result.
void softmaxGradRow(float* __restrict d, const float* __restrict p, std::size_t width) {
  float dot = 0;
#pragma omp simd reduction(+ : dot)
  for (std::size_t i = 0; i < width; ++i)
    dot += p[i] * d[i];
  for (std::size_t i = 0; i < width; ++i)
    d[i] = p[i] * (d[i] - dot);
}

/// The views of one sample and head.
struct Head {
  std::size_t context;
  std::size_t size;       // channels of one head
  std::size_t qkv_stride; // 3C
  std::size_t out_stride; // C
  std::size_t qkv_offset; // offset of the first query; keys follow C later, values 2C later
  std::size_t out_offset;
  std::size_t probs_offset;
  float scale;
};

Head headOf(const AttentionShape& s, std::size_t b, std::size_t h) {
  const std::size_t size = s.channels / s.heads;
  Head head{};
  head.context = s.context;
  head.size = size;
  head.qkv_stride = 3 * s.channels;
  head.out_stride = s.channels;
  head.qkv_offset = b * s.context * 3 * s.channels + h * size;
  head.out_offset = b * s.context * s.channels + h * size;
  head.probs_offset = (b * s.heads + h) * s.context * s.context;
  head.scale = 1.0f / std::sqrt(static_cast<float>(size));
  return head;
}

void forwardHead(const Head& head, const AttentionTensors& t) {
  const float* q = t.qkv + head.qkv_offset; // [T, size]
  const Matrix k{q + head.out_stride, head.qkv_stride};
  const Matrix v{q + 2 * head.out_stride, head.qkv_stride};
  for (std::size_t first = 0; first < head.context; first += kQueryBlock) {
    const std::size_t rows = std::min(kQueryBlock, head.context - first);
    const std::size_t keys = first + rows; // later keys are masked for the whole block
    float* p = t.probs + head.probs_offset + first * head.context;
    product({rows, keys, head.size}, head.scale, {q + first * head.qkv_stride, head.qkv_stride}, transpose(k),
            {p, head.context});
    for (std::size_t r = 0; r < rows; ++r)
      softmaxRow(p + r * head.context, first + r + 1, keys);
    product({rows, head.size, keys}, 1.0f, {p, head.context}, v,
            {t.out + head.out_offset + first * head.out_stride, head.out_stride});
  }
}

/// Blocks go from the last to the first: the last one sees every key, so it can overwrite dk and dv and the others add.
void backwardHead(const Head& head, const AttentionGradTensors& t, float* scratch) {
  const std::size_t stride = head.qkv_stride;
  const float* q = t.qkv + head.qkv_offset;
  const Matrix k{q + head.out_stride, stride};
  const Matrix v{q + 2 * head.out_stride, stride};
  float* dq = t.dqkv + head.qkv_offset;
  float* dk = dq + head.out_stride;
  float* dv = dq + 2 * head.out_stride;
  const std::size_t blocks = (head.context + kQueryBlock - 1) / kQueryBlock;
  for (std::size_t block = blocks; block-- > 0;) {
    const std::size_t first = block * kQueryBlock;
    const std::size_t rows = std::min(kQueryBlock, head.context - first);
    const std::size_t keys = first + rows;
    const float beta = block + 1 == blocks ? 0.0f : 1.0f;
    const Matrix p{t.probs + head.probs_offset + first * head.context, head.context};
    const Matrix dout{t.dout + head.out_offset + first * head.out_stride, head.out_stride};
    product({rows, keys, head.size}, 1.0f, dout, transpose(v), {scratch, head.context});
    for (std::size_t r = 0; r < rows; ++r) {
      softmaxGradRow(scratch + r * head.context, p.data + r * head.context, keys);
    }
    const Matrix ds{scratch, head.context};
    product({rows, head.size, keys}, head.scale, ds, k, {dq + first * stride, stride});
    product({keys, head.size, rows}, head.scale, transpose(ds), {q + first * stride, stride}, {dk, stride, beta});
    product({keys, head.size, rows}, 1.0f, transpose(p), dout, {dv, stride, beta});
  }
}

} // namespace

void CpuOps::attention(const AttentionShape& shape, const AttentionTensors& t) {
  for (std::size_t b = 0; b < shape.batch; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h)
      forwardHead(headOf(shape, b, h), t);
  }
}

void CpuOps::attentionGrad(const AttentionShape& shape, const AttentionGradTensors& t) {
  scratch_.resize(std::min(kQueryBlock, shape.context) * shape.context);
  for (std::size_t b = 0; b < shape.batch; ++b) {
    for (std::size_t h = 0; h < shape.heads; ++h)
      backwardHead(headOf(shape, b, h), t, scratch_.data());
  }
}

} // namespace goss::trainer
