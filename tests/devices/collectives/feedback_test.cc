// Error feedback of codecs on the device: results and what is kept, against the same calls with host buffers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cctype>
#include <chrono>
#include <cmath>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

#include "gossamer/compression.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"

namespace goss::test {
namespace {

constexpr std::uint64_t kTensor = 9;

bool hasMomentum(std::string_view codec) { return codec.find("+momentum") != std::string_view::npos; }

goss_options options(void* stream, const char* codec) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.codec = codec;
  options.algorithm = hasMomentum(codec) ? "flat" : "direct";
  options.tensor = kTensor;
  options.stream = stream;
  return options;
}

/// What a rank gives to call number `call`.
std::vector<float> valuesOf(int rank, int call) {
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    values[i] = std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(rank * 131 + call * 17)));
  return values;
}

/// What an all-reduce of `values` in host memory gives this rank; `comm` keeps what it loses.
std::vector<std::byte> averageOnHost(goss_comm_t comm, std::vector<float> values, std::size_t count,
                                     const char* codec) {
  const goss_options how = options(nullptr, codec);
  EXPECT_OK(goss_all_reduce(comm, values.data(), values.data(), count, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
  return bytesOf(values);
}

std::string stateOf(goss_comm_t comm) {
  void* bytes = nullptr;
  std::size_t size = 0;
  EXPECT_OK(goss_codec_state_export(comm, &bytes, &size));
  std::string state(static_cast<const char*>(bytes), size);
  goss_free(bytes);
  return state;
}

std::vector<float> keptOf(goss_comm_t comm) {
  std::vector<float> kept(kCount);
  EXPECT_OK(goss_codec_state_read(comm, kTensor, kept.data(), kept.size()));
  return kept;
}

/// Whether calls are in the rank's stream, and the codec.
class KeptOnDevice : public testing::TestWithParam<std::tuple<bool, const char*>> {};

/// What a call differs in from those before it.
enum class Turn { same, shorter, hostBuffers, hostOutput, reset, imported };

TEST_P(KeptOnDevice, HasTheBitsOfHostBuffersOverManyCalls) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "32768"); // Four fragments.
  runDeviceRanks({"shm", 3}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    const auto& [ordered, codec] = GetParam();
    goss_comm_t other = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    auto* memory = device.memory(kBytes);
    std::string earlier;
    int call = 0;
    for (const Turn turn :
         {Turn::same, Turn::same, Turn::shorter, Turn::shorter, Turn::same, Turn::hostBuffers, Turn::same,
          Turn::hostOutput, Turn::same, Turn::imported, Turn::same, Turn::reset, Turn::same, Turn::same}) {
      const std::size_t count = turn == Turn::shorter ? 1000 : kCount;
      if (turn == Turn::reset) {
        for (goss_comm_t each : {comm, other})
          ASSERT_OK(goss_codec_state_reset(each, kTensor));
      } else if (turn == Turn::imported) {
        for (goss_comm_t each : {comm, other})
          ASSERT_OK(goss_codec_state_import(each, earlier.data(), earlier.size()));
      }
      const std::vector<float> values = valuesOf(rank, call);
      std::vector<std::byte> expected = averageOnHost(other, values, count, codec);
      std::vector<std::byte> found;
      const goss_options how = options(ordered ? device.stream() : nullptr, codec);
      if (turn == Turn::hostBuffers) {
        found = averageOnHost(comm, values, count, codec);
      } else {
        device.enqueueToDevice(bytesOf(values));
        ASSERT_TRUE(device.synchronize());
        std::vector<float> on_host(kCount);
        float* output = turn == Turn::hostOutput && !ordered ? on_host.data() : reinterpret_cast<float*>(memory);
        ASSERT_OK(goss_all_reduce(comm, memory, output, count, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
        device.enqueueToHost(kBytes);
        ASSERT_TRUE(device.synchronize());
        found = output == on_host.data() ? bytesOf(on_host) : device.fetched(kBytes);
      }
      EXPECT_TRUE(std::equal(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(4 * count), expected.begin()))
          << "call " << call;
      if (call % 3 == 1) {
        EXPECT_TRUE(keptOf(comm) == keptOf(other)) << "after call " << call;
      }
      if (call == 3) earlier = stateOf(comm);
      if (call == 3 || call == 12) {
        EXPECT_TRUE(stateOf(comm) == stateOf(other)) << "after call " << call;
      }
      ++call;
    }
    if (hasMomentum(codec)) {
      EXPECT_GT(stateOf(other).size(), 2 * kBytes) << "two vectors";
    } else {
      EXPECT_THAT(keptOf(other), testing::Contains(testing::Ne(0.0F)));
    }
    EXPECT_OK(goss_comm_destroy(other));
  });
}

/// Calls that are under way together lose, and make up for, the same as one after the other.
TEST_P(KeptOnDevice, IsTheSameForCallsThatAreUnderWayTogether) {
  // Which blocks are sent follows from the number of the call, and what is expected is computed for the first six.
  if (std::string_view(std::get<1>(GetParam())).starts_with("randk")) return;
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "32768");
  for (const bool one_queue : {false, true})
    runDeviceRanks({"shm", 2, {.behaviour = {0, one_queue, 0}}}, [](goss_comm_t comm, int rank, DeviceRank& device) {
      const auto& [ordered, codec] = GetParam();
      constexpr std::size_t kCalls = 6;
      goss_comm_t other = nullptr;
      ASSERT_OK(goss_comm_dup(comm, &other));
      auto* memory = reinterpret_cast<float*>(device.memory(kCalls * kBytes));
      const auto second = device.at(0).queue(nullptr);
      ASSERT_TRUE(second.isOk());
      std::vector<float> all;
      std::vector<std::byte> expected;
      for (std::size_t i = 0; i < kCalls; ++i) {
        const std::vector<float> values = valuesOf(rank, static_cast<int>(i));
        all.insert(all.end(), values.begin(), values.end());
        const std::vector<std::byte> average = averageOnHost(other, values, kCount, codec);
        expected.insert(expected.end(), average.begin(), average.end());
      }
      for (const bool two_streams : {false, true}) {
        ASSERT_OK(goss_codec_state_reset(comm, kTensor));
        device.enqueueToDevice(bytesOf(all));
        ASSERT_TRUE(device.synchronize());
        std::vector<goss_request_t> requests(kCalls);
        for (std::size_t i = 0; i < kCalls; ++i) {
          void* stream = two_streams && i % 2 == 1 ? second.value()->stream() : device.stream();
          const goss_options how = options(ordered ? stream : nullptr, codec);
          ASSERT_OK(goss_all_reduce(comm, memory + i * kCount, memory + i * kCount, kCount, GOSS_FLOAT32, GOSS_AVG,
                                    &how, &requests[i]));
        }
        for (goss_request_t& request : requests)
          EXPECT_OK(goss_wait(&request, nullptr));
        device.enqueueToHost(kCalls * kBytes);
        ASSERT_TRUE(device.synchronize());
        EXPECT_TRUE(device.fetched(kCalls * kBytes) == expected) << (two_streams ? "in two streams" : "in one stream");
        EXPECT_TRUE(keptOf(comm) == keptOf(other));
      }
      EXPECT_OK(goss_comm_destroy(other));
    });
}

// LoCo forgets its errors at the first operation, and at every sixth one after it.
INSTANTIATE_TEST_SUITE_P(
    All, KeptOnDevice,
    testing::Combine(testing::Bool(),
                     testing::Values("int8+ef", "sign+ef", "int4+loco:reset=6", "sign+loco:beta=0.5,reset=0",
                                     "topk:ratio=0.1,indices=packed+int8+ef", "int8+momentum:mask=0",
                                     "topk:ratio=0.01,select=sampled+none+momentum",
                                     "randk:ratio=0.2+none+momentum:factor=0.5")),
    [](const auto& tested) {
      std::string name = std::get<1>(tested.param);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
      return (std::get<0>(tested.param) ? "ordered_" : "waited_") + name;
    });

/// The device has no memory for residuals; or for them, but not for payloads.
TEST(KeptWithoutMemory, HasTheBitsOfHostBuffers) {
  if (!testsStandin()) return; // `threads` has all of the host's memory.
  for (const std::size_t rest : {std::size_t{4096}, std::size_t{140000}}) {
    const MachineSetup machine{
        .standin = [rest](standin::Settings& settings) { settings.memory_bytes = kMaxBytes + rest; }};
    runDeviceRanks({"shm", 2, machine}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
      goss_comm_t other = nullptr;
      ASSERT_OK(goss_comm_dup(comm, &other));
      auto* memory = device.memory(kBytes);
      for (int call = 0; call < 4; ++call) {
        const std::vector<std::byte> expected = averageOnHost(other, valuesOf(rank, call), kCount, "int8+ef");
        device.enqueueToDevice(bytesOf(valuesOf(rank, call)));
        ASSERT_TRUE(device.synchronize());
        const goss_options how = options(call < 2 ? device.stream() : nullptr, "int8+ef");
        ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
        device.enqueueToHost(kBytes);
        ASSERT_TRUE(device.synchronize());
        EXPECT_TRUE(device.fetched(kBytes) == expected) << "call " << call << " with " << rest << " bytes";
      }
      EXPECT_TRUE(keptOf(comm) == keptOf(other));
      EXPECT_OK(goss_comm_destroy(other));
    });
  }
}

TEST(KeptInAStream, IsReadWhenACallThatIsPendingHasEnded) {
  std::barrier<> is_called(2);
  runDeviceRanks({"shm", 2}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    goss_comm_t other = nullptr;
    ASSERT_OK(goss_comm_dup(comm, &other));
    averageOnHost(other, valuesOf(rank, 0), kCount, "int8+ef");
    device.enqueueToDevice(bytesOf(valuesOf(rank, 0)));
    const goss_options how = options(device.stream(), "int8+ef");
    auto* memory = device.memory(kBytes);
    if (rank == 1) {
      is_called.arrive_and_wait();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
    if (rank == 0) is_called.arrive_and_wait();
    EXPECT_TRUE(keptOf(comm) == keptOf(other));
    ASSERT_TRUE(device.synchronize());
    EXPECT_OK(goss_comm_destroy(other));
  });
}

} // namespace
} // namespace goss::test
