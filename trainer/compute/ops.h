/// The table of tensor operations under the model. A backend (CpuOps, or ATen) implements it; nothing above it touches
/// a tensor.
///
/// Conventions: float32, row-major, packed unless a comment says otherwise; pointers are the backend's memory, made by
/// allocate(). Shapes: B samples, T tokens a sample, C channels, H heads, V vocabulary; "rows" is B * T. "=" overwrites
/// the output, "+=" adds to it. One thread uses a backend at a time. The same call on the same inputs gives the same
/// bits.
#ifndef GOSS_TRAINER_COMPUTE_OPS_H_
#define GOSS_TRAINER_COMPUTE_OPS_H_

#include <cstddef>
#include <cstdint>

namespace goss::trainer {

/// c[m,n] = alpha * op(a)[m,k] * op(b)[k,n] + beta * c, where op transposes when the flag is set.
struct GemmShape {
  bool trans_a = false;
  bool trans_b = false;
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
  float alpha = 1.0f;
  float beta = 0.0f;
};

struct EmbedShape {
  std::size_t batch = 0;    // B
  std::size_t context = 0;  // T
  std::size_t channels = 0; // C
  std::size_t vocab = 0;    // V, rows of wte
};

struct LayerNormTensors {
  const float* x = nullptr;      // [rows, C]
  const float* weight = nullptr; // [C]
  const float* bias = nullptr;   // [C]
  float* y = nullptr;            // [rows, C] =
  float* mean = nullptr;         // [rows] =
  float* rstd = nullptr;         // [rows] = 1 / sqrt(variance + 1e-5)
};

struct LayerNormGradTensors {
  const float* dy = nullptr;     // [rows, C]
  const float* x = nullptr;      // [rows, C]
  const float* weight = nullptr; // [C]
  const float* mean = nullptr;   // [rows]
  const float* rstd = nullptr;   // [rows]
  float* dx = nullptr;           // [rows, C] +=
  float* dweight = nullptr;      // [C] =
  float* dbias = nullptr;        // [C] =
};

struct SwigluGradTensors {
  const float* dout = nullptr; // [rows, F]
  const float* pre = nullptr;  // [rows, 2F]
  float* dpre = nullptr;       // [rows, 2F] =
};

struct AttentionShape {
  std::size_t batch = 0;    // B
  std::size_t context = 0;  // T
  std::size_t channels = 0; // C
  std::size_t heads = 0;    // H, divides C
};

struct AttentionTensors {
  const float* qkv = nullptr; // [B, T, 3C]: queries, keys, values; head h holds channels h * C/H and on of each
  float* probs = nullptr;     // [B, H, T, T] =; causal: entries above the diagonal are unspecified and never read
  float* out = nullptr;       // [B, T, C] =
};

struct AttentionGradTensors {
  const float* dout = nullptr;  // [B, T, C]
  const float* qkv = nullptr;   // [B, T, 3C]
  const float* probs = nullptr; // [B, H, T, T]
  float* dqkv = nullptr;        // [B, T, 3C] =
};

struct XentTensors {
  float* logits = nullptr; // [rows, V] in: logits; out, if want_gradient: grad_scale * d(sum of losses)/d(logits)
  const std::int32_t* targets = nullptr; // [rows], each below V
  float* losses = nullptr;               // [rows] = -log softmax(logits)[target]
};

struct XentShape {
  std::size_t rows = 0;
  std::size_t vocab = 0;
  bool want_gradient = false;
  float grad_scale = 1.0f;
};

struct AdamwTensors {
  float* p = nullptr;       // [count] parameters
  const float* g = nullptr; // [count] gradients
  float* m = nullptr;       // [count] first moments
  float* v = nullptr;       // [count] second moments
};

/// p -= lr * weight_decay * p; then Adam on grad_scale * g, in PyTorch's form: p -= lr * m^ / (sqrt(v^) + eps).
struct AdamwSettings {
  float lr = 0.0f;
  float beta1 = 0.9f;
  float beta2 = 0.95f;
  float eps = 1e-8f;
  float weight_decay = 0.0f;
  float grad_scale = 1.0f;
  float correction1 = 1.0f; // 1 - beta1^t
  float correction2 = 1.0f; // 1 - beta2^t
};

class Ops {
 public:
  virtual ~Ops() = default;
  Ops() = default;
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;

  [[nodiscard]] virtual const char* name() const = 0;
  /// True when this backend's memory may be read and written by the host, so that gradients need no staging.
  [[nodiscard]] virtual bool isHostMemory() const = 0;

  // Memory. Contents after allocate() are unspecified; throws Error when memory runs out. upload and download block.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void upload(void* to, const void* from_host, std::size_t bytes) = 0;
  virtual void download(void* to_host, const void* from, std::size_t bytes) = 0;

  // Vectors of n elements.
  virtual void fill(float* x, float value, std::size_t n) = 0;
  virtual void copy(float* to, const float* from, std::size_t n) = 0;
  virtual void axpy(float a, const float* x, float* y, std::size_t n) = 0; ///< y += a * x
  virtual void scale(float a, float* x, std::size_t n) = 0;                ///< x *= a
  virtual double squaredNorm(const float* x, std::size_t n) = 0;

  // Matrices.
  virtual void gemm(const GemmShape& shape, const float* a, const float* b, float* c) = 0;
  virtual void addBias(float* y, const float* bias, std::size_t rows, std::size_t n) = 0; ///< y[rows,n] += bias[n]
  /// y[rows,n] += bias[n] + x[rows,n]: the bias of a projection and the residual connection around it.
  virtual void addBiasResidual(float* y, const float* bias, const float* x, std::size_t rows, std::size_t n) = 0;
  virtual void biasGrad(float* dbias, const float* dy, std::size_t rows, std::size_t n) = 0; ///< dbias[n] = column sums
  /// pre[rows,n] += bias[n]; out = gelu(pre) in the tanh form: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
  virtual void biasGelu(float* pre, const float* bias, float* out, std::size_t rows, std::size_t n) = 0;
  /// d[rows,n] *= gelu'(pre[rows,n]).
  virtual void geluGrad(float* d, const float* pre, std::size_t rows, std::size_t n) = 0;

  // Layers.
  /// out[B,T,C] = wte[token[b,t]] + wpe[t]; tokens[B,T] are in the backend's memory, each below V. `wpe` may be null:
  /// 0.
  virtual void embed(const EmbedShape& shape, const std::int32_t* tokens, const float* wte, const float* wpe,
                     float* out) = 0;
  /// dwte[token[b,t]] += dout[b,t] and dwpe[T,C] = sum over b of dout. Either may be null: left out.
  virtual void embedGrad(const EmbedShape& shape, const std::int32_t* tokens, const float* dout, float* dwte,
                         float* dwpe) = 0;
  virtual void layerNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) = 0;
  virtual void layerNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) = 0;
  /// As layerNorm without a mean and a bias, which are not used: y = x rstd weight, rstd = 1 / sqrt(mean(x^2) + 1e-5)
  /// (Zhang and Sennrich 2019).
  virtual void rmsNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) = 0;
  virtual void rmsNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) = 0;
  /// Turns queries and keys of qkv[B,T,3C] in place (Su et al. 2021, in Llama's pairing): in every head of D channels,
  /// channels i and i + D/2 of token t by the angle t * 10000^(-2i/D). `is_inverse`: by its negative, which is the
  /// gradient.
  virtual void rotate(const AttentionShape& shape, float* qkv, bool is_inverse) = 0;
  /// out[rows,F] = silu(gate) up of pre[rows,2F] = (gate, up), with silu(x) = x / (1 + e^-x) (Shazeer 2020).
  virtual void swiglu(const float* pre, float* out, std::size_t rows, std::size_t width) = 0;
  /// dpre[rows,2F] = the gradient at pre.
  virtual void swigluGrad(const SwigluGradTensors& t, std::size_t rows, std::size_t width) = 0;
  /// Causal multi-head attention: out = softmax(q k^T / sqrt(C/H)) v per sample and head.
  virtual void attention(const AttentionShape& shape, const AttentionTensors& t) = 0;
  virtual void attentionGrad(const AttentionShape& shape, const AttentionGradTensors& t) = 0;
  virtual void softmaxXent(const XentShape& shape, const XentTensors& t) = 0;

  // Optimiser.
  virtual void adamw(const AdamwSettings& settings, const AdamwTensors& t, std::size_t n) = 0;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_OPS_H_
