/// Messages out of device memory and into it.
#ifndef GOSS_LIB_MESSAGES_DEVICE_MESSAGE_H_
#define GOSS_LIB_MESSAGES_DEVICE_MESSAGE_H_

#include <memory>
#include <optional>

#include "devices/devices.h"
#include "devices/stream_ordered.h"
#include "engine/operation.h"
#include "messages/point_to_point.h"
#include "platform/thread_safety.h"

namespace goss {

/// Which device a message's buffer lies on.
struct MessageDevice {
  int ordinal = 0;
  void* stream = nullptr; ///< The caller's; null: the buffer is ready.
};

/// A message that goes through pinned memory, copied there before a send or from there after a receive. Life: arriving
/// (sends) -> moving -> leaving. A send waits for earlier sends to the same rank with the same tag that are still
/// arriving.
class DeviceMessage final : public Operation, public StreamOrdered {
 public:
  DeviceMessage(MessageContext& context, const MessageCall& call, const MessageDevice& device);
  ~DeviceMessage() override;

  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override;
  bool pollOnLoop() GOSS_ON_LOOP override;
  [[nodiscard]] bool hasResultsOnLoop() const GOSS_ON_LOOP override { return progress_ == Progress::leaving; }
  void withdrawOnLoop() GOSS_ON_LOOP override;
  bool tryLeaveOnLoop() GOSS_ON_LOOP override { return !copied_ || !copied_->isBusy(); }
  [[nodiscard]] std::string describe() const override { return inner_.describe(); }
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;
  [[nodiscard]] const MessageDevice& device() const { return device_; }
  /// Whether it, an arriving send, must go before a later send.
  [[nodiscard]] bool isBefore(const MessageCall& later) const {
    return call_.peer == later.peer && call_.tag == later.tag;
  }
  [[nodiscard]] bool waitsForDevice() const override { return progress_ != Progress::moving; }
  [[nodiscard]] StreamOrdered* streamOrdered() override { return device_.stream != nullptr ? this : nullptr; }

  /// Gets the memory of the next start, also of a message without a stream. Called without the engine's lock.
  void reserve();
  [[nodiscard]] Status prepare(bool /*in_group*/) override {
    Status status = context_.devices.prepare(device_.ordinal, device_.stream);
    if (status.isOk()) reserve();
    return status;
  }
  void enqueueArrivals() override;
  void enqueueGates() override;
  [[nodiscard]] bool isEnqueuing() const override { return gate_ != nullptr && !gate_->isEnqueued(); }

 private:
  enum class Progress : std::uint8_t { arriving, moving, leaving };

  Status open();
  Status step() GOSS_ON_LOOP;
  Status stepMoving() GOSS_ON_LOOP;
  [[nodiscard]] bool mustWaitForEarlier() const GOSS_ON_LOOP;
  Status bringOut(std::size_t bytes);
  void copy(DeviceQueue& queue, const CopyJob& job);
  [[nodiscard]] Result<bool> isDeviceDone();
  [[nodiscard]] StreamGate::Work work() const;
  void endEnqueuing(const Status& status);
  void close();

  MessageContext& context_;
  const MessageCall call_;
  const MessageDevice device_;
  const std::size_t bytes_;
  MessageOperation inner_; ///< Sends or receives the pinned memory.
  Progress progress_ = Progress::arriving;
  bool done_ = false;
  DeviceStation* station_ = nullptr;
  BlockReserve reserve_;
  BlockPool::Lease memory_;          ///< The memory of a message without a stream.
  std::optional<DeviceJob> copied_;  ///< The copy of a message without a stream. Behind what it uses.
  std::shared_ptr<StreamGate> gate_; ///< With a stream, while active.
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_DEVICE_MESSAGE_H_
