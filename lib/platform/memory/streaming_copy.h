/// Copies whose stores bypass the caches.
#ifndef GOSS_LIB_PLATFORM_MEMORY_STREAMING_COPY_H_
#define GOSS_LIB_PLATFORM_MEMORY_STREAMING_COPY_H_

#include <cstddef>

namespace goss::platform {

/// As memcpy, for results that are not needed again soon: the stores bypass the caches where the processor can, so that
/// the old contents of `to` are not read first. Ordered before later stores of this thread. The ranges do not overlap.
void copyStreaming(void* to, const void* from, std::size_t bytes);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_MEMORY_STREAMING_COPY_H_
