/// Device codecs that pick values and hand them to another one: top-k, thresholds and random blocks.
#ifndef GOSS_COMPRESSORS_CUDA_CODECS_SPARSE_CODEC_H_
#define GOSS_COMPRESSORS_CUDA_CODECS_SPARSE_CODEC_H_

#include "compressors/cuda/device/block_codec.h"
#include "compressors/cuda/device/vector_codec.h"
#include "compressors/cuda/kernels/sparse_jobs.h"
#include "compressors/kernel_settings.h"

namespace goss::compressors::cuda {

/// What sparsifiers have in common. How many values they pick follows from the number of elements, or the device alone
/// knows it: the values then go to a codec whose kernels read their number where the picking kernels left it.
class SparseDeviceCodec : public VectorDeviceCodec {
 public:
  Status decode(const DecodeJob& job, Stream stream) const final;
  Status clearHeld(const DecodeJob& job, Stream stream) const final;
  [[nodiscard]] bool fixedBytes() const final { return blocks_ == nullptr && inner_->fixedBytes(); }
  Status measure(const MeasureCall& call, Stream stream) const final;

 protected:
  /// `varies`: the device alone knows how many are picked; `inner` is then a BlockDeviceCodec. `packs`: indices are
  /// PackedIndices.
  SparseDeviceCodec(const std::shared_ptr<const Codec>& host, std::unique_ptr<const DeviceCodec> inner, bool varies,
                    bool packs)
      : VectorDeviceCodec(host),
        inner_(std::move(inner)),
        blocks_(varies ? dynamic_cast<const BlockDeviceCodec*>(inner_.get()) : nullptr),
        packs_(packs) {}

  /// A vector, or a payload of one, and what belongs to it.
  struct Sparse {
    float* values = nullptr; ///< `count` elements; pick() only reads them.
    std::size_t count = 0;
    std::uint64_t first_element = 0;
    SharedStream shared;
    std::span<std::byte> payload;
    float* picked = nullptr;       ///< most(count) values.
    InnerPayload* inner = nullptr; ///< Null unless only the device knows how many values are picked.
    std::span<std::byte> scratch;  ///< pickScratchBytes(count).
    bool feedback = false;         ///< The encode has error feedback.
  };
  /// How decoded values return into the vector.
  struct Return {
    Delivery delivery{DecodeMode::add, 1}; ///< add or axpy.
    bool finite = false;                   ///< Elements that are not finite then become zero.
    std::uint32_t* senders = nullptr;      ///< Counters that are incremented; may be null.
    bool clears = false;                   ///< Elements become zero instead.
  };

  /// The number of picked values, or an upper bound of it.
  [[nodiscard]] virtual std::size_t most(std::size_t count) const = 0;
  /// Bytes before the inner payload of `held` values; grows with `held`.
  [[nodiscard]] virtual std::size_t headBytes(std::size_t count, std::size_t held) const = 0;
  [[nodiscard]] bool packs() const { return packs_; }
  [[nodiscard]] virtual std::size_t pickScratchBytes(std::size_t count) const = 0;
  /// Writes the picked values, the payload's own part, and `inner` if there is one.
  virtual int pick(const Sparse& sparse, Stream stream) const = 0;
  /// Delivers `picked` to the vector's elements.
  virtual int putBack(const Sparse& sparse, const Return& how, Stream stream) const = 0;

  [[nodiscard]] std::size_t innerScratchBytes(std::size_t count) const final;
  [[nodiscard]] std::size_t maxElements() const final { return 0xffffffffu; }
  Status encodeVector(const Vector& vector, Stream stream) const final;

 private:
  [[nodiscard]] Sparse sparseOf(const Vector& vector) const;
  /// Describes `payload`, which the job decodes. Adds to `launches` the kernel that reads how many values it holds.
  [[nodiscard]] Sparse sparseOf(const DecodeJob& job, PayloadView payload, Launches& launches, Stream stream) const;
  [[nodiscard]] std::span<std::byte> codeScratch(const Sparse& sparse) const;
  Status encodeInner(const Sparse& sparse, const Randomness& random, Stream stream) const;
  Status decodeInner(const Sparse& sparse, Stream stream) const;
  /// How many elements at most are in a payload of so many bytes; GOSS_ERR_PROTOCOL where it cannot be one.
  [[nodiscard]] Result<std::uint32_t> heldWithin(std::size_t bytes, std::size_t count) const;
  [[nodiscard]] Status checkPayloads(const DecodeJob& job) const;
  /// Bytes before the inner payload of most(count) values.
  [[nodiscard]] std::size_t fullHeadBytes(std::size_t count) const { return headBytes(count, most(count)); }

  const std::unique_ptr<const DeviceCodec> inner_;
  const BlockDeviceCodec* const blocks_; ///< The inner codec, where the number of values varies.
  const bool packs_;
};

/// Parameters as in the spec. `inner` must be a BlockDeviceCodec for thresholds and samples.
std::unique_ptr<const DeviceCodec> makeDeviceTopK(const TopKSettings& form, const std::shared_ptr<const Codec>& host,
                                                  std::unique_ptr<const DeviceCodec> inner);
std::unique_ptr<const DeviceCodec> makeDeviceThreshold(const ThresholdSettings& form,
                                                       const std::shared_ptr<const Codec>& host,
                                                       std::unique_ptr<const DeviceCodec> inner);
std::unique_ptr<const DeviceCodec> makeDeviceRandomK(double ratio, std::size_t block,
                                                     const std::shared_ptr<const Codec>& host,
                                                     std::unique_ptr<const DeviceCodec> inner);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_CODECS_SPARSE_CODEC_H_
