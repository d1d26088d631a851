// The documented formula of bytes (docs/synchronizers.md) against what the counters say, and what the start and the end
// cost beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "gossamer/sync.h"
#include "tests/lib/sync/methods/model.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr std::size_t kCount = std::size_t{1} << 18; // whole blocks of every codec in each rank's part
constexpr int kPeriod = 4, kPeriods = 3;

#define ASSERT_DONE(call) ASSERT_EQ(call, GOSS_SUCCESS) << goss_last_error()

struct Bytes {
  double start = 0;
  double steps = 0; // of each exchange of all parameters
  double end = 0;
};

goss_sync_counters countersOf(goss_sync_t sync) {
  goss_sync_counters counters{};
  counters.size = sizeof counters;
  EXPECT_EQ(goss_sync_get_counters(sync, &counters), GOSS_SUCCESS) << goss_last_error();
  return counters;
}

/// One rank's training of one tensor in two halves, which are layers. Afterwards all ranks hold `first`'s parameters.
void measure(goss_comm_t comm, const std::string& spec, float first, Bytes* bytes) {
  std::vector<float> parameters(kCount, first), gradient(kCount, 1.0f);
  goss_sync_t sync = nullptr;
  ASSERT_DONE(goss_sync_create(comm, spec.c_str(), &sync));
  for (const std::size_t half : {0u, 1u}) {
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = half == 0 ? "lower" : "upper";
    tensor.parameter = parameters.data() + half * kCount / 2;
    tensor.gradient = gradient.data() + half * kCount / 2;
    tensor.count = kCount / 2;
    tensor.layer = static_cast<std::int32_t>(half);
    ASSERT_DONE(goss_sync_register(sync, &tensor, nullptr));
  }
  ASSERT_DONE(goss_sync_start(sync));
  ASSERT_TRUE(std::ranges::all_of(parameters, [](float value) { return value == 0; }));
  bytes->start = static_cast<double>(countersOf(sync).setup_bytes_sent);
  for (int step = 0; step < kPeriod * kPeriods; ++step) {
    ASSERT_DONE(goss_sync_gradients(sync));
    for (float& value : parameters)
      value -= 0.5f;
    ASSERT_DONE(goss_sync_step(sync));
  }
  // Before the end, whose mean counts as one too.
  const double exchanges = static_cast<double>(countersOf(sync).exchanged_bytes) / (kCount * sizeof(float));
  ASSERT_DONE(goss_sync_finish(sync));
  const goss_sync_counters counters = countersOf(sync);
  bytes->steps = static_cast<double>(counters.wire_bytes_sent - counters.setup_bytes_sent) / exchanges;
  bytes->end = static_cast<double>(counters.setup_bytes_sent) - bytes->start;
  ASSERT_DONE(goss_sync_destroy(sync));
}

std::array<Bytes, kRanks> measureAll(const std::string& spec, bool is_same_start) {
  std::array<Bytes, kRanks> bytes;
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    const float first = is_same_start ? 0.0f : static_cast<float>(rank);
    measure(comm, spec, first, &bytes[static_cast<std::size_t>(rank)]);
  });
  return bytes;
}

constexpr double kFew = 4096; // hashes, comparisons, and what frames of codecs take

TEST(Bytes, OfAnExchangeAreWhatTheFormulaSays) {
  struct Case {
    const char* spec;
    double bytes_per_element;
  };
  const Case cases[] = {{"ddp", 4},
                        {"diloco:h=4", 4},
                        {"local:h=4", 4},
                        {"streaming:h=4,fragments=2,tau=1", 4},
                        {"diloco:h=4,codec=fp16", 2},
                        {"diloco:h=4,codec=int8", 1 + 4.0 / 256},
                        {"diloco:h=4,codec=e3m0", 17.0 / 32},
                        {"streaming:h=4,fragments=2,tau=1,codec=e3m0", 17.0 / 32}};
  for (const Case& of : cases) {
    const double formula = 2.0 * (kRanks - 1) / kRanks * kCount * of.bytes_per_element;
    for (const Bytes& bytes : measureAll(of.spec, true)) {
      EXPECT_GE(bytes.steps, formula) << of.spec;
      EXPECT_LE(bytes.steps, formula + kFew) << of.spec;
    }
  }
}

TEST(Bytes, OfTheStartAreFewWhereTheRanksBeganAlikeAndTheParametersElse) {
  double same = 0, other = 0;
  for (const Bytes& bytes : measureAll("diloco:h=4", true))
    same += bytes.start;
  for (const Bytes& bytes : measureAll("diloco:h=4", false))
    other += bytes.start;
  EXPECT_GT(same, 0);
  EXPECT_LT(same, kFew);
  EXPECT_GE(other, (kRanks - 1) * kCount * sizeof(float));
}

TEST(Bytes, OfTheEndAreThoseOfOneMeanWhereRanksDiffer) {
  for (const Bytes& bytes : measureAll("diloco:h=4,codec=int8", true))
    EXPECT_EQ(bytes.end, 0) << "the ranks are equal after an exchange";
  const double formula = 2.0 * (kRanks - 1) / kRanks * kCount * sizeof(float);
  for (const Bytes& bytes : measureAll("streaming:h=4,fragments=2,tau=1,codec=e3m0", true)) {
    EXPECT_GE(bytes.end, formula);
    EXPECT_LE(bytes.end, formula + kFew);
  }
}

} // namespace
} // namespace goss::test
