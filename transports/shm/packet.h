/// What goes over the socket beside the rings: a byte that wakes, and descriptors of lent memory.
#ifndef GOSS_TRANSPORTS_SHM_PACKET_H_
#define GOSS_TRANSPORTS_SHM_PACKET_H_

#include <cstdint>

#include "platform/fd.h"

namespace goss::transports::shm {

struct Packet {
  enum class Kind {
    again,   ///< Nothing there.
    ended,   ///< The other side has closed.
    bell,    ///< Wakes.
    welcome, ///< Of the called side, with its board in `fd`.
    region,  ///< `id`, `bytes`, `fd`: memory that records may name from now on.
    forget,  ///< `id`: records do not name it any more.
    corrupt,
  };
  Kind kind = Kind::again;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  platform::UniqueFd fd;
};

/// Never blocks.
Packet readPacket(int socket);
/// False: not sent, because the socket is full, or closed (which its reader will see). Never blocks.
bool sendRegion(int socket, std::uint64_t id, std::uint64_t bytes, int fd);
bool sendForget(int socket, std::uint64_t id);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_PACKET_H_
