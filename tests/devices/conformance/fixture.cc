#include "tests/devices/conformance/fixture.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "builtins/builtins.h"
#include "kernels/convert.h"
#include "kernels/kernels.h"

namespace goss::test {

std::vector<std::string> providersOfThisMachine() {
  std::vector<std::string> names{"threads"};
  const char* more = std::getenv("GOSS_TEST_DEVICES");
  std::istringstream list(more == nullptr ? "" : more);
  for (std::string name; std::getline(list, name, ',');)
    names.push_back(name);
  return names;
}

void DeviceTest::SetUp() {
  Result<std::unique_ptr<DeviceProvider>> made = makeDeviceProvider(GetParam(), false);
  ASSERT_TRUE(made.isOk()) << made.status().text();
  provider_ = made.take();
  EXPECT_EQ(provider_->name(), GetParam());
  ASSERT_GE(provider_->deviceCount(), 1);
  const Result<Device*> opened = provider_->open(0);
  ASSERT_TRUE(opened.isOk()) << opened.status().text();
  device_ = opened.value();
}

std::unique_ptr<DeviceBlock> DeviceTest::block(MemoryKind kind, std::size_t bytes) {
  Result<std::unique_ptr<DeviceBlock>> made = device().allocate(kind, bytes);
  EXPECT_TRUE(made.isOk()) << made.status().text();
  if (kind == MemoryKind::pinned) std::memset(made.value()->data(), 0, bytes);
  return made.take();
}

std::unique_ptr<DeviceQueue> DeviceTest::makeQueue() {
  Result<std::unique_ptr<DeviceQueue>> made = device().queue(nullptr);
  EXPECT_TRUE(made.isOk()) << made.status().text();
  return made.take();
}

std::unique_ptr<DeviceEvent> DeviceTest::makeEvent() {
  Result<std::unique_ptr<DeviceEvent>> made = device().event();
  EXPECT_TRUE(made.isOk()) << made.status().text();
  return made.take();
}

MemoryInfo DeviceTest::classify(const void* pointer) {
  const Result<MemoryInfo> info = provider().classify(pointer);
  EXPECT_TRUE(info.isOk()) << info.status().text();
  return info.value();
}

Flag DeviceTest::flagAt(const DeviceBlock& pinned, std::size_t offset) {
  return reinterpret_cast<Flag>(pinned.data() + offset);
}

std::uint32_t DeviceTest::load(Flag flag) { return std::atomic_ref(*flag).load(std::memory_order_acquire); }

bool DeviceTest::eventually(const std::function<bool()>& holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

void DeviceTest::finish(DeviceQueue& queue) {
  const auto event = makeEvent();
  ok(queue.record(*event));
  EXPECT_TRUE(eventually([&] {
    const Result<bool> done = event->isDone();
    EXPECT_TRUE(done.isOk()) << done.status().text();
    return !done.isOk() || done.value();
  }));
}

void DeviceTest::toDevice(DeviceQueue& queue, std::byte* to, const void* from, std::size_t bytes) {
  const auto pinned = block(MemoryKind::pinned, bytes);
  std::memcpy(pinned->data(), from, bytes);
  ok(queue.copy(std::vector<CopyJob>{{to, pinned->data(), bytes}}));
  finish(queue);
}

std::vector<std::byte> DeviceTest::toHost(DeviceQueue& queue, const std::byte* from, std::size_t bytes) {
  const auto pinned = block(MemoryKind::pinned, bytes);
  ok(queue.copy(std::vector<CopyJob>{{pinned->data(), from, bytes}}));
  finish(queue);
  return {pinned->data(), pinned->data() + bytes};
}

void DeviceTest::computesAsTheKernelsDo(DType dtype, ReduceOp op) {
  constexpr std::size_t kCount = 1003;
  SCOPED_TRACE(testing::Message() << "dtype " << dtype << ", op " << op);
  const std::size_t bytes = kCount * kernels::elementBytes(dtype);
  std::vector<double> numbers(kCount);
  std::vector<std::byte> a(bytes), b(bytes), expected(bytes);
  for (std::size_t i = 0; i < kCount; ++i)
    numbers[i] = static_cast<double>(i % 37) - 11.5;
  kernels::convert(dtype, a.data(), GOSS_FLOAT64, numbers.data(), kCount);
  for (double& number : numbers)
    number = 3 - number / 2;
  kernels::convert(dtype, b.data(), GOSS_FLOAT64, numbers.data(), kCount);

  const auto queue = makeQueue();
  const auto memory = block(MemoryKind::device, 2 * bytes);
  toDevice(*queue, memory->data(), a.data(), bytes);
  toDevice(*queue, memory->data() + bytes, b.data(), bytes);
  ok(queue->reduce({dtype, op, memory->data(), memory->data(), memory->data() + bytes, kCount}));
  kernels::reduce(dtype, op, expected.data(), a.data(), b.data(), kCount);
  EXPECT_EQ(toHost(*queue, memory->data(), bytes), expected);

  ok(queue->finish({dtype, op, memory->data() + bytes, memory->data(), kCount, 3, 1.5}));
  if (op == GOSS_AVG) kernels::average(dtype, expected.data(), expected.data(), kCount, 3);
  if (op == GOSS_PREMUL_SUM) kernels::scale(dtype, expected.data(), expected.data(), kCount, 1.5);
  EXPECT_EQ(toHost(*queue, memory->data() + bytes, bytes), expected);
}

void DeviceTest::encodesAsTheCpuDoes(const char* spec) {
  constexpr std::size_t kCount = 5000;
  SCOPED_TRACE(spec);
  Result<std::unique_ptr<DeviceCodec>> made = device().codec(spec);
  ASSERT_TRUE(made.isOk()) << made.status().text();
  const DeviceCodec& codec = *made.value();
  const std::size_t bytes = codec.codec().maxBytes(kCount);
  std::vector<float> values(kCount), decoded(kCount);
  for (std::size_t i = 0; i < kCount; ++i)
    values[i] = std::sin(static_cast<float>(i)) * static_cast<float>(i % 97);

  const auto queue = makeQueue();
  const auto vectors = block(MemoryKind::device, 2 * kCount * sizeof(float));
  const auto scratch = block(MemoryKind::device, codec.scratchBytes(kCount));
  const auto payload = block(MemoryKind::pinned, bytes);
  auto* vector = reinterpret_cast<float*>(vectors->data());
  toDevice(*queue, vectors->data(), values.data(), kCount * sizeof(float));
  EncodeSegment segment{0, kCount, {payload->data(), bytes}};
  EncodeJob job;
  job.values = {vector, kCount};
  job.scratch = {scratch->data(), codec.scratchBytes(kCount)};
  job.segments = {&segment, 1};
  ok(codec.encode(*queue, job));
  finish(*queue);
  EXPECT_EQ(segment.bytes, bytes);

  std::vector<std::byte> expected(bytes);
  std::unique_ptr<DeviceBlock> host = block(MemoryKind::pinned, codec.codec().scratchBytes(kCount));
  EncodeSegment on_host{0, kCount, expected};
  job.values = values;
  job.scratch = {host->data(), codec.codec().scratchBytes(kCount)};
  job.segments = {&on_host, 1};
  ok(codec.codec().encode(job));
  EXPECT_EQ(std::memcmp(payload->data(), expected.data(), bytes), 0);

  const PayloadView view{payload->data(), bytes};
  DecodeJob decode;
  decode.payloads = {&view, 1};
  decode.out = {vector + kCount, kCount};
  decode.scratch = {scratch->data(), codec.scratchBytes(kCount)};
  ok(codec.decode(*queue, decode));
  const std::vector<std::byte> got = toHost(*queue, vectors->data() + kCount * sizeof(float), kCount * sizeof(float));
  decode.out = decoded;
  decode.scratch = job.scratch;
  ok(codec.codec().decode(decode));
  EXPECT_EQ(std::memcmp(got.data(), decoded.data(), got.size()), 0);
}

} // namespace goss::test
