// Messages out of device memory and into it: order, requests, groups, failures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"

namespace goss::test {
namespace {

class DeviceMessages : public testing::TestWithParam<std::tuple<std::string, bool>> {};

/// Each rank sends to the next, and to itself.
TEST_P(DeviceMessages, GoAroundInAGroup) {
  const bool ordered = std::get<1>(GetParam());
  constexpr int kRanks = 3;
  runDeviceRanks({std::get<0>(GetParam()), kRanks}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(4 * kBytes); // Sent, sent to itself, received, received from itself.
    std::vector<float> values(4 * kCount, static_cast<float>(rank));
    std::fill(values.begin() + kCount, values.begin() + 2 * kCount, static_cast<float>(100 + rank));
    device.enqueueToDevice(bytesOf(values));
    if (!ordered) {
      ASSERT_TRUE(device.synchronize());
    }
    const goss_options options = ordered ? onStream(device) : goss_options GOSS_OPTIONS_INIT;
    const int next = (rank + 1) % kRanks;
    const int previous = (rank + kRanks - 1) % kRanks;
    ASSERT_OK(goss_group_begin());
    ASSERT_OK(goss_recv(comm, memory + 2 * kBytes, kCount, GOSS_FLOAT32, previous, 5, &options, nullptr));
    ASSERT_OK(goss_recv(comm, memory + 3 * kBytes, kCount, GOSS_FLOAT32, rank, 6, &options, nullptr));
    ASSERT_OK(goss_send(comm, memory, kCount, GOSS_FLOAT32, next, 5, &options, nullptr));
    ASSERT_OK(goss_send(comm, memory + kBytes, kCount, GOSS_FLOAT32, rank, 6, &options, nullptr));
    ASSERT_OK(goss_group_end());
    device.enqueueToHost(4 * kBytes);
    ASSERT_TRUE(device.synchronize());
    std::fill(values.begin() + 2 * kCount, values.begin() + 3 * kCount, static_cast<float>(previous));
    std::fill(values.begin() + 3 * kCount, values.end(), static_cast<float>(100 + rank));
    EXPECT_EQ(device.fetched(4 * kBytes), bytesOf(values));
  });
}

TEST_P(DeviceMessages, OfEveryKindOfRequest) {
  const bool ordered = std::get<1>(GetParam());
  runDeviceRanks({std::get<0>(GetParam()), 2}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    goss_options options = ordered ? onStream(device) : goss_options GOSS_OPTIONS_INIT;
    const auto move = [&](const goss_options* with, goss_request_t* request) {
      return rank == 0 ? goss_send(comm, memory, kCount, GOSS_FLOAT32, 1, 0, with, request)
                       : goss_recv(comm, memory, kCount, GOSS_FLOAT32, 0, 0, with, request);
    };
    for (int i = 0; i < 3; ++i) {
      const auto sent = static_cast<float>(i + 1);
      device.enqueueToDevice(bytesOf(std::vector<float>(kCount, rank == 0 ? sent : 0)));
      if (!ordered) {
        ASSERT_TRUE(device.synchronize());
      }
      goss_request_t request = nullptr;
      options.flags = i == 2 ? GOSS_PERSISTENT : 0;
      ASSERT_OK(move(&options, i == 0 ? nullptr : &request));
      if (i == 2) {
        ASSERT_OK(goss_start(request));
      }
      goss_message message{};
      if (request != nullptr) {
        ASSERT_OK(goss_wait(&request, &message));
        EXPECT_EQ(message.bytes, rank == 0 ? 0 : kBytes);
      }
      if (i == 2) {
        ASSERT_OK(goss_request_free(&request));
      }
      device.enqueueToHost(kBytes);
      ASSERT_TRUE(device.synchronize());
      EXPECT_THAT(floatsOf(device.fetched(kBytes)), testing::Each(sent));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, DeviceMessages,
                         testing::Combine(testing::Values("loopback", "shm", "tcp"), testing::Bool()),
                         [](const auto& tested) {
                           return std::get<0>(tested.param) + (std::get<1>(tested.param) ? "_ordered" : "_waited");
                         });

TEST(DeviceMessage, ThatIsShorterThanTheBufferLeavesItsEndAlone) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, static_cast<float>(rank))));
    ASSERT_TRUE(device.synchronize());
    if (rank == 0) {
      EXPECT_OK(goss_send(comm, memory, 10, GOSS_FLOAT32, 1, 0, nullptr, nullptr));
      return;
    }
    ASSERT_OK(goss_recv(comm, memory, kCount, GOSS_FLOAT32, GOSS_ANY_SOURCE, GOSS_ANY_TAG, nullptr, nullptr));
    device.enqueueToHost(kBytes);
    ASSERT_TRUE(device.synchronize());
    std::vector<float> expected(kCount, 1);
    std::fill(expected.begin(), expected.begin() + 10, 0.0F);
    EXPECT_EQ(device.fetched(kBytes), bytesOf(expected));
  });
}

class OrderOfSends : public testing::TestWithParam<bool> {};

/// The second and the third have nothing to copy, so that their bytes are on the host first.
TEST_P(OrderOfSends, IsThatOfTheCalls) {
  const bool first_in_stream = GetParam();
  runDeviceRanks({"", 2, {.behaviour = {10000, false, 0}}}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, static_cast<float>(rank))));
    const goss_options options = onStream(device);
    if (!first_in_stream) {
      ASSERT_TRUE(device.synchronize());
    }
    goss_request_t requests[3] = {};
    if (rank == 0) {
      ASSERT_OK(goss_send(comm, memory, kCount, GOSS_FLOAT32, 1, 3, first_in_stream ? &options : nullptr, requests));
      ASSERT_OK(goss_send(comm, memory, 0, GOSS_FLOAT32, 1, 3, nullptr, requests + 1));
      ASSERT_OK(goss_send(comm, nullptr, 0, GOSS_FLOAT32, 1, 3, nullptr, requests + 2));
      EXPECT_OK(goss_wait_all(requests, 3));
      return;
    }
    ASSERT_TRUE(device.synchronize());
    for (const std::size_t bytes : {kBytes, std::size_t{0}, std::size_t{0}}) {
      goss_message message{};
      ASSERT_OK(goss_recv(comm, memory, kCount, GOSS_FLOAT32, 0, 3, nullptr, requests));
      ASSERT_OK(goss_wait(requests, &message));
      EXPECT_EQ(message.bytes, bytes);
    }
    device.enqueueToHost(kBytes);
    ASSERT_TRUE(device.synchronize());
    EXPECT_THAT(floatsOf(device.fetched(kBytes)), testing::Each(0.0F));
  });
}

INSTANTIATE_TEST_SUITE_P(All, OrderOfSends, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "ordered" : "waited"; });

TEST(DeviceMessage, IsCountedOnce) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    ASSERT_OK(rank == 0 ? goss_send(comm, memory, kCount, GOSS_FLOAT32, 1, 0, nullptr, nullptr)
                        : goss_recv(comm, memory, kCount, GOSS_FLOAT32, 0, 0, nullptr, nullptr));
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = 50;
    EXPECT_EQ(goss_recv(comm, memory, kCount, GOSS_FLOAT32, 1 - rank, 7, &options, nullptr), GOSS_ERR_TIMEOUT);
    goss_counters counters;
    ASSERT_OK(goss_counters_init(&counters, sizeof counters));
    ASSERT_OK(goss_comm_counters(comm, &counters));
    EXPECT_EQ(counters.operations, 1u);
    EXPECT_EQ(counters.payload_bytes, kBytes);
    EXPECT_EQ(counters.failures, 1u);
  });
}

TEST(DeviceMessage, OnADeviceThatHasFailedFailsAtOnce) {
  runDeviceRanks({"", 1, {.behaviour = {0, false, 1}}}, [](goss_comm_t comm, int, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    EXPECT_FALSE(device.synchronize()) << "The first job fails.";
    const goss_options options = onStream(device);
    const auto fails = [](goss_status status) {
      EXPECT_EQ(status, GOSS_ERR_DEVICE);
      EXPECT_THAT(goss_last_error(), testing::HasSubstr(deviceText(0)));
    };
    fails(goss_send(comm, memory, kCount, GOSS_FLOAT32, 0, 0, &options, nullptr));
    ASSERT_OK(goss_group_begin());
    for (int i = 0; i < 3; ++i)
      fails(goss_send(comm, memory, kCount, GOSS_FLOAT32, 0, 0, &options, nullptr));
    EXPECT_OK(goss_group_end());
  });
}

/// The thread that has the group open still has the call on its list.
TEST(DeviceMessage, ThatFailsInAnOpenGroupMayBeWaitedForByAnotherThread) {
  runDeviceRanks({"", 1}, [](goss_comm_t comm, int, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    goss_options options = onStream(device);
    options.timeout_ms = 50;
    goss_request_t request = nullptr;
    ASSERT_OK(goss_group_begin());
    ASSERT_OK(goss_recv(comm, memory, kCount, GOSS_FLOAT32, 0, 0, &options, &request));
    std::thread([&] { EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT); }).join();
    EXPECT_OK(goss_group_end());
  });
}

} // namespace
} // namespace goss::test
