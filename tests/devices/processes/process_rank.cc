// One rank of a world of processes, each with the stand-in of its own, that share GPU 0. Each test here is what a rank
// does: processes_test.cc runs it on all ranks, which are told apart as those of any launcher are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/compression.h"
#include "tests/devices/collectives/device_case.h"
#include "tests/devices/collectives/device_rank.h"
#include "tests/devices/collectives/machine.h"
#include "tests/support/calls.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLong = 100003; // Elements of float32 that ranks share.
constexpr std::size_t kLongBytes = kLong * sizeof(float);

int numberOf(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atoi(text);
}

/// Values whose sums depend on their order.
std::vector<float> roughValues(int seed) {
  std::mt19937 engine(static_cast<unsigned>(seed) + 1);
  std::normal_distribution<float> normal;
  std::vector<float> values(kLong);
  for (float& value : values)
    value = normal(engine);
  return values;
}

class ProcessRank : public testing::Test {
 protected:
  ProcessRank() : rank_(numberOf("RANK")), ranks_(numberOf("WORLD_SIZE")), device_(playRank({.share = true}, rank_)) {
    EXPECT_OK(goss_comm_create(nullptr, &comm_));
  }
  ~ProcessRank() override {
    EXPECT_OK(goss_comm_destroy(comm_));
    EXPECT_EQ(complaints(), forbidden_) << "What the driver forbids was done; standard error says what.";
  }

  /// What this process's device copied during `body`.
  template <typename Body>
  static Copied copiedMeanwhile(Body body) {
    const Copied before = copiedBytes();
    body();
    const Copied after = copiedBytes();
    return {after.to_host - before.to_host, after.to_device - before.to_device, after.within - before.within};
  }
  void barrier() { ASSERT_OK(goss_barrier(comm_, nullptr, nullptr)); }
  /// Copies between `memory` on the device and the host.
  void write(void* memory, const std::vector<float>& values) {
    device_.enqueueToDevice(bytesOf(values));
    enqueueWithin(memory, device_.memory(kLongBytes));
  }
  std::vector<float> read(void* memory) {
    enqueueWithin(device_.memory(kLongBytes), memory);
    device_.enqueueToHost(kLongBytes);
    EXPECT_TRUE(device_.synchronize());
    return floatsOf(device_.fetched(kLongBytes));
  }
  /// The sums of all ranks' values, as they are with host buffers.
  std::vector<float> sumsOnHost(const std::vector<float>& values) {
    std::vector<float> sums(kLong);
    EXPECT_OK(goss_all_reduce(comm_, values.data(), sums.data(), kLong, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    return sums;
  }
  void whileMemoryIsFreed(float* in_stream, const std::function<void()>& other, std::chrono::milliseconds late = 400ms,
                          std::chrono::milliseconds pause = 100ms);
  void enqueueWithin(void* to, const void* from) {
    EXPECT_TRUE(device_.synchronize());
    auto queue = device_.at(0).queue(nullptr).take();
    auto event = device_.at(0).event().take();
    EXPECT_TRUE(queue->copy(std::vector<CopyJob>{{to, from, kLongBytes}}).isOk());
    EXPECT_TRUE(queue->record(*event).isOk());
    while (event->isDone().isOk() && !event->isDone().value()) {
    }
  }

  const int rank_;
  const int ranks_;
  DeviceRank device_;
  goss_comm_t comm_ = nullptr;
  std::uint64_t forbidden_ = 0; ///< What the test does that the driver forbids.
};

TEST_F(ProcessRank, SumsOfEveryAlgorithmHaveTheBitsOfHostBuffersAndNothingCrosses) {
  auto* memory = reinterpret_cast<float*>(device_.memory(2 * kLongBytes));
  const std::vector<float> values = roughValues(rank_);
  std::size_t next = 0;
  Sample sample(fullOr(1, 3));
  for (const std::string& algorithm : algorithmsFor(Collective::allReduce, ranks_)) {
    if (!sample.takeNext()) continue;
    goss_options how = GOSS_OPTIONS_INIT;
    how.algorithm = algorithm.c_str();
    const goss_op op = next % 2 == 0 ? GOSS_SUM : GOSS_AVG;
    float* recv = memory + (next++ % 3 == 0 ? kLong : 0);
    std::vector<float> expected(kLong);
    EXPECT_OK(goss_all_reduce(comm_, values.data(), expected.data(), kLong, GOSS_FLOAT32, op, &how, nullptr));
    device_.enqueueToDevice(bytesOf(values));
    EXPECT_TRUE(device_.synchronize());
    const Copied bytes = copiedMeanwhile(
        [&] { ASSERT_OK(goss_all_reduce(comm_, memory, recv, kLong, GOSS_FLOAT32, op, &how, nullptr)); });
    EXPECT_EQ(bytes.to_host, 0U) << algorithm;
    EXPECT_EQ(bytes.to_device, 0U) << algorithm;
    device_.enqueueToHost(2 * kLongBytes);
    ASSERT_TRUE(device_.synchronize());
    const std::vector<float> found = floatsOf(device_.fetched(2 * kLongBytes));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin() + (recv - memory))) << algorithm;
  }
}

/// Whether the ranks share a call, whose vectors are long.
bool isShared(const Case& test) {
  if (test.collective == Collective::barrier || test.op == GOSS_PREMUL_SUM) return false;
  return !(test.collective == Collective::allToAll && test.in_place); // Its input is copied away first.
}

/// One in so many of every collective x dtype x op x in place, algorithms and ways in turn.
TEST_F(ProcessRank, EveryCollectiveDtypeAndOpHasTheBitsOfHostBuffersAndNothingCrosses) {
  Sample sample(fullOr(5, 31));
  std::size_t next = 0;
  int shared = 0;
  for (int collective = 0; collective < kCollectiveCount; ++collective) {
    for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
      Case test;
      test.collective = static_cast<Collective>(collective);
      test.dtype = static_cast<DType>(dtype);
      test.count = (std::size_t{256} << 10) / goss_dtype_size(test.dtype) + 3;
      const std::vector<std::string> algorithms = algorithmsFor(test.collective, ranks_);
      for (const ReduceOp op : legalOps(test.collective, test.dtype)) {
        for (const bool in_place : {false, true}) {
          if (!sample.takeNext()) continue;
          test.op = op;
          test.in_place = in_place;
          if (!algorithms.empty()) test.algorithm = algorithms[next % algorithms.size()];
          const Way ways[] = {Way::blocking, Way::requested, Way::persistent};
          const Way way = ways[next++ % std::size(ways)];
          Case alike = test;
          alike.root = static_cast<int>(test.count + static_cast<std::size_t>(test.dtype)) % ranks_; // As check().
          const std::size_t own = Buffers(alike, rank_, ranks_).memory().size(); // Which the test itself copies.
          if (own > kMaxBytes) continue;
          bool right = false;
          const Copied bytes = copiedMeanwhile([&] { right = check(comm_, device_, test, rank_, ranks_, way); });
          if (!right) return;
          if (!isShared(test)) continue;
          ++shared;
          EXPECT_LE(bytes.to_device, own) << test.describe();
          EXPECT_LE(bytes.to_host, own) << test.describe();
        }
      }
    }
  }
  EXPECT_GT(shared, 10);
}

/// Rank 1's memory is what BUFFER says; with it no rank can share. The calls are right, and staged, on all ranks.
TEST_F(ProcessRank, CallsThatCannotShareAreStaged) {
  const std::string kind = std::getenv("BUFFER");
  const std::vector<float> values = roughValues(rank_);
  const std::vector<float> expected = sumsOnHost(values);
  std::vector<float> host = values;
  void* memory = device_.memory(kLongBytes);
  goss_options how = GOSS_OPTIONS_INIT;
  if (rank_ == 1 && kind == "pool") memory = memoryOfPool(kLongBytes);
  if (rank_ == 1 && kind == "host") memory = host.data();
  if (rank_ == 1 && kind == "stream") how.stream = device_.stream();
  for (int i = 0; i < 3; ++i) {
    if (memory != host.data()) write(memory, values);
    host = values;
    const Copied bytes = copiedMeanwhile([&] {
      ASSERT_OK(goss_all_reduce(comm_, memory, memory, kLong, GOSS_FLOAT32, GOSS_SUM, &how, nullptr));
      ASSERT_TRUE(device_.synchronize());
    });
    if (!testsGpu()) {
      EXPECT_EQ(bytes.to_host, memory == host.data() ? 0 : kLongBytes);
      EXPECT_EQ(bytes.to_device, memory == host.data() ? 0 : kLongBytes);
    }
    EXPECT_EQ(memory == host.data() ? host : read(memory), expected);
  }
}

/// Freeing memory waits for the stream. The engine opens the stream's gates meanwhile, although the driver answers no
/// thread.
TEST_F(ProcessRank, MemoryIsFreedWhileAStreamWaitsForRanksThatComeLater) {
  const std::vector<float> values = roughValues(rank_);
  const std::vector<float> expected = sumsOnHost(values);
  goss_options how = GOSS_OPTIONS_INIT;
  how.stream = device_.stream();
  void* memory = device_.memory(kLongBytes);
  for (int i = 0; i < 3; ++i) {
    write(memory, values);
    auto freed = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
    std::this_thread::sleep_for(std::chrono::milliseconds(200 * rank_));
    ASSERT_OK(goss_barrier(comm_, &how, nullptr));
    ASSERT_OK(goss_all_reduce(comm_, memory, memory, kLong, GOSS_FLOAT32, GOSS_SUM, &how, nullptr));
    freed.reset();
    ASSERT_TRUE(device_.synchronize());
    EXPECT_EQ(read(memory), expected);
  }
}

/// A call without a stream.
enum class Waited { small, staged, shared, compressed, sent };

/// While a rank frees memory its driver answers no other thread until the stream has passed its gate. What the engine
/// asks the driver for calls without a stream meanwhile does not keep it from opening that gate.
TEST_F(ProcessRank, MemoryIsFreedWhileCallsWithoutAStreamAreUnderWay) {
  constexpr std::size_t kSmall = 100;
  constexpr std::size_t kStaged = 50000;
  auto* memory = reinterpret_cast<float*>(device_.memory(kLongBytes));
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto* in_stream = reinterpret_cast<float*>(own->data());
  const std::vector<float> values = roughValues(rank_);
  const std::vector<float> sums = sumsOnHost(values);
  for (const Waited kind : {Waited::small, Waited::staged, Waited::shared, Waited::compressed, Waited::sent}) {
    goss_options how = GOSS_OPTIONS_INIT;
    if (kind == Waited::compressed) how.codec = "int8";
    const std::size_t count = kind == Waited::small ? kSmall : kind == Waited::shared ? kLong : kStaged;
    const auto start = [&](goss_request_t& request) {
      if (kind != Waited::sent)
        return goss_all_reduce(comm_, memory, memory, count, GOSS_FLOAT32, GOSS_SUM, &how, &request);
      return rank_ == 0 ? goss_recv(comm_, memory, count, GOSS_FLOAT32, 1, 7, &how, &request)
                        : goss_send(comm_, memory, count, GOSS_FLOAT32, 0, 7, &how, &request);
    };
    // The second time memory pools have all that the calls take.
    for (int i = 0; i < 2; ++i) {
      auto freed = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
      write(in_stream, values);
      write(memory, values);
      barrier();
      if (rank_ != 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
      goss_request_t request = nullptr;
      ASSERT_OK(start(request));
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      goss_options ordered = GOSS_OPTIONS_INIT;
      ordered.stream = device_.stream();
      ASSERT_OK(goss_all_reduce(comm_, in_stream, in_stream, kStaged, GOSS_FLOAT32, GOSS_SUM, &ordered, nullptr));
      if (rank_ == 0) freed.reset();
      ASSERT_OK(goss_wait(&request, nullptr));
      ASSERT_TRUE(device_.synchronize());
      const std::vector<float> found = read(memory);
      if (kind != Waited::compressed && kind != Waited::sent) {
        EXPECT_TRUE(std::equal(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(count), found.begin()));
      }
      const std::vector<float> summed = read(in_stream);
      EXPECT_TRUE(std::equal(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(kStaged), summed.begin()));
    }
  }
}

/// Begins a call in the stream, in which rank 1 comes `late`, and frees memory on rank 0 in another thread, which waits
/// for that call. Calls `other` meanwhile, after a pause.
void ProcessRank::whileMemoryIsFreed(float* in_stream, const std::function<void()>& other,
                                     std::chrono::milliseconds late, std::chrono::milliseconds pause) {
  auto freed = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  write(in_stream, roughValues(rank_));
  barrier();
  if (rank_ != 0) std::this_thread::sleep_for(late);
  goss_options ordered = GOSS_OPTIONS_INIT;
  ordered.stream = device_.stream();
  ASSERT_OK(goss_all_reduce(comm_, in_stream, in_stream, 100, GOSS_FLOAT32, GOSS_SUM, &ordered, nullptr));
  const std::jthread freeing([&] {
    if (rank_ == 0) freed.reset();
  });
  std::this_thread::sleep_for(pause);
  other();
}

/// As above, but the calls without a stream start while memory is freed, and the library has no memory for them yet.
TEST_F(ProcessRank, CallsWithoutAStreamStartWhileMemoryIsFreed) {
  constexpr std::size_t kSmall = 2000;
  constexpr std::size_t kStaged = 60000;
  auto* memory = reinterpret_cast<float*>(device_.memory(kLongBytes));
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto* in_stream = reinterpret_cast<float*>(own->data());
  const std::vector<float> values = roughValues(rank_);
  const std::vector<float> sums = sumsOnHost(values);
  const std::vector<float> sent = roughValues(1);
  for (const Waited kind : {Waited::small, Waited::staged, Waited::shared, Waited::compressed, Waited::sent}) {
    goss_options how = GOSS_OPTIONS_INIT;
    how.flags = GOSS_PERSISTENT;
    if (kind == Waited::compressed) how.codec = "int8+ef";
    if (kind == Waited::compressed) how.tensor = 9;
    const std::size_t count = kind == Waited::small ? kSmall : kind == Waited::shared ? kLong : kStaged;
    goss_request_t request = nullptr;
    if (kind != Waited::sent) {
      ASSERT_OK(goss_all_reduce(comm_, memory, memory, count, GOSS_FLOAT32, GOSS_SUM, &how, &request));
    } else if (rank_ == 0) {
      ASSERT_OK(goss_recv(comm_, memory, count, GOSS_FLOAT32, 1, 7, &how, &request));
    } else {
      ASSERT_OK(goss_send(comm_, memory, count, GOSS_FLOAT32, 0, 7, &how, &request));
    }
    write(memory, values);
    whileMemoryIsFreed(in_stream, [&] { ASSERT_OK(goss_start(request)); });
    ASSERT_OK(goss_wait(&request, nullptr));
    ASSERT_TRUE(device_.synchronize());
    ASSERT_OK(goss_request_free(&request));
    const std::vector<float> found = read(memory);
    const std::vector<float>& expected = kind == Waited::sent ? sent : sums;
    if (kind != Waited::compressed) {
      EXPECT_TRUE(std::equal(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count), expected.begin()));
    }
  }
}

/// As above, but a call with host buffers needs the error feedback that an earlier call has left on the device.
TEST_F(ProcessRank, ErrorFeedbackComesHomeWhileMemoryIsFreed) {
  constexpr std::size_t kCounted = 30000;
  auto* memory = reinterpret_cast<float*>(device_.memory(kLongBytes));
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto* in_stream = reinterpret_cast<float*>(own->data());
  goss_options how = GOSS_OPTIONS_INIT;
  how.codec = "int8+ef";
  how.tensor = 3;
  for (int i = 0; i < 3; ++i) {
    std::vector<float> host = roughValues(rank_);
    write(memory, host);
    how.flags = 0;
    ASSERT_OK(goss_all_reduce(comm_, memory, memory, kCounted, GOSS_FLOAT32, GOSS_SUM, &how, nullptr));
    whileMemoryIsFreed(in_stream, [&] {
      how.flags = GOSS_ON_HOST; // The driver is not asked where the buffer lies.
      ASSERT_OK(goss_all_reduce(comm_, host.data(), host.data(), kCounted, GOSS_FLOAT32, GOSS_SUM, &how, nullptr));
    });
    ASSERT_TRUE(device_.synchronize());
  }
  goss_options alone = how; // The same calls without a device.
  alone.tensor = 4;
  for (int i = 0; i < 6; ++i) {
    std::vector<float> host = roughValues(rank_);
    ASSERT_OK(goss_all_reduce(comm_, host.data(), host.data(), kCounted, GOSS_FLOAT32, GOSS_SUM, &alone, nullptr));
  }
  std::vector<float> kept(kCounted), expected(kCounted);
  ASSERT_OK(goss_codec_state_read(comm_, 3, kept.data(), kept.size()));
  ASSERT_OK(goss_codec_state_read(comm_, 4, expected.data(), expected.size()));
  EXPECT_THAT(kept, ::testing::Contains(::testing::Ne(0.0F)));
  EXPECT_EQ(kept, expected);
}

/// All streams are one queue of the hardware. A call without a stream begins, but its memory comes only when other
/// memory has been freed. Its copies still stand before the gate of the next call, which is in a stream, and which rank
/// 1 makes when the first call has ended.
TEST_F(ProcessRank, ACallInAStreamComesBehindACallWhoseMemoryIsComing) {
  auto* memory = reinterpret_cast<float*>(device_.memory(kLongBytes));
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto* in_stream = reinterpret_cast<float*>(own->data());
  goss_options ordered = GOSS_OPTIONS_INIT;
  ordered.stream = device_.stream();
  goss_options how = GOSS_OPTIONS_INIT;
  how.flags = GOSS_PERSISTENT;
  for (const std::size_t count : {7000, 15000, 30000, 60000}) { // Each takes larger blocks than those before.
    goss_request_t request = nullptr;
    ASSERT_OK(goss_all_reduce(comm_, memory, memory, count, GOSS_FLOAT32, GOSS_SUM, &how, &request));
    whileMemoryIsFreed(in_stream, [&] {
      ASSERT_OK(goss_start(request));
      if (rank_ != 0) {
        ASSERT_OK(goss_wait(&request, nullptr));
      }
      ASSERT_OK(goss_all_reduce(comm_, in_stream, in_stream, 100, GOSS_FLOAT32, GOSS_SUM, &ordered, nullptr));
      if (rank_ == 0) {
        ASSERT_OK(goss_wait(&request, nullptr));
      }
    });
    ASSERT_TRUE(device_.synchronize());
    ASSERT_OK(goss_request_free(&request));
  }
}

/// The deadline of a call passes while its job is in the driver. The loop goes on, and opens the gate for which the
/// driver waits; then the call ends. If rank 1 is more than 10 s late, the call ends before, and its communicator too,
/// whose destruction waits for the driver.
TEST_F(ProcessRank, ACallEndsWhileItsJobIsInTheDriver) {
  const std::chrono::milliseconds late(numberOf("LATE_MS"));
  const auto kind = static_cast<Waited>(numberOf("KIND"));
  const std::size_t count = kind == Waited::small ? 100 : kind == Waited::shared ? kLong : 50000;
  auto* memory = reinterpret_cast<float*>(device_.memory(kLongBytes));
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto* in_stream = reinterpret_cast<float*>(own->data());
  goss_comm_t other = nullptr;
  ASSERT_OK(goss_comm_dup(comm_, &other));
  goss_options how = GOSS_OPTIONS_INIT;
  if (kind == Waited::compressed) how.codec = "int8";
  const auto call = [&](goss_request_t* request) {
    if (kind != Waited::sent)
      return goss_all_reduce(other, memory, memory, count, GOSS_FLOAT32, GOSS_SUM, &how, request);
    return rank_ == 0 ? goss_send(other, memory, count, GOSS_FLOAT32, 1, 7, &how, request)
                      : goss_recv(other, memory, count, GOSS_FLOAT32, 0, 7, &how, request);
  };
  write(memory, roughValues(rank_));
  ASSERT_OK(call(nullptr)); // From now on the library has the memory that the call takes.
  how.flags = GOSS_PERSISTENT;
  how.timeout_ms = 200;
  goss_request_t request = nullptr;
  ASSERT_OK(call(&request));
  whileMemoryIsFreed(
      in_stream,
      [&] {
        if (rank_ != 0) return;
        const auto begun = std::chrono::steady_clock::now();
        ASSERT_OK(goss_start(request));
        EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_TIMEOUT);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, std::min<std::chrono::milliseconds>(late + 6s, 16s));
        ASSERT_OK(goss_request_free(&request));
        ASSERT_OK(goss_comm_destroy(other));
      },
      late, 4ms); // Before the device's thread asks the driver whether the device works.
  ASSERT_TRUE(device_.synchronize());
  if (rank_ == 0) return;
  ASSERT_OK(goss_request_free(&request));
  ASSERT_OK(goss_comm_destroy(other));
}

/// The loop does not open a device again that did not open: the driver would keep it from opening a gate.
TEST_F(ProcessRank, ADeviceThatDidNotOpenFailsCallsWhileMemoryIsFreed) {
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto elsewhere = device_.at(1).allocate(MemoryKind::device, kLongBytes).take();
  goss_comm_t other = nullptr;
  ASSERT_OK(goss_comm_dup(comm_, &other));
  if (rank_ == 0) failFrom(1, 1);
  goss_options how = GOSS_OPTIONS_INIT;
  how.flags = GOSS_PERSISTENT;
  goss_request_t request = nullptr;
  ASSERT_OK(
      goss_all_reduce(other, elsewhere->data(), elsewhere->data(), 50000, GOSS_FLOAT32, GOSS_SUM, &how, &request));
  whileMemoryIsFreed(reinterpret_cast<float*>(own->data()), [&] {
    if (rank_ != 0) return;
    ASSERT_OK(goss_start(request));
    EXPECT_EQ(goss_wait(&request, nullptr), GOSS_ERR_DEVICE);
  });
  ASSERT_TRUE(device_.synchronize());
  ASSERT_OK(goss_request_free(&request));
  ASSERT_OK(goss_comm_destroy(other));
}

/// Where processes may not map each other's memory the ranks try it once.
TEST_F(ProcessRank, NobodyTriesAgainWhatIsNotPermitted) {
  const std::vector<float> values = roughValues(rank_);
  const std::vector<float> expected = sumsOnHost(values);
  for (int i = 0; i < 3; ++i) {
    write(device_.memory(kLongBytes), values);
    const Copied bytes = copiedMeanwhile([&] {
      ASSERT_OK(goss_all_reduce(comm_, device_.memory(kLongBytes), device_.memory(kLongBytes), kLong, GOSS_FLOAT32,
                                GOSS_SUM, nullptr, nullptr));
    });
    EXPECT_EQ(bytes.to_host, kLongBytes);
    EXPECT_EQ(read(device_.memory(kLongBytes)), expected);
  }
}

/// Memory is mapped once; what is freed and allocated again at the same address is other memory.
TEST_F(ProcessRank, MemoryThatWasAllocatedAgainIsMappedAgain) {
  const int changing = numberOf("CHANGING_RANK"); // -1: all.
  auto memory = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  std::byte* address = memory->data();
  for (int round = 0; round < 5; ++round) {
    const std::vector<float> values = roughValues(rank_ + 10 * round);
    const std::vector<float> expected = sumsOnHost(values);
    write(address, values);
    for (const bool is_again : {false, true}) {
      const std::uint64_t before = openedHandles();
      const Copied bytes = copiedMeanwhile([&] {
        ASSERT_OK(goss_all_reduce(comm_, address, address, kLong, GOSS_FLOAT32, is_again ? GOSS_MAX : GOSS_SUM, nullptr,
                                  nullptr));
      });
      EXPECT_EQ(bytes.to_host + bytes.to_device, 0U);
      EXPECT_EQ(read(address), expected) << round;
      const bool is_other = !is_again && (round == 0 || changing != rank_);
      if (!testsGpu()) {
        EXPECT_EQ(openedHandles() > before, is_other) << round << is_again;
      }
    }
    if (changing >= 0 && changing != rank_) continue;
    memory.reset();
    memory = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
    if (!testsGpu()) {
      ASSERT_EQ(memory->data(), address);
    }
    address = memory->data();
  }
}

/// Rank 1 has other memory where rank 0 has mapped what was there before, and cannot unmap while its stream waits for
/// rank 1: the call is staged, and later ones are shared again.
TEST_F(ProcessRank, MemoryIsMappedAgainWhenNoStreamWaits) {
  goss_comm_t other = nullptr;
  ASSERT_OK(goss_comm_dup(comm_, &other));
  auto memory = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  auto own = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  const std::vector<float> values = roughValues(rank_);
  const std::vector<float> expected = sumsOnHost(values);
  for (const bool is_staged : {false, true, false}) {
    if (is_staged && rank_ == 1) {
      memory.reset();
      memory = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
    }
    write(memory->data(), values);
    barrier();
    goss_options ordered = GOSS_OPTIONS_INIT;
    ordered.stream = device_.stream();
    const auto wait = [&] {
      ASSERT_OK(goss_all_reduce(other, own->data(), own->data(), 100, GOSS_FLOAT32, GOSS_SUM, &ordered, nullptr));
    };
    if (is_staged && rank_ == 0) wait();
    const Copied before = copiedBytes();
    ASSERT_OK(goss_all_reduce(comm_, memory->data(), memory->data(), kLong, GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr));
    const Copied after = copiedBytes();
    if (is_staged && rank_ == 1) wait();
    ASSERT_TRUE(device_.synchronize());
    EXPECT_EQ(read(memory->data()), expected);
    EXPECT_EQ(after.to_device - before.to_device, is_staged ? kLongBytes : 0) << "on rank " << rank_;
  }
  EXPECT_OK(goss_comm_destroy(other));
}

/// A process that reads what its owner freed loses its device, as the stand-in sees to.
TEST_F(ProcessRank, AUseOfMemoryThatItsOwnerFreedIsFound) {
  auto memory = device_.at(0).allocate(MemoryKind::device, kLongBytes).take();
  MemoryHandle handle{};
  if (rank_ == 0) handle = device_.at(0).exportMemory(memory->data()).value();
  ASSERT_OK(goss_broadcast(comm_, handle.data(), handle.data(), handle.size(), GOSS_UINT8, 0, nullptr, nullptr));
  if (rank_ == 0) write(memory->data(), roughValues(0));
  barrier();
  std::unique_ptr<DeviceBlock> mapped;
  if (rank_ == 1) {
    auto opened = device_.at(0).importMemory(handle, kLongBytes);
    ASSERT_TRUE(opened.isOk()) << opened.status().text();
    mapped = opened.take();
    EXPECT_DEATH(*reinterpret_cast<volatile char*>(mapped->data()) = 1, "") << "The host must not touch it.";
    EXPECT_EQ(read(mapped->data()), roughValues(0));
  }
  barrier();
  if (rank_ == 0) memory.reset();
  barrier();
  if (rank_ == 0) return;
  EXPECT_FALSE(device_.at(0).importMemory(handle, kLongBytes).isOk());
  auto queue = device_.at(0).queue(nullptr).take();
  auto event = device_.at(0).event().take();
  EXPECT_TRUE(queue->copy(std::vector<CopyJob>{{device_.memory(kLongBytes), mapped->data(), kLongBytes}}).isOk());
  EXPECT_TRUE(queue->record(*event).isOk());
  Result<bool> done = event->isDone();
  while (done.isOk() && !done.value())
    done = event->isDone();
  EXPECT_FALSE(event->isDone().isOk()); // Once more: the first query may have looked for errors before the copy ran.
  forbidden_ = 1;
}

/// Calls until something fails; the last line is what.
TEST_F(ProcessRank, CallsUntilItFails) {
  float* memory = reinterpret_cast<float*>(device_.memory(kMaxBytes));
  const auto count = static_cast<std::size_t>(numberOf("COUNT"));
  goss_status status = GOSS_SUCCESS;
  if (rank_ == 1 && numberOf("FAIL_AT") > 0) failFrom(numberOf("FAIL_AT"));
  for (int i = 0; status == GOSS_SUCCESS; ++i) {
    status = goss_all_reduce(comm_, memory, memory, count, GOSS_FLOAT32, GOSS_MAX, nullptr, nullptr);
    if (i != 2) continue;
    std::printf("ready\n");
    std::fflush(stdout);
  }
  const auto [failure, text] = failureOf(comm_);
  std::printf("failed %d %s\n", failure, text.c_str());
  std::fflush(stdout);
  std::_Exit(0); // The peers may be dead or stopped.
}

TEST_F(ProcessRank, RanksThatCallSomethingElseAreNamed) {
  void* memory = device_.memory(kLongBytes);
  const goss_op op = rank_ == 0 ? GOSS_SUM : GOSS_MAX;
  EXPECT_EQ(goss_all_reduce(comm_, memory, memory, kLong, GOSS_FLOAT32, op, nullptr, nullptr), GOSS_ERR_MISMATCH);
  EXPECT_THAT(failureOf(comm_).second, ::testing::HasSubstr("all_reduce(max)"));
}

/// Rank 0's call ends at its deadline while rank 1's slow device is about to read rank 0's buffer, which is freed then.
TEST_F(ProcessRank, ACallThatFailsWaitsForThoseThatRead) {
  auto lent = device_.at(0).allocate(MemoryKind::device, kLongBytes);
  ASSERT_TRUE(lent.isOk());
  goss_options how = GOSS_OPTIONS_INIT;
  how.timeout_ms = rank_ == 0 ? 50 : 20000;
  EXPECT_NE(goss_broadcast(comm_, lent.value()->data(), lent.value()->data(), kLong, GOSS_FLOAT32, 0, &how, nullptr),
            GOSS_SUCCESS);
  if (rank_ == 0) lent = Status::error(GOSS_ERR_ABORTED, "freed");
  failureOf(comm_);
  EXPECT_TRUE(device_.synchronize()) << "A device has read what was freed.";
}

} // namespace
} // namespace goss::test
