#include "runner/prepared_payload.h"

#include <algorithm>
#include <limits>

namespace goss {

CodecTraits PreparedPayload::traits() const {
  CodecTraits traits;
  traits.additive = true;
  traits.fixed_size = true;
  // A payload that cannot be cut is one chunk.
  const std::size_t unit = phase_.cut_elems != 0 ? phase_.cut_elems : std::max<std::size_t>(phase_.count, 1);
  traits.block = static_cast<std::uint32_t>(std::min<std::size_t>(unit, std::numeric_limits<std::uint32_t>::max()));
  return traits;
}

std::span<std::byte> PreparedPayload::part(std::uint64_t first, std::size_t count) const {
  const std::size_t cut = phase_.cut_elems;
  const std::size_t begin = cut == 0 ? 0 : first / cut * phase_.codec->maxBytes(cut);
  return phase_.payload.subspan(begin, phase_.codec->maxBytes(count));
}

Status PreparedPayload::encode(const EncodeJob& job) const {
  for (EncodeSegment& segment : job.segments) {
    const std::span<const std::byte> from = part(job.first_element + segment.first, segment.count);
    std::copy(from.begin(), from.end(), segment.out.begin());
    segment.bytes = from.size();
  }
  return Status::ok();
}

Status PreparedPayload::decode(const DecodeJob& job) const {
  const PayloadView payload = job.payloads[0];
  if (job.payloads.size() != 1 || job.mode != DecodeMode::set) return unsupported("a sum of decoded payloads");
  if (Status status = check(payload, job.out.size()); !status.isOk()) return status;
  std::copy(payload.begin(), payload.end(), part(job.first_element, job.out.size()).begin());
  return Status::ok();
}

} // namespace goss
