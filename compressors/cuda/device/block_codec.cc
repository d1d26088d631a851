#include "compressors/cuda/device/block_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace goss::compressors::cuda {

namespace {

unsigned char* bytesOf(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

/// Whether an address is a multiple of 16; null is.
bool isAligned(const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; }
bool areAligned(const unsigned char* const* payloads, unsigned count) {
  return std::all_of(payloads, payloads + count, [](const unsigned char* payload) { return isAligned(payload); });
}

/// Finds for each segment whether whole warps can read and write it 16 bytes at a time.
void findAligned(EncodeKernelJob& job) {
  const auto from = [](const float* vector, std::size_t first) {
    return vector == nullptr || isAligned(vector + first);
  };
  const bool payloads = areAligned(job.payloads, job.payload_count);
  for (unsigned s = 0; s < job.segment_count; ++s) {
    KernelSegment& segment = job.segments[s];
    segment.aligned = payloads && isAligned(segment.out) && from(job.values, segment.first) &&
                      from(job.reference, segment.first) && from(job.residual, segment.first) &&
                      from(job.decoded, segment.first);
  }
}
void findAligned(DecodeKernelJob& job) {
  job.aligned = isAligned(job.out) && areAligned(job.payloads, job.payload_count);
}

} // namespace

Status launched(const Codec& codec, int code) {
  return code == 0 ? Status::ok()
                   : Status::error(GOSS_ERR_INTERNAL, fmt::format("codec '{}': CUDA refused a kernel with error {}; "
                                                                  "cudaGetErrorString() says what it means",
                                                                  codec.spec(), code));
}

std::size_t longestOf(const EncodeJob& job) {
  std::size_t longest = 0;
  for (const EncodeSegment& segment : job.segments) {
    longest = std::max(longest, segment.count);
  }
  return longest;
}

Status checkSegments(const Codec& codec, const EncodeJob& job, std::size_t scratch_bytes) {
  for (const EncodeSegment& segment : job.segments) {
    if (segment.first > job.values.size() || segment.count > job.values.size() - segment.first ||
        segment.out.size() < codec.maxBytes(segment.count)) {
      return Status::error(
          GOSS_ERR_INVALID_ARGUMENT,
          fmt::format("codec '{}' on a device: segment of {} elements from {} on, of a vector of {}, with "
                      "{} bytes for a payload of {}",
                      codec.spec(), segment.count, segment.first, job.values.size(), segment.out.size(),
                      codec.maxBytes(segment.count)));
    }
  }
  return checkScratch(codec, job.scratch.size(), scratch_bytes);
}

Status checkScratch(const Codec& codec, std::size_t bytes, std::size_t needed) {
  return bytes >= needed ? Status::ok()
                         : Status::error(GOSS_ERR_INVALID_ARGUMENT,
                                         fmt::format("codec '{}' on a device: {} bytes of scratch; it needs {}",
                                                     codec.spec(), bytes, needed));
}

Status checkLengths(const Codec& codec, std::span<const PayloadView> payloads, std::size_t count) {
  for (const PayloadView payload : payloads) {
    if (payload.size() != codec.maxBytes(count)) {
      return Status::error(GOSS_ERR_PROTOCOL,
                           fmt::format("{} bytes are no payload of codec '{}' for {} elements, which has {}",
                                       payload.size(), codec.spec(), count, codec.maxBytes(count)));
    }
  }
  return Status::ok();
}

BlockDeviceCodec::BlockDeviceCodec(std::shared_ptr<const Codec> host, const KernelFormat& format,
                                   const CodecLaunches& launches)
    : host_(std::move(host)), format_(format), launches_(launches) {
  format_.elems_per_warp = launches_.elems_per_warp;
  format_.block_shift = static_cast<unsigned>(std::countr_zero(format_.block.block));
}

KernelFormat BlockDeviceCodec::formatFor(bool feedback) const {
  KernelFormat format = format_;
  format.block.gain = feedback ? format_.block.gain : 1.0f;
  return format;
}

Status BlockDeviceCodec::encode(const EncodeJob& job, Stream stream) const {
  if (Status status = checkSegments(*host_, job, 0); !status.isOk()) {
    return status;
  }
  for (std::size_t done = 0; done < job.segments.size(); done += kMaxSegments) {
    EncodeKernelJob kernel_job;
    kernel_job.format = formatFor(job.feedback || job.residual != nullptr);
    kernel_job.values = job.values.data();
    kernel_job.reference = job.reference;
    kernel_job.residual = job.residual;
    kernel_job.decay = job.decay;
    kernel_job.key = job.random.own.key();
    kernel_job.first_element = job.first_element;
    for (EncodeSegment& segment :
         job.segments.subspan(done, std::min<std::size_t>(kMaxSegments, job.segments.size() - done))) {
      segment.bytes = host_->maxBytes(segment.count);
      kernel_job.segments[kernel_job.segment_count++] = {segment.first, segment.count, kernel_job.warps,
                                                         bytesOf(segment.out) + format_.head};
      kernel_job.warps += (segment.count + format_.elems_per_warp - 1) / format_.elems_per_warp;
    }
    findAligned(kernel_job);
    if (Status status = launched(*host_, launches_.encode(kernel_job, stream)); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status BlockDeviceCodec::decodeSome(const DecodeJob& job, DecodeMode mode, std::size_t first, Stream stream) const {
  DecodeKernelJob kernel_job;
  kernel_job.format = format_;
  kernel_job.count = job.out.size();
  kernel_job.out = job.out.data();
  kernel_job.delivery = {mode, job.weight};
  const auto payloads = job.payloads.subspan(first, std::min<std::size_t>(kMaxPayloads, job.payloads.size() - first));
  for (const PayloadView payload : payloads) {
    kernel_job.payloads[kernel_job.payload_count++] =
        reinterpret_cast<const unsigned char*>(payload.data()) + format_.head;
  }
  kernel_job.from_zero = job.mode == DecodeMode::meanOfPresent && format_.whole_segment;
  const bool last = first + payloads.size() == job.payloads.size();
  if (job.mode == DecodeMode::meanOfPresent && last && !job.payloads.empty()) {
    kernel_job.divisor = static_cast<float>(job.payloads.size());
  }
  findAligned(kernel_job);
  return launched(*host_, launches_.decode(kernel_job, stream));
}

Status BlockDeviceCodec::decode(const DecodeJob& job, Stream stream) const {
  if (Status status = checkLengths(*host_, job.payloads, job.out.size()); !status.isOk()) {
    return status;
  }
  DecodeMode mode = job.mode == DecodeMode::meanOfPresent ? DecodeMode::set : job.mode;
  std::size_t first = 0;
  do {
    if (Status status = decodeSome(job, mode, first, stream); !status.isOk()) {
      return status;
    }
    mode = laterMode(mode);
    first += kMaxPayloads;
  } while (first < job.payloads.size());
  return Status::ok();
}

int BlockDeviceCodec::encodeWhole(EncodeKernelJob kernel_job, const WholeVector& vector, Stream stream) const {
  kernel_job.format = formatFor(vector.feedback);
  kernel_job.format.scale = vector.scale;
  kernel_job.inner = vector.inner;
  kernel_job.warps = (vector.count + format_.elems_per_warp - 1) / format_.elems_per_warp;
  kernel_job.segments[0] = {0, vector.count, 0, reinterpret_cast<unsigned char*>(vector.payload) + format_.head};
  kernel_job.segment_count = 1;
  findAligned(kernel_job);
  return launches_.encode(kernel_job, stream);
}

int BlockDeviceCodec::decodeInner(const WholeVector& vector, float* out, Stream stream) const {
  DecodeKernelJob kernel_job;
  kernel_job.format = format_;
  kernel_job.count = vector.count;
  kernel_job.out = out;
  kernel_job.inner = vector.inner;
  kernel_job.payloads[kernel_job.payload_count++] = reinterpret_cast<const unsigned char*>(vector.payload);
  findAligned(kernel_job);
  return launches_.decode(kernel_job, stream);
}

int BlockDeviceCodec::measureInner(const InnerPayload* inner, std::uint64_t more, std::uint64_t* length,
                                   Stream stream) const {
  return launches_.measure({format_, inner, more, length}, stream);
}

Status BlockDeviceCodec::merge(MergeJob& job, Stream stream) const {
  const std::size_t count = job.values.size();
  if (Status status = checkLengths(*host_, job.payloads, count); !status.isOk()) {
    return status;
  }
  if (job.out.size() < host_->maxBytes(count)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}' on a device: {} bytes for a payload of {}",
                                                                host_->spec(), job.out.size(), host_->maxBytes(count)));
  }
  std::span<const PayloadView> payloads = job.payloads;
  // the payloads that one launch does not take are added before, in the same order
  while (payloads.size() > kMaxPayloads) {
    DecodeJob some;
    some.payloads = payloads.first(kMaxPayloads);
    some.out = job.values;
    some.mode = DecodeMode::add;
    if (Status status = decode(some, stream); !status.isOk()) {
      return status;
    }
    payloads = payloads.subspan(kMaxPayloads);
  }
  EncodeKernelJob kernel_job;
  kernel_job.format = formatFor(job.residual != nullptr);
  kernel_job.values = kernel_job.decoded = job.values.data();
  kernel_job.residual = job.residual;
  kernel_job.decay = job.decay;
  kernel_job.factor = job.factor;
  kernel_job.key = job.random.own.key();
  kernel_job.first_element = job.first_element;
  kernel_job.warps = (count + format_.elems_per_warp - 1) / format_.elems_per_warp;
  kernel_job.segments[kernel_job.segment_count++] = {0, count, 0, bytesOf(job.out)};
  for (const PayloadView payload : payloads) {
    kernel_job.payloads[kernel_job.payload_count++] = reinterpret_cast<const unsigned char*>(payload.data());
  }
  findAligned(kernel_job);
  job.bytes = host_->maxBytes(count);
  return launched(*host_, launches_.encode(kernel_job, stream));
}

} // namespace goss::compressors::cuda
