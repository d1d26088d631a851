/// A fence that one process passes on behalf of all others, so that these need none on their fast path.
#ifndef GOSS_LIB_PLATFORM_FENCE_H_
#define GOSS_LIB_PLATFORM_FENCE_H_

namespace goss::platform {

/// Makes fenceAll() of any process reach this process too. Idempotent; any thread. False: not supported.
bool joinFences();

/// Makes every running thread of every process that has joined pass a full fence before this returns. Takes about a
/// microsecond. False: the system refused, and no thread was fenced.
bool fenceAll();

/// As fenceAll(), for the threads of this process alone.
bool joinOwnFences();
bool fenceOwn();

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FENCE_H_
