// The stand-in does what the driver's manual says, and finds what the manual forbids.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "devices/cuda/driver/driver_api.h"

extern "C" std::uint64_t cudaStandinComplaints();

namespace {

constexpr std::size_t kCount = 1000;
constexpr std::size_t kBytes = kCount * sizeof(int);

CUdeviceptr deviceMemory(std::size_t bytes) {
  CUdeviceptr memory = 0;
  EXPECT_EQ(cuMemAlloc_v2(&memory, bytes), CUDA_SUCCESS);
  return memory;
}

template <typename T = int>
T* pinnedMemory(std::size_t count) {
  void* memory = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&memory, count * sizeof(T), CU_MEMHOSTALLOC_PORTABLE), CUDA_SUCCESS);
  return static_cast<T*>(memory);
}

CUstream newStream() {
  CUstream stream = nullptr;
  EXPECT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  return stream;
}

std::vector<int> numbers(int first) {
  std::vector<int> made(kCount);
  std::iota(made.begin(), made.end(), first);
  return made;
}

CUdeviceptr placeOf(const void* host) { return reinterpret_cast<CUdeviceptr>(host); }

class Standin : public testing::Test {
 protected:
  // A child is a new process, which reads the variables anew, at its first call.
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Standin, CopiesToTheDeviceAndBack) {
  const CUdeviceptr memory = deviceMemory(kBytes);
  const auto sent = numbers(7);
  ASSERT_EQ(cuMemcpyHtoD_v2(memory, sent.data(), kBytes), CUDA_SUCCESS);
  std::vector<int> got(kCount);
  ASSERT_EQ(cuMemcpyDtoH_v2(got.data(), memory, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(got, sent);
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(Standin, HostThatTouchesDeviceMemoryFaults) {
  const CUdeviceptr memory = deviceMemory(kBytes);
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(memory) = 1, "");
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(Standin, AStreamWaitsForAValueThatTheHostWrites) {
  auto* flag = pinnedMemory<std::uint32_t>(1);
  *flag = 0;
  auto* out = pinnedMemory(kCount);
  const CUdeviceptr memory = deviceMemory(kBytes);
  const CUstream stream = newStream();
  auto* source = pinnedMemory(kCount);
  std::memcpy(source, numbers(3).data(), kBytes);
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, source, kBytes, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue32_v2(stream, placeOf(flag), 5, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(out, memory, kBytes, stream), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  std::atomic_ref(*flag).store(6);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(out, source, kBytes), 0);
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(Standin, AStreamTellsTheHostByAValue) {
  auto* flag = pinnedMemory<std::uint32_t>(1);
  *flag = 0;
  const CUstream stream = newStream();
  ASSERT_EQ(cuStreamWriteValue32_v2(stream, placeOf(flag), 9, 0), CUDA_SUCCESS);
  while (std::atomic_ref(*flag).load() != 9)
    std::this_thread::yield();
  EXPECT_EQ(cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

TEST_F(Standin, AnEventOrdersTwoStreams) {
  const CUstream first = newStream();
  const CUstream second = newStream();
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  auto* source = pinnedMemory(kCount);
  auto* out = pinnedMemory(kCount);
  const CUdeviceptr memory = deviceMemory(kBytes);
  for (int round = 0; round < 20; ++round) {
    std::memcpy(source, numbers(round).data(), kBytes);
    ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, source, kBytes, first), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(event, first), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(second, event, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyDtoHAsync_v2(out, memory, kBytes, second), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
    ASSERT_EQ(std::memcmp(out, source, kBytes), 0) << "round " << round;
    ASSERT_EQ(cuEventQuery(event), CUDA_SUCCESS);
  }
}

TEST_F(Standin, TheLegacyStreamRunsAfterBlockingStreams) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  auto* source = pinnedMemory(kCount);
  std::memcpy(source, numbers(11).data(), kBytes);
  const CUdeviceptr memory = deviceMemory(kBytes);
  ASSERT_EQ(cuMemcpyHtoDAsync_v2(memory, source, kBytes, blocking), CUDA_SUCCESS);
  auto* out = pinnedMemory(kCount);
  ASSERT_EQ(cuMemcpyDtoHAsync_v2(out, memory, kBytes, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(out, source, kBytes), 0);
}

TEST_F(Standin, DescribesPointers) {
  const CUdeviceptr memory = deviceMemory(kBytes);
  unsigned type = 0;
  ASSERT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 8), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_DEVICE);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  ASSERT_EQ(cuMemGetAddressRange_v2(&base, &bytes, memory + 8), CUDA_SUCCESS);
  EXPECT_EQ(base, memory);
  EXPECT_EQ(bytes, kBytes);
  auto* pinned = pinnedMemory(1);
  ASSERT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, placeOf(pinned)), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  int mine = 0;
  EXPECT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, placeOf(&mine)), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Standin, RegisteredMemoryIsPinned) {
  std::vector<int> mine(kCount);
  ASSERT_EQ(cuMemHostRegister_v2(mine.data(), kBytes, 0), CUDA_SUCCESS);
  unsigned type = 0;
  ASSERT_EQ(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, placeOf(mine.data() + 1)), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(cuMemHostRegister_v2(mine.data(), kBytes, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemHostUnregister(mine.data()), CUDA_SUCCESS);
}

TEST_F(Standin, ACapturedStreamIsKnownAndRunsNothing) {
  const CUstream stream = newStream();
  auto* flag = pinnedMemory<std::uint32_t>(1);
  *flag = 0;
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  ASSERT_EQ(cuStreamIsCapturing(stream, &status), CUDA_SUCCESS);
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ASSERT_EQ(cuStreamWriteValue32_v2(stream, placeOf(flag), 1, 0), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(*flag, 0u);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

struct Captured {
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

Captured endCapture(CUstream stream) {
  Captured made;
  EXPECT_EQ(cuStreamEndCapture(stream, &made.graph), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphInstantiateWithFlags(&made.executable, made.graph, 0), CUDA_SUCCESS);
  return made;
}

TEST_F(Standin, AGraphDoesWhatWasCapturedAtEachLaunch) {
  const CUstream stream = newStream();
  auto* flag = pinnedMemory<std::uint32_t>(1);
  auto* in = pinnedMemory(kCount);
  auto* out = pinnedMemory(kCount);
  *flag = 0;
  const CUdeviceptr memory = deviceMemory(kBytes);
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyAsync(memory, placeOf(in), kBytes, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyAsync(placeOf(out), memory, kBytes, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue32_v2(stream, placeOf(flag), 1, 0), CUDA_SUCCESS);
  const Captured captured = endCapture(stream);
  const CUstream other = newStream();
  for (const int first : {3, 5}) {
    *flag = 0;
    const auto sent = numbers(first);
    std::memcpy(in, sent.data(), kBytes);
    ASSERT_EQ(cuGraphLaunch(captured.executable, first == 3 ? stream : other), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamSynchronize(first == 3 ? stream : other), CUDA_SUCCESS);
    EXPECT_EQ(std::vector<int>(out, out + kCount), sent);
    EXPECT_EQ(*flag, 1u);
  }
  EXPECT_EQ(cuGraphExecDestroy(captured.executable), CUDA_SUCCESS);
  EXPECT_EQ(cuGraphDestroy(captured.graph), CUDA_SUCCESS);
}

/// A wait for an event of the capture takes its stream in, and is an order within each launch.
TEST_F(Standin, AnEventTakesAStreamIntoACapture) {
  const CUstream first = newStream();
  const CUstream second = newStream();
  CUevent fork = nullptr;
  CUevent join = nullptr;
  ASSERT_EQ(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  auto* flags = pinnedMemory<std::uint32_t>(2);
  flags[0] = flags[1] = 0;
  ASSERT_EQ(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue32_v2(first, placeOf(flags), 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(fork, first), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(second, fork, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue32_v2(second, placeOf(flags + 1), 1, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(join, second), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(first, join, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuEventQuery(join), CUDA_ERROR_CAPTURED_EVENT);
  const Captured captured = endCapture(first);
  ASSERT_EQ(cuGraphLaunch(captured.executable, first), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(std::atomic_ref(flags[1]).load(), 0u);
  std::atomic_ref(flags[0]).store(1);
  ASSERT_EQ(cuStreamSynchronize(first), CUDA_SUCCESS);
  EXPECT_EQ(flags[1], 1u);
  // What was recorded outside of a capture is no order within one.
  ASSERT_EQ(cuEventRecord(fork, second), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamWaitEvent(first, fork, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(first, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Standin, ACaptureMustWaitForAllThatItsStreamsHold) {
  const CUdeviceptr memory = deviceMemory(kBytes);
  CUstream first = newStream();
  CUstream second = newStream();
  CUevent fork = nullptr;
  CUevent join = nullptr;
  ASSERT_EQ(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (const int joined : {0, 1, 2}) { // 2: but for what came into the stream later
    ASSERT_EQ(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(fork, first), CUDA_SUCCESS);
    ASSERT_EQ(cuStreamWaitEvent(second, fork, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD8Async(memory, 1, kBytes, second), CUDA_SUCCESS);
    ASSERT_EQ(cuEventRecord(join, second), CUDA_SUCCESS);
    if (joined > 0) {
      ASSERT_EQ(cuStreamWaitEvent(first, join, 0), CUDA_SUCCESS);
    }
    if (joined == 2) {
      ASSERT_EQ(cuMemsetD8Async(memory, 2, kBytes, second), CUDA_SUCCESS);
    }
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(first, &graph), joined == 1 ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  }
}

TEST_F(Standin, AnExternalEventOrdersGraphsAsTheyAreLaunched) {
  if (std::getenv("CUDA_STANDIN_ONE_QUEUE") != nullptr) GTEST_SKIP() << "all streams are one queue";
  const CUstream first = newStream();
  const CUstream second = newStream();
  CUevent order = nullptr;
  ASSERT_EQ(cuEventCreate(&order, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  auto* flags = pinnedMemory<std::uint32_t>(2);
  flags[0] = flags[1] = 0;
  ASSERT_EQ(cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue32_v2(first, placeOf(flags), 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecordWithFlags(order, first, CU_EVENT_RECORD_EXTERNAL), CUDA_SUCCESS);
  const Captured waits = endCapture(first);
  ASSERT_EQ(cuStreamBeginCapture_v2(second, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitEvent(second, order, CU_EVENT_WAIT_EXTERNAL), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWriteValue32_v2(second, placeOf(flags + 1), 1, 0), CUDA_SUCCESS);
  const Captured follows = endCapture(second);
  ASSERT_EQ(cuGraphLaunch(waits.executable, first), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphLaunch(follows.executable, second), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(std::atomic_ref(flags[1]).load(), 0u);
  EXPECT_EQ(cuEventQuery(order), CUDA_ERROR_NOT_READY);
  std::atomic_ref(flags[0]).store(1);
  ASSERT_EQ(cuStreamSynchronize(second), CUDA_SUCCESS);
  EXPECT_EQ(flags[1], 1u);
}

TEST_F(Standin, AGraphTellsWhenItAndItsLastLaunchAreOver) {
  const CUstream stream = newStream();
  auto* flag = pinnedMemory<std::uint32_t>(1);
  *flag = 0;
  std::atomic<bool> over{false};
  ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  std::uint64_t id = 0;
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_NE(id, 0u);
  CUuserObject object = nullptr;
  const CUhostFn destroy = [](void* argument) { *static_cast<std::atomic<bool>*>(argument) = true; };
  ASSERT_EQ(cuUserObjectCreate(&object, &over, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamWaitValue32_v2(stream, placeOf(flag), 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
  const Captured captured = endCapture(stream);
  EXPECT_EQ(captured.graph, graph);
  ASSERT_EQ(cuGraphLaunch(captured.executable, stream), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphDestroy(captured.graph), CUDA_SUCCESS);
  ASSERT_EQ(cuGraphExecDestroy(captured.executable), CUDA_SUCCESS);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(over);
  std::atomic_ref(*flag).store(1);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  for (int turn = 0; turn < 1000 && !over; ++turn)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(over);
}

TEST_F(Standin, AnotherThreadsCallsBreakAGlobalCaptureUnlessTheyAreRelaxed) {
  const CUstream stream = newStream();
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (const auto mode : {CU_STREAM_CAPTURE_MODE_RELAXED, CU_STREAM_CAPTURE_MODE_GLOBAL}) {
    const bool relaxed = mode == CU_STREAM_CAPTURE_MODE_RELAXED;
    ASSERT_EQ(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    std::thread other([&, own = mode]() mutable {
      EXPECT_EQ(cuThreadExchangeStreamCaptureMode(&own), CUDA_SUCCESS);
      EXPECT_EQ(own, CU_STREAM_CAPTURE_MODE_GLOBAL);
      EXPECT_EQ(cuEventQuery(event), relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    });
    other.join();
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), relaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
}

TEST_F(Standin, TheLegacyStreamIsRefusedWhileABlockingStreamIsCaptured) {
  CUstream blocking = nullptr;
  ASSERT_EQ(cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(cuEventRecord(event, nullptr), CUDA_SUCCESS);
  for (const bool breaks : {false, true}) {
    ASSERT_EQ(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    EXPECT_EQ(cuStreamGetCaptureInfo_v2(nullptr, &status, nullptr, nullptr, nullptr, nullptr),
              CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    if (breaks) {
      EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    }
    CUgraph graph = nullptr;
    EXPECT_EQ(cuStreamEndCapture(blocking, &graph), breaks ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
    EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_SUCCESS);
  }
  CUstream other = newStream(); // Its capture leaves the legacy stream alone.
  ASSERT_EQ(cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
  EXPECT_EQ(cuEventRecord(event, nullptr), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other, &graph), CUDA_SUCCESS);
}

TEST_F(Standin, AHostFunctionMayNotCallTheDriver) {
  const CUstream stream = newStream();
  static std::atomic<int> result{-1};
  const std::uint64_t before = cudaStandinComplaints();
  const auto function = [](void* argument) { result = cuEventQuery(static_cast<CUevent>(argument)); };
  CUevent event = nullptr;
  ASSERT_EQ(cuEventCreate(&event, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuLaunchHostFunc(stream, function, event), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(result, CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(cudaStandinComplaints(), before + 1);
}

/// What a child process found: 0 is success, else the line.
#define IN_CHILD(condition) \
  if (!(condition)) std::exit(__LINE__ % 250 + 1)

TEST_F(Standin, ACopyIntoFreedMemoryLosesTheContext) {
  EXPECT_EXIT(
      {
        auto* flag = pinnedMemory<std::uint32_t>(1);
        *flag = 0;
        const CUdeviceptr memory = deviceMemory(kBytes);
        const CUstream stream = newStream();
        IN_CHILD(cuMemFree_v2(memory) == CUDA_SUCCESS);
        IN_CHILD(cuMemcpyDtoHAsync_v2(pinnedMemory(kCount), memory, kBytes, stream) == CUDA_SUCCESS);
        IN_CHILD(cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        IN_CHILD(cuStreamSynchronize(newStream()) == CUDA_ERROR_ILLEGAL_ADDRESS);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "memory that was freed");
}

TEST_F(Standin, ACopyBehindTheEndLosesTheContext) {
  EXPECT_EXIT(
      {
        const CUdeviceptr memory = deviceMemory(kBytes);
        IN_CHILD(cuMemcpyDtoH_v2(pinnedMemory(kCount + 1), memory, kBytes + 4) == CUDA_ERROR_ILLEGAL_ADDRESS);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "behind its end");
}

TEST_F(Standin, AStickyErrorStaysAndWaitsNeverEnd) {
  EXPECT_EXIT(
      {
        setenv("CUDA_STANDIN_FAIL_AT", "4", 1);
        auto* flag = pinnedMemory<std::uint32_t>(1);                                    // 1
        const CUstream stream = newStream();                                            // 2
        IN_CHILD(cuStreamWriteValue32_v2(stream, placeOf(flag), 1, 0) == CUDA_SUCCESS); // 3
        IN_CHILD(cuStreamWriteValue32_v2(stream, placeOf(flag), 2, 0) == CUDA_ERROR_LAUNCH_FAILED);
        IN_CHILD(cuStreamQuery(stream) == CUDA_ERROR_LAUNCH_FAILED);
        IN_CHILD(cuLaunchHostFunc(
                     stream, [](void*) { std::_Exit(77); }, nullptr) == CUDA_ERROR_LAUNCH_FAILED);
        IN_CHILD(std::atomic_ref(*flag).load() != 2);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Standin, MemoryOperationsCanBeMissing) {
  EXPECT_EXIT(
      {
        setenv("CUDA_STANDIN_MEMOPS", "0", 1);
        auto* flag = pinnedMemory<std::uint32_t>(1);
        const CUstream stream = newStream();
        IN_CHILD(cuStreamWriteValue32_v2(stream, placeOf(flag), 1, 0) == CUDA_ERROR_NOT_SUPPORTED);
        IN_CHILD(cuStreamWaitValue32_v2(stream, placeOf(flag), 1, 0) == CUDA_ERROR_NOT_SUPPORTED);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Standin, MemoryRunsOut) {
  EXPECT_EXIT(
      {
        setenv("CUDA_STANDIN_MEMORY_BYTES", "8192", 1);
        setenv("CUDA_STANDIN_PINNED_FAIL_AT", "2", 1);
        CUdeviceptr memory = 0;
        IN_CHILD(cuMemAlloc_v2(&memory, 8192) == CUDA_SUCCESS);
        CUdeviceptr more = 0;
        IN_CHILD(cuMemAlloc_v2(&more, 1) == CUDA_ERROR_OUT_OF_MEMORY);
        IN_CHILD(cuMemFree_v2(memory) == CUDA_SUCCESS);
        IN_CHILD(cuMemAlloc_v2(&more, 1) == CUDA_SUCCESS);
        void* pinned = nullptr;
        IN_CHILD(cuMemHostAlloc(&pinned, 1, 0) == CUDA_SUCCESS);
        IN_CHILD(cuMemHostAlloc(&pinned, 1, 0) == CUDA_ERROR_OUT_OF_MEMORY);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Standin, TwoDevicesHaveTheirOwnContexts) {
  EXPECT_EXIT(
      {
        setenv("CUDA_STANDIN_DEVICES", "2", 1);
        CUcontext second = nullptr;
        IN_CHILD(cuDevicePrimaryCtxRetain(&second, 1) == CUDA_SUCCESS);
        IN_CHILD(cuCtxPushCurrent_v2(second) == CUDA_SUCCESS);
        const CUdeviceptr there = deviceMemory(kBytes);
        IN_CHILD(cuCtxPopCurrent_v2(nullptr) == CUDA_SUCCESS);
        int ordinal = 0;
        IN_CHILD(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there) == CUDA_SUCCESS);
        IN_CHILD(ordinal == 1);
        CUdevice now = -1;
        IN_CHILD(cuCtxGetDevice(&now) == CUDA_SUCCESS && now == 0);
        CUdevice third = 0;
        IN_CHILD(cuDeviceGet(&third, 2) == CUDA_ERROR_INVALID_DEVICE);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(Standin, AnotherProcessMapsDeviceMemory) {
  const CUdeviceptr memory = deviceMemory(kBytes);
  CUipcMemHandle handle{};
  ASSERT_EQ(cuIpcGetMemHandle(&handle, memory), CUDA_SUCCESS);
  CUdeviceptr own = 0;
  EXPECT_EQ(cuIpcOpenMemHandle_v2(&own, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), CUDA_ERROR_INVALID_CONTEXT);
  // The child comes by here, too, and keeps its parent's.
  std::string text;
  for (const char c : handle.reserved)
    text += std::to_string(static_cast<int>(c)) + " ";
  setenv("STANDIN_TEST_HANDLE", text.c_str(), 0);
  EXPECT_EXIT(
      {
        std::istringstream read(getenv("STANDIN_TEST_HANDLE"));
        for (char& c : handle.reserved) {
          int number = 0;
          read >> number;
          c = static_cast<char>(number);
        }
        CUdeviceptr there = 0;
        IN_CHILD(cuIpcOpenMemHandle_v2(&there, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
        IN_CHILD(cuMemcpyHtoD_v2(there, numbers(21).data(), kBytes) == CUDA_SUCCESS);
        CUdeviceptr again = 0;
        IN_CHILD(cuIpcOpenMemHandle_v2(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) == CUDA_SUCCESS);
        IN_CHILD(again == there);
        IN_CHILD(cuMemFree_v2(there) == CUDA_ERROR_INVALID_VALUE);
        IN_CHILD(cuIpcCloseMemHandle(there) == CUDA_SUCCESS);
        IN_CHILD(cuMemcpyHtoD_v2(there, numbers(21).data(), kBytes) == CUDA_SUCCESS);
        IN_CHILD(cuIpcCloseMemHandle(there) == CUDA_SUCCESS);
        IN_CHILD(cuIpcCloseMemHandle(there) == CUDA_ERROR_INVALID_VALUE);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::vector<int> got(kCount);
  ASSERT_EQ(cuMemcpyDtoH_v2(got.data(), memory, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(got, numbers(21));
}

TEST_F(Standin, MemoryOfAPoolHasNoHandle) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAllocAsync(&memory, kBytes, nullptr), CUDA_SUCCESS);
  CUipcMemHandle handle{};
  EXPECT_EQ(cuIpcGetMemHandle(&handle, memory), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(Standin, FunctionsAreFoundByName) {
  void* function = nullptr;
  ASSERT_EQ(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAlloc_v2));
  EXPECT_EQ(cuGetProcAddress_v2("cuLaunchKernel", &function, 13000, 0, nullptr), CUDA_ERROR_NOT_FOUND);
}

} // namespace
