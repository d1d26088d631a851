/// The table of tensor operations on one CPU core: OpenBLAS for matrix products, vectorisable loops for the rest.
#ifndef GOSS_TRAINER_COMPUTE_CPU_OPS_H_
#define GOSS_TRAINER_COMPUTE_CPU_OPS_H_

#include <vector>

#include "trainer/compute/ops.h"
#include "trainer/compute/rotary.h"

namespace goss::trainer {

class CpuOps : public Ops {
 public:
  /// Sets OpenBLAS, of which a process has one, to a single thread, because each rank is meant to use one core.
  CpuOps();

  [[nodiscard]] const char* name() const override { return "cpu"; }
  [[nodiscard]] bool isHostMemory() const override { return true; }
  void* allocate(std::size_t bytes) override;
  void release(void* memory) override;
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
  RotaryAngles angles_;
  std::vector<float> scratch_; // [query block, T] gradients of one block of attention probabilities
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_CPU_OPS_H_
