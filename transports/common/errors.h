/// The texts and scopes of the errors that every transport reports.
#ifndef GOSS_TRANSPORTS_COMMON_ERRORS_H_
#define GOSS_TRANSPORTS_COMMON_ERRORS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gossamer/status.h"

namespace goss::transports {

/// GOSS_ERR_PEER_LOST, scope peer: `peer` died or its connection broke; `why` completes "lost rank 3: ...".
Status peerLostError(int peer, std::string_view why);

/// GOSS_ERR_PEER_LOST, scope peer: `peer` said goodbye and closed, so nothing more will come from it.
Status peerDepartedError(int peer);

/// GOSS_ERR_PROTOCOL, scope peer: `peer` sent bytes that this transport does not understand.
Status protocolError(int peer, std::string_view what);

/// GOSS_ERR_RESOURCE, scope peer: a message from `peer` came before its receive, and memory to keep it in is short.
Status memoryError(int peer);

/// GOSS_ERR_TRUNCATED, scope operation: a message from `peer` is longer than its receive.
Status truncatedError(int peer, std::uint64_t bytes, std::size_t capacity);

/// GOSS_ERR_INTERNAL, scope operation: an operation was posted on a link that is not ready.
Status notConnectedError(int peer, std::string_view transport);

/// GOSS_ERR_RESOURCE, scope peer (or operation when `peer` is -1): a system call failed with `error_number`.
Status systemError(int peer, std::string_view what, int error_number);

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_ERRORS_H_
