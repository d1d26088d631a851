/// Memory straight from the system, for large buffers that live long.
#ifndef GOSS_LIB_PLATFORM_MEMORY_PAGES_H_
#define GOSS_LIB_PLATFORM_MEMORY_PAGES_H_

#include <cstddef>

#include "gossamer/status.h"

namespace goss::platform {

/// Bytes of a huge page of x86-64, and of arm64 with pages of 4 KiB.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

/// Page-aligned, zeroed and touched memory, on huge pages where the system allows. Errors: resource. Thread-safe.
Result<void*> allocatePages(std::size_t bytes);
/// Gives this process all whole pages of mapped memory at once, so that its first uses need not ask the system one by
/// one: `writes` where it will write there. Where the system cannot (Linux before 5.14) nothing happens. Thread-safe.
void touchPages(const std::byte* memory, std::size_t bytes, bool writes);
/// Frees memory that allocatePages() returned. Errors: invalidArgument (not such an address).
Status freePages(void* memory);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_MEMORY_PAGES_H_
