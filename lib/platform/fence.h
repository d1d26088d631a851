/// A fence that one process passes on behalf of all others, so that these need none on their fast path.
#ifndef GOSS_LIB_PLATFORM_FENCE_H_
#define GOSS_LIB_PLATFORM_FENCE_H_

namespace goss::platform {

/// Asks the system to let fenceAll() of any process reach this one too. Idempotent; any thread. False: not supported.
bool joinFences();

/// Every running thread of every process that has joined passes a full fence before this returns. About a microsecond.
/// False: refused, and nothing was fenced.
bool fenceAll();

/// As fenceAll(), for the threads of this process alone.
bool joinOwnFences();
bool fenceOwn();

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FENCE_H_
