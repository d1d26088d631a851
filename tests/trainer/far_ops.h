/// A backend whose memory the host cannot touch, as a GPU's: what goes in or out is copied.
#ifndef GOSS_TESTS_TRAINER_FAR_OPS_H_
#define GOSS_TESTS_TRAINER_FAR_OPS_H_

#include <sys/mman.h>

#include <cstddef>
#include <map>
#include <new>

#include "trainer/base/error.h"
#include "trainer/compute/cpu_ops.h"

namespace goss::trainer {

/// CpuOps behind addresses that nobody may read or write: allocate() gives places in a region without access rights,
/// and every operation computes at the same places of a second region. So whoever takes a device's address for the
/// host's, in this thread or another, at any time, ends the test program with a segmentation fault; and the numbers are
/// those of CpuOps, bit for bit.
class FarOps : public Ops {
 public:
  FarOps() : far_(map(PROT_NONE)), near_(map(PROT_READ | PROT_WRITE)) {}
  ~FarOps() override {
    ::munmap(far_, kBytes);
    ::munmap(near_, kBytes);
  }

  [[nodiscard]] const char* name() const override { return "far"; }
  [[nodiscard]] bool isHostMemory() const override { return false; }
  void* allocate(std::size_t bytes) override {
    const std::size_t size = (bytes / kAlignment + 1) * kAlignment; // never empty: addresses differ
    if (const auto found = free_.find(size); found != free_.end()) {
      std::byte* memory = found->second;
      free_.erase(found);
      return memory;
    }
    if (size > kBytes - used_) fail("out of memory: cannot allocate {} bytes", size);
    std::byte* memory = far_ + used_;
    used_ += size;
    sizes_[memory] = size;
    return memory;
  }
  void release(void* memory) override {
    auto* place = static_cast<std::byte*>(memory);
    free_.emplace(sizes_.at(place), place);
  }
  void upload(void* to, const void* from_host, std::size_t bytes) override {
    cpu_.upload(near(to), mustBeHost(from_host), bytes);
  }
  void download(void* to_host, const void* from, std::size_t bytes) override {
    mustBeHost(to_host);
    cpu_.download(to_host, near(from), bytes);
  }

  void fill(float* x, float value, std::size_t n) override { cpu_.fill(near(x), value, n); }
  void copy(float* to, const float* from, std::size_t n) override { cpu_.copy(near(to), near(from), n); }
  void axpy(float a, const float* x, float* y, std::size_t n) override { cpu_.axpy(a, near(x), near(y), n); }
  void scale(float a, float* x, std::size_t n) override { cpu_.scale(a, near(x), n); }
  double squaredNorm(const float* x, std::size_t n) override { return cpu_.squaredNorm(near(x), n); }

  void gemm(const GemmShape& shape, const float* a, const float* b, float* c) override {
    cpu_.gemm(shape, near(a), near(b), near(c));
  }
  void addBias(float* y, const float* bias, std::size_t rows, std::size_t n) override {
    cpu_.addBias(near(y), near(bias), rows, n);
  }
  void addBiasResidual(float* y, const float* bias, const float* x, std::size_t rows, std::size_t n) override {
    cpu_.addBiasResidual(near(y), near(bias), near(x), rows, n);
  }
  void biasGrad(float* dbias, const float* dy, std::size_t rows, std::size_t n) override {
    cpu_.biasGrad(near(dbias), near(dy), rows, n);
  }
  void biasGelu(float* pre, const float* bias, float* out, std::size_t rows, std::size_t n) override {
    cpu_.biasGelu(near(pre), near(bias), near(out), rows, n);
  }
  void geluGrad(float* d, const float* pre, std::size_t rows, std::size_t n) override {
    cpu_.geluGrad(near(d), near(pre), rows, n);
  }

  void embed(const EmbedShape& shape, const std::int32_t* tokens, const float* wte, const float* wpe,
             float* out) override {
    cpu_.embed(shape, near(tokens), near(wte), near(wpe), near(out));
  }
  void embedGrad(const EmbedShape& shape, const std::int32_t* tokens, const float* dout, float* dwte,
                 float* dwpe) override {
    cpu_.embedGrad(shape, near(tokens), near(dout), near(dwte), near(dwpe));
  }
  void layerNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) override {
    cpu_.layerNorm({near(t.x), near(t.weight), near(t.bias), near(t.y), near(t.mean), near(t.rstd)}, rows, channels);
  }
  void layerNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) override {
    cpu_.layerNormGrad(
        {near(t.dy), near(t.x), near(t.weight), near(t.mean), near(t.rstd), near(t.dx), near(t.dweight), near(t.dbias)},
        rows, channels);
  }
  void rmsNorm(const LayerNormTensors& t, std::size_t rows, std::size_t channels) override {
    cpu_.rmsNorm({near(t.x), near(t.weight), near(t.bias), near(t.y), near(t.mean), near(t.rstd)}, rows, channels);
  }
  void rmsNormGrad(const LayerNormGradTensors& t, std::size_t rows, std::size_t channels) override {
    cpu_.rmsNormGrad(
        {near(t.dy), near(t.x), near(t.weight), near(t.mean), near(t.rstd), near(t.dx), near(t.dweight), near(t.dbias)},
        rows, channels);
  }
  void rotate(const AttentionShape& shape, float* qkv, bool is_inverse) override {
    cpu_.rotate(shape, near(qkv), is_inverse);
  }
  void swiglu(const float* pre, float* out, std::size_t rows, std::size_t width) override {
    cpu_.swiglu(near(pre), near(out), rows, width);
  }
  void swigluGrad(const SwigluGradTensors& t, std::size_t rows, std::size_t width) override {
    cpu_.swigluGrad({near(t.dout), near(t.pre), near(t.dpre)}, rows, width);
  }
  void attention(const AttentionShape& shape, const AttentionTensors& t) override {
    cpu_.attention(shape, {near(t.qkv), near(t.probs), near(t.out)});
  }
  void attentionGrad(const AttentionShape& shape, const AttentionGradTensors& t) override {
    cpu_.attentionGrad(shape, {near(t.dout), near(t.qkv), near(t.probs), near(t.dqkv)});
  }
  void softmaxXent(const XentShape& shape, const XentTensors& t) override {
    cpu_.softmaxXent(shape, {near(t.logits), near(t.targets), near(t.losses)});
  }

  void adamw(const AdamwSettings& settings, const AdamwTensors& t, std::size_t n) override {
    cpu_.adamw(settings, {near(t.p), near(t.g), near(t.m), near(t.v)}, n);
  }

 private:
  static constexpr std::size_t kBytes = std::size_t{64} << 20; // of addresses; memory is taken as it is touched
  static constexpr std::size_t kAlignment = 64;

  static std::byte* map(int rights) {
    void* memory = ::mmap(nullptr, kBytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(memory);
  }
  [[nodiscard]] bool isFar(const void* memory) const {
    const auto* place = static_cast<const std::byte*>(memory);
    return place >= far_ && place < far_ + used_;
  }
  /// Where the operation finds what lies at `memory`; a null pointer stays one.
  template <typename T>
  T* near(T* memory) const {
    if (memory == nullptr) return nullptr;
    if (!isFar(memory)) fail("an operation was given memory that is not this backend's");
    const auto* place = static_cast<const std::byte*>(static_cast<const void*>(memory));
    return static_cast<T*>(static_cast<void*>(near_ + (place - far_)));
  }
  const void* mustBeHost(const void* memory) const {
    if (isFar(memory)) fail("a copy was given this backend's memory as the host's");
    return memory;
  }

  CpuOps cpu_;
  std::byte* far_;
  std::byte* near_;
  std::size_t used_ = 0;
  std::map<std::byte*, std::size_t> sizes_;
  std::multimap<std::size_t, std::byte*> free_; // by size
};

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_FAR_OPS_H_
