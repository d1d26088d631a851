/// Reading the memory of another process of this host.
#ifndef GOSS_LIB_PLATFORM_MEMORY_CROSS_MEMORY_H_
#define GOSS_LIB_PLATFORM_MEMORY_CROSS_MEMORY_H_

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace goss::platform {

/// Reads up to `bytes` bytes at `address` of process `pid` into the pieces, which have as much space. Returns how many
/// were read, or -1 with errno: the system forbids it (namespaces, yama), the process has ended, or the address is not
/// its own. The other process may change the bytes at any time, but cannot crash this one.
std::ptrdiff_t readProcess(int pid, std::uint64_t address, std::size_t bytes, std::span<const iovec> pieces);

inline constexpr std::size_t kMaxProbed = 64;
/// Whether other processes, where they may, can read this process's bytes at both ends of each of the pieces, which are
/// at most kMaxProbed and not empty. They cannot read memory of devices that a driver has mapped, which this process
/// reads like any other.
[[nodiscard]] bool isReadableByOthers(std::span<const iovec> pieces);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_MEMORY_CROSS_MEMORY_H_
