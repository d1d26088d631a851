/// Multi-phase codecs over simulated ranks: whoever asks for a sum gets it, as an all-reduce would.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

struct RankState {
  Floats values, residual, state;
};

/// Gives every rank what an all-reduce would.
void answer(const std::vector<CodecPhase>& wants) {
  if (wants.front().want == PhaseWant::add) {
    const Bytes first(wants.front().payload.begin(), wants.front().payload.end());
    Bytes sum = first;
    for (std::size_t rank = 1; rank < wants.size(); ++rank) {
      const CodecPhase& phase = wants[rank];
      ASSERT_EQ(phase.codec->spec(), wants.front().codec->spec());
      ASSERT_TRUE(wants.front().codec->addPayload(phase.payload, phase.count, sum).isOk());
    }
    for (const CodecPhase& phase : wants) {
      std::copy(sum.begin(), sum.end(), phase.payload.begin());
    }
    return;
  }
  for (std::size_t i = 0; i < wants.front().values.size(); ++i) {
    float result = wants.front().values[i];
    for (std::size_t rank = 1; rank < wants.size(); ++rank) {
      const float other = wants[rank].values[i];
      const bool larger = other > result || std::isnan(other);
      result = wants.front().want == PhaseWant::sum ? result + other : larger ? other : result;
    }
    for (const CodecPhase& phase : wants) {
      phase.values[i] = result;
    }
  }
}

/// Runs one operation over all ranks.
void runOperation(const Codec& codec, std::vector<RankState>& ranks, std::size_t columns, bool feedback,
                  std::uint32_t step = 7) {
  std::vector<std::unique_ptr<CodecRun>> runs;
  for (RankState& rank : ranks) {
    RunJob job;
    job.values = rank.values;
    job.columns = columns;
    job.residual = feedback ? rank.residual.data() : nullptr;
    job.state = rank.state;
    job.ranks = static_cast<int>(ranks.size());
    job.random = randomness(static_cast<std::uint32_t>(runs.size()), step);
    auto started = codec.start(job);
    ASSERT_TRUE(started.isOk()) << started.status().text();
    runs.push_back(started.take());
  }
  for (int phases = 0; phases < 10; ++phases) {
    std::vector<CodecPhase> wants;
    for (const auto& run : runs) {
      auto phase = run->next();
      ASSERT_TRUE(phase.isOk());
      wants.push_back(phase.value());
      ASSERT_EQ(wants.back().want, wants.front().want) << "ranks ask for different collectives";
    }
    if (wants.front().want == PhaseWant::done) {
      return;
    }
    answer(wants);
  }
  FAIL() << "the run does not end";
}

std::vector<RankState> makeRanks(const Codec& codec, std::size_t count, std::size_t columns, std::size_t size) {
  std::vector<RankState> ranks(size);
  for (RankState& rank : ranks) {
    rank.residual.resize(count);
    rank.state.resize(codec.stateFloats(count, columns));
  }
  return ranks;
}

constexpr std::size_t kRows = 48, kColumns = 32, kCount = kRows * kColumns;

/// Sum of three outer products: of rank 3.
Floats lowRank(std::uint32_t seed) {
  const Floats left = gaussian(3 * kRows, seed), right = gaussian(3 * kColumns, 99);
  Floats matrix(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      matrix[i] += left[k * kRows + i / kColumns] * right[k * kColumns + i % kColumns];
    }
  }
  return matrix;
}

class PowerSgd : public testing::TestWithParam<const char*> {};

TEST_P(PowerSgd, FindsAMatrixOfLowRankExactly) {
  const auto codec = codecOf(GetParam());
  auto ranks = makeRanks(*codec, kCount, kColumns, 3);
  Floats mean(kCount);
  for (int round = 0; round < 4; ++round) { // one-reduction forms need a few turns of the power iteration
    std::fill(mean.begin(), mean.end(), 0.0f);
    for (std::uint32_t r = 0; r < 3; ++r) {
      ranks[r].values = lowRank(r + 1);
      for (std::size_t i = 0; i < kCount; ++i) {
        mean[i] += ranks[r].values[i] / 3;
      }
    }
    runOperation(*codec, ranks, kColumns, false);
  }
  EXPECT_LT(normalizedError(mean, ranks[0].values), 1e-9);
  for (const RankState& rank : ranks) {
    expectSameBits(rank.values, ranks[0].values, "all ranks");
    expectSameBits(rank.state, ranks[0].state, "state");
  }
}

// With error feedback the sum of what was delivered follows the sum of what was given: the difference stays bounded.
TEST_P(PowerSgd, DeliversEverythingInTheEndWithFeedback) {
  const auto codec = codecOf(GetParam());
  for (const bool feedback : {false, true}) {
    auto ranks = makeRanks(*codec, kCount, kColumns, 2);
    const Floats gradients[] = {gaussian(kCount, 5), gaussian(kCount, 6)};
    Floats given(kCount), delivered(kCount);
    for (int round = 0; round < 60; ++round) {
      for (std::size_t r = 0; r < 2; ++r) {
        ranks[r].values = gradients[r];
        for (std::size_t i = 0; i < kCount; ++i) {
          given[i] += gradients[r][i] / 2;
        }
      }
      runOperation(*codec, ranks, kColumns, feedback);
      for (std::size_t i = 0; i < kCount; ++i) {
        delivered[i] += ranks[0].values[i];
      }
    }
    const double error = normalizedError(given, delivered);
    if (feedback) {
      EXPECT_LT(error, 0.02);
    } else {
      EXPECT_GT(error, 0.2);
    }
  }
}

TEST_P(PowerSgd, SumsSmallVectorsAsTheyAre) {
  const auto codec = codecOf(GetParam());
  for (const std::size_t columns : {std::size_t{0}, std::size_t{8}}) {
    auto ranks = makeRanks(*codec, 16, columns, 2);
    ranks[0].values = Floats(16, 1.0f);
    ranks[1].values = Floats(16, 2.0f);
    ranks[1].residual = Floats(16, 1.0f);
    runOperation(*codec, ranks, columns, true);
    expectSameBits(ranks[0].values, Floats(16, 2.0f), "mean");
    expectSameBits(ranks[1].residual, Floats(16, 0.0f), "residual");
  }
}

TEST_P(PowerSgd, RefusesWhatItCannotDo) {
  const auto codec = codecOf(GetParam());
  Floats values(100);
  RunJob job;
  job.values = values;
  job.columns = 7;
  EXPECT_EQ(codec->start(job).status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  Floats matrix(kCount);
  job.values = matrix;
  job.columns = kColumns; // without state
  EXPECT_EQ(codec->start(job).status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EncodeJob encode_job;
  EXPECT_EQ(codec->encode(encode_job).kind(), GOSS_ERR_UNSUPPORTED);
  EXPECT_EQ(codecOf(codec->spec())->spec(), codec->spec());
}

TEST(PowerSgdRun, GivesOthersATurnWhileItComputes) {
  // A matrix of rank one, with 1100 * 1100 * 32 multiplications, which are more than one slice.
  constexpr std::size_t kSide = 1100;
  const Floats left = gaussian(kSide, 1), right = gaussian(kSide, 2);
  Floats values(kSide * kSide);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = left[i / kSide] * right[i % kSide];
  const Floats exact = values;
  for (const char* spec : {"powersgd:rank=32", "powersgd:rank=32,reductions=1"}) {
    const auto codec = codecOf(spec);
    Floats state(codec->stateFloats(values.size(), kSide));
    for (int round = 0; round < 3; ++round) { // one reduction needs a few turns of the power iteration
      values = exact;
      RunJob job;
      job.values = values;
      job.columns = kSide;
      job.state = state;
      job.random = randomness(0);
      auto run = codec->start(job);
      ASSERT_TRUE(run.isOk()) << run.status().text();
      int turns = 0;
      for (bool done = false; !done;) {
        const CodecPhase phase = run.value()->next().take();
        done = phase.want == PhaseWant::done;
        turns += !done && phase.values.empty() ? 1 : 0;
      }
      EXPECT_GE(turns, 2) << spec;
    }
    // All columns but one are rounding, and what is left of them is not quite at right angles.
    EXPECT_LT(normalizedError(exact, values), 1e-5) << spec;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, PowerSgd,
                         testing::Values("powersgd:rank=4,reductions=2,feedback=averaged",
                                         "powersgd:rank=4,reductions=2,feedback=local",
                                         "powersgd:rank=4,reductions=1,feedback=averaged",
                                         "powersgd:rank=4,reductions=1,feedback=local"));

TEST(AgreedTernGrad, IsUnbiasedAndTheSameOnAllRanks) {
  const auto codec = codecOf("terngrad:clip=0,agree=max");
  for (const std::size_t size : {std::size_t{1}, std::size_t{3}, std::size_t{9}}) {
    std::vector<double> sum(500);
    Floats mean(500);
    constexpr int kRounds = 3000;
    for (int round = 0; round < kRounds; ++round) {
      auto ranks = makeRanks(*codec, 500, 0, size);
      std::fill(mean.begin(), mean.end(), 0.0f);
      for (std::size_t r = 0; r < size; ++r) {
        ranks[r].values.resize(500);
        for (std::size_t i = 0; i < 500; ++i) {
          ranks[r].values[i] = std::sin(static_cast<float>(i * (r + 1)));
          mean[i] += ranks[r].values[i] / static_cast<float>(size);
        }
      }
      runOperation(*codec, ranks, 0, false, static_cast<std::uint32_t>(round));
      for (std::size_t i = 0; i < 500; ++i) {
        sum[i] += ranks[0].values[i] / kRounds;
      }
      expectSameBits(ranks.back().values, ranks.front().values, "all ranks");
    }
    for (std::size_t i = 0; i < 500; ++i) {
      EXPECT_NEAR(sum[i], mean[i], 6 / std::sqrt(kRounds)) << i; // six standard errors of one rank's levels of +-1
    }
  }
}

// The scale is lessened by no more than the data ask for: what loses nothing arrives as it is, and what is left of
// ranks whose magnitudes differ much stays bounded.
TEST(AgreedTernGrad, DeliversWithFeedbackWhatItCan) {
  const auto codec = codecOf("terngrad:agree=max");
  auto ranks = makeRanks(*codec, 300, 0, 4);
  for (RankState& rank : ranks)
    rank.values = Floats(300, -1.0f);
  runOperation(*codec, ranks, 0, true);
  EXPECT_EQ(ranks[2].values, Floats(300, -1.0f));
  EXPECT_EQ(ranks[2].residual, Floats(300));

  ranks = makeRanks(*codec, 300, 0, 4);
  for (std::uint32_t step = 0; step < 300; ++step) {
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      ranks[r].values = gaussian(300, static_cast<std::uint32_t>(r));
      for (float& value : ranks[r].values)
        value *= std::pow(0.01f, static_cast<float>(r));
    }
    runOperation(*codec, ranks, 0, true, step);
    double left = 0;
    for (const RankState& rank : ranks)
      for (const float lost : rank.residual)
        left += static_cast<double>(lost) * static_cast<double>(lost);
    ASSERT_LT(left, 1.5 * 300 * 34 * 34) << step; // r = sqrt(1 - least gain): r / (1 - r) = 34 times the values' root
  }
}

TEST(AgreedTernGrad, KeepsWhatItLosesAndShowsOverflows) {
  const auto codec = codecOf("terngrad:clip=2.5,agree=max");
  auto ranks = makeRanks(*codec, 300, 0, 2);
  ranks[0].values = gaussian(300, 1);
  ranks[1].values = gaussian(300, 2);
  ranks[1].residual = gaussian(300, 3);
  Floats wanted(300);
  for (std::size_t i = 0; i < 300; ++i) {
    wanted[i] = ranks[0].values[i] + (ranks[1].values[i] + ranks[1].residual[i]);
  }
  runOperation(*codec, ranks, 0, true);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(2 * ranks[0].values[i] + ranks[0].residual[i] + ranks[1].residual[i], wanted[i], 1e-5);
  }
  ranks[0].values = Floats(300, 0.0f);
  ranks[1].values = Floats(300, -0.0f);
  ranks[0].residual = ranks[1].residual = Floats(300, 0.0f);
  runOperation(*codec, ranks, 0, true);
  EXPECT_EQ(ranks[1].values, Floats(300, 0.0f));
  ranks[1].values[5] = std::numeric_limits<float>::infinity();
  runOperation(*codec, ranks, 0, true);
  for (const RankState& rank : ranks) {
    EXPECT_TRUE(std::isnan(rank.values[0]));
    EXPECT_EQ(rank.residual, Floats(300, 0.0f));
  }
  RunJob job;
  job.ranks = 128;
  EXPECT_EQ(codec->start(job).status().kind(), GOSS_ERR_INVALID_ARGUMENT);
}

} // namespace
} // namespace goss::test
