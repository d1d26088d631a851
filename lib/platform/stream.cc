#include "platform/stream.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "platform/fd.h"

namespace goss::platform {

namespace {

bool again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

bool waitFor(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int ready = ::poll(&entry, 1, deadline.pollMs());
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true; // The following read or write reports the error.
    if (deadline.expired()) return false;
  }
}

StreamResult afterRead(ssize_t got) {
  if (got > 0) return {static_cast<std::size_t>(got), false, 0};
  if (got == 0) return {0, true, 0};
  if (again(errno)) return {};
  return {0, true, errno};
}

StreamResult afterWrite(ssize_t sent) {
  if (sent >= 0) return {static_cast<std::size_t>(sent), false, 0};
  if (again(errno)) return {};
  return {0, true, errno};
}

msghdr overPieces(std::span<const iovec> pieces) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data()); // The system only reads the list.
  message.msg_iovlen = pieces.size();
  return message;
}

} // namespace

std::string StreamResult::reason() const {
  return error == 0 ? "the other end closed the connection" : errnoText(error);
}

StreamResult readSome(int fd, void* to, std::size_t size) { return afterRead(::recv(fd, to, size, 0)); }

StreamResult writeSome(int fd, const void* from, std::size_t size) {
  return afterWrite(::send(fd, from, size, MSG_NOSIGNAL));
}

StreamResult readSome(int fd, std::span<const iovec> to) {
  msghdr message = overPieces(to);
  return afterRead(::recvmsg(fd, &message, 0));
}

StreamResult writeSome(int fd, std::span<const iovec> from) {
  const msghdr message = overPieces(from);
  return afterWrite(::sendmsg(fd, &message, MSG_NOSIGNAL));
}

bool waitReadable(int fd, Deadline deadline) { return waitFor(fd, POLLIN, deadline); }
bool waitWritable(int fd, Deadline deadline) { return waitFor(fd, POLLOUT, deadline); }

Status writeAll(int fd, std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const StreamResult result = writeSome(fd, bytes.data(), bytes.size());
    if (result.ended) return Status::error(GOSS_ERR_PEER_LOST, result.reason());
    bytes.remove_prefix(result.bytes);
    if (result.bytes == 0 && !waitWritable(fd, deadline)) return Status::error(GOSS_ERR_TIMEOUT, "it took too long");
  }
  return Status::ok();
}

Status readAll(int fd, void* to, std::size_t size, Deadline deadline) {
  auto* at = static_cast<char*>(to);
  while (size != 0) {
    const StreamResult result = readSome(fd, at, size);
    if (result.ended) return Status::error(GOSS_ERR_PEER_LOST, result.reason());
    at += result.bytes;
    size -= result.bytes;
    if (result.bytes == 0 && !waitReadable(fd, deadline)) return Status::error(GOSS_ERR_TIMEOUT, "it took too long");
  }
  return Status::ok();
}

std::size_t unacknowledgedBytes(int fd) {
  int bytes = 0;
  return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

void endWriting(int fd) { ::shutdown(fd, SHUT_WR); }

} // namespace goss::platform
