#include "compressors/cuda/device/cell_codec.h"

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

/// Says of each segment whether its whole cells can be read and written 16 bytes at a time.
void findAligned(CellJob& job) {
  const auto from = [](const float* vector, std::size_t first) {
    return vector == nullptr || isAligned(vector + first);
  };
  const bool payloads = areAligned(job.payloads, job.payload_count);
  for (unsigned s = 0; s < job.segment_count; ++s) {
    CellSegment& segment = job.segments[s];
    segment.aligned = payloads && isAligned(segment.out) && from(job.values, segment.first) &&
                      from(job.reference, segment.first) && from(job.residual, segment.first) &&
                      from(job.decoded, segment.first);
  }
}
void findAligned(DecodeCellJob& job) {
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

CellCodec::CellCodec(std::shared_ptr<const Codec> host, const CellFormat& format, const CellLaunches& launches)
    : host_(std::move(host)), format_(format), launches_(launches) {
  format_.cell = launches_.cell;
  format_.block_shift = static_cast<unsigned>(std::countr_zero(format_.block.block));
}

CellFormat CellCodec::formatFor(bool feedback) const {
  CellFormat format = format_;
  format.block.gain = feedback ? format_.block.gain : 1.0f;
  return format;
}

Status CellCodec::encode(const EncodeJob& job, Stream stream) const {
  if (Status status = checkSegments(*host_, job, 0); !status.isOk()) {
    return status;
  }
  for (std::size_t done = 0; done < job.segments.size(); done += kMaxSegments) {
    CellJob cells;
    cells.format = formatFor(job.feedback || job.residual != nullptr);
    cells.values = job.values.data();
    cells.reference = job.reference;
    cells.residual = job.residual;
    cells.decay = job.decay;
    cells.key = job.random.own.key();
    cells.first_element = job.first_element;
    for (EncodeSegment& segment :
         job.segments.subspan(done, std::min<std::size_t>(kMaxSegments, job.segments.size() - done))) {
      segment.bytes = host_->maxBytes(segment.count);
      cells.segments[cells.segment_count++] = {segment.first, segment.count, cells.cells,
                                               bytesOf(segment.out) + format_.head};
      cells.cells += (segment.count + format_.cell - 1) / format_.cell;
    }
    findAligned(cells);
    if (Status status = launched(*host_, launches_.encode(cells, stream)); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status CellCodec::decodeSome(const DecodeJob& job, DecodeMode mode, std::size_t first, Stream stream) const {
  DecodeCellJob cells;
  cells.format = format_;
  cells.count = job.out.size();
  cells.out = job.out.data();
  cells.delivery = {mode, job.weight};
  const auto payloads = job.payloads.subspan(first, std::min<std::size_t>(kMaxPayloads, job.payloads.size() - first));
  for (const PayloadView payload : payloads) {
    cells.payloads[cells.payload_count++] = reinterpret_cast<const unsigned char*>(payload.data()) + format_.head;
  }
  cells.from_zero = job.mode == DecodeMode::meanOfPresent && format_.whole_segment;
  const bool last = first + payloads.size() == job.payloads.size();
  if (job.mode == DecodeMode::meanOfPresent && last && !job.payloads.empty()) {
    cells.divisor = static_cast<float>(job.payloads.size());
  }
  findAligned(cells);
  return launched(*host_, launches_.decode(cells, stream));
}

Status CellCodec::decode(const DecodeJob& job, Stream stream) const {
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

int CellCodec::encodeWhole(CellJob cells, const Place& place, Stream stream) const {
  cells.format = formatFor(place.feedback);
  cells.format.scale = place.scale;
  cells.behind = place.behind;
  cells.cells = (place.count + format_.cell - 1) / format_.cell;
  cells.segments[0] = {0, place.count, 0, reinterpret_cast<unsigned char*>(place.payload) + format_.head};
  cells.segment_count = 1;
  findAligned(cells);
  return launches_.encode(cells, stream);
}

int CellCodec::decodeBehind(const Place& place, float* out, Stream stream) const {
  DecodeCellJob cells;
  cells.format = format_;
  cells.count = place.count;
  cells.out = out;
  cells.behind = place.behind;
  cells.payloads[cells.payload_count++] = reinterpret_cast<const unsigned char*>(place.payload);
  findAligned(cells);
  return launches_.decode(cells, stream);
}

int CellCodec::measureBehind(const Behind* behind, std::uint64_t more, std::uint64_t* length, Stream stream) const {
  return launches_.measure({format_, behind, more, length}, stream);
}

Status CellCodec::merge(MergeJob& job, Stream stream) const {
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
  CellJob cells;
  cells.format = formatFor(job.residual != nullptr);
  cells.values = cells.decoded = job.values.data();
  cells.residual = job.residual;
  cells.decay = job.decay;
  cells.factor = job.factor;
  cells.key = job.random.own.key();
  cells.first_element = job.first_element;
  cells.cells = (count + format_.cell - 1) / format_.cell;
  cells.segments[cells.segment_count++] = {0, count, 0, bytesOf(job.out)};
  for (const PayloadView payload : payloads) {
    cells.payloads[cells.payload_count++] = reinterpret_cast<const unsigned char*>(payload.data());
  }
  findAligned(cells);
  job.bytes = host_->maxBytes(count);
  return launched(*host_, launches_.encode(cells, stream));
}

} // namespace goss::compressors::cuda
