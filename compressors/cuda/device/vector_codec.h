/// What device codecs of whole segments have in common, as VectorCodec on the CPU: they encode and decode plain
/// vectors, and this class adds references, residuals and merging around them.
#ifndef GOSS_COMPRESSORS_CUDA_DEVICE_VECTOR_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_DEVICE_VECTOR_CODEC_H_

#include "compressors/common/vector_codec.h"
#include "compressors/cuda/device/device_codec.h"

namespace goss::compressors::cuda {

class VectorDeviceCodec : public DeviceCodec {
 public:
  [[nodiscard]] const Codec& host() const final { return *host_; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const final;
  Status encode(const EncodeJob& job, Stream stream) const final;
  Status merge(MergeJob& job, Stream stream) const final;

 protected:
  explicit VectorDeviceCodec(std::shared_ptr<const Codec> host) : host_(std::move(host)) {}

  /// A vector to encode.
  struct Vector {
    const float* values = nullptr;
    std::size_t count = 0;
    Randomness random;
    std::uint64_t first_element = 0;
    std::span<std::byte> payload; ///< maxBytes(count).
    /// May be null. Else it holds the values themselves, from which what the payload holds is subtracted.
    float* residual = nullptr;
    float* decoded = nullptr;     ///< Receives what the payload decodes to; may be null.
    std::span<std::byte> scratch; ///< scratchBytes(count).
    bool feedback = false;        ///< Losses are kept, in `residual` or by the caller.
  };

  /// The part of scratch that an encode needs besides the vector.
  [[nodiscard]] virtual std::size_t innerScratchBytes(std::size_t count) const = 0;
  [[nodiscard]] std::span<std::byte> innerScratch(std::span<std::byte> scratch, std::size_t count) const;
  /// Longest segment.
  [[nodiscard]] virtual std::size_t maxElements() const { return static_cast<std::size_t>(-1); }
  /// GOSS_ERR_INVALID_ARGUMENT for segments of more elements.
  [[nodiscard]] Status checkCount(std::size_t count) const;

  /// Writes the payload and does what `residual` and `decoded` ask for.
  virtual Status encodeVector(const Vector& vector, Stream stream) const = 0;
  /// Fills the vector with NaN if the payload says that it holds more elements than a payload can.
  virtual int refuse(PayloadView, std::span<float>, Stream) const { return 0; }
  /// Updates `residual` and `decoded` by decoding the payload: for codecs that cannot do it while they encode.
  Status leave(const Vector& vector, Stream stream) const;

 private:
  const std::shared_ptr<const Codec> host_;
};

/// Remembers the first launch that failed; later ones are then not launched.
class Launches {
 public:
  explicit Launches(const Codec& codec) : codec_(codec) {}
  /// `launch` returns CUDA's code.
  template <typename Launch>
  void operator()(Launch launch) {
    code_ = code_ != 0 ? code_ : launch();
  }
  [[nodiscard]] Status status() const;

 private:
  const Codec& codec_;
  int code_ = 0;
};

constexpr std::size_t floatBytes(std::size_t count) { return scratchAligned(count * sizeof(float)); }

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_DEVICE_VECTOR_CODEC_H_
