/// Memory straight from the system, for large buffers that live long.
#ifndef GOSS_LIB_PLATFORM_MEMORY_PAGES_H_
#define GOSS_LIB_PLATFORM_MEMORY_PAGES_H_

#include <cstddef>

#include "gossamer/status.h"

namespace goss::platform {

/// Page-aligned, zeroed and touched memory, on huge pages where the system allows. Errors: resource. Thread-safe.
Result<void*> allocatePages(std::size_t bytes);
/// Frees memory that allocatePages() returned. Errors: invalidArgument (not such an address).
Status freePages(void* memory);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_MEMORY_PAGES_H_
