#include <algorithm>
#include <bit>
#include <cmath>

#include "compressors/cuda/codecs/sparse_codec.h"
#include "compressors/sparse/index_set.h"
#include "compressors/sparse/shortlist.h"

namespace goss::compressors::cuda {

namespace {

constexpr std::size_t kHistogramBytes = kPickBuckets * sizeof(std::uint32_t);
constexpr std::size_t kStateBytes = 64;
static_assert(sizeof(PickState) <= kStateBytes);

std::size_t wanted(double ratio, std::size_t count) {
  return std::min(static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(count))), count);
}

/// Sparsifiers that send indices, by a threshold. Scratch: the search's state, its histogram, counts of chunks, the
/// short list's chunks and candidates, and the indices, where they are packed.
class IndexedCodec : public SparseDeviceCodec {
 public:
  [[nodiscard]] bool makesNan() const final { return true; }

 protected:
  using SparseDeviceCodec::SparseDeviceCodec;

  [[nodiscard]] std::size_t headBytes(std::size_t count, std::size_t held) const final {
    return 4 + (packs() ? PackedIndices(count, held).bytes : indexBytes(count, held));
  }
  [[nodiscard]] std::size_t pickScratchBytes(std::size_t count) const final {
    const std::size_t capacity = listCapacity(count);
    const std::size_t list =
        capacity == 0 ? 0 : pickChunks(count) * sizeof(ChunkCandidates) + capacity * sizeof(IndexedValue);
    const std::size_t indices = packs() ? most(count) * sizeof(std::uint32_t) : 0;
    return 2 * kStateBytes + kHistogramBytes + (pickChunks(count) + 1) * sizeof(PickCounts) + list + indices;
  }
  /// Candidates that a short list holds; 0: the codec has no short list. Grows with `count`.
  [[nodiscard]] virtual std::size_t listCapacity(std::size_t) const { return 0; }
  [[nodiscard]] Shortlist listOf(const Sparse& sparse) const {
    const std::size_t capacity = listCapacity(sparse.count);
    if (capacity == 0) {
      return {};
    }
    Shortlist list;
    const std::size_t chunks = pickChunks(sparse.count);
    list.chunks = reinterpret_cast<ChunkCandidates*>(countsOf(sparse) + (chunks + 1) * sizeof(PickCounts));
    list.listed = reinterpret_cast<IndexedValue*>(list.chunks + chunks);
    list.capacity = static_cast<std::uint32_t>(capacity);
    return list;
  }
  static PickState* stateOf(const Sparse& sparse) { return reinterpret_cast<PickState*>(sparse.scratch.data()); }
  static std::uint32_t* histogramOf(const Sparse& sparse) {
    return reinterpret_cast<std::uint32_t*>(sparse.scratch.data() + 2 * kStateBytes);
  }

  /// Leaves the threshold in the state; may fill the short list.
  virtual int choose(const Sparse& sparse, Stream stream) const = 0;

  int pick(const Sparse& sparse, Stream stream) const final {
    const int code = choose(sparse, stream);
    CollectJob collect;
    collect.values = sparse.values;
    collect.count = sparse.count;
    collect.state = stateOf(sparse);
    collect.list = listOf(sparse);
    collect.counts = reinterpret_cast<PickCounts*>(countsOf(sparse));
    collect.head = reinterpret_cast<unsigned char*>(sparse.payload.data());
    if (packs()) {
      collect.indices = indicesOf(sparse);
      collect.most = static_cast<std::uint32_t>(most(sparse.count));
    }
    collect.picked = sparse.picked;
    collect.inner = innerPayloadOf(sparse);
    return code != 0 ? code : launchCollect(collect, stream);
  }

  int putBack(const Sparse& sparse, const Return& how, Stream stream) const final {
    ScatterJob job;
    job.index.indices = reinterpret_cast<const unsigned char*>(sparse.payload.data()) + 4;
    job.index.count = sparse.count;
    job.index.held = static_cast<std::uint32_t>(most(sparse.count));
    job.index.inner = sparse.inner;
    job.index.counts = reinterpret_cast<std::uint32_t*>(countsOf(sparse));
    job.index.packs = packs();
    job.values = sparse.picked;
    job.out = sparse.values;
    job.weight = how.delivery.weight;
    job.weighted = how.delivery.mode == DecodeMode::axpy;
    job.finite = how.finite;
    job.senders = how.senders;
    job.clears = how.clears;
    const int code = launchIndex(job.index, stream);
    return code != 0 ? code : launchScatter(job, stream);
  }

  int refuse(PayloadView payload, std::span<float> out, Stream stream) const final {
    return launchRefuse({reinterpret_cast<const unsigned char*>(payload.data()),
                         static_cast<std::uint32_t>(most(out.size())), out.data(), out.size()},
                        stream);
  }

  [[nodiscard]] PickJob pickJobOf(const Sparse& sparse) const {
    PickJob job;
    job.values = sparse.values;
    job.count = sparse.count;
    job.histogram = histogramOf(sparse);
    job.state = stateOf(sparse);
    job.list = listOf(sparse);
    return job;
  }
  /// Searches for as many of the largest as the state says; with `unless_settled` only where the state is not settled.
  [[nodiscard]] int search(const Sparse& sparse, Stream stream, bool unless_settled = false) const {
    PickJob job = pickJobOf(sparse);
    job.unless_settled = unless_settled;
    int code = 0;
    for (; job.digit < kPickDigits && code == 0; ++job.digit) {
      code = launchPick(job, stream);
    }
    return code;
  }

 private:
  static std::byte* countsOf(const Sparse& sparse) { return sparse.scratch.data() + 2 * kStateBytes + kHistogramBytes; }
  /// The last part of the scratch.
  [[nodiscard]] std::uint32_t* indicesOf(const Sparse& sparse) const {
    const std::size_t end = pickScratchBytes(sparse.count);
    return reinterpret_cast<std::uint32_t*>(sparse.scratch.data() + end) - most(sparse.count);
  }
  /// Where the kernels write how many values they picked. A codec that always picks the same number sets no `inner`;
  /// then the kernels write the number to the scratch, where it is not read.
  static InnerPayload* innerPayloadOf(const Sparse& sparse) {
    return sparse.inner != nullptr ? sparse.inner
                                   : reinterpret_cast<InnerPayload*>(sparse.scratch.data() + kStateBytes);
  }
};

/// Sends the k = ceil(ratio * count) largest, of equal ones the first, as on the CPU: it searches among the candidates
/// that a sample lets through, or among all elements where there are fewer than k candidates or more than fit the list.
class DeviceTopK final : public IndexedCodec {
 public:
  DeviceTopK(const TopKSettings& form, const std::shared_ptr<const Codec>& host,
             std::unique_ptr<const DeviceCodec> inner)
      : IndexedCodec(host, std::move(inner), false, form.packs), ratio_(form.ratio) {}

 protected:
  [[nodiscard]] std::size_t most(std::size_t count) const override { return wanted(ratio_, count); }
  /// A sample's threshold is the lower end of a bucket of an eighth of an octave, so that up to 1.5 times as many
  /// candidates reach it as wanted. A candidate takes 8 bytes: reading long lists gains nothing.
  [[nodiscard]] std::size_t listCapacity(std::size_t count) const override {
    return ratio_ > 0.125 ? 0 : std::min(count, 3 * most(count) + 16);
  }
  int choose(const Sparse& sparse, Stream stream) const override {
    BeginJob begin{{}, stateOf(sparse), histogramOf(sparse)};
    begin.begin.wanted = static_cast<std::uint32_t>(most(sparse.count));
    begin.begin.limit = begin.begin.wanted;
    begin.begin.stride = 1;
    int code = launchBegin(begin, stream);
    if (code != 0 || sparse.count == 0) {
      return code;
    }
    if (const SamplePlan plan(sparse.count, most(sparse.count)); listCapacity(sparse.count) != 0 && plan.pays()) {
      code = shortlist(sparse, plan, stream);
    }
    return code != 0 ? code : search(sparse, stream);
  }

 private:
  int shortlist(const Sparse& sparse, const SamplePlan& plan, Stream stream) const {
    PickJob sample = pickJobOf(sparse);
    sample.groups = static_cast<std::uint32_t>(plan.groups);
    sample.apart = sparse.count / plan.groups / 4 * 4; // so that groups are as aligned as the vector
    sample.wanted = static_cast<std::uint32_t>(plan.wanted());
    const int code = launchPick(sample, stream);
    return code != 0 ? code : launchList({sparse.values, sparse.count, sample.state, sample.list}, stream);
  }

  const double ratio_;
};

/// Sends all magnitudes above a sample's threshold, as on the CPU. Only the device knows whether another round is
/// needed, so all rounds are launched, and return at once when the threshold is settled.
class DeviceSampledTopK final : public IndexedCodec {
 public:
  DeviceSampledTopK(const TopKSettings& form, const std::shared_ptr<const Codec>& host,
                    std::unique_ptr<const DeviceCodec> inner)
      : IndexedCodec(host, std::move(inner), true, form.packs), ratio_(form.ratio) {}

 protected:
  [[nodiscard]] std::size_t most(std::size_t count) const override { return wanted(ratio_, count); }
  int choose(const Sparse& sparse, Stream stream) const override {
    const std::size_t count = sparse.count;
    BeginJob begin{{}, stateOf(sparse), histogramOf(sparse)};
    begin.begin.limit = static_cast<std::uint32_t>(most(count));
    int code = launchBegin(begin, stream);
    if (count == 0) {
      return code;
    }
    const SampledSearch plan(ratio_, count);
    SampleJob sample;
    sample.values = sparse.values;
    sample.count = count;
    sample.wanted = static_cast<std::uint32_t>(most(count));
    sample.wanted_sampled = static_cast<std::uint32_t>(plan.wanted);
    sample.stride = static_cast<std::uint32_t>(plan.stride);
    sample.state = stateOf(sparse);
    const auto step = [&](SampleStep which) {
      sample.step = which;
      code = code != 0 ? code : launchSample(sample, stream);
    };
    step(SampleStep::findOverflows);
    step(SampleStep::choose);
    code = code != 0 ? code : search(sparse, stream);
    for (int round = 0; round < SampledSearch::kRounds; ++round) {
      step(SampleStep::count);
      step(SampleStep::adapt);
    }
    step(SampleStep::giveUp);
    return code != 0 ? code : search(sparse, stream, true);
  }

 private:
  const double ratio_;
};

/// Sends all magnitudes of at least a given value.
class DeviceThreshold final : public IndexedCodec {
 public:
  DeviceThreshold(const ThresholdSettings& form, const std::shared_ptr<const Codec>& host,
                  std::unique_ptr<const DeviceCodec> inner)
      : IndexedCodec(host, std::move(inner), true, form.packs), value_(form.value) {}

 protected:
  [[nodiscard]] std::size_t most(std::size_t count) const override { return count; }
  int choose(const Sparse& sparse, Stream stream) const override {
    BeginJob begin{{}, stateOf(sparse), nullptr};
    begin.begin.threshold = std::bit_cast<std::uint32_t>(value_) & 0x7fffffffu;
    begin.begin.ties = begin.begin.limit = ~0u;
    return launchBegin(begin, stream);
  }

 private:
  const float value_;
};

/// Sends one random block of each run of blocks, as on the CPU.
class DeviceRandomK final : public SparseDeviceCodec {
 public:
  DeviceRandomK(double ratio, std::size_t block, const std::shared_ptr<const Codec>& host,
                std::unique_ptr<const DeviceCodec> inner)
      : SparseDeviceCodec(host, std::move(inner), false, false), ratio_(ratio), block_(block) {}

 protected:
  [[nodiscard]] std::size_t most(std::size_t count) const override {
    const BlocksJob job = blocksOf(count);
    return job.chosen * job.block;
  }
  [[nodiscard]] std::size_t headBytes(std::size_t, std::size_t) const override { return 0; }
  [[nodiscard]] std::size_t pickScratchBytes(std::size_t) const override { return 0; }

  int pick(const Sparse& sparse, Stream stream) const override {
    BlocksJob job = jobOf(sparse);
    job.values = sparse.values;
    job.out = sparse.picked;
    return launchGatherBlocks(job, stream);
  }
  int putBack(const Sparse& sparse, const Return& how, Stream stream) const override {
    BlocksJob job = jobOf(sparse);
    job.values = sparse.picked;
    job.out = sparse.values;
    job.delivery = how.delivery;
    job.finite = how.finite;
    job.senders = how.senders;
    job.clears = how.clears;
    return launchDeliverBlocks(job, stream);
  }

 private:
  [[nodiscard]] BlocksJob blocksOf(std::size_t count) const {
    BlocksJob job;
    job.count = count;
    if (count != 0) {
      job.block = std::min(block_, count);
      job.blocks = (count + job.block - 1) / job.block;
      job.chosen = wanted(ratio_, job.blocks);
    }
    return job;
  }
  [[nodiscard]] BlocksJob jobOf(const Sparse& sparse) const {
    BlocksJob job = blocksOf(sparse.count);
    job.key = sparse.shared.key();
    job.first_element = sparse.first_element;
    return job;
  }

  const double ratio_;
  const std::size_t block_;
};

} // namespace

std::unique_ptr<const DeviceCodec> makeDeviceTopK(const TopKSettings& form, const std::shared_ptr<const Codec>& host,
                                                  std::unique_ptr<const DeviceCodec> inner) {
  if (form.sampled) {
    return std::make_unique<DeviceSampledTopK>(form, host, std::move(inner));
  }
  return std::make_unique<DeviceTopK>(form, host, std::move(inner));
}
std::unique_ptr<const DeviceCodec> makeDeviceThreshold(const ThresholdSettings& form,
                                                       const std::shared_ptr<const Codec>& host,
                                                       std::unique_ptr<const DeviceCodec> inner) {
  return std::make_unique<DeviceThreshold>(form, host, std::move(inner));
}
std::unique_ptr<const DeviceCodec> makeDeviceRandomK(double ratio, std::size_t block,
                                                     const std::shared_ptr<const Codec>& host,
                                                     std::unique_ptr<const DeviceCodec> inner) {
  return std::make_unique<DeviceRandomK>(ratio, block, host, std::move(inner));
}

} // namespace goss::compressors::cuda
