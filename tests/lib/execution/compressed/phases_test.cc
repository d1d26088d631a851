// Codecs with phases in all_reduce, beside the same runs in one process that answers them itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "compressors/chain.h"
#include "gossamer/compression.h"
#include "tests/lib/execution/compressed/harness.h"
#include "tests/support/environment.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kTensor = 7;

bool sameBits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// One multi-phase codec on some ranks, in this process.
class Reference {
 public:
  Reference(const std::string& spec, int ranks, std::size_t count)
      : made_(compressors::makeCompression(spec).take()), count_(count) {
    const bool shaped = made_.codec->traits().needs_shape && count > 0;
    columns_ = shaped ? static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count)))) : 0;
    const std::size_t padded = shaped ? (count + columns_ - 1) / columns_ * columns_ : count;
    ranks_.resize(static_cast<std::size_t>(ranks));
    for (Rank& rank : ranks_) {
      rank.values.resize(padded);
      rank.residual.resize(padded);
      rank.state.resize(made_.codec->stateFloats(padded, columns_));
    }
  }

  /// The mean of what contribution_of(rank) gives.
  Floats run(const std::function<Floats(int)>& contribution_of) {
    std::vector<std::unique_ptr<CodecRun>> runs;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const Floats mine = contribution_of(static_cast<int>(r));
      std::fill(std::copy(mine.begin(), mine.end(), ranks_[r].values.begin()), ranks_[r].values.end(), 0.0f);
      runs.push_back(start(r));
    }
    ++step_;
    for (bool done = false; !done;) {
      std::vector<CodecPhase> wants;
      for (const auto& run : runs)
        wants.push_back(run->next().take());
      done = wants[0].want == PhaseWant::done;
      if (!done) answer(wants);
    }
    for (Rank& rank : ranks_)
      std::fill(rank.residual.begin() + static_cast<std::ptrdiff_t>(count_), rank.residual.end(), 0.0f);
    Floats result = ranks_[0].values;
    result.resize(count_);
    return result;
  }

 private:
  struct Rank {
    Floats values, residual, state;
  };

  std::unique_ptr<CodecRun> start(std::size_t r) {
    RandomContext context;
    context.seed = kTensor;
    context.step = step_;
    context.tensor = static_cast<std::uint32_t>(kTensor);
    RunJob job;
    job.values = ranks_[r].values;
    job.columns = columns_;
    job.residual = made_.feedback.worker ? ranks_[r].residual.data() : nullptr;
    job.decay = made_.feedback.decay;
    job.state = ranks_[r].state;
    job.ranks = static_cast<int>(ranks_.size());
    job.random = {PrivateStream(context, static_cast<std::uint32_t>(r)), SharedStream(context)};
    auto run = made_.codec->start(job);
    EXPECT_TRUE(run.isOk()) << run.status().text();
    return run.take();
  }

  static void answer(const std::vector<CodecPhase>& wants) {
    if (wants[0].want == PhaseWant::add) {
      std::vector<std::byte> sum(wants[0].payload.begin(), wants[0].payload.end());
      for (std::size_t r = 1; r < wants.size(); ++r)
        EXPECT_TRUE(wants[0].codec->addPayload(wants[r].payload, wants[r].count, sum).isOk());
      for (const CodecPhase& phase : wants)
        std::copy(sum.begin(), sum.end(), phase.payload.begin());
      return;
    }
    for (std::size_t i = 0; i < wants[0].values.size(); ++i) {
      float result = wants[0].values[i];
      for (std::size_t r = 1; r < wants.size(); ++r) {
        const float other = wants[r].values[i];
        result = wants[0].want == PhaseWant::sum ? result + other : std::max(result, other);
      }
      for (const CodecPhase& phase : wants)
        phase.values[i] = result;
    }
  }

  const Compression made_;
  const std::size_t count_;
  std::size_t columns_ = 0;
  std::uint32_t step_ = 0;
  std::vector<Rank> ranks_;
};

Floats contributionOf(int rank, int step, std::size_t count) { return contribution(rank + 100 * step, count); }

/// By step, by rank: results of three operations on one tensor.
std::vector<std::vector<Floats>> threeSteps(const RanksSetup& setup, const char* codec, std::size_t count) {
  std::vector<std::vector<Floats>> results(3, std::vector<Floats>(static_cast<std::size_t>(setup.ranks)));
  runRanks(setup, [&](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec;
    options.tensor = kTensor;
    for (int step = 0; step < 3; ++step) {
      Floats values = contributionOf(rank, step, count);
      EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), count, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
                GOSS_SUCCESS)
          << goss_last_error();
      results[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)] = std::move(values);
    }
  });
  return results;
}

/// `tolerance`: of the squared error; sums of floats depend on their order. 0: the same bits.
void expectAsReference(const RanksSetup& setup, const char* codec, std::size_t count, double tolerance) {
  const auto results = threeSteps(setup, codec, count);
  Reference reference(codec, setup.ranks, count);
  for (int step = 0; step < 3; ++step) {
    const Floats expected = reference.run([&](int rank) { return contributionOf(rank, step, count); });
    const auto& found = results[static_cast<std::size_t>(step)];
    for (const Floats& other : found)
      EXPECT_TRUE(sameBits(other, found[0])) << codec << " on " << setup.ranks << " ranks, step " << step;
    if (tolerance == 0) {
      EXPECT_TRUE(sameBits(found[0], expected)) << codec << " on " << setup.ranks << " ranks, step " << step;
    } else {
      EXPECT_LE(errorOf(expected, found[0]), tolerance) << codec << " on " << setup.ranks << " ranks, step " << step;
    }
  }
}

constexpr std::array kPowerSgd = {"powersgd:rank=2+ef", "powersgd:rank=4,feedback=local+ef",
                                  "powersgd:rank=3,reductions=1+ef",
                                  "powersgd:rank=2,reductions=1,feedback=local+ef:decay=0.9"};

TEST(PowerSgdAllReduce, IsWhatOneProcessComputes) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    const char* codec = kPowerSgd[static_cast<std::size_t>(ranks) % kPowerSgd.size()];
    expectAsReference(setupOf(ranks), codec, 1500, 1e-7);
    expectAsReference(setupOf(ranks), codec, 5, 1e-7); // Too few: they are summed as they are.
  }
}

TEST(PowerSgdAllReduce, RunsOverEveryTransport) {
  for (const char* transport : {"loopback", "shm", "tcp"}) {
    for (const char* codec : kPowerSgd)
      expectAsReference(setupOf(3, transport), codec, 4000, 1e-7);
  }
}

TEST(PowerSgdAllReduce, WhatIsComputedInPartsIsTheSame) {
  // 1100 * 1100 * 32 multiplications are more than are done at once.
  expectAsReference(setupOf(2), "powersgd:rank=32+ef", 1100 * 1100, 1e-7);
}

TEST(PowerSgdAllReduce, TakesTheShapeThatTheSpecNames) {
  // A matrix of rank one, as rows of 40; the power iteration finds it at once.
  constexpr std::size_t kRows = 30, kColumns = 40;
  const auto errorWith = [&](const char* codec) {
    double error = 0;
    runRanks(2, [&](goss_comm_t comm, int rank) {
      const Floats left = contribution(1, kRows), right = contribution(2, kColumns);
      Floats values(kRows * kColumns);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = left[i / kColumns] * right[i % kColumns];
      const Floats exact = values;
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = codec;
      EXPECT_EQ(
          goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
          GOSS_SUCCESS)
          << goss_last_error();
      if (rank == 0) error = errorOf(exact, values);
    });
    return error;
  };
  EXPECT_LT(errorWith("powersgd:rank=1,columns=40"), 1e-9);
  EXPECT_GT(errorWith("powersgd:rank=1"), 0.1);
}

TEST(AgreedTernGradAllReduce, IsWhatOneProcessComputesBitForBit) {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{777}, std::size_t{20001}})
      expectAsReference(setupOf(ranks), "terngrad:clip=2.5,agree=max+ef", count, 0);
  }
}

TEST(AgreedTernGradAllReduce, IsTheSameOverEveryTransportAndAlgorithm) {
  for (const char* transport : {"loopback", "shm", "tcp"})
    expectAsReference(setupOf(4, transport), "terngrad:clip=0,agree=max", 9001, 0);
  for (const char* algorithm : {"direct", "ring", "flat", "rabenseifner"})
    expectAsReference(setupOf(4, "", algorithm), "terngrad:clip=0,agree=max", 9001, 0);
}

TEST(PhasedAllReduce, TakesEveryKindOfCall) {
  for (const char* codec : {"powersgd:rank=64", "terngrad:clip=0,agree=max"}) {
    for (const goss_op op : {GOSS_SUM, GOSS_AVG}) {
      for (const goss_dtype dtype : {GOSS_FLOAT32, GOSS_BFLOAT16}) {
        CompressedCase what{setupOf(3), codec, "", 2500};
        what.op = op;
        what.dtype = dtype;
        what.in_place = op == GOSS_SUM;
        const auto results = allReduceCompressed(what);
        for (const Floats& other : results)
          EXPECT_TRUE(sameBits(other, results[0])) << codec;
        // For a matrix of rank 50, 64 columns are exact; -1, 0 and 1 times the largest number are unbiased, but rough.
        EXPECT_LT(errorOf(exactResult(what), results[0]), codec[0] == 'p' ? 1e-4 : 20) << codec;
      }
    }
  }
}

/// Bytes of the busiest rank, as goss_explain_codec says and as counters show.
void expectBytesAsExplained(const char* codec, double tolerance) {
  constexpr std::size_t kCount = 1 << 18;
  constexpr int kRanks = 4;
  const char* algorithm = "direct";
  ScopedEnvironment environment;
  environment.set("GOSS_ALGORITHM", algorithm);
  char* json = nullptr;
  ASSERT_EQ(goss_explain_codec("allreduce", kRanks, kCount * sizeof(float), codec, nullptr, &json), GOSS_SUCCESS)
      << goss_last_error();
  const nlohmann::json answer = nlohmann::json::parse(json);
  goss_free(json);
  std::uint64_t said = 0, in_phases = 0;
  for (const nlohmann::json& candidate : answer["candidates"])
    if (candidate["ratio"] == 1.0) said = candidate["most_bytes_sent"];
  for (const nlohmann::json& phase : answer.value("phases", nlohmann::json::array())) {
    for (const nlohmann::json& candidate : phase["candidates"])
      if (candidate["algorithm"] == algorithm) in_phases += candidate["most_bytes_sent"].get<std::uint64_t>();
  }
  if (answer.contains("phases")) {
    EXPECT_EQ(in_phases, said) << codec;
  }
  std::array<std::uint64_t, kRanks> sent{};
  runRanks(setupOf(kRanks, "tcp", algorithm), [&](goss_comm_t comm, int rank) {
    Floats values = contribution(rank, kCount);
    goss_counters before{sizeof before, 0, 0, 0, 0, 0, 0, 0}, after = before;
    goss_comm_counters(comm, &before);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec;
    options.tensor = 1; // For codecs with feedback.
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
              GOSS_SUCCESS);
    goss_comm_counters(comm, &after);
    sent[static_cast<std::size_t>(rank)] = after.wire_bytes_sent - before.wire_bytes_sent;
  });
  const auto most = static_cast<double>(*std::ranges::max_element(sent));
  EXPECT_NEAR(static_cast<double>(said), most, tolerance * most) << codec;
}

TEST(PhasedAllReduce, SendsTheBytesThatExplainSays) {
  expectBytesAsExplained("powersgd", 0.001);
  expectBytesAsExplained("powersgd:rank=8,reductions=1", 0.001);
  expectBytesAsExplained("powersgd:columns=1024", 0.001);
  expectBytesAsExplained("terngrad:agree=max", 0.01);
  expectBytesAsExplained("terngrad:agree=max+ef", 0.01);
  expectBytesAsExplained("int8", 0.001);
  expectBytesAsExplained("cocktail", 0.05); // in one phase; short payloads are rounded up more than long ones
}

TEST(PhasedAllReduce, IsExplainedOnlyWhereItCanBe) {
  char* json = nullptr;
  EXPECT_EQ(goss_explain_codec("broadcast", 4, 4096, "powersgd", nullptr, &json), GOSS_ERR_UNSUPPORTED);
  EXPECT_THAT(goss_last_error(), HasSubstr("only all_reduce"));
  EXPECT_EQ(goss_explain_codec("allreduce", 4, std::size_t{1} << 31, "powersgd", nullptr, &json),
            GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(goss_last_error(), HasSubstr("use at most"));
  ASSERT_EQ(goss_explain_codec("allreduce", 4, 0, "powersgd", nullptr, &json), GOSS_SUCCESS) << goss_last_error();
  const nlohmann::json nothing = nlohmann::json::parse(json);
  EXPECT_EQ(nothing.at("phases"), nlohmann::json::array());
  EXPECT_EQ(nothing.at("candidates"), nlohmann::json::array()); // An empty list, so that printers find no candidates.
  goss_free(json);
}

TEST(PhasedAllReduce, ScalesWhatItIsAskedTo) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    Floats values(10, 1.0f);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd";
    options.scale = rank + 1;
    ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 10, GOSS_FLOAT32, GOSS_PREMUL_SUM, &options, nullptr),
              GOSS_SUCCESS);
    EXPECT_EQ(values, Floats(10, 3.0f));
  });
}

TEST(PhasedAllReduce, RunsBesideOtherOperationsAndAgain) {
  constexpr std::size_t kCount = 3000;
  std::vector<Floats> phased(4), again(4);
  runRanks(4, [&](goss_comm_t comm, int rank) {
    const auto r = static_cast<std::size_t>(rank);
    goss_options options = GOSS_OPTIONS_INIT, integers = GOSS_OPTIONS_INIT;
    options.codec = "powersgd:rank=2";
    integers.codec = "int8";
    for (int round = 0; round < 5; ++round) {
      Floats first = contribution(rank, kCount), second = first, third = first, fourth = first;
      std::array<goss_request_t, 4> requests{};
      EXPECT_EQ(
          goss_all_reduce(comm, first.data(), first.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &options, &requests[0]),
          GOSS_SUCCESS);
      EXPECT_EQ(
          goss_all_reduce(comm, second.data(), second.data(), kCount, GOSS_FLOAT32, GOSS_AVG, nullptr, &requests[1]),
          GOSS_SUCCESS);
      EXPECT_EQ(
          goss_all_reduce(comm, third.data(), third.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &integers, &requests[2]),
          GOSS_SUCCESS);
      EXPECT_EQ(goss_all_reduce(comm, fourth.data(), fourth.data(), 10, GOSS_FLOAT32, GOSS_AVG, &options, &requests[3]),
                GOSS_SUCCESS);
      // Ranks wait in different orders.
      for (std::size_t i = 0; i < requests.size(); ++i)
        EXPECT_EQ(goss_wait(&requests[(i + r) % requests.size()], nullptr), GOSS_SUCCESS) << goss_last_error();
      phased[r] = first;
    }
    Floats send(kCount), recv(kCount);
    goss_request_t request = nullptr;
    options.flags = GOSS_PERSISTENT;
    options.tensor = 5;
    ASSERT_EQ(goss_all_reduce(comm, send.data(), recv.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &options, &request),
              GOSS_SUCCESS);
    for (int round = 0; round < 3; ++round) {
      std::ranges::copy(contribution(rank, kCount), send.begin()); // The request knows this memory.
      EXPECT_EQ(goss_start(request), GOSS_SUCCESS);
      EXPECT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS) << goss_last_error();
    }
    again[r] = recv;
    EXPECT_EQ(goss_request_free(&request), GOSS_SUCCESS);
  });
  for (std::size_t r = 1; r < 4; ++r) {
    EXPECT_TRUE(sameBits(phased[r], phased[0]));
    EXPECT_TRUE(sameBits(again[r], again[0]));
  }
}

TEST(PhasedAllReduce, RefusesWhatItCannotDo) {
  runRanks(2, [](goss_comm_t comm, int) {
    Floats values(10, 1.0f);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd";
    EXPECT_EQ(goss_reduce(comm, values.data(), values.data(), 10, GOSS_FLOAT32, GOSS_SUM, 0, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("all_reduce"));
    options.return_codec = "int8";
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 10, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("return_codec"));
    options.return_codec = nullptr;
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 10, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_SUCCESS)
        << "nothing has happened before";
  });
}

TEST(PhasedAllReduce, AnInfinityIsForgotten) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd:rank=2";
    options.tensor = kTensor;
    for (const float odd : {1.0f, std::numeric_limits<float>::infinity(), 1.0f, 1.0f}) {
      Floats values = contribution(rank, 2000);
      values[5] *= odd;
      ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 2000, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
                GOSS_SUCCESS);
      const bool finite = std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
      EXPECT_EQ(finite, odd == 1.0f);
    }
  });
}

TEST(PhasedAllReduce, AWrongNameFailsThatCallAlone) {
  for (const int ranks : {1, 2}) {
    runRanks(ranks, [](goss_comm_t comm, int) {
      Floats values(1000, 1.0f);
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = "powersgd";
      options.algorithm = "rnig";
      EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 1000, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
                GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(goss_last_error(), HasSubstr("rnig"));
      EXPECT_EQ(goss_barrier(comm, nullptr, nullptr), GOSS_SUCCESS);
    });
  }
}

TEST(PhasedAllReduce, WhatItWorksOnStaysWhileItIsPending) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    Floats values = contribution(rank, 2000);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd+ef";
    options.tensor = kTensor;
    goss_request_t request = nullptr;
    if (rank == 0) { // The other rank has not called, so the operation cannot end.
      ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 2000, GOSS_FLOAT32, GOSS_SUM, &options, &request),
                GOSS_SUCCESS);
      EXPECT_EQ(goss_codec_state_reset(comm, kTensor), GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_EQ(goss_codec_state_reset(comm, kTensor + 1), GOSS_SUCCESS);
      EXPECT_EQ(goss_codec_state_import(comm, "", 0), GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(goss_last_error(), HasSubstr("pending"));
      const int32_t go = 1;
      ASSERT_EQ(goss_send(comm, &go, 1, GOSS_INT32, 1, 0, nullptr, nullptr), GOSS_SUCCESS);
    } else {
      int32_t go = 0;
      ASSERT_EQ(goss_recv(comm, &go, 1, GOSS_INT32, 0, 0, nullptr, nullptr), GOSS_SUCCESS);
      ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 2000, GOSS_FLOAT32, GOSS_SUM, &options, &request),
                GOSS_SUCCESS);
    }
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(goss_codec_state_reset(comm, kTensor), GOSS_SUCCESS);
  });
}

TEST(PhasedAllReduce, NothingElseWorksOnWhatItKeeps) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    constexpr std::size_t kCount = 2000;
    Floats values = contribution(rank, kCount), others = values;
    const auto start = [&](const char* codec, Floats& on, goss_request_t* request) {
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = codec;
      options.tensor = kTensor;
      return goss_all_reduce(comm, on.data(), on.data(), kCount, GOSS_FLOAT32, GOSS_SUM, &options, request);
    };
    // Whichever is pending refuses the other, which can be called again later; without feedback there is no quarrel.
    for (const auto& [first, second] : {std::pair{"powersgd+ef", "int8+ef"}, std::pair{"int8+ef", "powersgd+ef"},
                                        std::pair{"powersgd", "powersgd"}}) {
      goss_request_t pending = nullptr, other = nullptr;
      std::int32_t go = 1;
      if (rank == 0) { // The other rank has not called, so the operation cannot end.
        ASSERT_EQ(start(first, values, &pending), GOSS_SUCCESS) << goss_last_error();
        EXPECT_EQ(start(second, others, &other), GOSS_ERR_INVALID_ARGUMENT) << first << ", then " << second;
        EXPECT_THAT(goss_last_error(), HasSubstr("tensor 7"));
        EXPECT_EQ(other, nullptr);
        EXPECT_EQ(start(second, others, nullptr), GOSS_ERR_INVALID_ARGUMENT);
        if (std::string_view(first).starts_with("powersgd")) {
          EXPECT_EQ(goss_codec_state_read(comm, kTensor, others.data(), 1), GOSS_ERR_INVALID_ARGUMENT);
          EXPECT_THAT(goss_last_error(), HasSubstr("pending"));
        }
        ASSERT_EQ(goss_send(comm, &go, 1, GOSS_INT32, 1, 0, nullptr, nullptr), GOSS_SUCCESS);
      } else {
        ASSERT_EQ(goss_recv(comm, &go, 1, GOSS_INT32, 0, 0, nullptr, nullptr), GOSS_SUCCESS);
        ASSERT_EQ(start(first, values, &pending), GOSS_SUCCESS) << goss_last_error();
      }
      EXPECT_EQ(goss_wait(&pending, nullptr), GOSS_SUCCESS) << goss_last_error();
      EXPECT_EQ(start(second, others, nullptr), GOSS_SUCCESS) << goss_last_error();
    }
    goss_request_t pending = nullptr, other = nullptr;
    ASSERT_EQ(start("powersgd+ef", values, &pending), GOSS_SUCCESS);
    EXPECT_EQ(start("int8", others, &other), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(goss_wait(&pending, nullptr), GOSS_SUCCESS);
    EXPECT_EQ(goss_wait(&other, nullptr), GOSS_SUCCESS);
  });
}

TEST(PhasedAllReduce, ManyMayBePendingWhileAnOldOneGoesOn) {
  constexpr int kMany = 40; // Each takes four places: more than any history holds.
  runRanks(2, [](goss_comm_t comm, int rank) {
    std::vector<Floats> values(kMany, contribution(rank, 100));
    std::vector<goss_request_t> requests(kMany);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd:rank=1";
    for (int i = 0; i < kMany; ++i) {
      auto& mine = values[static_cast<std::size_t>(i)];
      ASSERT_EQ(goss_all_reduce(comm, mine.data(), mine.data(), 100, GOSS_FLOAT32, GOSS_SUM, &options,
                                &requests[static_cast<std::size_t>(i)]),
                GOSS_SUCCESS);
      // A probe of the other rank falls into the middle.
      if (rank == 0 && i == kMany - 2) std::this_thread::sleep_for(std::chrono::milliseconds(700));
    }
    EXPECT_EQ(goss_wait_all(requests.data(), requests.size()), GOSS_SUCCESS) << goss_last_error();
  });
}

TEST(PhasedAllReduce, NamesTheCallsThatDoNotMatch) {
  for (const char* other : {"int8", "powersgd:rank=2", static_cast<const char*>(nullptr)}) {
    runRanks(2, [&](goss_comm_t comm, int rank) {
      Floats values(1000, 1.0f);
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = rank == 0 ? "powersgd" : other;
      EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 1000, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
                GOSS_ERR_MISMATCH);
      EXPECT_THAT(goss_last_error(), HasSubstr("1000 float32"));
    });
  }
}

TEST(PhasedAllReduce, NamesTheCallsThatDoNotMatchOneWithoutElements) {
  // A rank sends nothing and has ended when the others ask for the operation.
  for (const char* codec : {"powersgd", "terngrad:agree=max"}) {
    runRanks(2, [&](goss_comm_t comm, int rank) {
      Floats values(1000, 1.0f);
      goss_options options = GOSS_OPTIONS_INIT;
      if (rank == 0) {
        options.codec = codec;
        // The other rank's call may arrive before this one has ended, or after.
        const goss_status status =
            goss_all_reduce(comm, values.data(), values.data(), 0, GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
        EXPECT_TRUE(status == GOSS_SUCCESS || status == GOSS_ERR_MISMATCH) << goss_last_error();
        std::int32_t none = 0;
        EXPECT_EQ(goss_recv(comm, &none, 1, GOSS_INT32, 1, 0, nullptr, nullptr), GOSS_ERR_MISMATCH);
      } else {
        EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 1000, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr),
                  GOSS_ERR_MISMATCH);
      }
      EXPECT_THAT(goss_last_error(), HasSubstr("of 0 float32"));
    });
  }
}

TEST(PhasedAllReduce, KeepsItsStateThroughACheckpoint) {
  for (const char* codec : {"powersgd:rank=2+ef", "powersgd:rank=2,reductions=1+ef", "terngrad:agree=max+ef",
                            "terngrad:agree=max+loco", "int4+loco", "dgc"}) {
    runRanks(2, [&](goss_comm_t comm, int rank) {
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = codec;
      options.tensor = 9;
      const auto step = [&](int number) {
        Floats values = contribution(rank + 10 * number, 2000);
        EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 2000, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
                  GOSS_SUCCESS)
            << goss_last_error();
        return values;
      };
      step(1);
      void* bytes = nullptr;
      std::size_t size = 0;
      ASSERT_EQ(goss_codec_state_export(comm, &bytes, &size), GOSS_SUCCESS);
      const Floats expected = step(2);
      EXPECT_FALSE(sameBits(step(2), expected)) << codec << ": it has moved on";
      ASSERT_EQ(goss_codec_state_import(comm, bytes, size), GOSS_SUCCESS);
      EXPECT_TRUE(sameBits(step(2), expected)) << codec;
      goss_free(bytes);
    });
  }
}

TEST(CodecState, IsNotGivenOutWhenAnOperationMayHaveLeftHalfOfIt) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    Floats values(100, 1.0f);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = rank == 0 ? "int8+ef" : "int4+ef";
    options.tensor = 3;
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 100, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_MISMATCH);
    void* bytes = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(goss_codec_state_export(comm, &bytes, &size), GOSS_ERR_MISMATCH);
    EXPECT_EQ(bytes, nullptr);
  });
}

} // namespace
} // namespace goss::test
