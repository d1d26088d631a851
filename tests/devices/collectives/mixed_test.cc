// Ranks of one call choose by themselves where their buffers lie: some on the host, some on a device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/devices/collectives/device_case.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

/// Elements of float32 that go over boards, also where each rank has a block for every other; over boards only where
/// there is one vector; in messages.
constexpr std::size_t kCounts[] = {0, 1, 700, 9000, 30011};

class MixedBuffers : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  [[nodiscard]] int ranks() const { return std::get<1>(GetParam()); }
  void run(const std::function<void(goss_comm_t comm, int rank, DeviceRank& device)>& body) const {
    runDeviceRanks({std::get<0>(GetParam()), ranks()}, body);
  }
};

/// Every set of ranks whose buffers lie on the host, but for all and none, in turn.
TEST_P(MixedBuffers, HaveTheSameBits) {
  run([&](goss_comm_t comm, int rank, DeviceRank& device) {
    Sample sample(fullOr(1, 7));
    std::size_t next = 0;
    for (int collective = 0; collective < kCollectiveCount; ++collective) {
      for (const std::size_t count : kCounts) {
        for (const bool in_place : {false, true}) {
          for (const ReduceOp op : {GOSS_SUM, GOSS_PREMUL_SUM}) {
            if (op != GOSS_SUM && !reduces(static_cast<Collective>(collective))) continue;
            Case test;
            test.collective = static_cast<Collective>(collective);
            test.op = op;
            test.count = count;
            test.in_place = in_place;
            const std::size_t on_host = 1 + next % ((std::size_t{1} << ranks()) - 2);
            const Way way = (on_host >> rank & 1) != 0 ? Way::onHost : kWays[next % std::size(kWays)];
            ++next;
            if (sample.takeNext() && !check(comm, device, test, rank, ranks(), way)) return;
          }
        }
      }
    }
  });
}

/// The same with codecs, which encode on the host for some ranks and on the device for others.
TEST_P(MixedBuffers, HaveTheSameBitsCompressed) {
  run([&](goss_comm_t comm, int rank, DeviceRank& device) {
    goss_comm_t other = nullptr;
    goss_comm_t own = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    ASSERT_OK(goss_comm_dup(comm, &own));
    std::size_t next = 0;
    int compared = 0;
    bool right = true;
    for (const Collective collective : {Collective::allReduce, Collective::allGather, Collective::broadcast}) {
      for (const char* codec : {"int8", "sign", "int8:round=stochastic"}) {
        Case test;
        test.collective = collective;
        test.codec = codec;
        test.op = GOSS_SUM;
        test.count = 9001;
        const std::size_t on_host = 1 + next % ((std::size_t{1} << ranks()) - 2);
        const Way way = (on_host >> rank & 1) != 0 ? Way::onHost : kWays[next % std::size(kWays)];
        ++next;
        right = right && checkCompressed(own, other, device, test, rank, ranks(), way, compared);
      }
    }
    EXPECT_EQ(compared, 9);
    EXPECT_OK(goss_comm_destroy(own));
    EXPECT_OK(goss_comm_destroy(other));
  });
}

/// Rank 0's calls follow each other in its stream, which comes to the first of them late.
TEST_P(MixedBuffers, FollowEachOther) {
  run([&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const std::size_t count : {std::size_t{8}, kCount}) {
      std::vector<float> values(count, static_cast<float>(rank + 1));
      const bool on_device = rank == 0;
      float* buffer = on_device ? reinterpret_cast<float*>(device.memory(kBytes)) : values.data();
      const goss_options options = on_device ? onStream(device) : goss_options GOSS_OPTIONS_INIT;
      if (on_device) device.enqueueToDevice(bytesOf(values));
      for (int i = 0; i < 5; ++i) {
        ASSERT_OK(goss_all_reduce(comm, buffer, buffer, count, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
        ASSERT_OK(goss_barrier(comm, i % 2 == 0 ? nullptr : &options, nullptr));
      }
      if (on_device) {
        device.enqueueToHost(count * sizeof(float));
        ASSERT_TRUE(device.synchronize());
        values = floatsOf(device.fetched(count * sizeof(float)));
      }
      float sum = static_cast<float>(ranks() * (ranks() + 1)) / 2;
      for (int i = 1; i < 5; ++i)
        sum *= static_cast<float>(ranks());
      EXPECT_THAT(values, testing::Each(sum)) << "on rank " << rank;
    }
  });
}

/// One of a rank's two buffers lies on its device.
TEST_P(MixedBuffers, OfOneRank) {
  run([&](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const std::size_t count : {std::size_t{8}, kCount}) {
      for (const bool from_device : {rank % 2 == 0, rank % 2 == 1}) {
        const std::vector<float> ones(count, 1);
        std::vector<float> result(count, -1);
        device.enqueueToDevice(bytesOf(ones));
        ASSERT_TRUE(device.synchronize());
        auto* there = reinterpret_cast<float*>(device.memory(kBytes));
        ASSERT_OK(goss_all_reduce(comm, from_device ? there : ones.data(), from_device ? result.data() : there, count,
                                  GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
        device.enqueueToHost(count * sizeof(float));
        ASSERT_TRUE(device.synchronize());
        const std::vector<float> fetched = floatsOf(device.fetched(count * sizeof(float)));
        EXPECT_THAT(from_device ? result : fetched, testing::Each(static_cast<float>(ranks())));
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, MixedBuffers, testing::Combine(testing::Values("shm", "tcp"), testing::Values(2, 3, 4)),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + "_" + std::to_string(std::get<1>(tested.param)) + "ranks";
                         });

/// Rank 1's device fails at the first job of a small call; rank 0 has host buffers.
TEST(MixedDevices, AFailingDeviceIsNamed) {
  for (const bool ordered : {false, true}) {
    DeviceSetup setup{"shm", 2};
    setup.machine.other_rank = 1;
    setup.machine.other_behaviour.fail_at = 1;
    runDeviceRanks(setup, [&](goss_comm_t comm, int rank, DeviceRank& device) {
      std::vector<float> host(8, 1);
      void* buffer = rank == 1 ? static_cast<void*>(device.memory(kBytes)) : host.data();
      const goss_options options = ordered && rank == 1 ? onStream(device) : goss_options GOSS_OPTIONS_INIT;
      (void)goss_all_reduce(comm, buffer, buffer, host.size(), GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
      const auto [failure, text] = failureOf(comm);
      EXPECT_EQ(failure, GOSS_ERR_DEVICE) << text;
      EXPECT_THAT(text, testing::HasSubstr("rank 1: " + deviceText(1))) << "on rank " << rank;
    });
  }
}

} // namespace
} // namespace goss::test
