#include "compressors/common/jobs.h"

#include <fmt/format.h>

namespace goss::compressors {

namespace {

Status broken(const Codec& codec, const std::string& what) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}': {}", codec.spec(), what));
}

Status checkScratch(const Codec& codec, std::span<std::byte> scratch, std::size_t count) {
  const std::size_t needed = codec.scratchBytes(count);
  if (scratch.size() < needed) {
    return broken(codec, fmt::format("{} bytes of scratch for {} elements; scratchBytes() asks for {}", scratch.size(),
                                     count, needed));
  }
  if (needed != 0 && reinterpret_cast<std::uintptr_t>(scratch.data()) % 64 != 0) {
    return broken(codec, "scratch is not aligned to 64 bytes");
  }
  return Status::ok();
}

} // namespace

Status checkEncodeJob(const Codec& codec, const EncodeJob& job) {
  std::size_t longest = 0;
  for (const EncodeSegment& segment : job.segments) {
    if (segment.first > job.values.size() || segment.count > job.values.size() - segment.first) {
      return broken(codec, fmt::format("segment of {} elements from {} on leaves the vector of {}", segment.count,
                                       segment.first, job.values.size()));
    }
    if (segment.out.size() < codec.maxBytes(segment.count)) {
      return broken(codec, fmt::format("{} bytes for the payload of {} elements; maxBytes() asks for {}",
                                       segment.out.size(), segment.count, codec.maxBytes(segment.count)));
    }
    longest = segment.count > longest ? segment.count : longest;
  }
  return checkScratch(codec, job.scratch, longest);
}

Status checkDecodeJob(const Codec& codec, const DecodeJob& job) {
  for (const PayloadView payload : job.payloads) {
    if (Status status = codec.check(payload, job.out.size()); !status.isOk()) {
      return status;
    }
  }
  return checkScratch(codec, job.scratch, job.out.size());
}

Status checkMergeJob(const Codec& codec, const MergeJob& job) {
  for (const PayloadView payload : job.payloads) {
    if (Status status = codec.check(payload, job.values.size()); !status.isOk()) {
      return status;
    }
  }
  if (job.out.size() < codec.maxBytes(job.values.size())) {
    return broken(codec, fmt::format("{} bytes for the payload of {} elements; maxBytes() asks for {}", job.out.size(),
                                     job.values.size(), codec.maxBytes(job.values.size())));
  }
  return checkScratch(codec, job.scratch, job.values.size());
}

Status malformed(const Codec& codec, PayloadView payload, std::size_t count, const std::string& flaw) {
  return Status::error(GOSS_ERR_PROTOCOL,
                       fmt::format("{} bytes are no payload of codec '{}' for {} elements: {}; compare the codec of "
                                   "sender and receiver",
                                   payload.size(), codec.spec(), count, flaw));
}

void multiply(std::span<float> values, float factor) {
  for (float& value : values) {
    value = value * factor;
  }
}

void divideBySenders(std::span<float> out, std::size_t senders) {
  const auto divisor = static_cast<float>(senders);
  for (float& value : out) {
    value = value / divisor;
  }
}

} // namespace goss::compressors
