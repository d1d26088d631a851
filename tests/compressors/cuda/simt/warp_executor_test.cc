/// What the warp executor is for: kernels that lack a __syncwarp(), and other mistakes that loops over lanes cannot
/// have, are found by it.
#include "tests/compressors/cuda/simt/warp_executor.h"

#include <cstdlib>
#include <set>
#include <string>

#include "tests/compressors/cuda/harness.h"
#include "tests/compressors/cuda/simt/cuda_runtime.h"

namespace goss::test {
namespace {

/// Whether a device codec's payload is the host's while the __syncwarp() of that number is left out.
bool encodesAsTheHost(const char* spec, std::size_t skipped) {
  constexpr std::size_t kCount = 9001;
  const auto device = makeDeviceCodec(spec).take();
  const Floats values = valuesOf(kCount, 1);
  const Lent at_values(values);
  Bytes expected(device->host().maxBytes(kCount));
  const Lent payload(expected.data(), expected.size());
  HostScratch host_scratch(device->host().scratchBytes(kCount));
  const Lent scratch(Bytes(device->scratchBytes(kCount)).data(), device->scratchBytes(kCount));
  EncodeSegment segment{0, kCount, expected, 0};
  EncodeJob job;
  job.values = values;
  job.random = randomness(0);
  job.scratch = host_scratch.span();
  job.segments = {&segment, 1};
  EXPECT_TRUE(device->host().encode(job).isOk());
  expected.resize(segment.bytes);
  segment.out = payload.bytes();
  job.values = at_values.span();
  job.scratch = scratch.bytes();
  simt::skipSync(skipped);
  EXPECT_TRUE(device->encode(job, nullptr).isOk());
  return payload.back(expected.size()) == expected;
}

struct Synced {
  const char* spec;
  std::size_t least; ///< Calls of __syncwarp() in a warp, at least.
  /// Numbers of those that are not missed: a ballot follows before a lane reads what another wrote, which orders no
  /// memory on a GPU, but here lanes wait at it; or one lane alone has work.
  std::set<std::size_t> not_missed;
};

class MissingSync : public testing::TestWithParam<Synced> {};

// In a process of its own, which may crash: lanes read what was not written yet.
TEST_P(MissingSync, IsFound) {
  const Synced what = GetParam();
  ASSERT_TRUE(encodesAsTheHost(what.spec, simt::kSkipNone));
  const std::size_t syncs = std::min<std::size_t>(simt::maxSyncs(), 12);
  ASSERT_GE(syncs, what.least);
  const auto fails = [](int status) { return status != 0; };
  for (std::size_t number = 0; number < syncs; ++number) {
    if (what.not_missed.count(number) == 0) {
      EXPECT_EXIT(std::_Exit(encodesAsTheHost(what.spec, number) ? 0 : 1), fails, "") << number << " of " << syncs;
    }
  }
  EXPECT_EXIT(std::_Exit(encodesAsTheHost(what.spec, simt::kSkipAll) ? 0 : 1), fails, "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, MissingSync,
                         testing::Values(Synced{"int4:block=256", 1, {}}, Synced{"int6:block=2048", 1, {}},
                                         Synced{"mxfp4", 1, {}}, Synced{"sign", 1, {}},
                                         Synced{"topk:ratio=0.01+none", 2, {}}, Synced{"dct:chunk=64,keep=8", 2, {1}},
                                         Synced{"uniform8", 2, {}}, Synced{"nvfp4", 1, {}},
                                         Synced{"hadamard:chunk=256+none", 9, {11}}));

class WarpExecutor : public testing::Test {
 protected:
  void SetUp() override { simt::skipSync(simt::kSkipNone); }
};

TEST_F(WarpExecutor, RunsLanesInManyOrders) {
  std::set<unsigned> first;
  for (int warp = 0; warp < 100; ++warp) {
    bool begun = false;
    simt::run({1, 32, 0}, [&] {
      if (!begun) {
        begun = true;
        first.insert(threadIdx.x);
      }
      __syncwarp();
    });
  }
  EXPECT_GT(first.size(), 20u);
}

TEST_F(WarpExecutor, ShufflesAndVotesAsAWarp) {
  simt::run({2, 64, 0}, [] {
    const unsigned lane = threadIdx.x % 32, block = blockIdx.x;
    EXPECT_EQ(__shfl_sync(~0u, lane * 3, static_cast<int>(lane + 1)), (lane + 1) % 32 * 3);
    EXPECT_EQ(__shfl_xor_sync(~0u, lane, 5), lane ^ 5u);
    EXPECT_EQ(__shfl_up_sync(~0u, threadIdx.x, 4), threadIdx.x - (lane < 4 ? 0 : 4));
    EXPECT_EQ(__ballot_sync(~0u, lane % 3 == block ? 1 : 0), block == 0 ? 0x49249249u : 0x92492492u);
  });
}

using WarpExecutorDeathTest = WarpExecutor;

TEST_F(WarpExecutorDeathTest, EndsWhereLanesPart) {
  const auto run = [](void (*kernel)()) { simt::run({1, 32, 64}, kernel); };
  EXPECT_DEATH(run([] {
                 if (threadIdx.x != 3) __syncwarp();
               }),
               "some lanes have returned");
  EXPECT_DEATH(run([] { threadIdx.x % 2 == 0 ? __syncwarp() : static_cast<void>(__ballot_sync(~0u, 1)); }),
               "different operations");
}

} // namespace
} // namespace goss::test
