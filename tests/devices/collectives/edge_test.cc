// Codecs on the device: what crosses to the host, and what happens when the device or a peer fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "builtins/builtins.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/support/calls.h"
#include "tests/support/environment.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

constexpr std::size_t kElems = std::size_t{1} << 18;

goss_options options(DeviceRank& device, bool ordered, const char* codec, const char* algorithm = "direct") {
  goss_options options = GOSS_OPTIONS_INIT;
  options.codec = codec;
  if (std::string_view(codec).find('+') != std::string_view::npos) options.tensor = 1;
  options.algorithm = algorithm;
  if (ordered) options.stream = device.stream();
  return options;
}

/// Whether the call is in a stream, the codec, and the ranks.
class Crossing : public testing::TestWithParam<std::tuple<bool, std::string, int>> {
 protected:
  /// Bytes that cross while the second all-reduce of kElems float32 runs, of all ranks together, and bytes that they
  /// send.
  struct Bytes {
    std::uint64_t to_host = 0;
    std::uint64_t to_device = 0;
    std::uint64_t sent = 0;
  };
  static Bytes measure(const std::string& codec, const char* return_codec = nullptr) {
    const bool ordered = std::get<0>(GetParam());
    const int ranks = std::get<2>(GetParam());
    Copied before;
    Copied after;
    std::atomic<std::uint64_t> sent{0};
    std::barrier<> together(ranks);
    runDeviceRanks({"shm", ranks}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
      auto* memory = device.memory(kElems * sizeof(float));
      device.enqueueToDevice(bytesOf(std::vector<float>(kElems, 1)));
      ASSERT_TRUE(device.synchronize());
      goss_options how = options(device, ordered, codec.c_str());
      how.return_codec = return_codec;
      std::uint64_t sent_before = 0;
      for (const bool counts : {false, true}) {
        together.arrive_and_wait();
        if (rank == 0) before = copiedBytes();
        together.arrive_and_wait();
        EXPECT_OK(goss_all_reduce(comm, memory, memory, kElems, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
        EXPECT_TRUE(device.synchronize());
        together.arrive_and_wait();
        if (rank == 0) after = copiedBytes();
        goss_counters counters;
        EXPECT_OK(goss_counters_init(&counters, sizeof counters));
        EXPECT_OK(goss_comm_counters(comm, &counters));
        if (counts) sent += counters.wire_bytes_sent - sent_before;
        sent_before = counters.wire_bytes_sent;
        together.arrive_and_wait();
      }
    });
    return {after.to_host - before.to_host, after.to_device - before.to_device, sent};
  }
};

/// Each rank encodes ranks - 1 chunks of its input and one of the result: as many bytes as one compressed vector. It
/// decodes what it receives: ranks - 1 chunks of other ranks' inputs, and as many of results.
TEST_P(Crossing, IsPayloadsAlone) {
  const auto& [ordered, codec, ranks] = GetParam();
  const Bytes bytes = measure(codec);
  const double vectors = 4.0 * kElems * ranks;
  const double ratio = codec.starts_with("sign") ? 1.0 / 32 : 1.0 / 4;
  EXPECT_GE(static_cast<double>(bytes.to_host) / vectors, ratio) << "less than the codec makes of a vector";
  EXPECT_LE(static_cast<double>(bytes.to_host) / vectors, ratio * 1.05);
  // All that is encoded but the result goes to one rank, and that to all others: sent == received == decoded.
  EXPECT_EQ(bytes.to_device, bytes.sent);
  EXPECT_LE(static_cast<double>(bytes.to_device) / vectors, 2.0 * (ranks - 1) / ranks * ratio * 1.05);
}

/// As IsPayloadsAlone. Payloads without a fixed length come to the host with what lies behind them.
TEST_P(Crossing, IsPayloadsOfSparsifiers) {
  if (std::get<1>(GetParam()) != "int8") return; // With `codec` as below.
  const bool ordered = std::get<0>(GetParam());
  const int ranks = std::get<2>(GetParam());
  for (const char* codec : {"topk:ratio=0.02+none", "topk:ratio=0.02,indices=packed+none+ef",
                            "topk:ratio=0.02,select=sampled+none", "threshold:value=2+fp16"}) {
    SCOPED_TRACE(codec);
    const Bytes bytes = measure(codec);
    const auto made = makeCodec(codec).take().codec;
    const auto chunk = static_cast<std::uint64_t>(kElems) / static_cast<std::uint64_t>(ranks);
    const double most = static_cast<double>(made->maxBytes(chunk)) * ranks; // Of a vector; fragments add some bytes.
    EXPECT_GE(static_cast<double>(bytes.to_host), most * ranks);
    EXPECT_LE(static_cast<double>(bytes.to_host), most * ranks * 1.01);
    if (ordered) {
      EXPECT_LE(static_cast<double>(bytes.to_device), 2 * most * (ranks - 1) * 1.01);
      EXPECT_GE(bytes.to_device, bytes.sent);
    } else {
      EXPECT_EQ(bytes.to_device, bytes.sent);
    }
  }
}

/// Of n ranks each encodes n - 1 of n chunks with the one codec, and the sum of one with the other.
TEST_P(Crossing, IsPayloadsOfTwoCodecs) {
  const auto& [ordered, codec, ranks] = GetParam();
  const Bytes bytes = measure(codec, "bf16");
  const double vectors = 4.0 * kElems * ranks;
  const double ratio = ((codec.starts_with("sign") ? 1.0 / 32 : 1.0 / 4) * (ranks - 1) + 1.0 / 2) / ranks;
  EXPECT_GE(static_cast<double>(bytes.to_host) / vectors, ratio * 0.95);
  EXPECT_LE(static_cast<double>(bytes.to_host) / vectors, ratio * 1.05);
}

TEST_P(Crossing, IsNumbersWhereTheCodecHasNoKernels) {
  const int ranks = std::get<2>(GetParam());
  const Bytes bytes = measure("lossless");
  EXPECT_EQ(bytes.to_host, 4u * kElems * static_cast<std::size_t>(ranks));
  EXPECT_EQ(bytes.to_device, 4u * kElems * static_cast<std::size_t>(ranks));
}

INSTANTIATE_TEST_SUITE_P(All, Crossing,
                         testing::Combine(testing::Bool(),
                                          testing::Values("int8", "sign", "int8+ef", "sign+ef", "int8+loco"),
                                          testing::Values(2, 4)),
                         [](const auto& tested) {
                           std::string codec = std::get<1>(tested.param);
                           std::replace(codec.begin(), codec.end(), '+', '_');
                           return (std::get<0>(tested.param) ? "ordered_" : "waited_") + codec + "_" +
                                  std::to_string(std::get<2>(tested.param));
                         });

std::vector<float> valuesOf(int rank) {
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    values[i] = static_cast<float>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50.5F;
  return values;
}

/// The average of the ranks' values, with host buffers.
std::vector<std::byte> averageOnHost(goss_comm_t comm, int rank, goss_options how) {
  std::vector<float> values = valuesOf(rank);
  how.stream = nullptr;
  EXPECT_OK(goss_all_reduce(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
  return bytesOf(values);
}

/// Sums are decoded from payloads of one codec and encoded by another.
TEST(EdgeOfTwoCodecs, HasTheBitsOfHostBuffers) {
  runDeviceRanks({"shm", 3}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    for (const auto& [codec, return_codec] : {std::pair("int8", "bf16"), std::pair("bf16", "sign")}) {
      for (const bool ordered : {false, true}) {
        auto* memory = device.memory(kBytes);
        goss_options how = options(device, ordered, codec);
        how.return_codec = return_codec;
        const std::vector<std::byte> expected = averageOnHost(comm, rank, how);
        device.enqueueToDevice(bytesOf(valuesOf(rank)));
        ASSERT_TRUE(ordered || device.synchronize());
        ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
        device.enqueueToHost(kBytes);
        ASSERT_TRUE(device.synchronize());
        EXPECT_EQ(device.fetched(kBytes), expected) << codec << ", " << return_codec << (ordered ? " in a stream" : "");
      }
    }
  });
}

/// Which of a call's buffers are pinned memory of the host, where codecs of the device must not work.
class PinnedEdge : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(PinnedEdge, HasTheBitsOfHostBuffers) {
  runDeviceRanks({"shm", 2}, [](goss_comm_t comm, int rank, DeviceRank& device) {
    const auto [pinned_input, pinned_output] = GetParam();
    const auto block = device.at(0).allocate(MemoryKind::pinned, 2 * kBytes);
    ASSERT_TRUE(block.isOk());
    auto* pinned = block.value()->data();
    auto* memory = device.memory(2 * kBytes);
    auto* input = pinned_input ? pinned : memory;
    for (const bool in_place : {false, true}) {
      if (in_place && pinned_input != pinned_output) continue;
      auto* output = in_place ? input : (pinned_output ? pinned : memory) + kBytes;
      const goss_options how = options(device, true, "int8");
      const std::vector<std::byte> expected = averageOnHost(comm, rank, how);
      const std::vector<std::byte> values = bytesOf(valuesOf(rank));
      std::copy(values.begin(), values.end(), pinned);
      device.enqueueToDevice(values);
      ASSERT_OK(goss_all_reduce(comm, input, output, kCount, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
      device.enqueueToHost(2 * kBytes);
      ASSERT_TRUE(device.synchronize());
      const std::vector<std::byte> fetched = device.fetched(2 * kBytes);
      const std::byte* result = pinned_output ? output : fetched.data() + (output - memory);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), result)) << (in_place ? "in place" : "out of place");
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, PinnedEdge, testing::Combine(testing::Bool(), testing::Bool()), [](const auto& tested) {
  return std::string(std::get<0>(tested.param) ? "pinned" : "device") + "_to_" +
         (std::get<1>(tested.param) ? "pinned" : "device");
});

/// Whether the calls are in streams, the codec, and which job of the device fails.
class FailingEdge : public testing::TestWithParam<std::tuple<bool, const char*, int>> {};

TEST_P(FailingEdge, FailsAllRanksAndIsNamed) {
  const int job = std::get<2>(GetParam());
  failAndExpectAllToNameIt(
      job, [&](DeviceRank& device) { return options(device, std::get<0>(GetParam()), std::get<1>(GetParam())); });
}

INSTANTIATE_TEST_SUITE_P(All, FailingEdge,
                         testing::Combine(testing::Bool(), testing::Values("int8", "int8+ef"),
                                          testing::Values(1, 3, 5, 8, 12, 17, 23, 31, 58)),
                         [](const auto& tested) {
                           return std::string(std::get<0>(tested.param) ? "ordered_" : "waited_") +
                                  (std::get<1>(tested.param) == std::string_view("int8") ? "int8_" : "int8_ef_") +
                                  std::to_string(std::get<2>(tested.param));
                         });

/// Rank 1 never calls. More fragments than are in flight, each with a gate before its sum and one before its results.
class ForsakenEdge : public testing::TestWithParam<std::string> {};

TEST_P(ForsakenEdge, LeavesNoNumbers) {
  ScopedEnvironment environment;
  environment.set("GOSS_FRAGMENT_BYTES", "8192");
  runDeviceRanks({"", 2, {}, fullOr(200, 1500)}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
    if (rank == 1) {
      failureOf(comm);
      return;
    }
    auto* memory = device.memory(kBytes);
    device.enqueueToDevice(bytesOf(std::vector<float>(kCount, 5)));
    const goss_options how = options(device, true, GetParam().c_str());
    ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_SUM, &how, nullptr));
    device.enqueueToHost(kBytes);
    EXPECT_EQ(failureOf(comm).first, GOSS_ERR_TIMEOUT);
    EXPECT_FALSE(device.synchronize(100)) << "the stream went on behind a call that has failed";
    EXPECT_OK(goss_comm_abort(comm, "test"));
    ASSERT_TRUE(device.synchronize());
    const std::vector<float> values = floatsOf(device.fetched(kBytes));
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), [](float one) { return std::isnan(one); }));
  });
}

INSTANTIATE_TEST_SUITE_P(All, ForsakenEdge,
                         testing::Values("int8", "sign", "bf16", "natural", "int4", "sign+ef", "sign+loco",
                                         "topk:ratio=0.1", "threshold:value=2+fp16"),
                         [](const auto& tested) {
                           std::string codec = tested.param;
                           std::replace_if(
                               codec.begin(), codec.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
                           return codec;
                         });

/// The device has no memory for payloads: numbers cross.
TEST(EdgeWithoutMemory, IsStaged) {
  if (!testsStandin()) return; // `threads` has all of the host's memory.
  const MachineSetup machine{.standin = [](standin::Settings& settings) { settings.memory_bytes = kMaxBytes + 4096; }};
  for (const bool ordered : {false, true}) {
    std::barrier<> together(2);
    runDeviceRanks({"shm", 2, machine}, [&](goss_comm_t comm, int rank, DeviceRank& device) {
      auto* memory = device.memory(kBytes);
      const goss_options how = options(device, ordered, "int8");
      const std::vector<std::byte> expected = averageOnHost(comm, rank, how);
      for (int i = 0; i < 2; ++i) {
        device.enqueueToDevice(bytesOf(valuesOf(rank)));
        ASSERT_TRUE(device.synchronize());
        together.arrive_and_wait();
        const Copied before = copiedBytes();
        together.arrive_and_wait();
        ASSERT_OK(goss_all_reduce(comm, memory, memory, kCount, GOSS_FLOAT32, GOSS_AVG, &how, nullptr));
        ASSERT_TRUE(device.synchronize());
        together.arrive_and_wait();
        EXPECT_EQ(copiedBytes().to_host - before.to_host, 2 * kBytes);
        together.arrive_and_wait();
        device.enqueueToHost(kBytes);
        ASSERT_TRUE(device.synchronize());
        EXPECT_EQ(device.fetched(kBytes), expected) << "on rank " << rank << (ordered ? " in a stream" : "");
      }
    });
  }
}

} // namespace
} // namespace goss::test
