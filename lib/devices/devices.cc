#include "devices/devices.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "builtins/builtins.h"

namespace goss {

namespace {

constexpr const char* kDefaultProvider = "cuda";
constexpr const char* kNone = "none";

/// How long the end of a world waits for streams that are behind failed calls.
constexpr std::chrono::seconds kLastWait(10);

} // namespace

Result<std::unique_ptr<Devices>> Devices::open(const Config& config) {
  std::unique_ptr<Devices> devices(new Devices(config));
  if (config.device == kNone) return devices;
  const bool named = !config.device.empty();
  Result<std::unique_ptr<DeviceProvider>> made = makeDeviceProvider(named ? config.device : kDefaultProvider, !named);
  if (made.isOk()) {
    devices->provider_ = made.take();
  } else if (named) {
    return made.status();
  }
  return devices;
}

bool Devices::drain() {
  assumeAlone();
  const auto end = Clock::now() + kLastWait;
  for (Held& held : held_)
    held.until = {};
  while (!held_.empty() && Clock::now() < end) {
    pollHeldOnLoop();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (held_.empty()) return true;
  for (auto& [ordinal, station] : stations_)
    station.watch.leave();
  return false;
}

DeviceStation* Devices::find(int ordinal) {
  const std::lock_guard lock(mutex_);
  const auto found = stations_.find(ordinal);
  return found != stations_.end() ? &found->second : nullptr;
}

Result<DeviceStation*> Devices::station(int ordinal) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto failed = failures_.find(ordinal); failed != failures_.end()) return failed->second;
  }
  return open(ordinal);
}

Result<DeviceStation*> Devices::open(int ordinal) {
  if (DeviceStation* made = find(ordinal); made != nullptr) return made;
  const std::lock_guard opening(opening_mutex_);
  if (DeviceStation* made = find(ordinal); made != nullptr) return made;
  Status status = make(ordinal);
  if (status.isOk()) return find(ordinal);
  const std::lock_guard lock(mutex_);
  return failures_[ordinal] = std::move(status);
}

Status Devices::make(int ordinal) {
  const Result<Device*> device = provider_->open(ordinal);
  if (!device.isOk()) return device.status();
  Result<std::unique_ptr<DeviceQueue>> in = device.value()->queue(nullptr);
  if (!in.isOk()) return in.status();
  Result<std::unique_ptr<DeviceQueue>> out = device.value()->queue(nullptr);
  if (!out.isOk()) return out.status();
  const bool computes = computes_ && device.value()->prepareArithmetic().isOk();
  const std::lock_guard lock(mutex_); // Others look for stations meanwhile.
  stations_.try_emplace(ordinal, *device.value(), in.take(), out.take(), computes);
  failures_.erase(ordinal);
  return Status::ok();
}

void Devices::openCurrent() {
  if (!present() || !provider_->hasCurrent()) return;
  if (const Result<Device*> current = provider_->current(); current.isOk()) (void)station(current.value()->ordinal());
}

Status Devices::prepare(int ordinal, void* stream) {
  const Result<DeviceStation*> opened = open(ordinal);
  if (!opened.isOk() || stream == nullptr) return Status::ok();
  const Result<std::unique_ptr<DeviceQueue>> queue = opened.value()->device.queue(stream);
  Status status = queue.isOk() ? queue.value()->check() : queue.status();
  const bool callers = status.kind() == GOSS_ERR_INVALID_ARGUMENT || status.kind() == GOSS_ERR_UNSUPPORTED;
  return callers ? status : Status::ok();
}

void Devices::awaitCopies(int ordinal) {
  if (const Result<DeviceStation*> opened = station(ordinal); opened.isOk()) opened.value()->device.synchronizeCopies();
}

void Devices::prepareCodec(int ordinal, const std::string& spec) {
  if (const Result<DeviceStation*> opened = station(ordinal); opened.isOk()) (void)opened.value()->codec(spec);
}

void Devices::forgetOnLoop(int rank) {
  std::vector<DeviceStation*> stations;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [ordinal, station] : stations_)
      stations.push_back(&station);
  }
  for (DeviceStation* station : stations)
    if (station->peers.isUsed()) station->watch.run([station, rank] { station->peers.forget(rank); });
}

void Devices::holdOnLoop(std::shared_ptr<StreamGate> gate, std::uint32_t context) {
  held_.push_back({std::move(gate), context, Clock::now() + hold_, false});
}

void Devices::releaseOnLoop(std::uint32_t context) {
  for (Held& held : held_)
    if (held.context == context) held.until = {};
  pollHeldOnLoop();
}

bool Devices::pollHeldOnLoop() {
  if (held_.empty()) return false;
  const auto now = Clock::now();
  return std::erase_if(held_, [&](Held& held) {
           if (now < held.until) return false;
           if (!held.given_up) held.given_up = held.gate->tryGiveUp();
           const Result<bool> left = held.gate->hasLeft();
           return !left.isOk() || left.value(); // A broken device uses the memory no more.
         }) > 0;
}

} // namespace goss
