/// Makes and reads a goss_unique_id; docs/formats.md describes the 128 bytes.
#ifndef GOSS_LIB_BOOTSTRAP_UNIQUE_ID_H_
#define GOSS_LIB_BOOTSTRAP_UNIQUE_ID_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/config.h"
#include "gossamer/gossamer.h"
#include "gossamer/status.h"
#include "platform/fd.h"
#include "platform/socket.h"

namespace goss {

struct UniqueId {
  std::uint16_t port = 0;                         ///< Port on which the maker listens.
  std::uint32_t process = 0;                      ///< Maker's process id.
  std::array<std::byte, 16> job{};                ///< Random: a process that knows it belongs to the job.
  std::uint64_t host = 0;                         ///< Hash of the maker's host identity.
  std::vector<platform::SocketAddress> addresses; ///< With the ports at which they are called; best first.
};

/// Opens the socket on which rank 0 will listen and encodes how to reach it. The calling process must become rank 0,
/// once: it keeps the socket until then. Errors: resource, invalidArgument (interface).
Result<goss_unique_id> makeUniqueId(const Config& config);
/// Closes the id's socket. Errors: invalidArgument when this process did not make the id, has used or destroyed it.
Status destroyUniqueId(const goss_unique_id& id);

/// Encodes an id; leaves out addresses that do not fit (72 bytes; each takes its own length and three more).
goss_unique_id encodeUniqueId(const UniqueId& id);
/// Decodes an id. Errors: invalidArgument saying what is wrong with the bytes.
Result<UniqueId> decodeUniqueId(const goss_unique_id& bytes);

/// Hash of this host's identity, as in UniqueId::host.
std::uint64_t hostHash();

/// Takes the maker's listening socket, for rank 0. Thread-safe. Errors: invalidArgument when this process did not make
/// the id or has used it already.
Result<platform::UniqueFd> takeListener(const UniqueId& id);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_UNIQUE_ID_H_
