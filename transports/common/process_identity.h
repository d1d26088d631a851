/// Notices the deaths of peers' processes.
#ifndef GOSS_TRANSPORTS_COMMON_PROCESS_IDENTITY_H_
#define GOSS_TRANSPORTS_COMMON_PROCESS_IDENTITY_H_

#include <chrono>
#include <string_view>

#include "gossamer/transport_context.h"
#include "platform/fd.h"

namespace goss::transports {

/// A descriptor that is readable once the process with this name (platform::ownProcessName()) has died. Invalid for
/// this process itself, and for a process that cannot be watched from here, because it runs on another host or in
/// another process namespace, or has ended already.
platform::UniqueFd watchProcess(std::string_view process_name);

/// How a peer was lost whose link ended because of `why` and without a goodbye; `watch` watches its process (-1:
/// nothing does). Connections break a moment before the process has ended, so this may block for kLastMoment, unless
/// `why` says that this rank itself has given the peer up.
PeerLoss lossOf(const Status& why, int watch);
inline constexpr std::chrono::milliseconds kLastMoment(100);

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PROCESS_IDENTITY_H_
