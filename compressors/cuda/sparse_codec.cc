#include "compressors/cuda/sparse_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compressors/common/vector_codec.h"
#include "compressors/cuda/cell_codec.h"
#include "compressors/cuda/scale_jobs.h"
#include "compressors/sparse/index_set.h"

namespace goss::compressors::cuda {

namespace {

constexpr std::size_t floatBytes(std::size_t count) { return scratchAligned(count * sizeof(float)); }

/// What reports the first launch that failed.
class Launches {
 public:
  void operator()(int code) { code_ = code_ != 0 ? code_ : code; }
  [[nodiscard]] Status status(const Codec& codec) const { return launched(codec, code_); }

 private:
  int code_ = 0;
};

} // namespace

// Scratch: a vector (a difference, or counts of senders), the picked values, the picker's own, the inner codec's.
std::size_t SparseDeviceCodec::scratchBytes(std::size_t count) const {
  return floatBytes(count) + floatBytes(held(count)) + scratchAligned(pickScratchBytes(count)) +
         inner_->scratchBytes(held(count));
}

SparseDeviceCodec::Vector SparseDeviceCodec::vectorOf(std::size_t count, std::uint64_t first_element,
                                                      const SharedStream& shared, std::span<std::byte> scratch) const {
  Vector vector;
  vector.count = count;
  vector.first_element = first_element;
  vector.shared = shared;
  vector.picked = reinterpret_cast<float*>(scratch.data() + floatBytes(count));
  vector.scratch =
      scratch.subspan(floatBytes(count) + floatBytes(held(count)), scratchAligned(pickScratchBytes(count)));
  return vector;
}

std::span<std::byte> SparseDeviceCodec::innerScratch(std::size_t count, std::span<std::byte> scratch) const {
  return scratch.subspan(floatBytes(count) + floatBytes(held(count)) + scratchAligned(pickScratchBytes(count)));
}

Status SparseDeviceCodec::decodeInner(const Vector& vector, std::span<std::byte> scratch, Stream stream) const {
  const std::size_t some = held(vector.count);
  const PayloadView payload(reinterpret_cast<const std::byte*>(vector.payload) + headBytes(vector.count),
                            inner_->host().maxBytes(some));
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.out = {vector.picked, some};
  job.shared = vector.shared;
  job.first_element = vector.first_element;
  job.scratch = innerScratch(vector.count, scratch);
  return inner_->decode(job, stream);
}

Status SparseDeviceCodec::encodeVector(const Vector& vector, bool keeps, const Randomness& random,
                                       std::span<std::byte> scratch, Stream stream) const {
  if (Status status = launched(*host_, pick(vector, stream)); !status.isOk()) {
    return status;
  }
  const std::size_t some = held(vector.count);
  auto* to = reinterpret_cast<std::byte*>(vector.payload) + headBytes(vector.count);
  EncodeSegment segment{0, some, {to, inner_->host().maxBytes(some)}, 0};
  EncodeJob job;
  job.values = {vector.picked, some};
  job.random = random;
  job.first_element = vector.first_element;
  job.scratch = innerScratch(vector.count, scratch);
  job.segments = {&segment, 1};
  if (Status status = inner_->encode(job, stream); !status.isOk() || !keeps) {
    return status;
  }
  if (Status status = decodeInner(vector, scratch, stream); !status.isOk()) {
    return status;
  }
  Launches launches;
  launches(putBack(vector, {{DecodeMode::axpy, -1}, true, nullptr}, stream));
  launches(launchForget(vector.values, vector.count, stream));
  return launches.status(*host_);
}

Status SparseDeviceCodec::decodeVector(const Vector& vector, const Return& how, std::span<std::byte> scratch,
                                       Stream stream) const {
  if (Status status = decodeInner(vector, scratch, stream); !status.isOk()) {
    return status;
  }
  return launched(*host_, putBack(vector, how, stream));
}

Status SparseDeviceCodec::encode(const EncodeJob& job, Stream stream) const {
  if (Status status = checkSegments(*host_, job, scratchBytes(longestOf(job))); !status.isOk()) {
    return status;
  }
  for (EncodeSegment& segment : job.segments) {
    Vector vector = vectorOf(segment.count, job.first_element + segment.first, job.random.shared, job.scratch);
    vector.payload = reinterpret_cast<unsigned char*>(segment.out.data());
    vector.values = const_cast<float*>(job.values.data()) + segment.first; // pick() only reads it
    const bool keeps = job.residual != nullptr;
    if (keeps || job.reference != nullptr) {
      PrepareJob prepare;
      prepare.values = vector.values;
      prepare.reference = job.reference == nullptr ? nullptr : job.reference + segment.first;
      prepare.residual = keeps ? job.residual + segment.first : nullptr;
      prepare.decay = job.decay;
      prepare.count = segment.count;
      prepare.to = keeps ? job.residual + segment.first : reinterpret_cast<float*>(job.scratch.data());
      if (Status status = launched(*host_, launchPrepare(prepare, stream)); !status.isOk()) {
        return status;
      }
      vector.values = prepare.to;
    }
    segment.bytes = host_->maxBytes(segment.count);
    if (Status status = encodeVector(vector, keeps, job.random, job.scratch, stream); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status SparseDeviceCodec::decode(const DecodeJob& job, Stream stream) const {
  const std::size_t count = job.out.size();
  if (Status status = checkLengths(*host_, job.payloads, count); !status.isOk()) {
    return status;
  }
  if (job.scratch.size() < scratchBytes(count)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("codec '{}' on a device: {} bytes of scratch; it needs {}", host_->spec(),
                                     job.scratch.size(), scratchBytes(count)));
  }
  const bool mean = job.mode == DecodeMode::meanOfPresent;
  Return how;
  how.delivery = {job.mode == DecodeMode::axpy ? DecodeMode::axpy : DecodeMode::add, job.weight};
  how.senders = mean ? reinterpret_cast<std::uint32_t*>(job.scratch.data()) : nullptr;
  Launches launches;
  if (mean || job.mode == DecodeMode::set) {
    launches(launchClear({job.out.data(), how.senders, count}, stream));
  }
  Vector vector = vectorOf(count, job.first_element, job.shared, job.scratch);
  vector.values = job.out.data();
  for (const PayloadView payload : job.payloads) {
    vector.payload = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(payload.data())); // decoding only reads it
    if (Status status = decodeVector(vector, how, job.scratch, stream); !status.isOk()) {
      return status;
    }
  }
  if (mean) {
    launches(launchShare({job.out.data(), how.senders, count}, stream));
  }
  return launches.status(*host_);
}

Status SparseDeviceCodec::merge(MergeJob& job, Stream stream) const {
  const std::size_t count = job.values.size();
  if (job.out.size() < host_->maxBytes(count)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("codec '{}' on a device: {} bytes for a payload of {}",
                                                                host_->spec(), job.out.size(), host_->maxBytes(count)));
  }
  DecodeJob decodes;
  decodes.payloads = job.payloads;
  decodes.out = job.values;
  decodes.mode = DecodeMode::add;
  decodes.shared = job.random.shared;
  decodes.first_element = job.first_element;
  decodes.scratch = job.scratch;
  if (Status status = decode(decodes, stream); !status.isOk()) {
    return status;
  }
  float* values = job.values.data();
  Launches launches;
  launches(launchPrepare({values, nullptr, nullptr, values, 1, job.factor, count}, stream));
  if (job.residual != nullptr) {
    launches(launchPrepare({values, nullptr, job.residual, job.residual, job.decay, 1, count}, stream));
  }
  if (Status status = launches.status(*host_); !status.isOk()) {
    return status;
  }
  Vector vector = vectorOf(count, job.first_element, job.random.shared, job.scratch);
  vector.values = job.residual != nullptr ? job.residual : values;
  vector.payload = reinterpret_cast<unsigned char*>(job.out.data());
  if (Status status = encodeVector(vector, job.residual != nullptr, job.random, job.scratch, stream); !status.isOk()) {
    return status;
  }
  job.bytes = host_->maxBytes(count);
  const PayloadView own = PayloadView(job.out).first(job.bytes);
  decodes.payloads = {&own, 1};
  decodes.mode = DecodeMode::set;
  return decode(decodes, stream);
}

namespace {

/// The k = ceil(ratio * count) largest, of equal ones the first, as on the CPU.
class DeviceTopK final : public SparseDeviceCodec {
 public:
  DeviceTopK(double ratio, std::shared_ptr<const Codec> host, std::unique_ptr<const DeviceCodec> inner)
      : SparseDeviceCodec(std::move(host), std::move(inner)), ratio_(ratio) {}

 protected:
  [[nodiscard]] std::size_t held(std::size_t count) const override {
    return std::min(static_cast<std::size_t>(std::ceil(ratio_ * static_cast<double>(count))), count);
  }
  [[nodiscard]] std::size_t headBytes(std::size_t count) const override { return 4 + indexBytes(count, held(count)); }
  // The histogram, the state, and counts of chunks.
  [[nodiscard]] std::size_t pickScratchBytes(std::size_t count) const override {
    return kHistogramBytes + 64 + (pickChunks(count) + 1) * sizeof(PickCounts);
  }

  int pick(const Vector& vector, Stream stream) const override {
    const auto some = static_cast<std::uint32_t>(held(vector.count));
    PickJob job;
    job.values = vector.values;
    job.count = vector.count;
    job.wanted = some;
    job.histogram = reinterpret_cast<std::uint32_t*>(vector.scratch.data());
    job.state = reinterpret_cast<PickState*>(vector.scratch.data() + kHistogramBytes);
    int code = launchClear({reinterpret_cast<float*>(job.histogram), nullptr, kPickBuckets}, stream);
    for (job.digit = 0; job.digit < kPickDigits && some != 0 && code == 0; ++job.digit) {
      code = launchPick(job, stream);
    }
    CollectJob collect;
    collect.values = vector.values;
    collect.count = vector.count;
    collect.held = some;
    collect.bitmap = isBitmap(vector.count, some);
    collect.state = job.state;
    collect.counts = reinterpret_cast<PickCounts*>(vector.scratch.data() + kHistogramBytes + 64);
    collect.head = vector.payload;
    collect.picked = vector.picked;
    return code != 0 ? code : launchCollect(collect, stream);
  }

  int putBack(const Vector& vector, const Return& how, Stream stream) const override {
    const auto some = static_cast<std::uint32_t>(held(vector.count));
    ScatterJob job;
    job.index = {vector.payload + 4, vector.count, some, isBitmap(vector.count, some),
                 reinterpret_cast<std::uint32_t*>(vector.scratch.data() + kHistogramBytes + 64)};
    job.values = vector.picked;
    job.out = vector.values;
    job.weight = how.delivery.weight;
    job.weighted = how.delivery.mode == DecodeMode::axpy;
    job.finite = how.finite;
    job.senders = how.senders;
    const int code = launchIndex(job.index, stream);
    return code != 0 ? code : launchScatter(job, stream);
  }

 private:
  static constexpr std::size_t kHistogramBytes = kPickBuckets * sizeof(std::uint32_t);
  const double ratio_;
};

/// One random block of each run of blocks, as on the CPU.
class DeviceRandomK final : public SparseDeviceCodec {
 public:
  DeviceRandomK(double ratio, std::size_t block, std::shared_ptr<const Codec> host,
                std::unique_ptr<const DeviceCodec> inner)
      : SparseDeviceCodec(std::move(host), std::move(inner)), ratio_(ratio), block_(block) {}

 protected:
  [[nodiscard]] std::size_t held(std::size_t count) const override {
    const BlocksJob job = blocksOf(count);
    return job.chosen * job.block;
  }
  [[nodiscard]] std::size_t headBytes(std::size_t) const override { return 0; }
  [[nodiscard]] std::size_t pickScratchBytes(std::size_t) const override { return 0; }

  int pick(const Vector& vector, Stream stream) const override {
    BlocksJob job = jobOf(vector);
    job.values = vector.values;
    job.out = vector.picked;
    return launchGatherBlocks(job, stream);
  }
  int putBack(const Vector& vector, const Return& how, Stream stream) const override {
    BlocksJob job = jobOf(vector);
    job.values = vector.picked;
    job.out = vector.values;
    job.delivery = how.delivery;
    job.finite = how.finite;
    job.senders = how.senders;
    return launchDeliverBlocks(job, stream);
  }

 private:
  [[nodiscard]] BlocksJob blocksOf(std::size_t count) const {
    BlocksJob job;
    job.count = count;
    if (count != 0) {
      job.block = std::min(block_, count);
      job.blocks = (count + job.block - 1) / job.block;
      job.chosen = std::min(static_cast<std::size_t>(std::ceil(ratio_ * static_cast<double>(job.blocks))), job.blocks);
    }
    return job;
  }
  [[nodiscard]] BlocksJob jobOf(const Vector& vector) const {
    BlocksJob job = blocksOf(vector.count);
    job.key = vector.shared.key();
    job.first_element = vector.first_element;
    return job;
  }

  const double ratio_;
  const std::size_t block_;
};

} // namespace

std::unique_ptr<const DeviceCodec> makeDeviceTopK(double ratio, std::shared_ptr<const Codec> host,
                                                  std::unique_ptr<const DeviceCodec> inner) {
  return std::make_unique<DeviceTopK>(ratio, std::move(host), std::move(inner));
}

std::unique_ptr<const DeviceCodec> makeDeviceRandomK(double ratio, std::size_t block, std::shared_ptr<const Codec> host,
                                                     std::unique_ptr<const DeviceCodec> inner) {
  return std::make_unique<DeviceRandomK>(ratio, block, std::move(host), std::move(inner));
}

} // namespace goss::compressors::cuda
