/// Properties of caches that matter to processes which exchange data through shared memory.
#ifndef GOSS_LIB_BASE_CACHE_LINES_H_
#define GOSS_LIB_BASE_CACHE_LINES_H_

#include <cstddef>

namespace goss::base {

inline constexpr std::size_t kCacheLineBytes = 64;

/// A reader's processor also prefetches so many bytes behind those that it reads. A writer should not write there soon:
/// it would have to take the lines back (docs/decisions/006-ring-layout.md).
inline constexpr std::size_t kPrefetchedBytes = 9 * kCacheLineBytes;

} // namespace goss::base

#endif // GOSS_LIB_BASE_CACHE_LINES_H_
