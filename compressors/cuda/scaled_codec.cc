#include "compressors/cuda/scaled_codec.h"

#include <fmt/format.h>

#include "compressors/common/vector_codec.h"
#include "compressors/cuda/cell_codec.h"

namespace goss::compressors::cuda {

namespace {

CellFormat formatOf(const ScaledSettings& settings, const CellLaunches& launches) {
  CellFormat format;
  format.block.block = kRunElems;
  format.given_scale = settings.shared_scale;
  format.cell = launches.cell;
  return format;
}

} // namespace

ScaledCodec::ScaledCodec(std::shared_ptr<const Codec> host, const ScaledSettings& settings,
                         const CellLaunches& launches)
    : host_(std::move(host)),
      settings_(settings),
      launches_(launches),
      format_(formatOf(settings, launches)),
      cells_(std::make_unique<CellCodec>(host_, format_, launches)) {}

std::size_t ScaledCodec::scratchBytes(std::size_t count) const {
  // The scale, the sums, and a vector for the difference to a reference.
  return 64 + scratchAligned(sumChunks(count) * sizeof(ChunkSums)) + scratchAligned(count * sizeof(float));
}

Status ScaledCodec::encodeVector(CellJob& cells, std::size_t count, std::span<std::byte> scratch, Stream stream) const {
  const CellSegment& segment = cells.segments[0];
  cells.format = format_;
  cells.cells = (count + format_.cell - 1) / format_.cell;
  cells.segment_count = 1;
  int code = 0;
  if (settings_.shared_scale == 0) {
    auto* scale = reinterpret_cast<float*>(scratch.data());
    auto* chunks = reinterpret_cast<ChunkSums*>(scratch.data() + 64);
    cells.format.scale = scale;
    code = launchSums({cells.values + segment.first, count, chunks}, stream);
    unsigned char* stored = segment.out + host_->maxBytes(count) - sizeof(float);
    code = code != 0 ? code : launchScale({settings_.kind, chunks, count, settings_.clip, scale, stored}, stream);
  }
  return launched(*host_, code != 0 ? code : launches_.encode(cells, stream));
}

Status ScaledCodec::encode(const EncodeJob& job, Stream stream) const {
  if (Status status = checkSegments(*host_, job, scratchBytes(longestOf(job))); !status.isOk()) {
    return status;
  }
  for (EncodeSegment& segment : job.segments) {
    CellJob cells;
    cells.values = job.values.data();
    cells.key = job.random.own.key();
    cells.first_element = job.first_element;
    cells.segments[0] = {segment.first, segment.count, 0, reinterpret_cast<unsigned char*>(segment.out.data())};
    if (job.residual != nullptr || job.reference != nullptr) {
      PrepareJob prepare;
      prepare.values = job.values.data() + segment.first;
      prepare.reference = job.reference == nullptr ? nullptr : job.reference + segment.first;
      prepare.residual = job.residual == nullptr ? nullptr : job.residual + segment.first;
      prepare.decay = job.decay;
      prepare.count = segment.count;
      // The residual holds the vector itself and then loses what the payload holds.
      auto* difference = reinterpret_cast<float*>(job.scratch.data() + scratchBytes(segment.count) -
                                                  scratchAligned(segment.count * sizeof(float)));
      prepare.to = job.residual == nullptr ? difference : job.residual + segment.first;
      if (Status status = launched(*host_, launchPrepare(prepare, stream)); !status.isOk()) {
        return status;
      }
      cells.values = prepare.to;
      cells.residual = job.residual == nullptr ? nullptr : prepare.to;
      cells.first_element += segment.first;
      cells.segments[0].first = 0;
    }
    segment.bytes = host_->maxBytes(segment.count);
    if (Status status = encodeVector(cells, segment.count, job.scratch, stream); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status ScaledCodec::merge(MergeJob& job, Stream stream) const {
  const std::size_t count = job.values.size();
  if (job.out.size() < host_->maxBytes(count) || job.scratch.size() < scratchBytes(count)) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("codec '{}' on a device: {} bytes for a payload of {}, {} of scratch for {}", host_->spec(),
                    job.out.size(), host_->maxBytes(count), job.scratch.size(), scratchBytes(count)));
  }
  DecodeJob add;
  add.payloads = job.payloads;
  add.out = job.values;
  add.mode = DecodeMode::add;
  Status status = decode(add, stream);
  float* values = job.values.data();
  const PrepareJob scale{values, nullptr, nullptr, values, 1, job.factor, count};
  status = status.isOk() ? launched(*host_, launchPrepare(scale, stream)) : status;
  if (job.residual != nullptr && status.isOk()) {
    status =
        launched(*host_, launchPrepare({values, nullptr, job.residual, job.residual, job.decay, 1, count}, stream));
  }
  if (!status.isOk()) {
    return status;
  }
  CellJob cells;
  cells.values = job.residual != nullptr ? job.residual : values;
  cells.residual = job.residual;
  cells.decoded = values;
  cells.key = job.random.own.key();
  cells.first_element = job.first_element;
  cells.segments[0] = {0, count, 0, reinterpret_cast<unsigned char*>(job.out.data())};
  job.bytes = host_->maxBytes(count);
  return encodeVector(cells, count, job.scratch, stream);
}

} // namespace goss::compressors::cuda
