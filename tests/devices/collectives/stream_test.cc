// What happens to streams: order, groups, failures, and how many bytes are copied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "gossamer/gossamer.hpp"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

bool isNan(const std::vector<std::byte>& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte one) { return one == std::byte{0xff}; });
}

TEST(Streams, ACallWithoutRequestReturnsBeforeTheStreamComesToIt) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    auto* memory = reinterpret_cast<float*>(device.memory(kBytes));
    const goss_options options = onStream(device);
    // Ten calls, each of which works on the last one's result.
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, static_cast<float>(rank + 1))));
    for (int i = 0; i < 10; ++i)
      ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    device.enqueueToHost(kBytes);
    ASSERT_TRUE(device.synchronize());
    EXPECT_THAT(floatsOf(device.fetched(kBytes)), testing::Each(3.0F * 512));
  });
}

/// The codec of the calls, "": none; and whether they are persistent ones that were made before the group.
class GroupsInStreams : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(GroupsInStreams, DoNotKeepEachOthersCallsBack) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  // Of calls that wait for each other in a circle: then NaN comes out.
  constexpr std::int64_t kDeadlineMs = 10000;
  environment.set("GOSS_DEVICE_HOLD_MS", "1000");
  runDeviceRanks({"", 2, {}, kDeadlineMs}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    const auto& [codec, persistent] = GetParam();
    goss_comm_t other = nullptr;
    goss_comm_t gone = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    ASSERT_OK(goss_comm_dup(comm, &gone));
    auto* memory = reinterpret_cast<float*>(device.memory(2 * kBytes));
    goss_options options = onStream(device, codec.empty() && !persistent ? nullptr : "direct");
    options.codec = codec.empty() ? nullptr : codec.c_str();
    options.flags = persistent ? GOSS_PERSISTENT : 0;
    const auto callFor = [&](bool second, goss_request_t* request) {
      float* vector = memory + (second ? kCount : 0);
      return goss_all_reduce(second ? other : comm, vector, vector, kCount, GOSS_FLOAT32, GOSS_SUM, &options, request);
    };
    device.enqueueToDevice(bytesOf(std::vector<float>(2 * kCount, 0)));
    std::array<goss_request_t, 2> kept{};
    for (std::size_t i = 0; persistent && i < kept.size(); ++i) { // Started alone, too.
      ASSERT_OK(callFor(i == 1, &kept[i]));
      ASSERT_OK(goss_start(kept[i]));
      ASSERT_OK(goss_wait(&kept[i], nullptr));
    }
    ASSERT_TRUE(device.synchronize());
    device.enqueueToDevice(bytesOf(std::vector<float>(2 * kCount, 1)));
    ASSERT_OK(goss_group_begin());
    for (const bool second : {rank == 1, rank == 0}) { // The ranks call in opposite order.
      ASSERT_OK(persistent ? goss_start(kept[second ? 1 : 0]) : callFor(second, nullptr));
      EXPECT_OK(goss_comm_destroy(std::exchange(gone, nullptr))); // Of no meaning to the others.
    }
    ASSERT_OK(goss_group_end());
    device.enqueueToHost(2 * kBytes);
    ASSERT_TRUE(device.synchronize());
    EXPECT_THAT(floatsOf(device.fetched(2 * kBytes)), testing::Each(testing::FloatNear(2, 1e-5F)));
    for (std::size_t i = 0; persistent && i < kept.size(); ++i) {
      EXPECT_OK(goss_wait(&kept[i], nullptr));
      EXPECT_OK(goss_request_free(&kept[i]));
    }
    EXPECT_OK(goss_comm_destroy(other));
  });
}

INSTANTIATE_TEST_SUITE_P(All, GroupsInStreams, testing::Combine(testing::Values("", "int8"), testing::Bool()),
                         [](const auto& tested) {
                           const std::string codec = std::get<0>(tested.param);
                           return (codec.empty() ? "plain" : codec) + (std::get<1>(tested.param) ? "_persistent" : "");
                         });

TEST(Streams, PinnedMemoryIsAPartOfTheStreamsWork) {
  runDeviceRanks({"", 2, {.behaviour = {2000, false, 0}}}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, static_cast<float>(rank + 1))));
    const auto pinned = device.at(1).allocate(MemoryKind::pinned, kBytes); // The stream is device 0's.
    ASSERT_TRUE(pinned.isOk());
    const goss_options options = onStream(device); // Slow: the sum is not there when the calls return.
    ASSERT_OK(goss_all_reduce(comm, memory, pinned.value()->data(), kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    std::byte* middle = pinned.value()->data();
    ASSERT_OK(goss_all_reduce(comm, middle, middle, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    ASSERT_OK(goss_all_reduce(comm, middle, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    device.enqueueToHost(kBytes);
    ASSERT_TRUE(device.synchronize());
    EXPECT_THAT(floatsOf(device.fetched(kBytes)), testing::Each(12.0F));
  });
}

TEST(Streams, BarrierIsAPartOfTheStream) {
  std::atomic<int> come{0};
  runDeviceRanks({"", 3}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    const goss_options options = onStream(device);
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * rank));
    ++come;
    ASSERT_OK(goss_barrier(comm, &options, nullptr));
    ASSERT_TRUE(device.synchronize());
    EXPECT_EQ(come, 3);
  });
}

TEST(Streams, ThatAreCapturedAreRefusedAndNothingElseFails) {
  runDeviceRanks({"", 1}, [](goss_comm_t comm, int, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    goss_options options = onStream(device);
    goss_request_t kept = nullptr;
    options.flags = GOSS_PERSISTENT;
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, &kept));
    options.flags = 0;
    const auto refused = [](goss_status status) {
      EXPECT_EQ(status, GOSS_ERR_UNSUPPORTED);
      EXPECT_THAT(goss_last_error(), testing::HasSubstr("the stream is being captured"));
    };
    setCapturing(device.stream(), true);
    refused(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    refused(goss_barrier(comm, &options, nullptr));
    refused(goss_send(comm, memory, kCount, GOSS_FLOAT32, 0, 0, &options, nullptr));
    refused(goss_start(kept));
    setCapturing(device.stream(), false);
    ASSERT_OK(goss_start(kept));
    EXPECT_OK(goss_wait(&kept, nullptr));
    EXPECT_OK(goss_request_free(&kept));
    EXPECT_OK(goss_barrier(comm, &options, nullptr));
    EXPECT_TRUE(device.synchronize());
  });
}

TEST(Streams, CallsOfAnOpenGroupAreNotWaitedFor) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    const goss_options options = onStream(device);
    goss_request_t request = nullptr;
    ASSERT_OK(goss_group_begin());
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, &request));
    int done = 0;
    size_t index = 0;
    for (const goss_status status : {goss_wait(&request, nullptr), goss_test(&request, &done, nullptr),
                                     goss_wait_all(&request, 1), goss_wait_any(&request, 1, &index, nullptr)}) {
      EXPECT_EQ(status, GOSS_ERR_INVALID_ARGUMENT) << "on rank " << rank;
      EXPECT_THAT(goss_last_error(), testing::HasSubstr("call goss_group_end first"));
    }
    ASSERT_OK(goss_group_end());
    EXPECT_OK(goss_wait(&request, nullptr));
  });
}

TEST(Streams, ARequestThatIsDestroyedInAnOpenGroupIsComplete) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    const goss_options options = onStream(device);
    goss_request_t request = nullptr;
    ASSERT_OK(goss_group_begin());
    ASSERT_OK(goss_group_begin());
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, &request));
    {
      gossamer::Request dropped(nullptr, request);
      EXPECT_THROW(dropped.wait(), gossamer::Error) << "on rank " << rank;
      EXPECT_FALSE(dropped.error()) << "It is pending still.";
      EXPECT_TRUE(dropped.poll()) << "wait() would not block.";
    }
    EXPECT_EQ(goss_group_end(), GOSS_ERR_INVALID_ARGUMENT) << "The destructor has ended the groups.";
  });
}

TEST(Streams, StayClosedBehindAFailedCallUntilAbort) {
  runDeviceRanks({"", 2, {}, fullOr(300, 1500)}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    if (rank == 1) { // It never calls.
      failureOf(comm);
      return;
    }
    auto* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 5)));
    const goss_options options = onStream(device);
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    device.enqueueToHost(kBytes);
    EXPECT_EQ(failureOf(comm).first, GOSS_ERR_TIMEOUT);
    EXPECT_FALSE(device.synchronize(200)) << "the stream went on behind a call that has failed";
    EXPECT_EQ(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_TIMEOUT);
    EXPECT_OK(goss_comm_abort(comm, "test"));
    ASSERT_TRUE(device.synchronize());
    EXPECT_TRUE(isNan(device.fetched(kBytes)));
  });
}

TEST(Streams, GoOnBehindAFailedCallAfterALongStop) {
  ScopedEnvironment environment;
  environment.set("GOSS_DEVICE_HOLD_MS", "300");
  environment.set("GOSS_FRAGMENT_BYTES", "8192"); // More fragments than are in flight.
  runDeviceRanks({"", 2, {}, fullOr(200, 1500)}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    if (rank == 1) {
      failureOf(comm);
      return;
    }
    auto* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 5)));
    const goss_options options = onStream(device);
    goss_request_t request = nullptr;
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, &request));
    device.enqueueToHost(kBytes);
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT);
    ASSERT_TRUE(device.synchronize());
    EXPECT_TRUE(isNan(device.fetched(kBytes)));
  });
}

/// Each call without a stream, the first one too, reads what the copy before it has written.
TEST(Devices, ACopyFromPageableMemoryComesBeforeTheCallBehindIt) {
  if (!testsStandin() && !testsGpu()) return; // The copies of `threads` are in streams.
  runDeviceRanks({"", 2, {.behaviour = {3000, false, 0}}}, [](goss_comm_t comm, int /*rank*/, DeviceRank& device) {
    auto* memory = device.memory(kBytes);
    for (int i = 1; i <= 3; ++i) {
      const std::vector<float> values(kCount / 4, static_cast<float>(i));
      copyToDevice(memory, values.data(), values.size() * sizeof(float));
      ASSERT_OK(goss_all_reduce(comm, memory, memory, values.size(), GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
      device.enqueueToHost(values.size() * sizeof(float));
      ASSERT_TRUE(device.synchronize());
      EXPECT_THAT(floatsOf(device.fetched(values.size() * sizeof(float))), testing::Each(2.0F * static_cast<float>(i)));
    }
  });
}

/// The stream comes to the gates of the failed call after the world has begun to end, which frees memory of the device.
TEST(Streams, KeepNoWorldFromItsEnd) {
  constexpr int kJobs = 5;
  constexpr int kLatencyUs = 200000;
  runDeviceRanks({"", 2, {.behaviour = {kLatencyUs, false, 0}}, 200},
                 [](goss_comm_t comm, int rank, DeviceRank& device) {
                   void* lent = nullptr; // Nobody frees it.
                   ASSERT_OK(goss_mem_alloc_device(comm, kBytes, &lent));
                   if (rank == 1) {
                     failureOf(comm);
                     return;
                   }
                   for (int job = 0; job < kJobs; ++job)
                     device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 5)));
                   const goss_options options = onStream(device);
                   auto* memory = device.memory(kBytes);
                   (void)goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
                   EXPECT_EQ(failureOf(comm).first, GOSS_ERR_TIMEOUT);
                 });
}

/// Fragments differ by a unit of 64 bytes, the larger ones first, and inputs still arrive in slots behind the abort.
TEST(Streams, HaveNoInputInTheResultsOfAnAbortedCall) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "4096");
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    constexpr std::size_t kUneven = std::size_t{128} * 1024 + 60 * 16;
    constexpr std::size_t kUnevenBytes = kUneven * sizeof(float);
    if (rank == 1) { // It never calls.
      failureOf(comm);
      return;
    }
    auto* memory = device.memory(kUnevenBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kUneven, 5)));
    const goss_options options = onStream(device, "ring"); // It is cut into fragments.
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kUneven, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    device.enqueueToHost(kUnevenBytes);
    EXPECT_OK(goss_comm_abort(comm, "test"));
    ASSERT_TRUE(device.synchronize());
    EXPECT_TRUE(isNan(device.fetched(kUnevenBytes)));
  });
}

/// The results are in the slots, and the stream of rank 0 is slow to copy them out.
TEST(Streams, BringResultsThatWereThereBeforeAnAbort) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "40000");
  for (const int aborts : {0, 1}) {
    std::barrier<> exchanged(2);
    DeviceSetup setup{"", 2};
    setup.machine.other_rank = 0;
    setup.machine.other_behaviour.latency_us = 20000;
    runDeviceRanks(setup, [&](goss_comm_t comm, int rank, DeviceRank& device) {
      auto* memory = device.memory(kBytes);
      device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 1)));
      const goss_options options = onStream(device, "ring");
      goss_request_t request = nullptr;
      ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, &request));
      device.enqueueToHost(kBytes);
      if (rank == 1) {
        EXPECT_OK(goss_wait(&request, nullptr));
      }
      exchanged.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(50)); // Rank 0 has got its last messages.
      if (rank == aborts) {
        EXPECT_OK(goss_comm_abort(comm, "test"));
      }
      if (rank == 0) {
        const goss_status status = goss_wait(&request, nullptr);
        EXPECT_TRUE(status == GOSS_SUCCESS || (aborts == 0 && status == GOSS_ERR_ABORTED)) << goss_last_error();
      }
      ASSERT_TRUE(device.synchronize());
      EXPECT_THAT(floatsOf(device.fetched(kBytes)), testing::Each(2.0F)) << "on rank " << rank;
    });
  }
}

/// Whether the calls are in streams, and which job of the device fails.
class FailingDevice : public testing::TestWithParam<std::tuple<bool, int>> {};

TEST_P(FailingDevice, FailsAllRanksAndIsNamed) {
  const auto [in_stream, job] = GetParam();
  const bool ordered = in_stream;
  failAndExpectAllToNameIt(
      job, [&](DeviceRank& device) { return ordered ? onStream(device) : goss_options GOSS_OPTIONS_INIT; });
}

INSTANTIATE_TEST_SUITE_P(All, FailingDevice, testing::Combine(testing::Bool(), testing::Values(1, 2, 4, 7, 11, 20, 41)),
                         [](const auto& tested) {
                           return (std::get<0>(tested.param) ? "ordered_" : "waited_") +
                                  std::to_string(std::get<1>(tested.param));
                         });

// ---- Bytes ---------------------------------------------------------------------------------------------------------

/// Bytes that all ranks' queues copy while `call` runs on each of them.
Copied copiedBy(int ranks, const std::function<goss_status(goss_comm_t, int, std::byte*)>& call) {
  Copied before;
  Copied after;
  std::barrier<> together(ranks);
  runDeviceRanks({"", ranks}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    std::byte* memory = device.memory(16 * kBytes);
    together.arrive_and_wait();
    if (rank == 0) before = copiedBytes();
    together.arrive_and_wait();
    EXPECT_OK(call(comm, rank, memory));
    together.arrive_and_wait();
    if (rank == 0) after = copiedBytes();
    together.arrive_and_wait();
  });
  return {after.to_host - before.to_host, after.to_device - before.to_device, after.within - before.within};
}

void expectCopied(const Copied& copied, std::size_t to_host, std::size_t to_device) {
  EXPECT_EQ(copied.to_host, to_host);
  EXPECT_EQ(copied.to_device, to_device);
  EXPECT_EQ(copied.within, 0u);
}

constexpr std::size_t kFar = 8 * kBytes; // The other buffer.

TEST(CopiedBytes, AreWhatTheScheduleReadsAndWrites) {
  for (const std::size_t apart : {std::size_t{0}, kFar}) {
    expectCopied(copiedBy(3,
                          [&](goss_comm_t comm, int, std::byte* memory) {
                            return goss_all_reduce(comm, memory, memory + apart, kCount, GOSS_FLOAT32, GOSS_SUM,
                                                   nullptr, nullptr);
                          }),
                 3 * kBytes, 3 * kBytes);
  }
  // In place a rank has its own block already; else it gets that, too.
  expectCopied(copiedBy(3,
                        [](goss_comm_t comm, int rank, std::byte* memory) {
                          return goss_all_gather(comm, memory + static_cast<std::size_t>(rank) * kBytes, memory, kCount,
                                                 GOSS_FLOAT32, nullptr, nullptr);
                        }),
               3 * kBytes, 6 * kBytes);
  expectCopied(copiedBy(3,
                        [](goss_comm_t comm, int, std::byte* memory) {
                          return goss_all_gather(comm, memory + kFar, memory, kCount, GOSS_FLOAT32, nullptr, nullptr);
                        }),
               3 * kBytes, 9 * kBytes);
  expectCopied(copiedBy(3,
                        [](goss_comm_t comm, int, std::byte* memory) {
                          return goss_broadcast(comm, memory, memory, kCount, GOSS_FLOAT32, 1, nullptr, nullptr);
                        }),
               kBytes, 2 * kBytes);
  expectCopied(copiedBy(3,
                        [](goss_comm_t comm, int, std::byte* memory) {
                          return goss_reduce(comm, memory, memory + kFar, kCount, GOSS_FLOAT32, GOSS_SUM, 1, nullptr,
                                             nullptr);
                        }),
               3 * kBytes, kBytes);
  expectCopied(copiedBy(3,
                        [](goss_comm_t comm, int, std::byte* memory) {
                          return goss_reduce_scatter(comm, memory, memory + kFar, kCount, GOSS_FLOAT32, GOSS_SUM,
                                                     nullptr, nullptr);
                        }),
               9 * kBytes, 3 * kBytes);
}

// ---- What is refused -----------------------------------------------------------------------------------------------

TEST(Devices, WhatIsNotOfferedIsRefusedWithWhatToDo) {
  runDeviceRanks({"", 1}, [](goss_comm_t comm, int, DeviceRank& device) {
    std::byte* memory = device.memory(kBytes);
    std::vector<float> host(4);
    goss_options options = onStream(device);
    EXPECT_EQ(goss_all_reduce(comm, host.data(), host.data(), 4, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("host memory; pass NULL"));
    options.stream = nullptr;
    options.codec = "powersgd:rank=1";
    options.tensor = 1;
    EXPECT_NE(goss_all_reduce(comm, memory, memory, 16, GOSS_FLOAT32, GOSS_SUM, &options, nullptr), GOSS_SUCCESS);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("device memory"));
    options = onStream(device);
    EXPECT_EQ(goss_sendrecv(comm, memory, 4, 0, memory, 4, 0, GOSS_FLOAT32, 0, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    EXPECT_EQ(goss_send(comm, host.data(), 4, GOSS_FLOAT32, 0, 0, &options, nullptr), GOSS_ERR_UNSUPPORTED);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("host memory; pass NULL"));
  });
}

TEST(Devices, AnExecutionGoesFromOneDeviceToAnother) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int, DeviceRank& device) {
    for (const int ordinal : {1, 0, 1}) {
      const auto block = device.at(ordinal).allocate(MemoryKind::device, kBytes);
      ASSERT_TRUE(block.isOk());
      std::byte* memory = block.value()->data();
      EXPECT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    }
  });
}

TEST(Devices, ABufferThatMeansNothingMayLieOnAnother) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    const auto there = device.at(1).allocate(MemoryKind::device, kBytes);
    ASSERT_TRUE(there.isOk());
    std::byte* here = device.memory(kBytes);
    std::byte* unused = rank == 0 ? here : there.value()->data();
    EXPECT_OK(goss_reduce(comm, here, unused, kCount, GOSS_FLOAT32, GOSS_SUM, 0, nullptr, nullptr));
    EXPECT_OK(goss_gather(comm, here, unused, kCount / 2, GOSS_FLOAT32, 0, nullptr, nullptr));
    EXPECT_OK(goss_broadcast(comm, unused, here, kCount, GOSS_FLOAT32, 0, nullptr, nullptr));
    EXPECT_OK(goss_scatter(comm, unused, here, kCount / 2, GOSS_FLOAT32, 0, nullptr, nullptr));
  });
}

TEST(Devices, ProvidersAreAskedOnceForEachBufferOfHostMemory) {
  std::barrier<> together(2);
  std::uint64_t asked = 0;
  runDeviceRanks({"", 2}, [&](goss_comm_t comm, int rank, DeviceRank&) {
    std::vector<float> from(16);
    std::vector<float> to(16);
    const auto askedIn = [&](const std::function<goss_status()>& call) {
      together.arrive_and_wait();
      if (rank == 0) asked = classifiedAddresses();
      together.arrive_and_wait();
      EXPECT_OK(call());
      together.arrive_and_wait();
      return classifiedAddresses() - asked;
    };
    const auto reduce = [&] {
      return goss_all_reduce(comm, from.data(), to.data(), 16, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr);
    };
    EXPECT_EQ(askedIn([&] { return goss_barrier(comm, nullptr, nullptr); }), 0u);
    askedIn(reduce);
    EXPECT_EQ(askedIn(reduce), 4u) << "by two ranks that repeat a call";
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = GOSS_ON_HOST;
    EXPECT_EQ(askedIn([&] {
                return goss_all_reduce(comm, from.data(), to.data(), 16, GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
              }),
              0u);
    EXPECT_EQ(askedIn([&] {
                return rank == 0 ? goss_send(comm, from.data(), 16, GOSS_FLOAT32, 1, 0, &options, nullptr)
                                 : goss_recv(comm, to.data(), 16, GOSS_FLOAT32, 0, 0, &options, nullptr);
              }),
              0u);
  });
}

TEST(Devices, AStreamWithoutDevicesIsRefused) {
  ScopedEnvironment environment;
  environment.set("GOSS_DEVICE", "none");
  goss_comm_t comm = nullptr;
  ASSERT_OK(goss_comm_create(nullptr, &comm));
  goss_options options = GOSS_OPTIONS_INIT;
  int nothing = 0;
  options.stream = &nothing;
  float value = 1;
  EXPECT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, &options, nullptr), GOSS_ERR_UNSUPPORTED);
  EXPECT_THAT(goss_last_error(), testing::HasSubstr("GOSS_DEVICE"));
  void* memory = nullptr;
  EXPECT_EQ(goss_mem_alloc_device(comm, 8, &memory), GOSS_ERR_UNSUPPORTED);
  EXPECT_OK(goss_comm_destroy(comm));
}

TEST(Devices, MemoryOfTheLibraryLiesOnTheDevice) {
  runDeviceRanks({"", 1}, [](goss_comm_t comm, int, DeviceRank& device) {
    void* memory = nullptr;
    ASSERT_OK(goss_mem_alloc_device(comm, kBytes, &memory));
    const goss_options options = onStream(device);
    EXPECT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr));
    EXPECT_TRUE(device.synchronize());
    EXPECT_OK(goss_mem_free(comm, memory));
    EXPECT_EQ(goss_mem_free(comm, memory), GOSS_ERR_INVALID_ARGUMENT);
  });
}

TEST(Devices, AnUnknownProviderIsNamed) {
  ScopedEnvironment environment;
  environment.set("GOSS_DEVICE", "no_such_provider");
  goss_comm_t comm = nullptr;
  EXPECT_EQ(goss_comm_create(nullptr, &comm), GOSS_ERR_UNSUPPORTED);
  EXPECT_THAT(goss_last_error(), testing::HasSubstr("GOSS_DEVICE=no_such_provider"));
}

/// Codecs work on what has been copied to the host, so the bits are those of host buffers.
TEST(Devices, CompressedResultsHaveTheBitsOfHostBuffers) {
  runDeviceRanks({"", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    std::vector<float> values(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50.5F;
    goss_options options = GOSS_OPTIONS_INIT;
    std::uint64_t tensor = 0;
    for (const char* codec : {"int8", "sign+ef", "topk:ratio=0.05+ef", "bf16"}) {
      options.codec = codec;
      std::vector<float> expected = values;
      options.tensor = ++tensor;
      options.stream = nullptr;
      ASSERT_OK(
          goss_all_reduce(comm, expected.data(), expected.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &options, nullptr));
      for (const bool ordered : {false, true}) {
        std::byte* memory = device.memory(kBytes);
        device.enqueueToDevice(bytesOf(values));
        if (!ordered) {
          ASSERT_TRUE(device.synchronize());
        }
        options.tensor = ++tensor;
        options.stream = ordered ? device.stream() : nullptr;
        ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_AVG, &options, nullptr));
        device.enqueueToHost(kBytes);
        ASSERT_TRUE(device.synchronize());
        EXPECT_EQ(device.fetched(kBytes), bytesOf(expected)) << codec << (ordered ? " in a stream" : "");
      }
    }
  });
}

} // namespace
} // namespace goss::test
