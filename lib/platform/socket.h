/// TCP sockets over IPv4 and IPv6. Every socket made here is non-blocking and closed on exec.
#ifndef GOSS_LIB_PLATFORM_SOCKET_H_
#define GOSS_LIB_PLATFORM_SOCKET_H_

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"
#include "platform/fd.h"

namespace goss::platform {

/// An IPv4 or IPv6 address with a port. A value. IPv4 addresses that are mapped into IPv6 are unmapped at construction.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t length);
  /// Parses a numeric address such as "10.0.0.1", "::1" or "fe80::1%eth0"; nullopt when `host` is not one.
  static std::optional<SocketAddress> parse(std::string_view host, std::uint16_t port);
  /// An address from 4 or 16 raw bytes in network order; nullopt for any other length.
  static std::optional<SocketAddress> fromBytes(std::string_view bytes, std::uint16_t port);
  /// The unspecified address: every interface of that family.
  static SocketAddress any(bool ipv6, std::uint16_t port);

  [[nodiscard]] bool ipv6() const { return storage_.ss_family == AF_INET6; }
  [[nodiscard]] bool loopback() const;
  [[nodiscard]] bool linkLocal() const;
  [[nodiscard]] bool unspecified() const;
  [[nodiscard]] std::uint16_t port() const;
  void setPort(std::uint16_t port);
  /// The address without its port: 4 or 16 bytes in network order.
  [[nodiscard]] std::string bytes() const;
  [[nodiscard]] std::string host() const; ///< "10.0.0.1" or "::1".
  [[nodiscard]] std::string text() const; ///< "10.0.0.1:80" or "[::1]:80".
  [[nodiscard]] bool sameHost(const SocketAddress& other) const { return bytes() == other.bytes(); }
  bool operator==(const SocketAddress& other) const { return sameHost(other) && port() == other.port(); }
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  [[nodiscard]] socklen_t length() const { return length_; }

 private:
  sockaddr_storage storage_{};
  socklen_t length_ = 0;
};

/// Inclusive; 0-0: the system picks.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// Looks a name up; blocks as long as the resolver does. Errors: bootstrap, naming the host.
Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);

/// Addresses of the interfaces that are up, port 0: IPv4 before IPv6, loopback last, link-local ones left out.
/// `interface` is "" (all), a name ("eth0") or one of this host's addresses. Errors: invalidArgument naming `interface`
/// and the interfaces that exist.
Result<std::vector<SocketAddress>> interfaceAddresses(const std::string& interface);

/// Listens on `address` (its port is ignored) at the first free port of `ports`. The unspecified IPv6 address takes
/// IPv4 too. Errors: resource naming the address and the range.
Result<UniqueFd> listenOn(const SocketAddress& address, PortRange ports);

/// Listens on every interface, both families where the host has both.
Result<UniqueFd> listenOnAll(PortRange ports);

/// Starts to connect; the socket becomes writable when the attempt has ended, and socketError() says how. Errors:
/// peerLost (no route, refused at once: `*error`, where given, is the errno value) or resource.
Result<UniqueFd> dial(const SocketAddress& address, int* error = nullptr);

/// The next waiting connection and its remote address; an invalid descriptor when none waits. Errors: resource.
struct Accepted {
  UniqueFd fd;
  SocketAddress from;
};
Result<Accepted> acceptFrom(int listener);

/// The pending error of a socket, 0 for none; reading it clears it.
int socketError(int fd);
std::optional<SocketAddress> localAddress(int fd);
std::optional<SocketAddress> remoteAddress(int fd);

/// Switches Nagle's algorithm off (TCP_NODELAY). Socket buffers are left to the system, which sizes them by the path: a
/// fixed size would end that and is capped lower. Options that the system refuses stay unchanged.
void tuneForMessages(int fd);
/// For an established connection: selects the congestion control `named`, or, when that is empty, by the path. Between
/// ends on one host cubic: models of the path such as bbr cost a fifth of the bandwidth of loopback and gain nothing
/// there. Over a wide-area path (round trips of more than 2 ms) bbr, where the system has it: cubic takes every loss
/// for congestion, and at 0.1 % of loss gets 1.3 % of what bbr gets. Else the system's default. Also keeps the pauses
/// between retransmissions below a second, so that a path that works again is soon used. Returns whether `named` could
/// be set.
bool tuneForPath(int fd, const std::string& named);
/// Makes the system pace what is written, at most so many bytes a second, instead of sending it in bursts that overflow
/// the queue of a slower line on the path (SO_MAX_PACING_RATE). Returns whether the system does.
bool limitPace(int fd, std::uint64_t bytes_per_s);
/// The bound set by SO_MAX_PACING_RATE; nullopt: none.
std::optional<std::uint64_t> paceLimit(int fd);
/// TCP's smoothed round trip time; 0: not known.
double roundTrip_s(int fd);
/// Makes bbr probe for bandwidth from the start, as on a new connection, because its estimate is too low.
void relearnPath(int fd);
/// The connection's congestion control; "" where the system does not tell.
std::string congestionControl(int fd);
/// Makes close() reset the connection instead of shutting it down.
void resetOnClose(int fd);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_SOCKET_H_
