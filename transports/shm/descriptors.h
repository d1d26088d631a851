/// Packets between the processes of a host that carry descriptors.
#ifndef GOSS_TRANSPORTS_SHM_DESCRIPTORS_H_
#define GOSS_TRANSPORTS_SHM_DESCRIPTORS_H_

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <span>

#include "platform/fd.h"

namespace goss::transports::shm {

inline constexpr std::size_t kMaxDescriptors = 2;
using Descriptors = std::array<platform::UniqueFd, kMaxDescriptors>;

/// Sends a packet with at most kMaxDescriptors descriptors, or none. Never blocks. Returns whether the whole packet was
/// sent; if not, errno says why.
bool sendWithDescriptors(int socket, std::span<const char> text, std::span<const int> fds);

struct ReceivedPacket {
  ssize_t bytes = 0; ///< As recvmsg's: 0 at the end of the stream, -1 with errno.
  bool cut = false;  ///< The packet was longer than `text`, or had more descriptors than a packet may have.
  Descriptors fds;   ///< The first descriptors of the packet; further ones are closed.
};
ReceivedPacket recvWithDescriptors(int socket, std::span<char> text);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_DESCRIPTORS_H_
