// The collectives among neighbours over real transports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "gossamer/gossip.h"
#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

/// A topology that is destroyed with its holder.
class Topology {
 public:
  Topology(const std::string& spec, int ranks) { EXPECT_OK(goss_topology_create(spec.c_str(), ranks, &handle_)); }
  ~Topology() { goss_topology_destroy(handle_); }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
  [[nodiscard]] std::uint64_t period() const {
    std::uint64_t period = 0;
    EXPECT_OK(goss_topology_period(handle_, &period));
    return period;
  }
  [[nodiscard]] goss_neighborhood of(std::uint64_t round, int rank) const {
    goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
    EXPECT_OK(goss_topology_neighbors(handle_, round, rank, &neighborhood));
    return neighborhood;
  }
  [[nodiscard]] double weight(std::uint64_t round, int to, int from) const {
    double weight = 0;
    EXPECT_OK(goss_topology_weight(handle_, round, to, from, &weight));
    return weight;
  }

 private:
  goss_topology_t handle_ = nullptr;
};

float valueOf(int rank, std::size_t i) { return static_cast<float>((static_cast<int>(i) * 7 + rank * 5) % 64 - 20); }

std::vector<float> vectorOf(int rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = valueOf(rank, i);
  return values;
}

class OverTransport : public testing::TestWithParam<const char*> {};

TEST_P(OverTransport, AllReduceGivesTheRowsOfTheMatrixInEveryRound) {
  constexpr int kRanks = 5;
  for (const char* spec : {"ring", "star", "one-peer-exponential", "base:k=1", "exponential:weights=push-sum"}) {
    const Topology topology(spec, kRanks);
    runRanks(over(GetParam(), kRanks), [&](goss_comm_t comm, int rank) {
      for (std::uint64_t t = 0; t < topology.period(); ++t) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{700'001}}) {
          if (count > 1000 && t > 0) continue;
          const goss_neighborhood neighborhood = topology.of(t, rank);
          const std::vector<float> send = vectorOf(rank, count);
          std::vector<float> in_place = send, recv(count);
          ASSERT_OK(goss_neighbor_all_reduce(comm, send.data(), recv.data(), count, GOSS_FLOAT32, &neighborhood,
                                             nullptr, nullptr));
          ASSERT_OK(goss_neighbor_all_reduce(comm, in_place.data(), in_place.data(), count, GOSS_FLOAT32, &neighborhood,
                                             nullptr, nullptr));
          EXPECT_EQ(recv, in_place);
          for (std::size_t i = 0; i<count; i += count> 1000 ? 997 : 1) {
            double expected = 0;
            for (int from = 0; from < kRanks; ++from)
              expected += topology.weight(t, rank, from) * valueOf(from, i);
            // Five products of numbers below 64 are rounded once each.
            ASSERT_NEAR(recv[i], expected, 5 * 64 * 0x1p-23) << spec << " round " << t << " element " << i;
          }
        }
      }
    });
  }
}

TEST_P(OverTransport, BlocksGoToAndComeFromNeighboursAlone) {
  constexpr int kRanks = 5;
  const Topology topology("exponential", kRanks);
  runRanks(over(GetParam(), kRanks), [&](goss_comm_t comm, int rank) {
    const goss_neighborhood all = topology.of(0, rank);
    const std::size_t n = 100;
    const std::vector<float> own = vectorOf(rank, n * all.destination_count);
    std::vector<float> recv(n * all.source_count);
    ASSERT_OK(goss_neighbor_all_gather(comm, own.data(), recv.data(), n, GOSS_FLOAT32, &all, nullptr, nullptr));
    for (std::size_t k = 0; k < all.source_count; ++k) {
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(recv[k * n + i], valueOf(all.sources[k].rank, i));
    }
    ASSERT_OK(goss_neighbor_all_to_all(comm, own.data(), recv.data(), n, GOSS_FLOAT32, &all, nullptr, nullptr));
    for (std::size_t k = 0; k < all.source_count; ++k) {
      const goss_neighborhood theirs = topology.of(0, all.sources[k].rank);
      std::size_t block = 0;
      while (theirs.destinations[block].rank != rank)
        ++block;
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_EQ(recv[k * n + i], valueOf(all.sources[k].rank, block * n + i));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Gossip, OverTransport, testing::Values("loopback", "shm", "tcp"),
                         [](const auto& named) { return std::string(named.param); });

TEST(Neighbors, UnevenBlocksHaveCountsAndPlaces) {
  constexpr int kRanks = 4;
  const Topology ring("ring", kRanks);
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    const goss_neighborhood all = ring.of(0, rank);
    const auto countOf = [](int from, int to) { return static_cast<std::size_t>((from * 3 + to) % 4); }; // some are 0
    const std::vector<float> own = vectorOf(rank, 8);
    std::vector<std::size_t> recv_counts, send_counts, gathered, displs = {5, 0};
    for (std::size_t k = 0; k < 2; ++k) {
      recv_counts.push_back(countOf(all.sources[k].rank, rank));
      send_counts.push_back(countOf(rank, all.destinations[k].rank));
      gathered.push_back(static_cast<std::size_t>(all.sources[k].rank));
    }
    std::vector<float> recv(16, -1);
    ASSERT_OK(goss_neighbor_all_to_allv(comm, own.data(), send_counts.data(), displs.data(), recv.data(),
                                        recv_counts.data(), displs.data(), GOSS_FLOAT32, &all, nullptr, nullptr));
    for (std::size_t k = 0; k < 2; ++k) {
      const goss_neighborhood theirs = ring.of(0, all.sources[k].rank);
      const std::size_t place = displs[theirs.destinations[0].rank == rank ? 0 : 1];
      for (std::size_t i = 0; i < recv_counts[k]; ++i)
        EXPECT_EQ(recv[displs[k] + i], valueOf(all.sources[k].rank, place + i));
    }
    ASSERT_OK(goss_neighbor_all_gatherv(comm, own.data(), static_cast<std::size_t>(rank), recv.data(), gathered.data(),
                                        displs.data(), GOSS_FLOAT32, &all, nullptr, nullptr));
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < gathered[k]; ++i)
        EXPECT_EQ(recv[displs[k] + i], valueOf(all.sources[k].rank, i));
    }
  });
}

TEST(Neighbors, ExplicitWeightsNarrowTypesAndPersistentRequests) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    // Rank 0 sends half of its vector to rank 1 and a quarter to rank 2; rank 1 doubles what it gets.
    const goss_neighbor to[] = {{1, 0, 0.5}, {2, 0, 0.25}};
    const goss_neighbor from[] = {{0, 0, rank == 1 ? 2.0 : 1.0}};
    goss_neighborhood mine = GOSS_NEIGHBORHOOD_INIT;
    if (rank == 0) mine = {sizeof mine, 0.25, nullptr, 0, to, 2};
    if (rank > 0) mine = {sizeof mine, 1.0, from, 1, nullptr, 0};
    const double factor = rank == 0 ? 0.25 : rank == 1 ? 1.0 : 0.25; // of rank 0's vector
    std::vector<double> values = {static_cast<double>(8 * rank), 16};
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_PERSISTENT;
    goss_request_t request = nullptr;
    std::vector<double> result(2);
    ASSERT_OK(goss_neighbor_all_reduce(comm, values.data(), result.data(), 2, GOSS_FLOAT64, &mine, &options, &request));
    for (int round = 0; round < 3; ++round) {
      values[0] = 8 * rank + 4 * round;
      ASSERT_OK(goss_start(request));
      ASSERT_OK(goss_wait(&request, nullptr));
      const double own = rank == 0 ? 0.0 : values[0];
      EXPECT_EQ(result[0], own + factor * 4 * round);
      EXPECT_EQ(result[1], (rank == 0 ? 0 : 16) + factor * 16);
    }
    ASSERT_OK(goss_request_free(&request));
    std::uint16_t half = 0x4000; // 2.0 in float16
    ASSERT_OK(goss_neighbor_all_reduce(comm, &half, &half, 1, GOSS_FLOAT16, &mine, nullptr, nullptr));
    EXPECT_EQ(half, rank == 0 ? 0x3800 : rank == 1 ? 0x4400 : 0x4100); // 0.5, 4, 2.5
  });
}

/// Vectors of `values` that all ranks mix by `neighborhood_of(rank)` with a codec.
std::vector<std::vector<float>> mixed(const std::vector<std::vector<float>>& values, const char* codec,
                                      const std::function<goss_neighborhood(int)>& neighborhood_of) {
  std::vector<std::vector<float>> results = values;
  runRanks(static_cast<int>(values.size()), [&](goss_comm_t comm, int rank) {
    std::vector<float>& mine = results[static_cast<std::size_t>(rank)];
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = codec;
    options.tensor = 7;
    const goss_neighborhood neighborhood = neighborhood_of(rank);
    EXPECT_OK(goss_neighbor_all_reduce(comm, mine.data(), mine.data(), mine.size(), GOSS_FLOAT32, &neighborhood,
                                       &options, nullptr));
  });
  return results;
}

// What destinations decode of a rank's vector is found by giving it to the next rank, which takes nothing else. Sums of
// at most four numbers below 1 err by less than 4 * 2^-22.
TEST(Neighbors, AnyCodecServesAndKeepsWhatColumnsKeep) {
  constexpr int kRanks = 4;
  constexpr std::size_t kCount = 4096;
  const Topology ring("ring", kRanks);
  std::vector<std::vector<float>> values(kRanks, std::vector<float>(kCount));
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    for (std::size_t i = 0; i < kCount; ++i)
      values[rank][i] = std::sin(static_cast<float>(i * 4 + rank));
  }
  for (const char* codec : {"int8:block=256", "fp16", "int8:block=256+ef", "topk:ratio=0.25", "topk:ratio=0.25+ef"}) {
    SCOPED_TRACE(codec);
    const auto results = mixed(values, codec, [&](int rank) { return ring.of(0, rank); });
    std::vector<goss_neighbor> before, behind;
    for (int rank = 0; rank < kRanks; ++rank) {
      before.push_back({(rank + kRanks - 1) % kRanks, 0, 1.0});
      behind.push_back({(rank + 1) % kRanks, 0, 1.0});
    }
    const auto given = mixed(values, codec, [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      return goss_neighborhood{sizeof(goss_neighborhood), 0, &before[at], 1, &behind[at], 1};
    });
    const bool is_sparse = std::string(codec).starts_with("topk");
    std::size_t kept = 0;
    float least_kept = 1, most_dropped = 0; // of rank 0
    for (std::size_t i = 0; i < kCount; ++i) {
      double sum = 0, sum_of_given = 0;
      for (int rank = 0; rank < kRanks; ++rank) {
        double expected = 0;
        for (int from = 0; from < kRanks; ++from)
          expected += ring.weight(0, rank, from) * given[static_cast<std::size_t>((from + 1) % kRanks)][i];
        ASSERT_NEAR(results[static_cast<std::size_t>(rank)][i], expected, 0x1p-20);
        sum += results[static_cast<std::size_t>(rank)][i];
        sum_of_given += given[static_cast<std::size_t>(rank)][i];
      }
      ASSERT_NEAR(sum, sum_of_given, 0x1p-20) << "the columns sum to 1, but the sum over the ranks has changed";
      const float decoded = given[1][i], original = values[0][i];
      if (is_sparse && decoded == 0) {
        most_dropped = std::max(most_dropped, std::abs(original));
        continue;
      }
      ++kept;
      least_kept = std::min(least_kept, std::abs(original));
      // A step of 8 bits is 1/127 of a block's largest value, which is below 1.
      ASSERT_NEAR(decoded, original, is_sparse ? 0 : 1.0 / 127);
    }
    EXPECT_EQ(kept, is_sparse ? kCount / 4 : kCount);
    EXPECT_GE(least_kept, most_dropped);
  }
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "powersgd";
    options.tensor = 7;
    std::vector<float> mine = values[static_cast<std::size_t>(rank)];
    const goss_neighborhood neighborhood = ring.of(0, rank);
    EXPECT_NE(goss_neighbor_all_reduce(comm, mine.data(), mine.data(), kCount, GOSS_FLOAT32, &neighborhood, &options,
                                       nullptr),
              GOSS_SUCCESS)
        << "its factors are those of all ranks";
  });
}

TEST(Neighbors, WrongCallsAreRefusedAndAMissingPartnerIsNamed) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    float values[2] = {1, 2};
    const auto textOf = [&](goss_neighborhood mine, goss_dtype dtype) {
      EXPECT_EQ(goss_neighbor_all_reduce(comm, values, values, 2, dtype, &mine, nullptr, nullptr),
                GOSS_ERR_INVALID_ARGUMENT);
      return std::string(goss_last_error());
    };
    const goss_neighbor self[] = {{rank, 0, 1}}, twice[] = {{1 - rank, 0, 1}, {1 - rank, 0, 1}}, far[] = {{2, 0, 1}},
                        nan[] = {{1 - rank, 0, NAN}};
    EXPECT_THAT(textOf({sizeof(goss_neighborhood), 1, self, 1, nullptr, 0}, GOSS_FLOAT32),
                HasSubstr("its own sources"));
    EXPECT_THAT(textOf({sizeof(goss_neighborhood), 1, twice, 2, nullptr, 0}, GOSS_FLOAT32),
                HasSubstr("is twice among"));
    EXPECT_THAT(textOf({sizeof(goss_neighborhood), 1, nullptr, 0, far, 1}, GOSS_FLOAT32), HasSubstr("no rank of this"));
    EXPECT_THAT(textOf({sizeof(goss_neighborhood), 1, nan, 1, nullptr, 0}, GOSS_FLOAT32), HasSubstr("weight nan"));
    for (const double weight : {HUGE_VAL, -HUGE_VAL, static_cast<double>(NAN)})
      EXPECT_THAT(textOf({sizeof(goss_neighborhood), weight, nullptr, 0, nullptr, 0}, GOSS_FLOAT32),
                  HasSubstr("self_weight is "));
    EXPECT_THAT(textOf({sizeof(goss_neighborhood), 1, nullptr, 0, nullptr, 0}, GOSS_INT32),
                HasSubstr("floating dtype"));
    EXPECT_THAT(textOf({sizeof(goss_neighborhood), 1, nullptr, 3, nullptr, 0}, GOSS_FLOAT32),
                HasSubstr("sources is NULL"));
    // Rank 0 waits for rank 1, which does not send.
    goss_neighborhood lone = GOSS_NEIGHBORHOOD_INIT;
    lone.sources = twice;
    lone.source_count = rank == 0 ? 1 : 0;
    const goss_options options = withTimeout(300);
    const goss_status status =
        goss_neighbor_all_reduce(comm, values, values, 2, GOSS_FLOAT32, &lone, &options, nullptr);
    EXPECT_EQ(status, rank == 0 ? GOSS_ERR_TIMEOUT : GOSS_SUCCESS);
    if (rank == 0) {
      EXPECT_THAT(goss_last_error(), HasSubstr("rank 1"));
    }
  });
}

} // namespace
} // namespace goss::test
