#include "capi/device_calls.h"

#include <fmt/format.h>

#include <algorithm>

namespace goss::capi {

namespace {

/// Whether the provider has to be asked where `buffers` lie.
bool mayLieOnDevice(const Devices& devices, const CallBuffers& buffers) {
  return devices.present() && (buffers[0] != nullptr || buffers[1] != nullptr);
}

Status refuse(const char* function, const char* why) {
  return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{}: {}", function, why));
}

/// Stands for host memory, in place of a device's ordinal.
constexpr int kHost = -1;
constexpr int kPinned = -2; ///< The stream of the call reads it, whatever device was current at its allocation.

/// The buffers' devices, kHost or kPinned. In a stream-ordered call, pinned memory counts as device memory, because
/// work of the stream before and after the call may access it. In other calls it counts as host memory.
Result<std::array<int, 2>> devicesOf(Devices& devices, const CallBuffers& buffers, bool in_stream) {
  std::array<int, 2> found{kHost, kHost};
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i] == nullptr) continue;
    if (i > 0 && buffers[i] == buffers[0]) {
      found[i] = found[0];
      continue;
    }
    const Result<MemoryInfo> info = devices.classify(buffers[i]);
    if (!info.isOk()) return info.status();
    const MemoryKind kind = info.value().kind;
    if (kind == MemoryKind::device) found[i] = info.value().device;
    if (kind == MemoryKind::pinned && in_stream) found[i] = kPinned;
  }
  return found;
}

} // namespace

Result<BufferPlaces> findBufferPlaces(const char* function, World& world, const CallBuffers& buffers,
                                      const StreamUse& use) {
  Devices& devices = world.devices();
  if (use.stream == nullptr && !mayLieOnDevice(devices, buffers)) return BufferPlaces{};
  if (!devices.present())
    return refuse(function, "options.stream is set, but this rank uses no devices; set GOSS_DEVICE=cuda, or pass NULL");
  const auto found = devicesOf(devices, buffers, use.stream != nullptr);
  if (!found.isOk()) return found.status();
  const auto [first, second] = found.value();
  if (first >= 0 && second >= 0 && first != second)
    return refuse(function, "the buffers lie on two devices; copy one of them to the other's");
  BufferPlaces places{
      std::max({first, second, kHost}), {first != kHost, second != kHost}, {first == kPinned, second == kPinned}};
  if (places.device < 0) {
    if (use.stream == nullptr) return places;
    if (!use.empty && !places.is_pinned[0] && !places.is_pinned[1])
      return refuse(function, "options.stream is set for buffers in host memory; pass NULL");
    const Result<Device*> current = devices.current();
    if (!current.isOk()) return current.status();
    places.device = current.value()->ordinal();
  }
  if (Status status = devices.prepare(places.device, use.starts ? use.stream : nullptr); !status.isOk())
    return Status::error(status.kind(), fmt::format("{}: {}", function, status.text()));
  if (use.stream == nullptr) devices.awaitCopies(places.device);
  if (use.stream != nullptr) world.driveUnattended();
  return places;
}

bool areFoundOnHost(World& world, const CallBuffers& buffers) {
  const auto found = devicesOf(world.devices(), buffers, false);
  return found.isOk() && found.value() == std::array<int, 2>{kHost, kHost};
}

Status refuseDevice(const char* function, const char* name, World& world, const void* buffer) {
  if (areOnHost(world, {buffer, nullptr})) return Status::ok();
  return Status::error(
      GOSS_ERR_UNSUPPORTED,
      fmt::format("{}: {} is device memory, which this call does not take; copy it to the host first", function, name));
}

void enqueue(Operation& operation) {
  StreamOrdered& call = *operation.streamOrdered();
  call.enqueueArrivals();
  Group& group = Group::ofThisThread();
  if (!group.open()) return call.enqueueGates();
  if (call.isEnqueuing()) group.addOrdered(&operation); // Else it has failed, and may go before the group ends.
}

Status launchOrdered(Communicator& communicator, Operation& operation, goss_request_t* request) {
  if (!operation.streamOrdered()->isEnqueuing()) return communicator.requests().finish(operation, nullptr);
  enqueue(operation);
  if (request == nullptr) return communicator.requests().detach(operation);
  *request = toRequest(&operation);
  return Status::ok();
}

} // namespace goss::capi
