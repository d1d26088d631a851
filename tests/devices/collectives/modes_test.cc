// Collectives stay right whatever devices do: streams that are one queue, jobs that take a while, devices that ranks
// share, or have no memory left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "tests/devices/collectives/device_case.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

struct Mode {
  std::string name;
  MachineSetup machine;
};

void PrintTo(const Mode& mode, std::ostream* to) { *to << mode.name; }

/// Gates are kernels, and a thread that launches one waits until it has run.
void launchOneByOne(standin::Settings& settings) {
  settings.memops = 0;
  settings.launch_blocking = true;
}

/// Of the tested provider.
std::vector<Mode> modes() {
  std::vector<Mode> modes{{"oneQueue", {.behaviour = {0, true, 0}}},
                          {"slow", {.behaviour = {200, false, 0}}},
                          {"oneQueueSlow", {.behaviour = {200, true, 0}}}};
  if (!testsStandin()) return modes;
  // Where ranks share a device, streams that are one queue can only deadlock: one rank's gate is before what opens it.
  modes.push_back({"shared", {.share = true}});
  modes.push_back({"sharedSlow", {.behaviour = {200, false, 0}, .share = true}});
  // Gates are kernels.
  const auto without = [](standin::Settings& settings) { settings.memops = 0; };
  modes.push_back({"kernels", {.standin = without}});
  modes.push_back({"kernelsOneQueueSlow", {.behaviour = {200, true, 0}, .standin = without}});
  modes.push_back({"kernelsShared", {.share = true, .standin = without}});
  modes.push_back({"kernelsOneByOne", {.standin = launchOneByOne}});
  return modes;
}

class DeviceModes : public testing::TestWithParam<Mode> {};

TEST_P(DeviceModes, EveryDtypeAndOp) {
  callEveryDtypeAndOp({"shm", 3, GetParam().machine}, fullOr(11, 67));
  callEveryDtypeAndOp({"tcp", 2, GetParam().machine}, fullOr(13, 71));
}

TEST_P(DeviceModes, CollectivesOfSeveralFragments) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  runDeviceRanks({"tcp", 2, GetParam().machine}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    Sample sample(fullOr(1, 4)); // Coprime to the ways.
    for (const Collective collective : {Collective::allReduce, Collective::allGather, Collective::allToAll}) {
      for (const Way way : kWays) {
        Case test;
        test.collective = collective;
        test.count = 50001;
        if (sample.takeNext() && !check(comm, device, test, rank, 2, way)) return;
      }
    }
  });
}

TEST_P(DeviceModes, Codecs) {
  callEveryCodec({"shm", 3, GetParam().machine}, fullOr(13, 149));
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "16384");
  callEveryCodec({"tcp", 2, GetParam().machine}, fullOr(17, 157));
}

/// The calls take more and more pinned memory while the streams of all ranks wait for one that comes late.
TEST_P(DeviceModes, CallsFollowEachOtherInAStream) {
  runDeviceRanks({"shm", 3, GetParam().machine}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    auto* memory = reinterpret_cast<float*>(device.memory(kBytes));
    const goss_options options = onStream(device);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 1)));
    std::this_thread::sleep_for(std::chrono::milliseconds(30 * rank));
    for (int halvings = 5; halvings >= 0; --halvings)
      ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount >> halvings, GOSS_FLOAT32, GOSS_MAX, &options, nullptr));
    device.enqueueToHost(kBytes);
    ASSERT_TRUE(device.synchronize());
    EXPECT_THAT(floatsOf(device.fetched(kBytes)), testing::Each(1.0F));
  });
}

INSTANTIATE_TEST_SUITE_P(All, DeviceModes, testing::ValuesIn(modes()),
                         [](const auto& tested) { return tested.param.name; });

template <typename T>
std::vector<T> ofStandin(const std::vector<T>& values) {
  return testsStandin() ? values : std::vector<T>{};
}

/// Streams have no memory operations, or only those that write, and the device runs no kernels, or none for long.
class WithoutGates : public testing::TestWithParam<std::tuple<Way, int, int>> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WithoutGates); // By `threads`.

TEST_P(WithoutGates, CallsInStreamsAloneAreRefused) {
  const MachineSetup machine{.standin = [](standin::Settings& settings) {
    std::tie(std::ignore, settings.memops, settings.kernels) = GetParam();
  }};
  runDeviceRanks({"", 2, machine}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    const Way way = std::get<Way>(GetParam());
    if (way != Way::ordered && way != Way::orderedPersistent) {
      Case test;
      test.count = kCount;
      check(comm, device, test, rank, 2, way);
      return;
    }
    std::byte* memory = device.memory(kBytes);
    const goss_options options = onStream(device);
    EXPECT_EQ(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    EXPECT_THAT(goss_last_error(), testing::HasSubstr("install a driver of CUDA 12"));
  });
}

INSTANTIATE_TEST_SUITE_P(All, WithoutGates,
                         testing::Combine(testing::ValuesIn(ofStandin<Way>({std::begin(kWays), std::end(kWays)})),
                                          testing::Values(0, 2), testing::Values(0, 2)));

/// Whether the call ends by an abort, or by GOSS_DEVICE_HOLD_MS.
class AFailedCallThatIsBeingEnqueued : public testing::TestWithParam<bool> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AFailedCallThatIsBeingEnqueued);

TEST_P(AFailedCallThatIsBeingEnqueued, LetsItsThreadGoOnWithNan) {
  const bool aborts = GetParam();
  ScopedEnvironment environment;
  environment.set("GOSS_DEVICE_HOLD_MS", aborts ? "600000" : "200");
  environment.set("GOSS_FRAGMENT_BYTES", "8192"); // More fragments than are in flight.
  runDeviceRanks({"", 2, {.standin = launchOneByOne}, 200}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    if (rank == 1) { // It never calls.
      failureOf(comm);
      return;
    }
    auto* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 5)));
    const std::jthread other([&] {
      EXPECT_EQ(failureOf(comm).first, GOSS_ERR_TIMEOUT);
      if (aborts) EXPECT_OK(goss_comm_abort(comm, "test"));
    });
    const goss_options options = onStream(device);
    (void)goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
    device.enqueueToHost(kBytes);
    ASSERT_TRUE(device.synchronize());
    EXPECT_THAT(device.fetched(kBytes), testing::Each(std::byte{0xff})); // NaN
  });
}

INSTANTIATE_TEST_SUITE_P(All, AFailedCallThatIsBeingEnqueued, testing::ValuesIn(ofStandin<bool>({true, false})));

/// From which allocation of pinned memory on all fail, and whether the calls are in streams.
class WithoutPinnedMemory : public testing::TestWithParam<std::tuple<int, bool>> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WithoutPinnedMemory);

TEST_P(WithoutPinnedMemory, AllRanksFail) {
  const auto [allocation, ordered] = GetParam();
  constexpr std::uint64_t kOfTests = 2 * 3; // Each DeviceRank makes two blocks, and its provider one.
  const std::uint64_t fails_at = kOfTests + static_cast<std::uint64_t>(allocation);
  const MachineSetup machine{
      .standin = [fails_at](standin::Settings& settings) { settings.pinned_fail_at = fails_at; }};
  runDeviceRanks({"shm", 2, machine}, [in_stream = ordered](goss_comm_t comm, int rank, DeviceRank& device) {
    auto* memory = device.memory(kBytes);
    const goss_options options = in_stream ? onStream(device) : goss_options GOSS_OPTIONS_INIT;
    (void)goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &options, nullptr);
    const auto [failure, text] = failureOf(comm);
    EXPECT_EQ(failure, GOSS_ERR_RESOURCE) << "on rank " << rank << ": " << text;
    EXPECT_THAT(text, testing::HasSubstr("cannot be pinned"));
  });
}

INSTANTIATE_TEST_SUITE_P(All, WithoutPinnedMemory,
                         testing::Combine(testing::ValuesIn(ofStandin<int>({1, 2, 3, 4})), testing::Bool()));

} // namespace
} // namespace goss::test
