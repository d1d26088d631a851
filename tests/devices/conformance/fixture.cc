#include "tests/devices/conformance/fixture.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

#include "builtins/builtins.h"

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

} // namespace goss::test
