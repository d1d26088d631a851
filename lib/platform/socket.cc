#include "platform/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cstring>
#include <memory>

#include "base/wide_area.h"

namespace goss::platform {

namespace {

constexpr int kBacklog = 4096; // The kernel caps it at net.core.somaxconn.

Status resourceError(std::string_view what, int error) {
  return Status::error(GOSS_ERR_RESOURCE, fmt::format("{}: {}", what, errnoText(error)));
}

void setFlag(int fd, int level, int option, int value) { ::setsockopt(fd, level, option, &value, sizeof value); }

Result<UniqueFd> streamSocket(int family) {
  UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!fd.valid()) return resourceError("cannot make a TCP socket", errno);
  return fd;
}

/// 0 when `fd` listens on `address`, else an errno value.
int bindAndListen(int fd, const SocketAddress& address) {
  if (::bind(fd, address.raw(), address.length()) != 0) return errno;
  return ::listen(fd, kBacklog) == 0 ? 0 : errno;
}

} // namespace

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &first);
  if (failure != 0)
    return Status::error(GOSS_ERR_BOOTSTRAP,
                         fmt::format("cannot look up the host \"{}\": {}", host, ::gai_strerror(failure)));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(first, &::freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* entry = first; entry != nullptr; entry = entry->ai_next) {
    SocketAddress address(entry->ai_addr, entry->ai_addrlen);
    address.setPort(port);
    found.push_back(address);
  }
  return found;
}

Result<UniqueFd> listenOn(const SocketAddress& address, PortRange ports) {
  int error = EADDRINUSE;
  // A range that ends at 65535 must not wrap around: the counter is wider than a port.
  for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
    Result<UniqueFd> fd = streamSocket(address.ipv6() ? AF_INET6 : AF_INET);
    if (!fd.isOk()) return fd;
    setFlag(fd.value().get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (address.ipv6()) setFlag(fd.value().get(), IPPROTO_IPV6, IPV6_V6ONLY, address.unspecified() ? 0 : 1);
    SocketAddress at = address;
    at.setPort(static_cast<std::uint16_t>(port));
    error = bindAndListen(fd.value().get(), at);
    if (error == 0) return fd;
    if (error != EADDRINUSE && error != EACCES) break;
  }
  const std::string where =
      ports.last == 0 ? std::string("any port") : fmt::format("ports {}-{}", ports.first, ports.last);
  return resourceError(fmt::format("cannot listen on {}, {}", address.host(), where), error);
}

Result<UniqueFd> listenOnAll(PortRange ports) {
  Result<UniqueFd> both = listenOn(SocketAddress::any(true, 0), ports);
  return both.isOk() ? std::move(both) : listenOn(SocketAddress::any(false, 0), ports);
}

Result<UniqueFd> dial(const SocketAddress& address, int* error) {
  Result<UniqueFd> fd = streamSocket(address.ipv6() ? AF_INET6 : AF_INET);
  if (!fd.isOk()) return fd;
  if (::connect(fd.value().get(), address.raw(), address.length()) == 0 || errno == EINPROGRESS || errno == EINTR)
    return fd;
  if (error != nullptr) *error = errno;
  return Status::error(GOSS_ERR_PEER_LOST, fmt::format("cannot connect to {}: {}", address.text(), errnoText(errno)));
}

Result<Accepted> acceptFrom(int listener) {
  for (;;) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    UniqueFd fd(::accept4(listener, reinterpret_cast<sockaddr*>(&storage), &length, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd.valid()) return Accepted{std::move(fd), SocketAddress(reinterpret_cast<sockaddr*>(&storage), length)};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Accepted{};
    // A caller that gave up before it was accepted is no error of the listener's.
    if (errno == EINTR || errno == ECONNABORTED || errno == EPROTO) continue;
    return resourceError("cannot accept a connection", errno);
  }
}

int socketError(int fd) {
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

std::optional<SocketAddress> localAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return std::nullopt;
  return SocketAddress(reinterpret_cast<sockaddr*>(&storage), length);
}

std::optional<SocketAddress> remoteAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  if (storage.ss_family != AF_INET && storage.ss_family != AF_INET6) return std::nullopt;
  return SocketAddress(reinterpret_cast<sockaddr*>(&storage), length);
}

void tuneForMessages(int fd) { setFlag(fd, IPPROTO_TCP, TCP_NODELAY, 1); }

namespace {

constexpr int kTcpRtoMaxMs = 44; // TCP_RTO_MAX_MS of Linux 6.15, which older headers do not name.
constexpr int kLongestPauseMs = 1000;

bool setCongestionControl(int fd, const std::string& name) {
  return ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), static_cast<socklen_t>(name.size())) == 0;
}

} // namespace

bool tuneForPath(int fd, const std::string& named) {
  setFlag(fd, IPPROTO_TCP, kTcpRtoMaxMs, kLongestPauseMs);
  if (!named.empty()) return setCongestionControl(fd, named);
  const auto local = localAddress(fd);
  const auto remote = remoteAddress(fd);
  if (local && remote && local->sameHost(*remote)) {
    setCongestionControl(fd, "cubic");
    return true;
  }
  if (roundTrip_s(fd) > kWideAreaRoundTrip_s) setCongestionControl(fd, "bbr");
  return true;
}

double roundTrip_s(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? 1e-6 * info.tcpi_rtt : 0;
}

void relearnPath(int fd) {
  if (congestionControl(fd) == "bbr" && setCongestionControl(fd, "reno")) setCongestionControl(fd, "bbr");
}

bool limitPace(int fd, std::uint64_t bytes_per_s) {
  // Kernels before 4.20 take 32 bits, the lower half of these.
  return ::setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &bytes_per_s, sizeof bytes_per_s) == 0;
}

std::optional<std::uint64_t> paceLimit(int fd) {
  std::uint64_t rate = 0;
  socklen_t size = sizeof rate;
  if (::getsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, &size) != 0) return std::nullopt;
  const bool none = size == sizeof(std::uint32_t) ? rate == UINT32_MAX : rate == UINT64_MAX;
  return none ? std::nullopt : std::optional(rate);
}

std::string congestionControl(int fd) {
  char name[32] = {};
  socklen_t size = sizeof name - 1;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size) == 0 ? name : "";
}

void resetOnClose(int fd) {
  const linger now{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

} // namespace goss::platform
