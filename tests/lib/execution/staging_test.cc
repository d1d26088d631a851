// Who withdraws a call waits for what was enqueued of a batch, also where the device refused the rest.
#include "execution/staging.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace goss {
namespace {

/// An event that is done when it has been asked twice since it was recorded.
class SlowEvent final : public DeviceEvent {
 public:
  Result<bool> isDone() override { return left_ == 0 || --left_ == 0; }
  void record() { left_ = 2; }
  [[nodiscard]] bool isUnderWay() const { return left_ > 0; }

 private:
  int left_ = 0;
};

class RefusingQueue final : public DeviceQueue {
 public:
  [[nodiscard]] void* stream() const override { return nullptr; }
  Status check() override { return {}; }
  Status copy(std::span<const CopyJob>) override { return refusal(); }
  Status reduce(const ReduceJob&) override { return refusal(); }
  Status average(const AverageJob&) override { return refusal(); }
  Status openError(const ErrorJob&) override { return refusal(); }
  Status keepError(const ErrorJob&) override { return refusal(); }
  Status addMomentum(const MomentumJob&) override { return refusal(); }
  Status raise(Flag, std::uint32_t) override { return {}; }
  Status await(Flag, std::uint32_t) override { return {}; }
  Status record(DeviceEvent& event) override {
    static_cast<SlowEvent&>(event).record();
    return {};
  }
  Status await(DeviceEvent&) override { return {}; }
  static Status refusal() { return Status::error(GOSS_ERR_DEVICE, "a kernel is refused"); }
};

class RefusingDevice final : public Device {
 public:
  [[nodiscard]] std::string name() const override { return "refusing device"; }
  [[nodiscard]] int ordinal() const override { return 0; }
  [[nodiscard]] std::string identity() const override { return "refusing"; }
  Result<MemoryHandle> exportMemory(const void*) override { return RefusingQueue::refusal(); }
  Result<std::unique_ptr<DeviceBlock>> importMemory(const MemoryHandle&, std::size_t) override {
    return RefusingQueue::refusal();
  }
  Result<std::unique_ptr<DeviceBlock>> allocate(MemoryKind, std::size_t) override { return RefusingQueue::refusal(); }
  Result<std::unique_ptr<DeviceQueue>> queue(void*) override {
    return std::unique_ptr<DeviceQueue>(std::make_unique<RefusingQueue>());
  }
  std::unique_ptr<DeviceQueue> wrap(void*) override { return std::make_unique<RefusingQueue>(); }
  void synchronizeCopies() override {}
  Result<std::unique_ptr<DeviceEvent>> event() override {
    auto event = std::make_unique<SlowEvent>();
    events.push_back(event.get());
    return std::unique_ptr<DeviceEvent>(std::move(event));
  }
  Result<std::shared_ptr<const QueuedCodec>> codec(std::string_view) override { return RefusingQueue::refusal(); }
  Status prepareArithmetic() override { return RefusingQueue::refusal(); }

  std::vector<SlowEvent*> events;
};

class HalfWork final : public StageWork {
 public:
  [[nodiscard]] bool comesToHost() const override { return true; }
  Status enqueue(DeviceQueue&) const override { return RefusingQueue::refusal(); }
};

TEST(WaitedStages, WaitForABatchThatWasRefusedHalfWay) {
  RefusingDevice device;
  DeviceStation station(device, device.queue(nullptr).take(), device.queue(nullptr).take());
  auto stage = WaitedStage::make(station);
  ASSERT_TRUE(stage.isOk());
  EXPECT_EQ(stage.value()->start(HalfWork(), 0).kind(), GOSS_ERR_DEVICE);
  const auto underWay = [&] {
    return std::any_of(device.events.begin(), device.events.end(), [](SlowEvent* one) { return one->isUnderWay(); });
  };
  EXPECT_TRUE(underWay());
  stage.value()->withdraw();
  EXPECT_FALSE(underWay());
}

} // namespace
} // namespace goss
