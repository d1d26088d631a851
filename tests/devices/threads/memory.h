/// Memory of the provider `threads`: device memory that faults when the host touches it.
#ifndef GOSS_TESTS_DEVICES_THREADS_MEMORY_H_
#define GOSS_TESTS_DEVICES_THREADS_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "gossamer/device.h"

namespace goss::test {

/// Device memory is mapped twice: what callers get may not be touched; workers use an alias. All providers of the
/// process share one table, which is thread-safe.
Result<std::unique_ptr<DeviceBlock>> allocateBlock(MemoryKind kind, int device, std::size_t bytes);

MemoryInfo classifyAddress(const void* pointer);

/// Where workers reach `bytes` bytes at `pointer`, in pinned or device memory. Null: they are not within one
/// allocation, or it is freed.
void* reach(const void* pointer, std::size_t bytes);
/// The same in device memory alone.
void* reachOnDevice(const void* pointer, std::size_t bytes);

} // namespace goss::test

#endif // GOSS_TESTS_DEVICES_THREADS_MEMORY_H_
