/// How two processes of one host meet: an abstract socket, a hello that shows the world's secret and brings the
/// segment.
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

/// Where a rank listens. The name is random: it lives in no file system and nobody can take it before we do.
struct ShmAddress {
  std::string host; ///< platform::HostIdentity as text.
  std::string name; ///< Of the abstract socket, without its leading zero byte.

  [[nodiscard]] std::string encode() const;
  static std::optional<ShmAddress> decode(std::string_view bytes);
};

/// Listens at a new name. Errors: resource.
Result<platform::UniqueFd> listenAt(const std::string& name);

/// A connected socket; an invalid one when the listener is busy and the call should be repeated. Errors: peerLost.
Result<platform::UniqueFd> dial(const std::string& name, int peer);

/// Sends the hello of `context.self` with the descriptors of the segment and of its own board. Errors: peerLost.
Status sendHello(int socket, const TransportContext& context, int peer, const Segment& segment, int board_fd);

/// What a caller said.
struct Hello {
  int from = -1;
  std::uint64_t ring_bytes = 0;
  platform::UniqueFd segment;
  platform::UniqueFd board;
};
enum class HelloResult { again, good, bad };
/// Reads the hello of an accepted socket. bad: nothing there, a foreign protocol or user, another world, a wrong rank.
HelloResult readHello(int socket, const TransportContext& context, Hello& hello);

/// The called side's answer, with its own board. False: the caller is gone.
bool sendWelcome(int socket, int board_fd);

/// The id, in our namespace, of the process at the other end; -1: unknown.
int processOf(int socket);

/// A descriptor that polls readable when the process at the other end of `socket` has ended, even while children of it
/// keep the socket open; invalid when the system does not offer it, or that process is this one.
platform::UniqueFd watchProcess(int socket);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_RENDEZVOUS_H_
