#include "compressors/common/range_codec.h"

#include <fmt/format.h>

#include <algorithm>

#include "compressors/common/jobs.h"

namespace goss::compressors {

std::string RangeCodec::flawOf(PayloadView, std::size_t) const { return {}; }

Status RangeCodec::check(PayloadView payload, std::size_t count) const {
  if (payload.size() != payloadBytes(count)) {
    return malformed(*this, payload, count, fmt::format("it has {} bytes", payloadBytes(count)));
  }
  const std::string flaw = flawOf(payload, count);
  return flaw.empty() ? Status::ok() : malformed(*this, payload, count, flaw);
}

Status RangeCodec::encode(const EncodeJob& job) const {
  if (Status status = checkEncodeJob(*this, job); !status.isOk()) {
    return status;
  }
  for (EncodeSegment& segment : job.segments) {
    EncodeRun run;
    run.values = job.values.data() + segment.first;
    run.reference = job.reference == nullptr ? nullptr : job.reference + segment.first;
    run.residual = job.residual == nullptr ? nullptr : job.residual + segment.first;
    run.decay = job.decay;
    run.feedback = job.feedback || job.residual != nullptr;
    run.count = run.total = segment.count;
    run.payload = bytesOf(segment.out);
    run.key = job.random.own.key();
    run.random_first = job.first_element + segment.first;
    encodeRange(run);
    segment.bytes = payloadBytes(segment.count);
  }
  return Status::ok();
}

Status RangeCodec::decode(const DecodeJob& job) const {
  if (Status status = checkDecodeJob(*this, job); !status.isOk()) {
    return status;
  }
  const bool replaces = job.mode == DecodeMode::set || job.mode == DecodeMode::meanOfPresent;
  if (job.payloads.empty() && replaces) {
    std::fill(job.out.begin(), job.out.end(), 0.0f);
  }
  for (std::size_t first = 0; first < job.out.size(); first += kTileElems) {
    DecodeRun run;
    run.first = first;
    run.count = std::min(kTileElems, job.out.size() - first);
    run.total = job.out.size();
    run.out = job.out.data() + first;
    run.delivery = {replaces ? DecodeMode::set : job.mode, job.weight};
    for (const PayloadView payload : job.payloads) {
      run.payload = bytesOf(payload);
      decodeRange(run);
      run.delivery.mode = replaces ? DecodeMode::add : job.mode;
    }
    if (job.mode == DecodeMode::meanOfPresent && !job.payloads.empty()) {
      divideBySenders({run.out, run.count}, job.payloads.size());
    }
  }
  return Status::ok();
}

Status RangeCodec::merge(MergeJob& job) const {
  if (Status status = checkMergeJob(*this, job); !status.isOk()) {
    return status;
  }
  const std::size_t total = job.values.size();
  for (std::size_t first = 0; first < total; first += kTileElems) {
    float* values = job.values.data() + first;
    const std::size_t count = std::min(kTileElems, total - first);
    DecodeRun in{nullptr, first, count, total, values, {DecodeMode::add, 1}};
    for (const PayloadView payload : job.payloads) {
      in.payload = bytesOf(payload);
      decodeRange(in);
    }
    if (job.factor != 1.0f) {
      multiply({values, count}, job.factor);
    }
    EncodeRun out;
    out.values = values;
    out.sums = true;
    out.residual = job.residual == nullptr ? nullptr : job.residual + first;
    out.decay = job.decay;
    out.feedback = job.residual != nullptr;
    out.first = first;
    out.count = count;
    out.total = total;
    out.payload = bytesOf(job.out);
    out.key = job.random.own.key();
    out.random_first = job.first_element + first;
    encodeRange(out);
    decodeRange({out.payload, first, count, total, values, {DecodeMode::set, 1}});
  }
  job.bytes = payloadBytes(total);
  return Status::ok();
}

} // namespace goss::compressors
