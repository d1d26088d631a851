#include "transports/shm/rendezvous.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
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

constexpr std::string_view kAddressMagic = "GSM2";
constexpr const char* kBellSuffix = "-bell";
constexpr std::string_view kHelloMagic = "GSH9";
constexpr std::size_t kTextLimit = 1024;
constexpr std::size_t kMaxHelloBytes = 4 + 16 + 4 + 4 + 8 + 4 + kTextLimit;
constexpr int kBacklog = 1024;
constexpr char kWelcome = 1;
constexpr char kOtherCall = 2;
constexpr char kRefusal = 3;

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

std::string_view asText(const std::array<std::byte, 16>& job) {
  return {reinterpret_cast<const char*>(job.data()), job.size()};
}

} // namespace

std::string ShmAddress::encode() const {
  return base::WireWriter().raw(kAddressMagic).text(host).text(name).integer(process).integer(board).take();
}

std::optional<ShmAddress> ShmAddress::decode(std::string_view bytes) {
  base::WireReader reader(bytes);
  if (reader.raw(kAddressMagic.size()) != kAddressMagic) return std::nullopt;
  ShmAddress address;
  address.host = reader.text(kTextLimit);
  address.name = reader.text(kTextLimit);
  address.process = reader.integer<std::int64_t>();
  address.board = reader.integer<std::int32_t>();
  if (!reader.complete()) return std::nullopt;
  return address;
}

Result<platform::UniqueFd> makeBell(const std::string& name) {
  platform::UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const UnixName at = abstractName(name + kBellSuffix);
  if (!fd.valid() || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at.address), at.length) != 0)
    return systemError(-1, "cannot make a socket for wake-ups by processes of this host", errno);
  return fd;
}

void ringBell(int bell, const std::string& name) {
  const UnixName to = abstractName(name + kBellSuffix);
  const char ring = 1;
  [[maybe_unused]] const ssize_t rung =
      ::sendto(bell, &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to.address), to.length);
}

void emptyBell(int bell) {
  char ring = 0;
  while (::recv(bell, &ring, 1, MSG_DONTWAIT) >= 0)
    continue;
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
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to.address), to.length) == 0) return fd;
  if (errno == EAGAIN || errno == EINTR) return platform::UniqueFd();
  if (errno != ECONNREFUSED) return systemError(peer, "cannot call a process of this host", errno);
  return peerLostError(peer, fmt::format("its process does not answer on this host ({})", platform::errnoText(errno)));
}

Status sendHello(int socket, const TransportContext& context, int peer, const Segment& segment, int board_fd,
                 std::string_view trouble) {
  base::WireWriter writer;
  writer.raw(kHelloMagic).raw(asText(context.job));
  writer.integer(static_cast<std::int32_t>(context.self)).integer(static_cast<std::int32_t>(peer));
  writer.integer(static_cast<std::uint64_t>(segment.ringBytes())).text(trouble.substr(0, kTextLimit));
  const std::array fds{board_fd, segment.fd()};
  const std::string text = writer.take();
  if (sendWithDescriptors(socket, text, std::span(fds).first(segment.valid() ? 2 : 1))) return Status::ok();
  return peerLostError(peer, fmt::format("it closed while we met ({})", platform::errnoText(errno)));
}

HelloResult readHello(int socket, const TransportContext& context, Hello& hello) {
  ucred who{};
  if (!ucredOf(socket, who) || (who.uid != ::geteuid() && who.uid != 0)) return HelloResult::bad;
  char text[kMaxHelloBytes];
  ReceivedPacket received = recvWithDescriptors(socket, text);
  if (received.bytes < 0 && errno == EAGAIN) return HelloResult::again;
  if (received.bytes <= 0 || received.cut || !received.fds[0].valid()) return HelloResult::bad;
  hello.board = std::move(received.fds[0]);
  hello.segment = std::move(received.fds[1]);
  base::WireReader reader({text, static_cast<std::size_t>(received.bytes)});
  if (reader.raw(kHelloMagic.size()) != kHelloMagic) return HelloResult::bad;
  std::string_view job = reader.raw(context.job.size());
  if (!platform::equalInConstantTime(std::as_bytes(std::span(job)), context.job)) return HelloResult::bad;
  hello.from = reader.integer<std::int32_t>();
  int to = reader.integer<std::int32_t>();
  hello.ring_bytes = reader.integer<std::uint64_t>();
  hello.trouble = reader.text(kTextLimit);
  const bool known = hello.from >= 0 && hello.from != context.self && hello.from < context.size && to == context.self;
  const bool whole = reader.complete() && hello.segment.valid() == (hello.ring_bytes > 0);
  return known && whole ? HelloResult::good : HelloResult::bad;
}

bool sendWelcome(int socket, int board_fd) { return sendWithDescriptors(socket, {&kWelcome, 1}, {&board_fd, 1}); }

void sendOtherCall(int socket) { sendWithDescriptors(socket, {&kOtherCall, 1}, {}); }

void sendRefusal(int socket, std::string_view why) {
  const std::string text = kRefusal + std::string(why.substr(0, kTextLimit));
  sendWithDescriptors(socket, text, {});
}

Answer readAnswer(int socket) {
  Answer answer;
  std::array<char, 1 + kTextLimit> text{};
  ReceivedPacket received = recvWithDescriptors(socket, text);
  if (received.bytes < 0 && errno == EAGAIN) return answer;
  const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(received.bytes, 0));
  answer.kind = Answer::Kind::ended;
  if (bytes == 1 && text[0] == kWelcome && received.fds[0].valid()) {
    answer.kind = Answer::Kind::welcome;
    answer.board = std::move(received.fds[0]);
  } else if (bytes == 1 && text[0] == kOtherCall) {
    answer.kind = Answer::Kind::otherCall;
  } else if (bytes > 1 && text[0] == kRefusal) {
    answer.kind = Answer::Kind::refused;
    answer.why.assign(text.data() + 1, bytes - 1);
  }
  return answer;
}

int processOf(int socket) {
  ucred who{};
  return ucredOf(socket, who) && who.pid > 0 ? who.pid : -1;
}

bool hasEnded(int socket) {
  const int process = processOf(socket);
  return process > 0 && ::kill(process, 0) != 0 && errno == ESRCH;
}

platform::UniqueFd watchProcess(int socket) {
  ucred who{};
  if (!ucredOf(socket, who) || who.pid <= 0 || who.pid == ::getpid()) return {};
  return platform::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, who.pid, 0)));
}

} // namespace goss::transports::shm
