/// Packets on the socket beside the rings: a byte that wakes, and descriptors of lent memory, which the peer maps for
/// reading and replies. A number of a region is never used again. Anything else ends the link.
#ifndef GOSS_TRANSPORTS_SHM_PACKET_H_
#define GOSS_TRANSPORTS_SHM_PACKET_H_

#include <cstdint>

#include "platform/fd.h"

namespace goss::transports::shm {

struct Packet {
  enum class Kind {
    again,   ///< No packet is there.
    ended,   ///< The other side has closed.
    bell,    ///< A wake-up.
    welcome, ///< Answer of the called side, with its board in `fd`.
    region,  ///< `id`, `bytes`, `fd`: a region that records may name from now on.
    forget,  ///< `id`: a region that records no longer name.
    corrupt,
  };
  Kind kind = Kind::again;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  platform::UniqueFd fd;
};

/// Never blocks.
Packet readPacket(int socket);
/// Returns false where the packet was not sent, because the socket is full, or closed (which its reader will see).
/// Never blocks.
bool sendRegion(int socket, std::uint64_t id, std::uint64_t bytes, int fd);
bool sendForget(int socket, std::uint64_t id);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_PACKET_H_
