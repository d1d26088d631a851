#include "transports/shm/descriptors.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>

namespace goss::transports::shm {

namespace {

Descriptors takeDescriptors(msghdr& message) {
  Descriptors taken;
  std::size_t next = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      platform::UniqueFd owned(fd);
      if (next < taken.size()) taken[next++] = std::move(owned);
    }
  }
  return taken;
}

} // namespace

bool sendWithDescriptors(int socket, std::span<const char> text, std::span<const int> fds) {
  iovec bytes{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  return ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

ReceivedPacket recvWithDescriptors(int socket, std::span<char> text) {
  iovec bytes{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(2 * kMaxDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ReceivedPacket packet;
  do {
    packet.bytes = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (packet.bytes < 0 && errno == EINTR);
  if (packet.bytes < 0) return packet;
  packet.cut = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
  packet.fds = takeDescriptors(message);
  return packet;
}

} // namespace goss::transports::shm
