/// How two processes of one host meet: an abstract socket, a hello that shows the world's secret and brings the
/// segment.
///
/// The higher rank calls the lower. Its hello brings two memfds, sealed against shrinking and growing: the segment and
/// its board. The called rank answers with one byte and the descriptor of its own board; later packets are those of
/// packet.h.
///
///     0    4   "GSH8"
///     4    16  job
///     20   4   rank of the sender
///     24   4   rank of the receiver
///     28   8   bytes of each ring, a power of two from 64 KiB to 1 GiB
#ifndef GOSS_TRANSPORTS_SHM_RENDEZVOUS_H_
#define GOSS_TRANSPORTS_SHM_RENDEZVOUS_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "gossamer/transport_context.h"
#include "platform/fd.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// Where a rank listens. The name is random: it lies in no file system, and no other process can take it first.
struct ShmAddress {
  std::string host; ///< platform::HostIdentity as text.
  std::string name; ///< Name of the abstract socket, without its leading zero byte.

  [[nodiscard]] std::string encode() const;
  static std::optional<ShmAddress> decode(std::string_view bytes);
};

/// Listens at a new name. Errors: resource.
Result<platform::UniqueFd> listenAt(const std::string& name);

/// Connects. Returns an invalid socket when the listener is busy and the call should be repeated. Errors: peerLost,
/// also when the listener belongs to another user.
Result<platform::UniqueFd> dial(const std::string& name, int peer);

/// Sends the hello of `context.self` with the descriptors of the segment and of its own board. Errors: peerLost.
Status sendHello(int socket, const TransportContext& context, int peer, const Segment& segment, int board_fd);

/// The contents of a caller's hello.
struct Hello {
  int from = -1;
  std::uint64_t ring_bytes = 0;
  platform::UniqueFd segment;
  platform::UniqueFd board;
};
enum class HelloResult { again, good, bad };
/// Reads the hello of an accepted socket. bad: no hello, a foreign protocol or user, another world, a wrong rank.
HelloResult readHello(int socket, const TransportContext& context, Hello& hello);

/// Sends the called side's answer, with its own board. False: the caller has gone.
bool sendWelcome(int socket, int board_fd);

/// The process id, in this rank's namespace, of the other end; -1: unknown.
int processOf(int socket);

/// A descriptor that polls readable when the process at the other end of `socket` has ended, even while its children
/// keep the socket open; invalid when the system does not support that, or the process is this one.
platform::UniqueFd watchProcess(int socket);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_RENDEZVOUS_H_
