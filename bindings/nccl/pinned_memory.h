/// Pinned memory that the process keeps for reuse. To give it back to the driver may wait until the device does
/// nothing, and a stream of the device may wait for a call of the thread that gives it back.
#ifndef GOSS_BINDINGS_NCCL_PINNED_MEMORY_H_
#define GOSS_BINDINGS_NCCL_PINNED_MEMORY_H_

#include <cstddef>
#include <memory>

#include "gossamer/device.h"

namespace goss::nccl {

/// A block of at least `bytes` bytes, of unknown contents. When the caller destroys it, the memory goes to a later
/// caller. `device` is one of devices(). Thread-safe. Errors: as Device::allocate().
Result<std::unique_ptr<DeviceBlock>> pinnedMemory(Device& device, std::size_t bytes);

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_PINNED_MEMORY_H_
