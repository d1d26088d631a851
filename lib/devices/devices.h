/// The GPUs that a world's calls use, and the streams that wait behind failed calls.
#ifndef GOSS_LIB_DEVICES_DEVICES_H_
#define GOSS_LIB_DEVICES_DEVICES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "devices/device_station.h"
#include "devices/stream_gate.h"
#include "gossamer/config.h"
#include "gossamer/device.h"
#include "platform/thread_safety.h"

namespace goss {

/// Thread-safe where not marked OnLoop; OnLoop functions need the engine's lock.
class Devices {
 public:
  /// Opens the devices of the provider that Config::device names. If it names none, opens those of `cuda` if this
  /// process uses CUDA. Errors: those of makeDeviceProvider(), if a provider is named.
  static Result<std::unique_ptr<Devices>> open(const Config& config);
  /// The last call, when the engine has ended: opens the gates of failed calls, and waits for their streams. False: one
  /// of them has not come to its gate in 10 s. It still accesses the gate's memory, and to free any memory would wait
  /// for it, so that all of this must leak.
  bool drain();

  /// Whether device buffers are possible. If not, callers may call only present() and classify().
  [[nodiscard]] bool present() const { return provider_ != nullptr; }
  Result<MemoryInfo> classify(const void* pointer) {
    return present() ? provider_->classify(pointer) : Result<MemoryInfo>(MemoryInfo{});
  }
  /// Made at first use, which takes a while: calls open their device before they take the engine's lock. Errors: the
  /// device's. If the last attempt to open it has failed, returns why, and asks the driver nothing.
  Result<DeviceStation*> station(int ordinal);
  /// Opens the device, also if an earlier attempt has failed, and checks whether `stream` (null: there is none) accepts
  /// work now. Returns only errors of the caller, such as a stream that is being captured. If the device has failed,
  /// the call still starts and fails, so that the other ranks are told of it.
  Status prepare(int ordinal, void* stream);
  /// Before the library reads memory of the device in no stream: Device::synchronizeCopies().
  void awaitCopies(int ordinal);
  /// Makes the device's codec of a spec, if it has one: calls do so before they take the engine's lock, because to load
  /// kernels may wait for streams that the engine lets go on.
  void prepareCodec(int ordinal, const std::string& spec);
  /// Ranks may share devices: these then run the reductions. Before the first station().
  void compute() { computes_ = true; }
  /// Makes the station of the calling thread's current device, if it has one: later on, that could wait for streams
  /// which themselves wait for calls of this thread. A device that does not open fails the calls on it.
  void openCurrent();
  /// The calling thread's current device.
  Result<Device*> current() { return provider_->current(); }
  /// As DeviceProvider::currentIdentity(); empty where there are no devices.
  [[nodiscard]] std::string currentIdentity() { return present() ? provider_->currentIdentity() : std::string(); }
  /// `rank` is lost: memory that it has allocated will not be used any more.
  void forgetOnLoop(int rank) GOSS_ON_LOOP;

  /// The call of `gate`, of communicator `context`, has failed: its stream stays closed until release(), or for
  /// Config::device_hold_ms.
  void holdOnLoop(std::shared_ptr<StreamGate> gate, std::uint32_t context) GOSS_ON_LOOP;
  /// Lets the streams that wait behind failed calls of the communicator go on.
  void releaseOnLoop(std::uint32_t context) GOSS_ON_LOOP;
  /// Opens the gates whose hold time is over. Called repeatedly. Returns whether a stream has passed its gates.
  bool pollHeldOnLoop() GOSS_ON_LOOP;

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    std::shared_ptr<StreamGate> gate;
    std::uint32_t context;
    Clock::time_point until;
    bool given_up; ///< The gates are open, but the stream still uses the gate's memory.
  };

  explicit Devices(const Config& config) : hold_(config.device_hold_ms) {}
  /// Null: the device has no station yet.
  DeviceStation* find(int ordinal);
  Result<DeviceStation*> open(int ordinal);
  Status make(int ordinal);

  const std::chrono::milliseconds hold_;
  bool computes_ = false;
  std::unique_ptr<DeviceProvider> provider_;
  std::mutex
      opening_mutex_; ///< Held while a station is made, which may wait for the driver; the loop does not take it.
  std::mutex mutex_;  ///< Guards stations_ and failures_.
  std::map<int, DeviceStation> stations_; ///< By ordinal.
  std::map<int, Status> failures_;        ///< By ordinal: why there is no station.
  std::vector<Held> held_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_DEVICES_H_
