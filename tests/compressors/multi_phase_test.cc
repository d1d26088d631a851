/// Multi-phase codecs over simulated ranks: whoever asks for a sum gets it, as an all-reduce would.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

struct RankState {
  Floats values, residual, state;
};

/// Runs one operation over all ranks.
void runOperation(const Codec& codec, std::vector<RankState>& ranks, std::size_t columns, bool feedback) {
  std::vector<std::unique_ptr<CodecRun>> runs;
  for (RankState& rank : ranks) {
    RunJob job;
    job.values = rank.values;
    job.columns = columns;
    job.residual = feedback ? rank.residual.data() : nullptr;
    job.state = rank.state;
    job.ranks = static_cast<int>(ranks.size());
    job.random = randomness(static_cast<std::uint32_t>(runs.size()));
    auto started = codec.start(job);
    ASSERT_TRUE(started.isOk()) << started.status().text();
    runs.push_back(started.take());
  }
  for (int phases = 0; phases < 10; ++phases) {
    std::vector<Phase> wants;
    for (const auto& run : runs) {
      auto phase = run->next();
      ASSERT_TRUE(phase.isOk());
      wants.push_back(phase.value());
      ASSERT_EQ(wants.back().want, wants.front().want) << "ranks ask for different collectives";
    }
    if (wants.front().want == PhaseWant::done) {
      return;
    }
    for (std::size_t i = 0; i < wants.front().values.size(); ++i) {
      float sum = 0;
      for (const Phase& phase : wants) {
        sum += phase.values[i];
      }
      for (const Phase& phase : wants) {
        phase.values[i] = sum;
      }
    }
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

INSTANTIATE_TEST_SUITE_P(Forms, PowerSgd,
                         testing::Values("powersgd:rank=4,reductions=2,feedback=averaged",
                                         "powersgd:rank=4,reductions=2,feedback=local",
                                         "powersgd:rank=4,reductions=1,feedback=averaged",
                                         "powersgd:rank=4,reductions=1,feedback=local"));

} // namespace
} // namespace goss::test
