/// A codec for a payload that exists already, so that any compressed all_reduce can sum payloads.
#ifndef GOSS_LIB_RUNNER_PREPARED_PAYLOAD_H_
#define GOSS_LIB_RUNNER_PREPARED_PAYLOAD_H_

#include <string>

#include "gossamer/codec.h"

namespace goss {

/// Encoding a chunk cuts its bytes from the payload of an add phase, decoding writes them back; numbers are neither
/// read nor written. Additive. One thread at a time, and one call at a time; equal names mean equal codecs.
class PreparedPayload final : public Codec {
 public:
  explicit PreparedPayload(std::string name) : name_(std::move(name)) {}
  /// Sets the phase until the next call; its memory is lent. The phase has a codec.
  void prepare(const CodecPhase& phase) { phase_ = phase; }

  [[nodiscard]] std::string spec() const override { return name_; }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override { return phase_.codec->maxBytes(count); }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const override { return 0; }
  Status encode(const EncodeJob& job) const override;
  Status decode(const DecodeJob& job) const override;
  Status merge(MergeJob&) const override { return unsupported("merge"); }
  [[nodiscard]] Status check(PayloadView payload, std::size_t count) const override {
    return phase_.codec->check(payload, count);
  }
  Status addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const override {
    return phase_.codec->addPayload(payload, count, into);
  }
  /// The run ensures that the words are long enough.
  [[nodiscard]] std::uint32_t sumBits(std::uint32_t) const override { return 32; }

 private:
  [[nodiscard]] std::span<std::byte> part(std::uint64_t first, std::size_t count) const;

  const std::string name_;
  CodecPhase phase_;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_PREPARED_PAYLOAD_H_
