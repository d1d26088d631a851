/// A codec that a program defines by C functions, with the feedback and merging that collectives need.
#ifndef GOSS_LIB_CAPI_USER_CODEC_H_
#define GOSS_LIB_CAPI_USER_CODEC_H_

#include <string>

#include "gossamer/codec.h"
#include "gossamer/compression.h"

namespace goss {

class UserCodec final : public Codec {
 public:
  UserCodec(std::string name, const goss_codec_functions& functions) : name_(std::move(name)), functions_(functions) {}

  [[nodiscard]] std::string spec() const override { return name_; }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override {
    return functions_.max_bytes(functions_.context, count);
  }
  /// Scratch for two vectors: the sum that is encoded, and the decoded payload.
  [[nodiscard]] std::size_t scratchBytes(std::size_t count) const override { return 2 * count * sizeof(float); }
  Status encode(const EncodeJob& job) const override;
  Status decode(const DecodeJob& job) const override;
  Status merge(MergeJob& job) const override;
  [[nodiscard]] Status check(PayloadView payload, std::size_t count) const override;

 private:
  Status decodeTo(PayloadView payload, std::span<float> values) const;
  Result<std::size_t> encodeTo(std::span<const float> values, std::span<std::byte> out) const;
  Status encodeKeeping(std::span<float> values, std::span<float> decoded, float* residual, std::span<std::byte> out,
                       std::size_t& bytes) const;

  const std::string name_;
  const goss_codec_functions functions_;
};

} // namespace goss

#endif // GOSS_LIB_CAPI_USER_CODEC_H_
