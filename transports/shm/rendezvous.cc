#include "transports/shm/rendezvous.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "base/wire.h"
#include "platform/host.h"
#include "transports/common/errors.h"
#include "transports/shm/descriptors.h"

namespace goss::transports::shm {

namespace {

constexpr std::string_view kAddressMagic = "GSM1";
constexpr std::string_view kHelloMagic = "GSH8";
constexpr std::size_t kTextLimit = 1024;
constexpr std::size_t kHelloBytes = 4 + 16 + 4 + 4 + 8;
constexpr int kBacklog = 1024;

struct UnixName {
  sockaddr_un address{};
  socklen_t length = 0;
};

UnixName abstractName(const std::string& name) {
  UnixName out;
  out.address.sun_family = AF_UNIX;
  std::size_t bytes = std::min(name.size(), sizeof out.address.sun_path - 1);
  std::memcpy(out.address.sun_path + 1, name.data(), bytes);
  out.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
  return out;
}

// Packets, so that a hello arrives whole or not at all, while the end of the stream still shows the peer's death.
platform::UniqueFd makeSocket() {
  return platform::UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

bool ucredOf(int socket, ucred& who) {
  socklen_t length = sizeof who;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length) == 0;
}

/// Whether the process at the other end belongs to this user, or to root.
bool isOwn(int socket) {
  ucred who{};
  return ucredOf(socket, who) && (who.uid == ::geteuid() || who.uid == 0);
}

std::string_view asText(const std::array<std::byte, 16>& job) {
  return {reinterpret_cast<const char*>(job.data()), job.size()};
}

} // namespace

std::string ShmAddress::encode() const { return base::WireWriter().raw(kAddressMagic).text(host).text(name).take(); }

std::optional<ShmAddress> ShmAddress::decode(std::string_view bytes) {
  base::WireReader reader(bytes);
  if (reader.raw(kAddressMagic.size()) != kAddressMagic) return std::nullopt;
  ShmAddress address;
  address.host = reader.text(kTextLimit);
  address.name = reader.text(kTextLimit);
  if (!reader.complete()) return std::nullopt;
  return address;
}

Result<platform::UniqueFd> listenAt(const std::string& name) {
  platform::UniqueFd fd = makeSocket();
  UnixName at = abstractName(name);
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    return systemError(-1, "cannot listen for processes of this host", errno);
  }
  return fd;
}

Result<platform::UniqueFd> dial(const std::string& name, int peer) {
  platform::UniqueFd fd = makeSocket();
  if (!fd.valid()) return systemError(peer, "cannot make a socket", errno);
  UnixName to = abstractName(name);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length) == 0) {
    // Any user of the host may listen at the name of a process that has ended.
    if (isOwn(fd.get())) return fd;
    return peerLostError(peer, "a process of another user answers in its place");
  }
  if (errno == EAGAIN || errno == EINTR) return platform::UniqueFd();
  return peerLostError(peer, fmt::format("its process does not answer on this host ({})", platform::errnoText(errno)));
}

Status sendHello(int socket, const TransportContext& context, int peer, const Segment& segment, int board_fd) {
  base::WireWriter writer;
  writer.raw(kHelloMagic).raw(asText(context.job));
  writer.integer(static_cast<std::int32_t>(context.self)).integer(static_cast<std::int32_t>(peer));
  const std::string text = writer.integer(static_cast<std::uint64_t>(segment.ringBytes())).take();
  const std::array fds{segment.fd(), board_fd};
  if (sendWithDescriptors(socket, text, fds)) return Status::ok();
  return peerLostError(peer, fmt::format("it closed while we met ({})", platform::errnoText(errno)));
}

HelloResult readHello(int socket, const TransportContext& context, Hello& hello) {
  if (!isOwn(socket)) return HelloResult::bad;
  char text[kHelloBytes + 1];
  ReceivedPacket received = recvWithDescriptors(socket, text);
  if (received.bytes < 0 && errno == EAGAIN) return HelloResult::again;
  if (received.bytes != static_cast<ssize_t>(kHelloBytes) || !received.fds[1].valid()) return HelloResult::bad;
  hello.segment = std::move(received.fds[0]);
  hello.board = std::move(received.fds[1]);
  base::WireReader reader({text, kHelloBytes});
  if (reader.raw(kHelloMagic.size()) != kHelloMagic) return HelloResult::bad;
  std::string_view job = reader.raw(context.job.size());
  if (!platform::equalInConstantTime(std::as_bytes(std::span(job)), context.job)) return HelloResult::bad;
  hello.from = reader.integer<std::int32_t>();
  int to = reader.integer<std::int32_t>();
  hello.ring_bytes = reader.integer<std::uint64_t>();
  bool known = hello.from > context.self && hello.from < context.size && to == context.self;
  return known ? HelloResult::good : HelloResult::bad;
}

bool sendWelcome(int socket, int board_fd) {
  const char welcome = 1;
  return sendWithDescriptors(socket, {&welcome, 1}, {&board_fd, 1});
}

int processOf(int socket) {
  ucred who{};
  return ucredOf(socket, who) && who.pid > 0 ? who.pid : -1;
}

platform::UniqueFd watchProcess(int socket) {
  ucred who{};
  if (!ucredOf(socket, who) || who.pid <= 0 || who.pid == ::getpid()) return {};
  return platform::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)));
}

} // namespace goss::transports::shm
