// A stage that was withdrawn is busy until the device has done what was enqueued of a batch, also where the device
// refused the rest, and until the device's thread has come back from the driver.
#include "execution/staging.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace goss {
namespace {

/// The flag or event by which the device is to mark the end of its work, and whether it has done so.
struct Progress {
  const bool raises; ///< The device raises flags; else events tell.
  std::atomic<Flag> flag{nullptr};
  std::atomic<std::uint32_t> value{0};
  std::atomic<int> records{0};
  std::atomic<bool> done{false};

  void end() {
    done = true;
    if (raises) std::atomic_ref(*flag.load()).store(value, std::memory_order_release);
  }
};

class SlowEvent final : public DeviceEvent {
 public:
  explicit SlowEvent(const Progress& progress) : progress_(progress) {}
  Result<bool> isDone() override { return progress_.done.load(); }

 private:
  const Progress& progress_;
};

class RefusingQueue final : public DeviceQueue {
 public:
  explicit RefusingQueue(Progress& progress) : progress_(progress) {}
  [[nodiscard]] void* stream() const override { return nullptr; }
  Status check() override { return {}; }
  Status copy(std::span<const CopyJob>) override { return refusal(); }
  Status reduce(const ReduceJob&) override { return refusal(); }
  Status average(const AverageJob&) override { return refusal(); }
  Status openError(const ErrorJob&) override { return refusal(); }
  Status keepError(const ErrorJob&) override { return refusal(); }
  Status addMomentum(const MomentumJob&) override { return refusal(); }
  Status raise(Flag flag, std::uint32_t value) override {
    if (!progress_.raises) return Status::error(GOSS_ERR_UNSUPPORTED, "no flags");
    progress_.value = value;
    progress_.flag = flag;
    return {};
  }
  Status await(Flag, std::uint32_t) override { return {}; }
  Status record(DeviceEvent&) override {
    ++progress_.records;
    return {};
  }
  Status await(DeviceEvent&) override { return {}; }
  static Status refusal() { return Status::error(GOSS_ERR_DEVICE, "a kernel is refused"); }

 private:
  Progress& progress_;
};

class HostBlock final : public DeviceBlock {
 public:
  explicit HostBlock(std::size_t bytes) : memory_(bytes / sizeof(std::max_align_t) + 1), bytes_(bytes) {}
  [[nodiscard]] std::byte* data() const override { return reinterpret_cast<std::byte*>(memory_.data()); }
  [[nodiscard]] std::size_t bytes() const override { return bytes_; }

 private:
  mutable std::vector<std::max_align_t> memory_;
  const std::size_t bytes_;
};

class RefusingDevice final : public Device {
 public:
  explicit RefusingDevice(Progress& progress) : progress_(progress) {}
  [[nodiscard]] std::string name() const override { return "refusing device"; }
  [[nodiscard]] int ordinal() const override { return 0; }
  [[nodiscard]] std::string identity() const override { return "refusing"; }
  Result<MemoryHandle> exportMemory(const void*) override { return RefusingQueue::refusal(); }
  Result<std::unique_ptr<DeviceBlock>> importMemory(const MemoryHandle&, std::size_t) override {
    return RefusingQueue::refusal();
  }
  Result<std::unique_ptr<DeviceBlock>> allocate(MemoryKind, std::size_t bytes) override {
    return std::unique_ptr<DeviceBlock>(std::make_unique<HostBlock>(bytes));
  }
  Result<std::unique_ptr<DeviceQueue>> queue(void*) override {
    return std::unique_ptr<DeviceQueue>(std::make_unique<RefusingQueue>(progress_));
  }
  std::unique_ptr<DeviceQueue> wrap(void*) override { return std::make_unique<RefusingQueue>(progress_); }
  void synchronizeCopies() override {}
  Result<std::unique_ptr<DeviceEvent>> event() override {
    return std::unique_ptr<DeviceEvent>(std::make_unique<SlowEvent>(progress_));
  }
  Result<std::shared_ptr<const QueuedCodec>> codec(std::string_view) override { return RefusingQueue::refusal(); }
  Status prepareArithmetic() override { return RefusingQueue::refusal(); }

 private:
  Progress& progress_;
};

class HalfWork final : public StageWork {
 public:
  [[nodiscard]] bool comesToHost() const override { return true; }
  Status enqueue(DeviceQueue&) const override { return RefusingQueue::refusal(); }
};

TEST(WaitedStages, WaitForABatchThatWasRefusedHalfWay) {
  for (const bool raises : {true, false}) {
    Progress progress{raises};
    RefusingDevice device(progress);
    DeviceStation station(device, device.queue(nullptr).take(), device.queue(nullptr).take());
    WaitedStage stage(station);
    const HalfWork work;
    stage.start(work, 0);
    Result<bool> worked = stage.hasWorked();
    for (; worked.isOk(); worked = stage.hasWorked())
      EXPECT_FALSE(worked.value());
    EXPECT_EQ(worked.status().kind(), GOSS_ERR_DEVICE);
    EXPECT_TRUE(raises ? progress.flag != nullptr : progress.records > 0) << "A part was enqueued.";
    const std::jthread device_later([&progress] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      progress.end();
    });
    stage.withdraw();
    while (stage.isBusy())
      std::this_thread::yield();
    EXPECT_TRUE(progress.done);
  }
}

/// Work for which the driver takes until end().
class LongWork final : public StageWork {
 public:
  [[nodiscard]] bool comesToHost() const override { return true; }
  Status enqueue(DeviceQueue&) const override {
    begun_ = true;
    begun_.notify_all();
    ended_.wait(false);
    return {};
  }
  void awaitBegin() const { begun_.wait(false); }
  void end() {
    ended_ = true;
    ended_.notify_all();
  }

 private:
  mutable std::atomic<bool> begun_{false};
  std::atomic<bool> ended_{false};
};

TEST(CallsInStreams, WaitForTheFirstJobsOfCallsThatHaveBegun) {
  Progress progress{true};
  RefusingDevice device(progress);
  DeviceStation station(device, device.queue(nullptr).take(), device.queue(nullptr).take());
  DeviceWatch::Beginning beginning = station.watch.beginCall();
  std::atomic<bool> goes_on = false;
  {
    const std::jthread in_stream([&] {
      station.watch.awaitEnqueued();
      goes_on = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(goes_on);
    beginning.reset();
  }
  EXPECT_TRUE(goes_on);
}

TEST(WaitedStages, AreBusyAsLongAsTheDriverIs) {
  Progress progress{true};
  RefusingDevice device(progress);
  DeviceStation station(device, device.queue(nullptr).take(), device.queue(nullptr).take());
  LongWork work;
  std::optional<WaitedStage> stage(std::in_place, station);
  stage->start(work, 0);
  work.awaitBegin();
  stage->withdraw(); // Returns although the driver has not.
  EXPECT_TRUE(stage->isBusy());
  const std::jthread driver_later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    work.end();
    while (progress.flag == nullptr) // The thread marks what was enqueued.
      std::this_thread::yield();
    progress.end();
  });
  stage.reset();
  EXPECT_TRUE(progress.done) << "the stage was destroyed before its job had ended";
}

} // namespace
} // namespace goss
