// What every provider of GPU buffers does (include/gossamer/device.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "builtins/builtins.h"
#include "kernels/convert.h"
#include "kernels/kernels.h"
#include "tests/devices/conformance/fixture.h"

namespace goss::test {
namespace {

constexpr std::size_t kBytes = 100003;

TEST_P(DeviceTest, TellsKindsOfMemoryApart) {
  std::vector<std::byte> host(16);
  const auto pinned = block(MemoryKind::pinned, kBytes);
  const auto memory = block(MemoryKind::device, kBytes);
  const auto again = block(MemoryKind::device, kBytes);
  EXPECT_EQ(classify(host.data()).kind, MemoryKind::host);
  EXPECT_EQ(classify(nullptr).kind, MemoryKind::host);
  EXPECT_EQ(classify(pinned->data() + 5).kind, MemoryKind::pinned);
  const MemoryInfo info = classify(memory->data() + kBytes - 1);
  EXPECT_EQ(info.kind, MemoryKind::device);
  EXPECT_EQ(info.device, device().ordinal());
  EXPECT_EQ(info.base, memory->data());
  EXPECT_GE(info.bytes, kBytes);
  EXPECT_NE(info.allocation, classify(again->data()).allocation);
}

TEST_P(DeviceTest, AlignsMemory) {
  for (const MemoryKind kind : {MemoryKind::pinned, MemoryKind::device})
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block(kind, 7)->data()) % 256, 0u);
}

TEST_P(DeviceTest, FreedMemoryIsHostMemoryAgain) {
  auto memory = block(MemoryKind::device, kBytes);
  const std::byte* address = memory->data();
  memory.reset();
  EXPECT_NE(classify(address).kind, MemoryKind::device);
}

/// A process opens no memory of its own: other processes do (tests/devices/processes).
TEST_P(DeviceTest, ExportsMemoryToOtherProcessesAloneOrRefusesIt) {
  EXPECT_FALSE(provider().currentIdentity().empty());
  EXPECT_EQ(provider().open(device().ordinal()).value()->identity(), device().identity());
  const auto memory = block(MemoryKind::device, kBytes);
  const Result<MemoryHandle> handle = device().exportMemory(memory->data());
  if (handle.isOk()) {
    EXPECT_EQ(device().exportMemory(memory->data()).value(), handle.value());
    EXPECT_EQ(device().importMemory(handle.value(), kBytes).status().kind(), GOSS_ERR_UNSUPPORTED);
  } else {
    EXPECT_EQ(handle.status().kind(), GOSS_ERR_UNSUPPORTED);
  }
  std::vector<std::byte> host(16);
  EXPECT_EQ(device().exportMemory(host.data()).status().kind(), GOSS_ERR_UNSUPPORTED);
}

TEST_P(DeviceTest, CopiesInEveryDirection) {
  const auto pinned = block(MemoryKind::pinned, 2 * kBytes);
  const auto one = block(MemoryKind::device, kBytes);
  const auto other = block(MemoryKind::device, kBytes);
  const auto queue = makeQueue();
  for (std::size_t i = 0; i < kBytes; ++i)
    pinned->data()[i] = static_cast<std::byte>(i * 7);
  const std::vector<CopyJob> in{{one->data(), pinned->data(), 1000},
                                {one->data() + 1000, pinned->data() + 1000, kBytes - 1000},
                                {one->data(), pinned->data(), 0}};
  ok(queue->copy(in));
  ok(queue->copy(std::vector<CopyJob>{{other->data(), one->data(), kBytes}}));
  ok(queue->copy(std::vector<CopyJob>{{pinned->data() + kBytes, other->data(), kBytes}}));
  finish(*queue);
  EXPECT_EQ(std::memcmp(pinned->data(), pinned->data() + kBytes, kBytes), 0);
}

TEST_P(DeviceTest, QueueKeepsOrderThroughFlags) {
  const auto pinned = block(MemoryKind::pinned, 64);
  const auto memory = block(MemoryKind::device, 64);
  const Flag go = flagAt(*pinned, 0);
  const Flag done = flagAt(*pinned, 4);
  auto* value = reinterpret_cast<std::uint64_t*>(pinned->data() + 16);
  const auto queue = makeQueue();
  *value = 1;
  ok(queue->await(go, 7));
  ok(queue->copy(std::vector<CopyJob>{{memory->data(), pinned->data() + 16, 8}}));
  ok(queue->copy(std::vector<CopyJob>{{pinned->data() + 24, memory->data(), 8}}));
  ok(queue->raise(done, 9));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(load(done), 0u) << "the queue went on before its flag had risen";
  *value = 42; // What the host writes before the flag is seen behind it.
  std::atomic_ref(*go).store(7, std::memory_order_release);
  EXPECT_TRUE(eventually([&] { return load(done) == 9; }));
  EXPECT_EQ(value[1], 42u);
}

TEST_P(DeviceTest, AFlagThatHasRisenFurtherLetsTheQueueGoOn) {
  const auto pinned = block(MemoryKind::pinned, 64);
  const auto queue = makeQueue();
  const Flag flag = flagAt(*pinned, 0);
  std::atomic_ref(*flag).store(3);
  ok(queue->await(flag, 2));
  ok(queue->await(flag, 0xfffffff0u)); // Long ago, modulo 2^32.
  finish(*queue);
}

TEST_P(DeviceTest, EventsTellWhatIsDone) {
  const auto pinned = block(MemoryKind::pinned, 64);
  const auto queue = makeQueue();
  const auto event = makeEvent();
  EXPECT_TRUE(event->isDone().value()) << "never recorded";
  ok(queue->await(flagAt(*pinned, 0), 1));
  ok(queue->record(*event));
  EXPECT_FALSE(event->isDone().value());
  std::atomic_ref(*flagAt(*pinned, 0)).store(1, std::memory_order_release);
  EXPECT_TRUE(eventually([&] { return event->isDone().value(); }));
}

TEST_P(DeviceTest, QueuesWaitForEachOther) {
  const auto pinned = block(MemoryKind::pinned, 64);
  const auto first = makeQueue();
  const auto second = makeQueue();
  const auto event = makeEvent();
  *flagAt(*pinned, 32) = 5;
  // All that leads to a flag's rise is enqueued before the wait for it: right even if both are one queue.
  ok(first->raise(flagAt(*pinned, 0), 1));
  ok(first->copy(std::vector<CopyJob>{{pinned->data() + 40, pinned->data() + 32, 4}}));
  ok(first->record(*event));
  ok(second->await(*event));
  ok(second->copy(std::vector<CopyJob>{{pinned->data() + 44, pinned->data() + 40, 4}}));
  finish(*second);
  EXPECT_EQ(*flagAt(*pinned, 44), 5u);
}

TEST_P(DeviceTest, WrapsTheCallersStream) {
  const auto pinned = block(MemoryKind::pinned, 64);
  const auto callers = makeQueue();
  ASSERT_NE(callers->stream(), nullptr);
  {
    Result<std::unique_ptr<DeviceQueue>> wrapped = device().queue(callers->stream());
    ASSERT_TRUE(wrapped.isOk()) << wrapped.status().text();
    EXPECT_EQ(wrapped.value()->stream(), callers->stream());
    ok(wrapped.value()->check());
    ok(wrapped.value()->raise(flagAt(*pinned, 0), 4));
  }
  ok(callers->raise(flagAt(*pinned, 4), load(flagAt(*pinned, 0)) + 1));
  finish(*callers);
  EXPECT_EQ(load(flagAt(*pinned, 0)), 4u);
}

TEST_P(DeviceTest, QueueDoesItsJobsBeforeItGoes) {
  const auto pinned = block(MemoryKind::pinned, 64);
  ok(makeQueue()->raise(flagAt(*pinned, 0), 3));
  EXPECT_EQ(load(flagAt(*pinned, 0)), 3u);
}

/// On two vectors: the first is encoded, the second merged with its payload, the result decoded.
TEST_P(DeviceTest, CodecsHaveTheBytesOfTheCpus) {
  constexpr std::size_t kElems = 4099;
  constexpr std::size_t kVector = kElems * sizeof(float);
  constexpr std::size_t kPart = 32768; // Each part of the memory.
  for (const char* spec : {"int8", "sign", "bf16", "topk:ratio=0.1", "topk:ratio=0.1,select=sampled+none",
                           "threshold:value=300,indices=packed+fp16"}) {
    const std::shared_ptr<const Codec> host = makeCodec(spec).take().codec;
    const Result<std::shared_ptr<const QueuedCodec>> made = device().codec(host->spec());
    ASSERT_TRUE(made.isOk()) << made.status().text();
    const QueuedCodec& codec = *made.value();
    const auto pinned = block(MemoryKind::pinned, 6 * kPart);
    const auto memory = block(MemoryKind::device, 6 * kPart + codec.scratchBytes(kElems) + 64);
    const auto queue = makeQueue();
    // The host's codec works on the first three parts of `pinned`, the device's in `memory`, copied to the last three.
    const auto run = [&](std::byte* base, std::span<std::byte> scratch, const auto& encode, const auto& merge,
                         const auto& decode) {
      const std::size_t bytes = host->maxBytes(kElems);
      EncodeSegment segment{0, kElems, {base + kPart, bytes}, 0};
      EncodeJob job;
      job.values = {reinterpret_cast<const float*>(base), kElems};
      job.scratch = scratch;
      job.segments = {&segment, 1};
      ok(encode(job));
      EXPECT_TRUE(segment.bytes == bytes || !host->traits().fixed_size);
      const PayloadView payload(base + kPart, segment.bytes);
      MergeJob both;
      both.payloads = {&payload, 1};
      both.values = {reinterpret_cast<float*>(base), kElems};
      both.factor = 0.5F;
      both.scratch = scratch;
      both.out = {base + 2 * kPart, bytes};
      ok(merge(both));
      EXPECT_TRUE(both.bytes == bytes || !host->traits().fixed_size);
      DecodeJob last;
      last.payloads = {&payload, 1};
      last.out = both.values;
      last.mode = DecodeMode::add;
      last.scratch = scratch;
      ok(decode(last));
      return std::pair(segment.bytes, both.bytes);
    };
    auto* values = reinterpret_cast<float*>(pinned->data());
    for (std::size_t i = 0; i < kElems; ++i)
      values[i] = static_cast<float>(i * 37 % 1001) - 500.25F;
    ok(queue->copy(std::vector<CopyJob>{{memory->data(), pinned->data(), kVector}}));
    const auto bounds = run(
        memory->data(), {memory->data() + 6 * kPart, codec.scratchBytes(kElems)},
        [&](const EncodeJob& job) { return codec.encode(*queue, job); },
        [&](MergeJob& job) { return codec.merge(*queue, job); },
        [&](const DecodeJob& job) { return codec.decode(*queue, job); });
    const std::size_t most = host->maxBytes(kElems);
    EXPECT_EQ(bounds, std::pair(most, most));
    ok(queue->copy(std::vector<CopyJob>{{pinned->data() + 3 * kPart, memory->data(), kVector},
                                        {pinned->data() + 4 * kPart, memory->data() + kPart, 2 * kPart}}));
    finish(*queue);
    std::vector<std::byte> scratch(host->scratchBytes(kElems) + 64);
    const std::size_t off = (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64) % 64;
    const auto [contribution, result] = run(
        pinned->data(), std::span(scratch).subspan(off), [&](const EncodeJob& job) { return host->encode(job); },
        [&](MergeJob& job) { return host->merge(job); }, [&](const DecodeJob& job) { return host->decode(job); });
    EXPECT_EQ(host->lengthOf({pinned->data() + 4 * kPart, most}, kElems), contribution) << spec;
    EXPECT_EQ(host->lengthOf({pinned->data() + 5 * kPart, most}, kElems), result) << spec;
    EXPECT_EQ(std::memcmp(pinned->data(), pinned->data() + 3 * kPart, kVector), 0) << spec << ": numbers";
    EXPECT_EQ(std::memcmp(pinned->data() + kPart, pinned->data() + 4 * kPart, contribution), 0)
        << spec << ": contribution";
    EXPECT_EQ(std::memcmp(pinned->data() + 2 * kPart, pinned->data() + 5 * kPart, result), 0) << spec << ": result";
  }
}

/// Vectors that do and do not lie at multiples of 16 bytes, of more than one warp's elements.
TEST_P(DeviceTest, ArithmeticHasTheBitsOfTheHosts) {
  constexpr std::size_t kElems = 2053;
  constexpr std::size_t kPart = 32768;
  ok(device().prepareArithmetic());
  const auto pinned = block(MemoryKind::pinned, 4 * kPart);
  const auto memory = block(MemoryKind::device, 4 * kPart);
  const auto queue = makeQueue();
  std::vector<std::byte> expected(2 * kPart);
  std::mt19937 engine(3);
  for (std::size_t i = 0; i < 2 * kPart; ++i)
    pinned->data()[i] = static_cast<std::byte>(engine()); // NaN, infinities and subnormals among them.
  ok(queue->copy(std::vector<CopyJob>{{memory->data(), pinned->data(), 2 * kPart}}));
  for (int type = 0; type < GOSS_DTYPE_COUNT; ++type) {
    const auto dtype = static_cast<DType>(type);
    const std::size_t bytes = kernels::elementBytes(dtype);
    const std::size_t off = type % 2 == 0 ? 0 : bytes;
    for (int operation = 0; operation < GOSS_OP_COUNT; ++operation) {
      const auto op = static_cast<ReduceOp>(operation);
      if (!kernels::supported(dtype, op)) continue;
      std::byte* sum = memory->data() + 2 * kPart;
      ok(queue->reduce({dtype, op, sum + off, memory->data() + off, memory->data() + kPart, kElems}));
      kernels::reduce(dtype, op, expected.data(), pinned->data() + off, pinned->data() + kPart, kElems);
      if (op == GOSS_AVG) {
        ok(queue->average({dtype, sum + off, sum + off, kElems, 3}));
        kernels::average(dtype, expected.data(), expected.data(), kElems, 3);
      }
      ok(queue->copy(std::vector<CopyJob>{{pinned->data() + 2 * kPart, sum + off, kElems * bytes}}));
      finish(*queue);
      ASSERT_EQ(std::memcmp(expected.data(), pinned->data() + 2 * kPart, kElems * bytes), 0)
          << "dtype " << type << ", op " << operation;
    }
  }
}

/// What `int8` makes of the vector.
std::vector<float> inEightBits(std::span<const float> values) {
  const auto codec = makeCodec("int8").take().codec;
  std::vector<std::byte> bytes(codec->maxBytes(values.size()));
  EncodeSegment segment{0, values.size(), bytes, 0};
  EncodeJob job;
  job.values = values;
  job.segments = {&segment, 1};
  EXPECT_TRUE(codec->encode(job).isOk());
  std::vector<float> rounded(values.size());
  const PayloadView payload(bytes);
  DecodeJob back;
  back.payloads = {&payload, 1};
  back.out = rounded;
  EXPECT_TRUE(codec->decode(back).isOk());
  return rounded;
}

TEST_P(DeviceTest, ErrorsAreKeptInEightBitsAndForgotten) {
  constexpr std::size_t kElems = 1027;
  constexpr std::size_t kPart = 8192;
  constexpr float kKeep = 0.75f;
  ok(device().prepareArithmetic());
  const auto pinned = block(MemoryKind::pinned, 2 * kPart);
  const auto memory = block(MemoryKind::device, 2 * kPart);
  const auto queue = makeQueue();
  const std::span error(reinterpret_cast<float*>(pinned->data()), kElems);
  const std::span lost(reinterpret_cast<float*>(pinned->data() + kPart), kElems);
  for (std::size_t i = 0; i < kElems; ++i) {
    error[i] = std::sin(static_cast<float>(i));
    lost[i] = std::cos(static_cast<float>(i));
  }
  std::vector<float> expected = inEightBits(error);
  for (std::size_t i = 0; i < kElems; ++i)
    expected[i] = (1.0f - kKeep) * lost[i] + kKeep * expected[i];
  expected = inEightBits(expected);
  ErrorJob job{reinterpret_cast<float*>(memory->data()), reinterpret_cast<float*>(memory->data() + kPart), kElems,
               kKeep, false};
  ok(queue->copy(std::vector<CopyJob>{{memory->data(), pinned->data(), 2 * kPart}}));
  ok(queue->keepError(job));
  for (const bool forgets : {false, true}) {
    job.forgets = forgets;
    ok(queue->openError(job));
    ok(queue->copy(std::vector<CopyJob>{{pinned->data(), memory->data(), 2 * kPart}}));
    finish(*queue);
    if (forgets) std::fill(expected.begin(), expected.end(), 0.0f);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), error.begin())) << forgets;
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), lost.begin())) << forgets;
  }
}

TEST_P(DeviceTest, CodecsWithoutKernelsAreRefused) {
  for (const char* spec : {"threshold:value=2+sign", "lossless", "powersgd", "nonsense"}) {
    const Result<std::shared_ptr<const QueuedCodec>> made = device().codec(spec);
    ASSERT_FALSE(made.isOk()) << spec;
    EXPECT_NE(made.status().kind(), GOSS_ERR_DEVICE);
  }
}

TEST_P(DeviceTest, RefusesOrdinalsThatDoNotExist) {
  for (const int ordinal : {-1, provider().deviceCount()}) {
    const Result<Device*> opened = provider().open(ordinal);
    ASSERT_FALSE(opened.isOk());
    EXPECT_EQ(opened.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(provider().open(0).value(), provider().open(0).value()) << "the provider keeps its devices";
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::ValuesIn(providersOfThisMachine()),
                         [](const auto& tested) { return tested.param; });

} // namespace
} // namespace goss::test
