#include "transports/shm/packet.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>

namespace goss::transports::shm {

namespace {

constexpr std::uint32_t kRegion = 0x47535231;
constexpr std::uint32_t kForget = 0x47535232;

/// Both ends are on one host, so integers are in its byte order. A bell is a packet of one byte.
struct Note {
  std::uint32_t kind;
  std::uint32_t unused;
  std::uint64_t id;
  std::uint64_t bytes;
};

void attachDescriptor(msghdr& message, int fd) {
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &fd, sizeof fd);
}

// The descriptors that came along; the first is returned, any other closed.
platform::UniqueFd takeDescriptor(msghdr& message) {
  platform::UniqueFd first;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      platform::UniqueFd owned(fd);
      if (!first.valid()) first = std::move(owned);
    }
  }
  return first;
}

bool sendNote(int socket, Note note, int fd) {
  iovec bytes{&note, sizeof note};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    attachDescriptor(message, fd);
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof note);
}

} // namespace

Packet readPacket(int socket) {
  Packet packet;
  Note note{};
  iovec bytes{&note, sizeof note};
  alignas(cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    packet.kind = got < 0 && errno == EAGAIN ? Packet::Kind::again : Packet::Kind::ended;
    return packet;
  }
  packet.fd = takeDescriptor(message);
  packet.id = note.id;
  packet.bytes = note.bytes;
  const bool whole = got == static_cast<ssize_t>(sizeof note) && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
  if (got == 1) {
    packet.kind = packet.fd.valid() ? Packet::Kind::welcome : Packet::Kind::bell;
  } else if (whole && note.kind == kRegion && packet.fd.valid()) {
    packet.kind = Packet::Kind::region;
  } else {
    packet.kind = whole && note.kind == kForget ? Packet::Kind::forget : Packet::Kind::corrupt;
  }
  return packet;
}

bool sendRegion(int socket, std::uint64_t id, std::uint64_t bytes, int fd) {
  return sendNote(socket, {kRegion, 0, id, bytes}, fd);
}

bool sendForget(int socket, std::uint64_t id) { return sendNote(socket, {kForget, 0, id, 0}, -1); }

} // namespace goss::transports::shm
