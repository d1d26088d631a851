#include "platform/memory/cross_memory.h"

#include <errno.h>

namespace goss::platform {

std::ptrdiff_t readProcess(int pid, std::uint64_t address, std::size_t bytes, std::span<const iovec> pieces) {
#if defined(__linux__)
  const iovec from{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), bytes};
  return ::process_vm_readv(pid, pieces.data(), pieces.size(), &from, 1, 0);
#else
  (void)pid, (void)address, (void)bytes, (void)pieces;
  errno = ENOSYS;
  return -1;
#endif
}

} // namespace goss::platform
