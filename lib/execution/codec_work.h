/// Runs the encode and decode steps of a compressed schedule. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_CODEC_WORK_H_
#define GOSS_LIB_EXECUTION_CODEC_WORK_H_

#include <cstdint>
#include <span>
#include <vector>

#include "call/call.h"
#include "call/codec_pair.h"
#include "execution/codec_step.h"
#include "execution/feedback.h"

namespace goss {

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
  [[nodiscard]] const Compression& compressionOf(bool result) const { return goss::compressionOf(*codecs_, result); }
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
