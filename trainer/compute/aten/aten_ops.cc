#include "trainer/compute/aten/aten_ops.h"

// Only the operations that are used, one header each: all of <ATen/ATen.h> takes several times as long to compile.
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/Reduction.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>
#include <ATen/ops/add.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/native_layer_norm.h>
#include <ATen/ops/native_layer_norm_backward.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/tril.h>
#include <ATen/ops/triu.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/compute/rotary.h"

namespace goss::trainer {

namespace {

constexpr double kLayerNormEps = 1e-5;
constexpr const char* kGeluForm = "tanh";
constexpr std::int64_t kNoIgnoredTarget = -100;

std::int64_t toInt(std::size_t n) { return static_cast<std::int64_t>(n); }

/// Runs `body` without recording for differentiation; translates ATen's errors into the trainer's.
template <typename Body>
auto run(const Body& body) {
  const c10::InferenceMode nothing_is_recorded;
  try {
    return body();
  } catch (const c10::Error& error) {
    fail("ATen: {}", error.what_without_backtrace());
  }
}

/// Queries, keys and values [B, H, T, D] of a packed [B, T, 3C], as views.
struct Heads {
  at::Tensor q, k, v;
};

/// The factor of attention scores: one over the root of a head's channels.
double scaleOf(const AttentionShape& s) {
  const std::size_t width = s.channels / s.heads;
  return 1.0 / std::sqrt(static_cast<double>(width));
}

class AtenOps : public Ops {
 public:
  AtenOps(const c10::Device& device, bool bf16)
      : device_(device), bf16_(bf16), name_("aten (" + device.str() + (bf16 ? ", bf16 products)" : ")")) {}

  [[nodiscard]] const char* name() const override { return name_.c_str(); }
  [[nodiscard]] bool isHostMemory() const override { return device_.is_cpu(); }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override { allocations_.erase(memory); }
  void upload(void* to, const void* from_host, std::size_t bytes) override;
  void download(void* to_host, const void* from, std::size_t bytes) override;

  void fill(float* x, float value, std::size_t n) override;
  void copy(float* to, const float* from, std::size_t n) override;
  void axpy(float a, const float* x, float* y, std::size_t n) override;
  void scale(float a, float* x, std::size_t n) override;
  double squaredNorm(const float* x, std::size_t n) override;

  void gemm(const GemmShape& shape, const float* a, const float* b, float* c) override;
  void addBias(float* y, const float* bias, std::size_t rows, std::size_t n) override;
  void addBiasResidual(float* y, const float* bias, const float* x, std::size_t rows, std::size_t n) override;
  void biasGrad(float* dbias, const float* dy, std::size_t rows, std::size_t n) override;
  void biasGelu(float* pre, const float* bias, float* out, std::size_t rows, std::size_t n) override;
  void geluGrad(float* d, const float* pre, std::size_t rows, std::size_t n) override;

  void embed(const EmbedShape& shape, const std::int32_t* tokens, const float* wte, const float* wpe,
             float* out) override;
  void embedGrad(const EmbedShape& shape, const std::int32_t* tokens, const float* dout, float* dwte,
                 float* dwpe) override;
  void layerNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) override;
  void layerNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) override;
  void rmsNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) override;
  void rmsNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) override;
  void rotate(const AttentionShape& shape, float* qkv, bool is_inverse) override;
  void swiglu(const float* pre, float* out, std::size_t rows, std::size_t width) override;
  void swigluGrad(const SwigluGradTensors& t, std::size_t rows, std::size_t width) override;
  void attention(const AttentionShape& shape, const AttentionTensors& t) override;
  void attentionGrad(const AttentionShape& shape, const AttentionGradTensors& t) override;
  void softmaxXent(const XentShape& shape, const XentTensors& t) override;

  void adamw(const AdamwSettings& settings, const AdamwTensors& t, std::size_t n) override;

 private:
  /// `memory` of this device as a tensor that does not own it. ATen has no tensors of constants, so inputs are passed
  /// as mutable, but not written.
  template <typename... Sizes>
  [[nodiscard]] at::Tensor view(const float* memory, Sizes... sizes) const {
    return viewOf(memory, at::kFloat, {toInt(sizes)...});
  }
  [[nodiscard]] at::Tensor viewOf(const void* memory, at::ScalarType type, at::IntArrayRef sizes) const {
    return at::for_blob(const_cast<void*>(memory), sizes)
        .options(at::TensorOptions().dtype(type).device(device_))
        .target_device(device_)
        .make_tensor();
  }
  /// [n] indices as 64-bit numbers, which some operations of ATen require.
  [[nodiscard]] at::Tensor indices(const std::int32_t* memory, std::size_t n) const {
    return viewOf(memory, at::kInt, {toInt(n)}).to(at::kLong);
  }
  [[nodiscard]] Heads headsOf(const AttentionShape& shape, const float* qkv) const;
  /// A view of channels [B, T, C] as [B, H, T, D].
  [[nodiscard]] at::Tensor headsView(const AttentionShape& s, const float* channels) const {
    return view(channels, s.batch, s.context, s.heads, s.channels / s.heads).permute({0, 2, 1, 3});
  }

  /// The product of two matrices, or of batches of them.
  [[nodiscard]] at::Tensor product(const at::Tensor& a, const at::Tensor& b) const {
    const auto multiply = [](const at::Tensor& x, const at::Tensor& y) {
      return x.dim() == 2 ? at::mm(x, y) : at::bmm(x, y);
    };
    return bf16_ ? multiply(a.to(at::kBFloat16), b.to(at::kBFloat16)).to(at::kFloat) : multiply(a, b);
  }

  c10::Device device_;
  bool bf16_;
  std::string name_;
  std::unordered_map<void*, at::Tensor> allocations_; // by their address
  RotaryAngles angles_;
  at::Tensor cosines_, sines_; // [T, 1, 1, D/2] on the device, of angles_
  at::Tensor later_;           // [T, T] true above the diagonal, of the last attention
};

/// [B, H, T, D] as packed [B * H, T, D].
at::Tensor packed(const at::Tensor& heads) { return heads.reshape({-1, heads.size(2), heads.size(3)}); }

void* AtenOps::allocate(std::size_t bytes) {
  return run([&] {
    at::Tensor memory;
    try { // at least one byte, so that addresses differ
      memory =
          at::empty({toInt(std::max<std::size_t>(bytes, 1))}, at::TensorOptions().dtype(at::kByte).device(device_));
    } catch (const std::exception& error) {
      fail("out of memory: cannot allocate {} MiB on {}; choose a smaller model or --micro-batch", bytes >> 20,
           device_.str());
    }
    void* address = memory.data_ptr();
    allocations_.emplace(address, std::move(memory));
    return address;
  });
}

// Both copies are ordered behind the work on the device's current stream, and return when they are done.
void AtenOps::upload(void* to, const void* from_host, std::size_t bytes) {
  if (bytes == 0) return;
  run([&] {
    viewOf(to, at::kByte, {toInt(bytes)})
        .copy_(at::from_blob(const_cast<void*>(from_host), {toInt(bytes)}, at::TensorOptions().dtype(at::kByte)));
  });
}

void AtenOps::download(void* to_host, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  run([&] {
    at::from_blob(to_host, {toInt(bytes)}, at::TensorOptions().dtype(at::kByte))
        .copy_(viewOf(from, at::kByte, {toInt(bytes)}));
  });
}

void AtenOps::fill(float* x, float value, std::size_t n) {
  run([&] { view(x, n).fill_(value); });
}

void AtenOps::copy(float* to, const float* from, std::size_t n) {
  run([&] { view(to, n).copy_(view(from, n)); });
}

void AtenOps::axpy(float a, const float* x, float* y, std::size_t n) {
  run([&] { view(y, n).add_(view(x, n), a); });
}

void AtenOps::scale(float a, float* x, std::size_t n) {
  run([&] { view(x, n).mul_(a); });
}

double AtenOps::squaredNorm(const float* x, std::size_t n) {
  if (n == 0) return 0;
  return run([&] {
    const auto norm = at::linalg_vector_norm(view(x, n), 2, {}, false, at::kDouble).item<double>();
    return norm * norm;
  });
}

void AtenOps::gemm(const GemmShape& s, const float* a, const float* b, float* c) {
  run([&] {
    const at::Tensor left = s.trans_a ? view(a, s.k, s.m).t() : view(a, s.m, s.k);
    const at::Tensor right = s.trans_b ? view(b, s.n, s.k).t() : view(b, s.k, s.n);
    at::Tensor to = view(c, s.m, s.n);
    if (!bf16_) {
      to.addmm_(left, right, s.beta, s.alpha); // with a beta of 0, c is not read
    } else if (s.beta == 0) {
      to.copy_(product(left, right).mul_(s.alpha));
    } else {
      to.mul_(s.beta).add_(product(left, right), s.alpha);
    }
  });
}

void AtenOps::addBias(float* y, const float* bias, std::size_t rows, std::size_t n) {
  run([&] { view(y, rows, n).add_(view(bias, n)); });
}

void AtenOps::addBiasResidual(float* y, const float* bias, const float* x, std::size_t rows, std::size_t n) {
  run([&] { view(y, rows, n).add_(view(bias, n)).add_(view(x, rows, n)); });
}

void AtenOps::biasGrad(float* dbias, const float* dy, std::size_t rows, std::size_t n) {
  run([&] {
    at::Tensor sums = view(dbias, n);
    at::sum_out(sums, view(dy, rows, n), at::IntArrayRef{0});
  });
}

void AtenOps::biasGelu(float* pre, const float* bias, float* out, std::size_t rows, std::size_t n) {
  run([&] {
    at::Tensor to = view(out, rows, n);
    at::gelu_out(to, view(pre, rows, n).add_(view(bias, n)), kGeluForm);
  });
}

void AtenOps::geluGrad(float* d, const float* pre, std::size_t rows, std::size_t n) {
  run([&] {
    const at::Tensor gradient = view(d, rows, n);
    gradient.copy_(at::gelu_backward(gradient, view(pre, rows, n), kGeluForm));
  });
}

void AtenOps::embed(const EmbedShape& s, const std::int32_t* tokens, const float* wte, const float* wpe, float* out) {
  run([&] {
    at::Tensor to = view(out, s.batch, s.context, s.channels);
    const at::Tensor rows = at::index_select(view(wte, s.vocab, s.channels), 0, indices(tokens, s.batch * s.context));
    if (wpe == nullptr) {
      to.copy_(rows.view(to.sizes()));
    } else {
      at::add_out(to, rows.view(to.sizes()), view(wpe, s.context, s.channels));
    }
  });
}

void AtenOps::embedGrad(const EmbedShape& s, const std::int32_t* tokens, const float* dout, float* dwte, float* dwpe) {
  run([&] {
    const std::size_t rows = s.batch * s.context;
    if (dwte != nullptr) {
      view(dwte, s.vocab, s.channels).index_add_(0, indices(tokens, rows), view(dout, rows, s.channels));
    }
    if (dwpe == nullptr) return;
    at::Tensor sums = view(dwpe, s.context, s.channels);
    at::sum_out(sums, view(dout, s.batch, s.context, s.channels), at::IntArrayRef{0});
  });
}

void AtenOps::layerNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) {
  run([&] {
    const auto [y, mean, rstd] = at::native_layer_norm(view(t.x, rows, channels), {toInt(channels)},
                                                       view(t.weight, channels), view(t.bias, channels), kLayerNormEps);
    view(t.y, rows, channels).copy_(y);
    view(t.mean, rows, 1u).copy_(mean);
    view(t.rstd, rows, 1u).copy_(rstd);
  });
}

void AtenOps::layerNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) {
  run([&] {
    const at::Tensor weight = view(t.weight, channels);
    // The weight stands in for the bias: ATen reads only the bias's shape.
    const auto [dx, dweight, dbias] = at::native_layer_norm_backward(
        view(t.dy, rows, channels), view(t.x, rows, channels), {toInt(channels)}, view(t.mean, rows, 1u),
        view(t.rstd, rows, 1u), weight, weight, {true, true, true});
    view(t.dx, rows, channels).add_(dx);
    view(t.dweight, channels).copy_(dweight);
    view(t.dbias, channels).copy_(dbias);
  });
}

void AtenOps::rmsNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) {
  run([&] {
    const at::Tensor x = view(t.x, rows, channels);
    const at::Tensor rstd = x.square().mean({1}, true).add_(kLayerNormEps).rsqrt_();
    view(t.y, rows, channels).copy_(x.mul(rstd).mul_(view(t.weight, channels)));
    view(t.rstd, rows, 1u).copy_(rstd);
  });
}

// With x^ = x rstd and d^ = dy weight: dx = rstd (d^ - x^ mean(d^ x^)).
void AtenOps::rmsNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) {
  run([&] {
    const at::Tensor rstd = view(t.rstd, rows, 1u), normal = view(t.x, rows, channels).mul(rstd);
    const at::Tensor dy = view(t.dy, rows, channels), scaled = dy.mul(view(t.weight, channels));
    const at::Tensor dot = scaled.mul(normal).mean({1}, true);
    view(t.dx, rows, channels).add_(scaled.sub(normal.mul(dot)).mul_(rstd));
    at::Tensor dweight = view(t.dweight, channels);
    at::sum_out(dweight, dy.mul(normal), at::IntArrayRef{0});
  });
}

void AtenOps::rotate(const AttentionShape& s, float* qkv, bool is_inverse) {
  run([&] {
    const std::size_t half = s.channels / s.heads / 2;
    const auto table = [&](const std::vector<float>& values) {
      return at::from_blob(const_cast<float*>(values.data()), {toInt(s.context), 1, 1, toInt(half)})
          .to(device_, at::kFloat, false, true);
    };
    if (angles_.prepare(s)) {
      cosines_ = table(angles_.cosines());
      sines_ = table(angles_.sines());
    }
    const at::Tensor turned = view(qkv, s.batch, s.context, std::size_t{3}, s.heads, 2 * half).narrow(2, 0, 2);
    const at::Tensor low = turned.narrow(4, 0, toInt(half)), high = turned.narrow(4, toInt(half), toInt(half));
    const at::Tensor sines = is_inverse ? sines_.neg() : sines_;
    const at::Tensor new_low = low.mul(cosines_).sub_(high.mul(sines));
    high.copy_(high.mul(cosines_).add_(low.mul(sines)));
    low.copy_(new_low);
  });
}

void AtenOps::swiglu(const float* pre, float* out, std::size_t rows, std::size_t width) {
  run([&] {
    const at::Tensor both = view(pre, rows, 2 * width);
    const at::Tensor gate = both.narrow(1, 0, toInt(width)), up = both.narrow(1, toInt(width), toInt(width));
    view(out, rows, width).copy_(gate.sigmoid().mul_(gate).mul_(up));
  });
}

void AtenOps::swigluGrad(const SwigluGradTensors& t, std::size_t rows, std::size_t width) {
  run([&] {
    const auto halves = [&](const float* memory) {
      const at::Tensor both = view(memory, rows, 2 * width);
      return std::pair(both.narrow(1, 0, toInt(width)), both.narrow(1, toInt(width), toInt(width)));
    };
    const auto [gate, up] = halves(t.pre);
    const auto [dgate, dup] = halves(t.dpre);
    const at::Tensor dout = view(t.dout, rows, width), part = gate.sigmoid();
    dgate.copy_(dout.mul(up).mul_(part).mul_(part.neg().add_(1).mul_(gate).add_(1)));
    dup.copy_(dout.mul(gate).mul_(part));
  });
}

Heads AtenOps::headsOf(const AttentionShape& s, const float* qkv) const {
  const at::Tensor all =
      view(qkv, s.batch, s.context, std::size_t{3}, s.heads, s.channels / s.heads).permute({2, 0, 3, 1, 4});
  return {all.select(0, 0), all.select(0, 1), all.select(0, 2)};
}

void AtenOps::attention(const AttentionShape& s, const AttentionTensors& t) {
  run([&] {
    const double scale = scaleOf(s);
    if (!later_.defined() || later_.size(0) != toInt(s.context)) {
      const auto type = at::TensorOptions().dtype(at::kBool).device(device_);
      later_ = at::triu(at::ones({toInt(s.context), toInt(s.context)}, type), 1);
    }
    const Heads heads = headsOf(s, t.qkv);
    const at::Tensor scores = product(packed(heads.q).mul(scale), packed(heads.k).transpose(1, 2));
    scores.masked_fill_(later_, -std::numeric_limits<double>::infinity());
    at::Tensor probs = view(t.probs, s.batch * s.heads, s.context, s.context);
    at::_softmax_out(probs, scores, -1, false);
    const at::Tensor out = headsView(s, t.out);
    out.copy_(product(probs, packed(heads.v)).view(out.sizes()));
  });
}

// With P = softmax(S) and S = scale q k^T: dP = dout v^T, dS = P (dP - rowsum(P dP)), dq = scale dS k, dk = scale dS^T
// q, dv = P^T dout.
void AtenOps::attentionGrad(const AttentionShape& s, const AttentionGradTensors& t) {
  run([&] {
    const double scale = scaleOf(s);
    const Heads heads = headsOf(s, t.qkv), to = headsOf(s, t.dqkv);
    const at::Tensor q = packed(heads.q), k = packed(heads.k), v = packed(heads.v), dout = packed(headsView(s, t.dout));
    const at::Tensor probs = at::tril(view(t.probs, s.batch * s.heads, s.context, s.context));
    const at::Tensor dprobs = product(dout, v.transpose(1, 2));
    const at::Tensor dscores = at::_softmax_backward_data(dprobs, probs, -1, at::kFloat).mul_(scale);
    to.q.copy_(product(dscores, k).view(to.q.sizes()));
    to.k.copy_(product(dscores.transpose(1, 2), q).view(to.k.sizes()));
    to.v.copy_(product(probs.transpose(1, 2), dout).view(to.v.sizes()));
  });
}

void AtenOps::softmaxXent(const XentShape& s, const XentTensors& t) {
  run([&] {
    at::Tensor logits = view(t.logits, s.rows, s.vocab);
    const at::Tensor targets = indices(t.targets, s.rows);
    const at::Tensor log_probs = at::log_softmax(logits, 1);
    const auto [losses, weight] = at::nll_loss_forward(log_probs, targets, {}, at::Reduction::None, kNoIgnoredTarget);
    view(t.losses, s.rows).copy_(losses);
    if (!s.want_gradient) return;
    const at::Tensor scales = at::full({toInt(s.rows)}, s.grad_scale, logits.options());
    const at::Tensor gradient =
        at::nll_loss_backward(scales, log_probs, targets, {}, at::Reduction::None, kNoIgnoredTarget, weight);
    at::_log_softmax_backward_data_out(logits, gradient, log_probs, 1, at::kFloat);
  });
}

void AtenOps::adamw(const AdamwSettings& s, const AdamwTensors& t, std::size_t n) {
  run([&] {
    const at::Tensor m = view(t.m, n), v = view(t.v, n), gradient = view(t.g, n).mul(s.grad_scale);
    m.mul_(s.beta1).add_(gradient, 1.0f - s.beta1);
    v.mul_(s.beta2).addcmul_(gradient, gradient, 1.0f - s.beta2);
    const at::Tensor spread = v.sqrt().div_(std::sqrt(s.correction2)).add_(s.eps);
    view(t.p, n).mul_(1.0f - s.lr * s.weight_decay).addcdiv_(m, spread, -s.lr / s.correction1);
  });
}

int cudaDevices() {
  return c10::impl::hasDeviceGuardImpl(c10::kCUDA) ? c10::impl::getDeviceGuardImpl(c10::kCUDA)->deviceCount() : 0;
}

/// The CUDA device that `text` names, "cuda" or "cuda:N".
c10::Device cudaDevice(const std::string& text, int local_rank) {
  const int devices = cudaDevices();
  if (devices == 0) {
    fail("--device {}: LibTorch finds no CUDA device here, or was built without CUDA; give --device cpu", text);
  }
  constexpr std::size_t kPrefix = sizeof "cuda:" - 1; // c10::Device keeps only 8 bits of the number
  const int index = text.size() > kPrefix ? std::atoi(text.c_str() + kPrefix) : local_rank % devices;
  if (index >= devices) fail("--device {}: there are {} CUDA devices here", text, devices);
  return {c10::kCUDA, static_cast<c10::DeviceIndex>(index)};
}

/// Makes the same call give the same bits, in full float32 precision.
void fixArithmetic(bool is_cuda) {
  at::set_num_threads(1); // each rank is meant to use one core
  at::Context& context = at::globalContext();
  context.setAllowTF32CuBLAS(false);
  context.setAllowTF32CuDNN(false);
  [](auto& of) { // LibTorch 1.13 does not have it
    if constexpr (requires { of.setAllowBF16ReductionCuBLAS(false); }) of.setAllowBF16ReductionCuBLAS(false);
  }(context);
  // cuBLAS keeps its order of additions only with a workspace of its own, and ATen's deterministic mode requires this
  // variable.
  if (is_cuda) ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  context.setDeterministicAlgorithms(true, false);
}

} // namespace

extern "C" __attribute__((visibility("default"))) Ops* goss_train_make_aten_ops_2(const char* device, int local_rank,
                                                                                  bool bf16);

Ops* goss_train_make_aten_ops_2(const char* device, int local_rank, bool bf16) {
  return run([&]() -> Ops* {
    const std::string text = device;
    const bool is_cuda = text.empty() ? cudaDevices() > 0 : text != "cpu";
    fixArithmetic(is_cuda);
    return new AtenOps(is_cuda ? cudaDevice(text.empty() ? "cuda" : text, local_rank) : c10::Device(c10::kCPU), bf16);
  });
}

} // namespace goss::trainer
