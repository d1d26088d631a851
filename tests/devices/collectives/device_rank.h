/// A rank with a device: memory, a stream of its own, copies to and fro.
#ifndef GOSS_TESTS_DEVICES_COLLECTIVES_DEVICE_RANK_H_
#define GOSS_TESTS_DEVICES_COLLECTIVES_DEVICE_RANK_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/device.h"
#include "gossamer/gossamer.h"
#include "tests/devices/collectives/machine.h"

namespace goss::test {

inline constexpr std::size_t kCount = 30000;
inline constexpr std::size_t kBytes = kCount * sizeof(float);
inline constexpr std::size_t kMaxBytes = std::size_t{4} << 20;

std::vector<std::byte> bytesOf(const std::vector<float>& values);
std::vector<float> floatsOf(const std::vector<std::byte>& bytes);

/// A rank's first device.
class DeviceRank {
 public:
  /// `first`: its ordinal.
  explicit DeviceRank(int first);
  ~DeviceRank();

  /// Device memory of up to kMaxBytes bytes, always the same. It is allocated before the ranks meet: to free it, and
  /// perhaps to allocate it, waits for all streams of the device, also for another rank's that waits for this rank.
  std::byte* memory(std::size_t bytes);
  /// One of the rank's two devices.
  [[nodiscard]] Device& at(int index) { return *provider_->open(first_ + index).value(); }
  [[nodiscard]] void* stream() const { return queue_->stream(); }
  /// Enqueue copies between `host` and memory(), behind what the stream does.
  void enqueueToDevice(const std::vector<std::byte>& host);
  void enqueueToHost(std::size_t bytes);
  /// Waits until the stream has done its work. False: it takes longer than `longest_ms`.
  bool synchronize(int longest_ms = 60000);
  /// What enqueueToHost() has brought, after synchronize().
  [[nodiscard]] std::vector<std::byte> fetched(std::size_t bytes) const;

 private:
  const int first_;
  std::unique_ptr<DeviceProvider> provider_;
  Device* device_ = nullptr;
  std::unique_ptr<DeviceQueue> queue_;
  std::unique_ptr<DeviceBlock> memory_;
  std::unique_ptr<DeviceBlock> to_device_;
  std::unique_ptr<DeviceBlock> to_host_;
};

/// Options of a call that is a part of the rank's stream. `algorithm` null: the planner's choice.
goss_options onStream(DeviceRank& device, const char* algorithm = nullptr);
/// Waits until the communicator has failed; returns with what, and why.
std::pair<goss_status, std::string> failureOf(goss_comm_t comm);
/// Lets the `job`-th job of rank 1's device fail while three ranks reduce vectors as `options_of` says of each, and
/// expects that all ranks name it.
void failAndExpectAllToNameIt(int job, const std::function<goss_options(DeviceRank& device)>& options_of);

struct DeviceSetup {
  std::string transport;
  int ranks = 2;
  MachineSetup machine = {};
  std::int64_t timeout_ms = 60000;
};

/// Calls `body` on every rank. GOSS_DEVICE is testedProvider() meanwhile.
void runDeviceRanks(const DeviceSetup& setup,
                    const std::function<void(goss_comm_t comm, int rank, DeviceRank& device)>& body);

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_COLLECTIVES_DEVICE_RANK_H_
