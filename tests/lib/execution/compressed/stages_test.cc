// The feedback stages loco and momentum in all_reduce, beside encoders with feedback that are asked one by one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compressors/chain.h"
#include "compressors/feedback.h"
#include "tests/lib/execution/compressed/harness.h"

namespace goss::test {
namespace {

using compressors::FeedbackEncoder;

constexpr std::uint64_t kTensor = 7;
constexpr int kSteps = 5;

/// Memory aligned to 64 bytes.
class Aligned {
 public:
  explicit Aligned(std::size_t bytes) : memory_(bytes + 64), bytes_(bytes) {}
  std::span<std::byte> span() {
    void* at = memory_.data();
    std::size_t space = memory_.size();
    return {static_cast<std::byte*>(std::align(64, bytes_, at, space)), bytes_};
  }

 private:
  std::vector<std::byte> memory_;
  std::size_t bytes_;
};

/// One vector's encoder with its state.
class Encoder {
 public:
  Encoder(const Compression& compression, std::size_t count)
      : codec_(*compression.codec),
        encoder_(compression, count),
        count_(count),
        state_(encoder_.stateBytes()),
        scratch_(encoder_.scratchBytes()) {}

  std::vector<std::byte> encode(std::span<const float> values, std::uint64_t first) {
    std::vector<std::byte> payload(codec_.maxBytes(count_));
    EncodeSegment segment{0, count_, payload, 0};
    EncodeJob job;
    job.values = values;
    job.first_element = first;
    job.segments = std::span(&segment, 1);
    EXPECT_TRUE(encoder_.encode(job, state_.span(), scratch_.span(), step_++).isOk());
    payload.resize(segment.bytes);
    return payload;
  }
  /// The mean over `ranks` of values and payloads, as all decode it.
  void merge(std::span<float> values, std::span<const PayloadView> payloads, int ranks) {
    std::vector<std::byte> payload(codec_.maxBytes(count_));
    MergeJob job;
    job.payloads = payloads;
    job.values = values;
    job.factor = 1.0f / static_cast<float>(ranks);
    job.out = payload;
    EXPECT_TRUE(encoder_.merge(job, state_.span(), scratch_.span(), step_++).isOk());
  }
  void addTo(std::span<float> sum, PayloadView payload) {
    Aligned scratch(codec_.scratchBytes(count_));
    DecodeJob job;
    job.payloads = std::span(&payload, 1);
    job.out = sum;
    job.mode = DecodeMode::add;
    job.scratch = scratch.span();
    EXPECT_TRUE(codec_.decode(job).isOk());
  }

 private:
  const Codec& codec_;
  const FeedbackEncoder encoder_;
  const std::size_t count_;
  Aligned state_, scratch_;
  std::uint64_t step_ = 0;
};

Floats contributionOf(std::size_t rank, int step, std::size_t count) {
  return contribution(static_cast<int>(rank) + 100 * step, count);
}

/// By step; the same on all ranks.
std::vector<Floats> results(const RanksSetup& setup, const std::string& codec, std::size_t count) {
  std::vector<std::vector<Floats>> found(static_cast<std::size_t>(setup.ranks));
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec.c_str();
    options.tensor = kTensor;
    for (int step = 0; step < kSteps; ++step) {
      Floats values = contributionOf(static_cast<std::size_t>(rank), step, count);
      EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), count, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
                GOSS_SUCCESS)
          << goss_last_error();
      found[static_cast<std::size_t>(rank)].push_back(std::move(values));
    }
  });
  for (const auto& other : found)
    EXPECT_EQ(other, found[0]) << codec << ": ranks differ";
  return found[0];
}

/// Every rank's whole payload, added in rank order.
std::vector<Floats> gathered(const Compression& compression, std::size_t ranks, std::size_t count) {
  std::vector<std::unique_ptr<Encoder>> encoders;
  for (std::size_t r = 0; r < ranks; ++r)
    encoders.push_back(std::make_unique<Encoder>(compression, count));
  std::vector<Floats> expected;
  for (int step = 0; step < kSteps; ++step) {
    Floats sum(count);
    for (std::size_t r = 0; r < ranks; ++r)
      encoders[r]->addTo(sum, encoders[r]->encode(contributionOf(r, step, count), 0));
    for (float& value : sum)
      value *= 1.0f / static_cast<float>(ranks);
    expected.push_back(std::move(sum));
  }
  return expected;
}

TEST(Momentum, IsWhatEncodersWithMomentumSend) {
  for (const char* codec : {"topk:ratio=0.05+none+momentum:factor=0.5", "int8+momentum:factor=0.9,mask=0"}) {
    const Compression compression = compressors::makeCompression(codec).take();
    for (const int ranks : {2, 3, 8}) {
      constexpr std::size_t kCount = 3000;
      const std::vector<Floats> found = results(setupOf(ranks), codec, kCount);
      const std::vector<Floats> expected = gathered(compression, static_cast<std::size_t>(ranks), kCount);
      for (std::size_t step = 0; step < kSteps; ++step)
        EXPECT_LT(errorOf(expected[step], found[step]), 1e-12) << codec << ", " << ranks << " ranks, step " << step;
    }
  }
  for (const char* transport : {"shm", "tcp"})
    EXPECT_EQ(results(setupOf(3, transport), "dgc", 5000), results(setupOf(3), "dgc", 5000)) << transport;
}

TEST(Momentum, IsForAllReduceByGathering) {
  runRanks(setupOf(2), [](goss_comm_t comm, int) {
    Floats values(100, 1.0f);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "dgc";
    options.tensor = 1;
    EXPECT_EQ(goss_reduce(comm, values.data(), values.data(), 100, GOSS_FLOAT32, GOSS_SUM, 0, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    options.algorithm = "ring";
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 100, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    options.algorithm = "flat";
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 100, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_SUCCESS)
        << goss_last_error();
  });
}

TEST(Loco, IsWhatEncodersWithLocoMakeOfATwoShotAllReduce) {
  constexpr std::size_t kShard = 1024;
  const char* codec = "int8:block=256+loco:beta=0.75,reset=3";
  const Compression compression = compressors::makeCompression(codec).take();
  for (const std::size_t ranks : {std::size_t{2}, std::size_t{3}}) {
    const std::size_t count = ranks * kShard;
    const std::vector<Floats> found = results(setupOf(static_cast<int>(ranks), "", "direct"), codec, count);
    std::vector<std::unique_ptr<Encoder>> workers, servers;
    for (std::size_t i = 0; i < ranks * ranks; ++i)
      workers.push_back(std::make_unique<Encoder>(compression, kShard));
    for (std::size_t i = 0; i < ranks; ++i)
      servers.push_back(std::make_unique<Encoder>(compression, kShard));
    for (int step = 0; step < kSteps; ++step) {
      Floats expected(count);
      for (std::size_t owner = 0; owner < ranks; ++owner) {
        const std::size_t first = owner * kShard;
        std::vector<std::vector<std::byte>> payloads;
        for (std::size_t r = 0; r < ranks; ++r) {
          const Floats mine = contributionOf(r, step, count);
          const std::span<const float> shard = std::span(mine).subspan(first, kShard);
          if (r == owner) {
            std::copy(shard.begin(), shard.end(), expected.begin() + static_cast<std::ptrdiff_t>(first));
          } else {
            payloads.push_back(workers[owner * ranks + r]->encode(shard, first));
          }
        }
        const std::vector<PayloadView> views(payloads.begin(), payloads.end());
        servers[owner]->merge(std::span(expected).subspan(first, kShard), views, static_cast<int>(ranks));
      }
      // The order of a sum may move a number to the next of 255 steps.
      EXPECT_LT(errorOf(expected, found[static_cast<std::size_t>(step)]), 1e-6) << ranks << " ranks, step " << step;
    }
  }
  for (const char* transport : {"shm", "tcp"})
    EXPECT_EQ(results(setupOf(3, transport, "direct"), codec, 5000), results(setupOf(3, "", "direct"), codec, 5000))
        << transport;
}

} // namespace
} // namespace goss::test
