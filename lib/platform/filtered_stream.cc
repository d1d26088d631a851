#include "platform/filtered_stream.h"

namespace goss::platform {

Status Stream::greetUntil(Deadline deadline) {
  for (;;) {
    switch (greet()) {
      case Greeting::ready:
        return Status::ok();
      case Greeting::failed:
        if (!failure().empty()) return Status::error(GOSS_ERR_PROTOCOL, failure());
        return Status::error(GOSS_ERR_PEER_LOST, "the other end closed the connection while it was being secured");
      case Greeting::underway:
        break;
    }
    const bool moved = hasOutput() ? waitWritable(fd_.get(), deadline) : waitReadable(fd_.get(), deadline);
    if (!moved) return Status::error(GOSS_ERR_TIMEOUT, "the greeting took too long");
  }
}

StreamResult Stream::read(void* to, std::size_t size) {
  const iovec piece{to, size};
  return read(std::span(&piece, 1));
}

StreamResult Stream::write(std::string_view bytes) {
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()}; // Only read.
  return write(std::span(&piece, 1));
}

Status Stream::writeAll(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty() || hasOutput()) {
    flush();
    const StreamResult result = bytes.empty() ? StreamResult{} : write(bytes);
    if (result.ended) return Status::error(GOSS_ERR_PEER_LOST, reason(result));
    bytes.remove_prefix(result.bytes);
    const bool blocked = result.bytes == 0 && (hasOutput() || !bytes.empty());
    if (blocked && !waitWritable(fd_.get(), deadline)) return Status::error(GOSS_ERR_TIMEOUT, "it took too long");
  }
  return Status::ok();
}

Status Stream::readAll(void* to, std::size_t size, Deadline deadline) {
  auto* at = static_cast<char*>(to);
  while (size != 0) {
    const StreamResult result = read(at, size);
    if (result.ended) return Status::error(GOSS_ERR_PEER_LOST, reason(result));
    at += result.bytes;
    size -= result.bytes;
    if (result.bytes == 0 && !waitReadable(fd_.get(), deadline))
      return Status::error(GOSS_ERR_TIMEOUT, "it took too long");
  }
  return Status::ok();
}

std::string Stream::reason(const StreamResult& result) const {
  const std::string why = failure();
  return why.empty() ? result.reason() : why;
}

} // namespace goss::platform
