#include "platform/memory/cross_memory.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <array>

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

bool isReadableByOthers(std::span<const iovec> pieces) {
#if defined(__linux__)
  std::array<iovec, 2 * kMaxProbed> ends;
  std::array<std::byte, 2 * kMaxProbed> bytes;
  std::size_t count = 0;
  for (const iovec& piece : pieces.first(std::min(pieces.size(), kMaxProbed))) {
    ends[count++] = {piece.iov_base, 1};
    ends[count++] = {static_cast<std::byte*>(piece.iov_base) + piece.iov_len - 1, 1};
  }
  const iovec to{bytes.data(), count};
  return ::process_vm_readv(::getpid(), &to, 1, ends.data(), count, 0) == static_cast<std::ptrdiff_t>(count);
#else
  (void)pieces;
  return false;
#endif
}

} // namespace goss::platform
