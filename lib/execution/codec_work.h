/// Runs the encode and decode steps of a compressed schedule. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_CODEC_WORK_H_
#define GOSS_LIB_EXECUTION_CODEC_WORK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "call/call.h"
#include "call/codec_pair.h"
#include "execution/feedback.h"

namespace goss {

/// One encode or decode step, bound to memory: target, out = finish(base + payloads).
struct CodecStep {
  std::uint64_t elems = 0;
  const std::byte* base = nullptr;       ///< Numbers of the call's dtype; may be null.
  std::span<const PayloadView> payloads; ///< Added in this order.
  bool payloads_are_results = false;     ///< Which of the two codecs the payloads belong to.
  bool finishes = false;                 ///< The mean is computed, if the op is a mean.
  std::byte* target = nullptr;           ///< Destination of the numbers; may be null.
  std::span<std::byte> out;              ///< encode only: destination of the payload.
  bool out_is_result = false;            ///< Which of the two codecs encodes the payload.
  std::size_t bytes = 0;                 ///< Set by encode().
  KeptFeedback kept;                     ///< Error feedback of this encoding.
  Randomness random;
  std::uint64_t first_element = 0; ///< First element within the tensor.
};

/// Random streams of a call's operation number `draw` on this rank. `stream` distinguishes its encodings.
Randomness randomnessOf(const Call& call, std::uint64_t draw, std::uint32_t stream, int rank);

/// Scratch memory that grows to the longest chunk and is kept. One step at a time.
class CodecWork {
 public:
  /// Called before the first step, and when the call has changed.
  void bind(const Call& call, int ranks);
  Status encode(CodecStep& step);
  Status decode(const CodecStep& step);
  /// into = first + second, all payloads of `elems` elements of an additive codec; `into` may be `first`. Returns the
  /// length.
  Result<std::size_t> addPayloads(std::uint64_t elems, PayloadView first, PayloadView second,
                                  std::span<std::byte> into);

 private:
  void reserve(std::uint64_t elems);
  [[nodiscard]] const Compression& compressionOf(bool result) const {
    return result ? codecs_->result : codecs_->contribution;
  }
  [[nodiscard]] float* valuesFor(std::byte* target);
  void load(const CodecStep& step, float* values) const;
  void store(const CodecStep& step, const float* values) const;
  Status add(const CodecStep& step, std::span<float> values, bool set);
  Status encodeOnly(CodecStep& step);
  Status merge(CodecStep& step, std::span<float> values);
  Status endFeedback(const CodecStep& step);

  const CodecPair* codecs_ = nullptr;
  DType dtype_ = GOSS_FLOAT32;
  float factor_ = 1; ///< Factor of the finish.
  FeedbackWork feedback_;
  std::vector<float> values_;
  std::vector<std::byte> scratch_storage_;
  std::span<std::byte> scratch_;
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_CODEC_WORK_H_
