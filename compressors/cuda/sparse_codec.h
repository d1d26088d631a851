/// Device codecs that pick values and hand them to another one: exact top-k and random blocks.
#ifndef GOSS_COMPRESSORS_CUDA_SPARSE_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_SPARSE_CODEC_H_

#include "compressors/cuda/device_codec.h"
#include "compressors/cuda/sparse_jobs.h"

namespace goss::compressors::cuda {

/// What sparsifiers have in common: how many values they pick, and so every payload's length, follows from the number
/// of elements.
class SparseDeviceCodec : public DeviceCodec {
 public:
  [[nodiscard]] const Codec& host() const final { return *host_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const final;
  Status encode(const EncodeJob& job, Stream stream) const final;
  Status decode(const DecodeJob& job, Stream stream) const final;
  Status merge(MergeJob& job, Stream stream) const final;

 protected:
  SparseDeviceCodec(std::shared_ptr<const Codec> host, std::unique_ptr<const DeviceCodec> inner)
      : host_(std::move(host)), inner_(std::move(inner)) {}

  /// A vector, or a payload of one, and what belongs to it.
  struct Vector {
    float* values = nullptr; ///< Of `count` elements; only read by pick().
    std::size_t count = 0;
    std::uint64_t first_element = 0;
    SharedStream shared;
    unsigned char* payload = nullptr; ///< Where its own part, headBytes(), begins.
    float* picked = nullptr;          ///< held(count) values.
    std::span<std::byte> scratch;     ///< pickScratchBytes(count).
  };
  /// How picked values go back into the vector.
  struct Return {
    Delivery delivery{DecodeMode::add, 1}; ///< add or axpy.
    bool finite = false;                   ///< What is not finite then becomes zero.
    std::uint32_t* senders = nullptr;      ///< Or null: counted up.
  };

  [[nodiscard]] virtual std::size_t held(std::size_t count) const = 0;
  [[nodiscard]] virtual std::size_t headBytes(std::size_t count) const = 0;
  [[nodiscard]] virtual std::size_t pickScratchBytes(std::size_t count) const = 0;
  /// Writes the picked values and the payload's own part.
  virtual int pick(const Vector& vector, Stream stream) const = 0;
  /// Delivers `picked` to the vector's elements.
  virtual int putBack(const Vector& vector, const Return& how, Stream stream) const = 0;

 private:
  Vector vectorOf(std::size_t count, std::uint64_t first_element, const SharedStream& shared,
                  std::span<std::byte> scratch) const;
  std::span<std::byte> innerScratch(std::size_t count, std::span<std::byte> scratch) const;
  /// Picks from vector.values and encodes; where they are a residual, they then lose what the payload holds.
  Status encodeVector(const Vector& vector, bool keeps, const Randomness& random, std::span<std::byte> scratch,
                      Stream stream) const;
  Status decodeVector(const Vector& vector, const Return& how, std::span<std::byte> scratch, Stream stream) const;
  Status decodeInner(const Vector& vector, std::span<std::byte> scratch, Stream stream) const;

  const std::shared_ptr<const Codec> host_;
  const std::unique_ptr<const DeviceCodec> inner_;
};

/// `ratio` as in the spec.
std::unique_ptr<const DeviceCodec> makeDeviceTopK(double ratio, std::shared_ptr<const Codec> host,
                                                  std::unique_ptr<const DeviceCodec> inner);
std::unique_ptr<const DeviceCodec> makeDeviceRandomK(double ratio, std::size_t block, std::shared_ptr<const Codec> host,
                                                     std::unique_ptr<const DeviceCodec> inner);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_SPARSE_CODEC_H_
