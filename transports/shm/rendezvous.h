/// How two processes of one host meet: an abstract socket, and a hello that shows the world's secret.
///
/// A hello brings memfds, sealed against shrinking and growing: the caller's board and, where it makes a link, the
/// segment. Of a link that was prepared either end may call; when both do, the call of the higher rank counts. Of
/// others the higher rank calls. The called rank answers with a byte: 1, with its board's descriptor (later packets on
/// the socket of a link are those of packet.h); 2: it takes no call, because its own counts; 3, and a text: it makes no
/// link.
///
///     0    4   "GSH9"
///     4    16  job
///     20   4   rank of the sender
///     24   4   rank of the receiver
///     28   8   bytes of each ring, a power of two from 64 KiB to 1 GiB; 0: the caller wants the board alone
///     36   4   bytes of a text: why the caller cannot make the link that it needs
///     40       the text
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
  /// The rank's process, as itself sees it, and the descriptor of its board there.
  std::int64_t process = -1;
  std::int32_t board = -1;

  [[nodiscard]] std::string encode() const;
  static std::optional<ShmAddress> decode(std::string_view bytes);
};

/// Makes the socket by which the rank that listens at `name` is woken, and wakes others. Errors: resource.
Result<platform::UniqueFd> makeBell(const std::string& name);
/// Wakes the rank that listens at `name`, by a datagram of one byte. When its queue is full it has enough of them.
void ringBell(int bell, const std::string& name);
void emptyBell(int bell);

/// Listens at a new name. Errors: resource.
Result<platform::UniqueFd> listenAt(const std::string& name);

/// Connects. Returns an invalid socket when the listener is busy and the call should be repeated. Errors: peerLost: no
/// process listens there; resource.
Result<platform::UniqueFd> dial(const std::string& name, int peer);

/// Sends the hello of `context.self` with its board, and the segment if that is valid. `trouble`: why there is none.
/// Errors: peerLost.
Status sendHello(int socket, const TransportContext& context, int peer, const Segment& segment, int board_fd,
                 std::string_view trouble = {});

/// The contents of a caller's hello.
struct Hello {
  int from = -1;
  std::uint64_t ring_bytes = 0;
  std::string trouble;
  platform::UniqueFd board;
  platform::UniqueFd segment; ///< Invalid: the caller wants the board alone.
};
enum class HelloResult { again, good, bad };
/// Reads the hello of an accepted socket. bad: no hello, a foreign protocol or user, another world, a wrong rank.
HelloResult readHello(int socket, const TransportContext& context, Hello& hello);

/// What the called side answers.
struct Answer {
  enum class Kind {
    again,     ///< Nothing has come.
    welcome,   ///< `board`.
    otherCall, ///< The called side's own call counts.
    refused,   ///< `why`.
    ended,     ///< The called side has closed.
  };
  Kind kind = Kind::again;
  platform::UniqueFd board;
  std::string why;
};
/// False: the caller has gone.
bool sendWelcome(int socket, int board_fd);
void sendOtherCall(int socket);
void sendRefusal(int socket, std::string_view why);
Answer readAnswer(int socket);

/// The process id, in this rank's namespace, of the other end; -1: unknown.
int processOf(int socket);

/// Whether the process at the other end is known to have ended, though a child of it keeps the socket open.
bool hasEnded(int socket);

/// A descriptor that polls readable when the process at the other end of `socket` has ended, even while its children
/// keep the socket open; invalid when the system does not support that, or the process is this one.
platform::UniqueFd watchProcess(int socket);

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_RENDEZVOUS_H_
