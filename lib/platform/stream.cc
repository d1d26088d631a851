#include "platform/stream.h"

#include <errno.h>
#include <poll.h>
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
    if (ready < 0 && errno != EINTR) return true; // The read or write that follows tells what is wrong.
    if (deadline.expired()) return false;
  }
}

} // namespace

std::string StreamResult::reason() const {
  return error == 0 ? "the other end closed the connection" : errnoText(error);
}

StreamResult readSome(int fd, void* to, std::size_t size) {
  const ssize_t got = ::recv(fd, to, size, 0);
  if (got > 0) return {static_cast<std::size_t>(got), false, 0};
  if (got == 0) return {0, true, 0};
  if (again(errno)) return {};
  return {0, true, errno};
}

StreamResult writeSome(int fd, const void* from, std::size_t size) {
  const ssize_t sent = ::send(fd, from, size, MSG_NOSIGNAL);
  if (sent >= 0) return {static_cast<std::size_t>(sent), false, 0};
  if (again(errno)) return {};
  return {0, true, errno};
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

void endWriting(int fd) { ::shutdown(fd, SHUT_WR); }

} // namespace goss::platform
