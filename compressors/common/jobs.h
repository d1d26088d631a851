/// Checks of jobs that all codecs share.
#ifndef GOSS_COMPRESSORS_COMMON_JOBS_H_
#define GOSS_COMPRESSORS_COMMON_JOBS_H_

#include <span>
#include <string>

#include "gossamer/codec.h"

namespace goss::compressors {

Status checkEncodeJob(const Codec& codec, const EncodeJob& job);
Status checkDecodeJob(const Codec& codec, const DecodeJob& job);
Status checkMergeJob(const Codec& codec, const MergeJob& job);

/// GOSS_ERR_PROTOCOL for a payload that is not what the codec writes.
Status malformed(const Codec& codec, PayloadView payload, std::size_t count, const std::string& flaw);

inline const unsigned char* bytesOf(PayloadView payload) {
  return reinterpret_cast<const unsigned char*>(payload.data());
}
inline unsigned char* bytesOf(std::span<std::byte> payload) { return reinterpret_cast<unsigned char*>(payload.data()); }

/// values[i] = values[i] * factor: a merge scales its sum.
void multiply(std::span<float> values, float factor);
/// out[i] = out[i] / senders: the end of a mean over payloads that all hold every element.
void divideBySenders(std::span<float> out, std::size_t senders);

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_COMMON_JOBS_H_
