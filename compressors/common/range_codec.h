/// The base of codecs whose payload has a fixed layout, so that any tile of it can be encoded and decoded by itself. A
/// codec gives the layout and two loops.
#ifndef GOSS_COMPRESSORS_COMMON_RANGE_CODEC_H_
#define GOSS_COMPRESSORS_COMMON_RANGE_CODEC_H_

#include "compressors/common/runs.h"
#include "gossamer/codec.h"

namespace goss::compressors {

/// Decoding and merging go tile by tile over all payloads, so that sums stay in the first-level cache.
class RangeCodec : public Codec {
 public:
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const final { return payloadBytes(count); }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const final { return 0; }
  Status encode(const EncodeJob& job) const final;
  Status decode(const DecodeJob& job) const final;
  Status merge(MergeJob& job) const final;
  [[nodiscard]] Status check(PayloadView payload, std::size_t count) const final;

 protected:
  [[nodiscard]] virtual std::size_t payloadBytes(std::size_t count) const = 0;
  virtual void encodeRange(const EncodeRun& run) const = 0;
  virtual void decodeRange(const DecodeRun& run) const = 0;
  /// Says what is wrong with a payload whose size is right; "" when it is valid.
  [[nodiscard]] virtual std::string flawOf(PayloadView payload, std::size_t count) const;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_RANGE_CODEC_H_
