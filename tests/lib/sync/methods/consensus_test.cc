// What gossip without gradients tends to: the mean of what the ranks began with, or not.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "gossamer/sync.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"
#ifdef GOSS_TEST_TLS
#include "tests/support/credential_files.h"
#endif

namespace goss::test {
namespace {

constexpr std::size_t kElements = 100;

struct Ranks {
  std::vector<std::vector<double>> first, last; ///< [rank][element]

  [[nodiscard]] static double meanOf(const std::vector<std::vector<double>>& x, std::size_t element) {
    double sum = 0;
    for (const std::vector<double>& one : x)
      sum += one[element];
    return sum / static_cast<double>(x.size());
  }
  /// The square of how far the mean has moved, divided by the square of the mean.
  [[nodiscard]] double drift() const {
    double way = 0, whole = 0;
    for (std::size_t i = 0; i < kElements; ++i) {
      way += std::pow(meanOf(last, i) - meanOf(first, i), 2);
      whole += std::pow(meanOf(first, i), 2);
    }
    return way / whole;
  }
  /// Sum of the squares of the ranks' distances from their mean.
  [[nodiscard]] static double spread(const std::vector<std::vector<double>>& x) {
    double sum = 0;
    for (std::size_t i = 0; i < kElements; ++i)
      for (const std::vector<double>& one : x)
        sum += std::pow(one[i] - meanOf(x, i), 2);
    return sum;
  }
};

/// `rounds` steps of `spec`; the first update gives every rank a vector of its own.
Ranks gossip(const std::string& spec, int ranks, int rounds) {
  Ranks all;
  all.first.resize(static_cast<std::size_t>(ranks), std::vector<double>(kElements));
  all.last = all.first;
  runRanks(over("", ranks), [&](goss_comm_t comm, int rank) {
    const auto at = static_cast<std::size_t>(rank);
    std::vector<float> x(kElements);
    goss_sync_t sync = nullptr;
    ASSERT_OK(goss_sync_create(comm, spec.c_str(), &sync));
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x.data();
    tensor.count = x.size();
    ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
    ASSERT_OK(goss_sync_start(sync));
    base::SplitMix64 random(at);
    for (float& value : x)
      value = static_cast<float>(random.next() >> 40) * 0x1p-23F - 1;
    all.first[at].assign(x.begin(), x.end());
    for (int round = 0; round < rounds; ++round) {
      ASSERT_OK(goss_sync_gradients(sync));
      ASSERT_OK(goss_sync_step(sync));
    }
    all.last[at].assign(x.begin(), x.end());
    ASSERT_OK(goss_sync_destroy(sync));
  });
  return all;
}

TEST(Consensus, OfEightBitsOnARingKeepsTheMeanWithChocoAndDriftsAsBaguaPublishedIt) {
  constexpr int kRounds = 200; // In fewer Bagua's form has not drifted far.
  // CHOCO's mean drifts by the rounding of float32 parameters alone. Parameters are below 1, so a rounding is uniform
  // within 2^-25, of variance 2^-48 / 12 at most. The roundings of 200 rounds and 16 ranks are independent: the mean's
  // variance is 200 / 16 of that, 4e-15. The square of the mean of 16 numbers in -1 ... 1 is 1 / 48: 2e-13 of it.
  EXPECT_LE(gossip("choco:gamma=0.5,codec=minmaxuint8", 16, kRounds).drift(), 1e-12);
  EXPECT_LE(gossip("deepsqueeze:gamma=0.5,codec=minmaxuint8", 16, kRounds).drift(), 1e-12);
  EXPECT_GT(gossip("dpsgd:codec=minmaxuint8", 16, kRounds).drift(), 1e-3);
}

// The error of qsgd with two bits is larger than what it encodes: without a factor that makes it contract, what
// replicas of choco and lost parts of deepsqueeze lack grows in each round. Deepsqueeze encodes parameters, so that
// noise stays.
TEST(Consensus, OfAnUnbiasedCodecWithLargeErrorsComesCloserToTheMean) {
  const Ranks choco = gossip("choco:gamma=0.1,codec=qsgd:bits=2", 4, 200);
  EXPECT_LT(Ranks::spread(choco.last), 0.1 * Ranks::spread(choco.first));
  const Ranks deepsqueeze = gossip("deepsqueeze:gamma=0.1,codec=qsgd:bits=2", 4, 200);
  EXPECT_LT(Ranks::spread(deepsqueeze.last), Ranks::spread(deepsqueeze.first));
}

/// Calls check(transport) over shared memory, TCP, and TLS where the build has it.
void overEach(const std::function<void(const char* transport)>& check) {
  check("shm");
  check("tcp");
#ifdef GOSS_TEST_TLS
  const CredentialFiles files;
  ScopedEnvironment environment;
  environment.set("GOSS_TLS", files.sharedKey());
  check("tls");
#endif
}

/// A synchronizer over x, which `state` is imported into if there is one.
goss_sync_t synchronizerOf(goss_comm_t comm, const std::string& spec, std::vector<float>& x, const std::string& state) {
  goss_sync_t sync = nullptr;
  goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
  tensor.name = "x";
  tensor.parameter = x.data();
  tensor.count = x.size();
  EXPECT_OK(goss_sync_create(comm, spec.c_str(), &sync));
  EXPECT_OK(goss_sync_register(sync, &tensor, nullptr));
  if (!state.empty()) EXPECT_OK(goss_sync_import(sync, state.data(), state.size()));
  EXPECT_OK(goss_sync_start(sync));
  return sync;
}

std::string exportedBy(goss_sync_t sync) {
  void* bytes = nullptr;
  std::size_t count = 0;
  EXPECT_OK(goss_sync_export(sync, &bytes, &count));
  std::string state(static_cast<const char*>(bytes), count);
  goss_free(bytes);
  return state;
}

void gossipFor(goss_sync_t sync, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    ASSERT_OK(goss_sync_gradients(sync));
    ASSERT_OK(goss_sync_step(sync));
  }
}

// Rank 1 comes back with what it knew two rounds before: the differences that it has got and sent since are lost. Its
// neighbours' replicas agree with it again, so that all reach the mean of what the ranks hold then; with replicas that
// differ they would settle elsewhere. It does so twice, with the same state: the second time as many differences were
// sent since the replicas agreed again as the state counts. The last of these topologies changes from round to round.
TEST(Consensus, ReplicasAgreeAgainWhenDifferencesAreLost) {
  constexpr int kRanks = 4;
  overEach([&](const char* transport) {
    for (const char* spec : {"choco:gamma=0.5,codec=int8:block=32", "choco:gamma=0.5,codec=randk:ratio=0.5",
                             "choco:topology=one-peer-exponential,gamma=0.5,codec=int8:block=32"}) {
      Ranks all;
      all.first.resize(kRanks, std::vector<double>(kElements));
      all.last = all.first;
      runRanks(over(transport, kRanks), [&](goss_comm_t comm, int rank) {
        const auto at = static_cast<std::size_t>(rank);
        std::vector<float> x(kElements);
        goss_sync_t sync = synchronizerOf(comm, spec, x, "");
        base::SplitMix64 random(at);
        for (float& value : x)
          value = static_cast<float>(random.next() >> 40) * 0x1p-23F - 1;
        gossipFor(sync, 5);
        std::string state = exportedBy(sync);
        std::vector<float> kept = x;
        for (const int lost : {2, 5}) {
          gossipFor(sync, lost);
          if (rank != 1) {
            state = exportedBy(sync);
            kept = x;
          }
          ASSERT_OK(goss_sync_destroy(sync));
          x = kept;
          sync = synchronizerOf(comm, spec, x, state);
        }
        all.first[at].assign(x.begin(), x.end());
        gossipFor(sync, 150);
        all.last[at].assign(x.begin(), x.end());
        ASSERT_OK(goss_sync_destroy(sync));
      });
      for (std::size_t i = 0; i < kElements; ++i) {
        const double mean = Ranks::meanOf(all.first, i);
        EXPECT_NEAR(Ranks::meanOf(all.last, i), mean, 1e-5) << spec << ": the mean is kept to rounding";
        for (const std::vector<double>& one : all.last)
          EXPECT_NEAR(one[i], mean, 1e-3) << transport << " " << spec;
      }
    }
  });
}

// The ranks that are left take another topology from the states of all: the replicas begin anew, and the mean of the
// survivors is kept.
TEST(Consensus, SurvivorsGoOnWithAnotherTopologyAndKeepTheirMean) {
  constexpr std::size_t kBefore = 4, kAfter = 3;
  overEach([&](const char* transport) {
    std::vector<std::string> states(kBefore);
    std::vector<std::vector<float>> x(kBefore, std::vector<float>(kElements));
    runRanks(over(transport, kBefore), [&](goss_comm_t comm, int rank) {
      const auto at = static_cast<std::size_t>(rank);
      goss_sync_t sync =
          synchronizerOf(comm, "choco:topology=one-peer-exponential,gamma=0.5,codec=int8:block=32", x[at], "");
      base::SplitMix64 random(at);
      for (float& value : x[at])
        value = static_cast<float>(random.next() >> 40) * 0x1p-23F - 1;
      gossipFor(sync, 3);
      states[at] = exportedBy(sync);
      ASSERT_OK(goss_sync_destroy(sync));
    });
    std::vector<std::vector<double>> last(kAfter);
    runRanks(over(transport, kAfter), [&](goss_comm_t comm, int rank) {
      const auto at = static_cast<std::size_t>(rank);
      std::vector<float> own(kElements);
      std::vector<const void*> bytes;
      std::vector<std::size_t> counts;
      for (std::size_t i = 0; i < kAfter; ++i) {
        bytes.push_back(states[i].data());
        counts.push_back(states[i].size());
        for (std::size_t k = 0; k < kElements; ++k)
          own[k] += x[i][k] / static_cast<float>(kAfter);
      }
      goss_sync_t sync = nullptr;
      goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
      tensor.name = "x";
      tensor.parameter = own.data();
      tensor.count = own.size();
      ASSERT_OK(goss_sync_create(comm, "choco:topology=ring,gamma=0.5,codec=int8:block=32", &sync));
      ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
      ASSERT_OK(goss_sync_import_all(sync, bytes.data(), counts.data(), bytes.size(), nullptr));
      ASSERT_OK(goss_sync_start(sync));
      for (float& value : own)
        value += static_cast<float>(rank - 1); // of which the mean is 0
      gossipFor(sync, 100);
      last[at].assign(own.begin(), own.end());
      ASSERT_OK(goss_sync_destroy(sync));
    });
    for (std::size_t k = 0; k < kElements; ++k) {
      const double mean = (static_cast<double>(x[0][k]) + x[1][k] + x[2][k]) / 3;
      for (const std::vector<double>& one : last)
        EXPECT_NEAR(one[k], mean, 1e-3) << transport;
      EXPECT_NEAR(Ranks::meanOf(last, k), mean, 1e-5) << transport << ": kept to rounding";
    }
  });
}

// Of each of 9 rounds they keep two vectors.
TEST(Consensus, ReplicasOfManyRoundsAreTakenToAnotherNumberOfRanks) {
  const std::string matrix = testing::TempDir() + "gossamer_rounds_" + std::to_string(getpid());
  std::ofstream file(matrix);
  for (int round = 0; round < 9; ++round)
    file << "0.5 0.5\n0.5 0.5\n\n";
  file.close();
  std::vector<std::string> states(2);
  runRanks(2, [&](goss_comm_t comm, int rank) {
    std::vector<float> x(kElements);
    goss_sync_t sync = synchronizerOf(comm, "choco:topology=matrix:" + matrix + ",gamma=0.5,codec=int8", x, "");
    gossipFor(sync, 9);
    states[static_cast<std::size_t>(rank)] = exportedBy(sync);
    ASSERT_OK(goss_sync_destroy(sync));
  });
  std::filesystem::remove(matrix);
  runRanks(3, [&](goss_comm_t comm, int) {
    std::vector<float> x(kElements);
    goss_sync_t sync = nullptr;
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = "x";
    tensor.parameter = x.data();
    tensor.count = x.size();
    ASSERT_OK(goss_sync_create(comm, "choco:topology=ring,gamma=0.5,codec=int8", &sync));
    ASSERT_OK(goss_sync_register(sync, &tensor, nullptr));
    const void* bytes[] = {states[0].data(), states[1].data()};
    const std::size_t counts[] = {states[0].size(), states[1].size()};
    ASSERT_OK(goss_sync_import_all(sync, bytes, counts, 2, nullptr));
    ASSERT_OK(goss_sync_start(sync));
    gossipFor(sync, 3);
    ASSERT_OK(goss_sync_destroy(sync));
  });
}

// Columns: rank 0 sends to 1 and 2, 1 to 2, 2 to 3 and 0, 3 to 0.
TEST(Consensus, OfPushSumOnADirectedGraphThatIsNotRegularIsTheMean) {
  const std::string matrix = testing::TempDir() + "gossamer_directed_" + std::to_string(getpid());
  std::ofstream(matrix) << "0.3333333333333333 0 0.3333333333333333 0.5\n0.3333333333333333 0.5 0 0\n"
                        << "0.3333333333333334 0.5 0.3333333333333333 0\n0 0 0.3333333333333334 0.5\n";
  const Ranks ranks = gossip("sgp:topology=matrix:" + matrix, 4, 60);
  std::filesystem::remove(matrix);
  for (std::size_t i = 0; i < kElements; ++i) {
    for (const std::vector<double>& one : ranks.last)
      EXPECT_NEAR(one[i], Ranks::meanOf(ranks.first, i), 60 * 4 * 0x1p-23); // 60 rounds of numbers below 2.
  }
}

} // namespace
} // namespace goss::test
