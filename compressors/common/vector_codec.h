/// Codecs that need the whole segment before they encode: scales of the whole tensor, sparsifiers, transforms. They
/// encode and decode plain vectors; this class adds references, residuals, sums of payloads and merging around them.
#ifndef GOSS_COMPRESSORS_COMMON_VECTOR_CODEC_H_
#define GOSS_COMPRESSORS_COMMON_VECTOR_CODEC_H_

#include "compressors/common/common_loops.h"
#include "gossamer/codec.h"

namespace goss::compressors {

/// A vector to encode.
struct VectorIn {
  const float* values = nullptr;
  std::size_t count = 0;
  Randomness random;
  std::uint64_t first_element = 0; ///< Number of the first value in both random streams.
  std::span<std::byte> scratch;    ///< innerScratchBytes(count), aligned to 64.
  bool feedback = false;           ///< The encode has error feedback: codecs that do not contract scale down.
};

/// Where a payload's values go.
struct VectorOut {
  float* out = nullptr;
  std::size_t count = 0;
  Delivery delivery;
  SharedStream shared;
  std::uint64_t first_element = 0;
  std::span<std::byte> scratch;
};

class VectorCodec : public Codec {
 public:
  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const final;
  Status encode(const EncodeJob& job) const final;
  Status decode(const DecodeJob& job) const final;
  Status merge(MergeJob& job) const final;
  [[nodiscard]] Status check(PayloadView payload, std::size_t count) const final;

  // The parts from which composed codecs are made.

  /// Writes the payload of the vector to `to` (maxBytes(count)) and returns its length.
  virtual std::size_t encodeVector(const VectorIn& in, unsigned char* to) const = 0;
  /// Decodes a payload that check() accepts.
  virtual void decodeVector(PayloadView payload, const VectorOut& out) const = 0;
  /// Decodes payloads that check() accepts, one after the other: the first as out.delivery says, the others added where
  /// it says set. Gives the bits of that many decodeVector(), but may visit the vector only once.
  virtual void decodeVectors(std::span<const PayloadView> payloads, const VectorOut& out) const;
  /// What is wrong with a payload; an empty text: nothing. Must find whatever could lead decodeVector() out of bounds.
  [[nodiscard]] virtual std::string flawOf(PayloadView payload, std::size_t count) const = 0;
  [[nodiscard]] virtual std::size_t innerScratchBytes(std::size_t) const { return 0; }
  /// Longest segment.
  [[nodiscard]] virtual std::size_t maxElements() const { return static_cast<std::size_t>(-1); }

 protected:
  explicit VectorCodec(const CommonLoops& loops) : loops_(loops) {}
  [[nodiscard]] const CommonLoops& loops() const { return loops_; }

  /// Sparse codecs: senders[i] += 1 for each element that the payload holds.
  virtual void countPresent(PayloadView payload, const VectorOut& out, std::uint32_t* senders) const;

  /// decode() in mode meanOfPresent, of payloads that check() accepts.
  virtual void decodeMean(const DecodeJob& job) const;

  /// Sums over the vector by 1024s and groups of them in a fixed order, as a double.
  using SumLoop = float (*)(const float* values, std::size_t count);
  static double sumOver(SumLoop loop, const float* values, std::size_t count);
  /// Whether no value is an infinity or a NaN.
  [[nodiscard]] bool finite(const float* values, std::size_t count) const;

 private:
  std::size_t encodeKeeping(const VectorIn& in, float* residual, unsigned char* to) const;

  const CommonLoops& loops_;
};

/// `bytes` rounded up to the alignment of scratch.
constexpr std::size_t scratchAligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_VECTOR_CODEC_H_
