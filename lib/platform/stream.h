/// Reading and writing connected non-blocking sockets.
#ifndef GOSS_LIB_PLATFORM_STREAM_H_
#define GOSS_LIB_PLATFORM_STREAM_H_

#include <sys/uio.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "platform/clock.h"

namespace goss::platform {

/// Result of one read or write. `bytes` 0 and not `ended`: it would block.
struct StreamResult {
  std::size_t bytes = 0;
  bool ended = false; ///< The other end closed (error 0) or the connection broke (error is an errno value).
  int error = 0;

  /// Why the stream ended: "the other end closed the connection" or the error's text.
  [[nodiscard]] std::string reason() const;
};

StreamResult readSome(int fd, void* to, std::size_t size);
/// Writes as much as the socket takes. Never raises SIGPIPE.
StreamResult writeSome(int fd, const void* from, std::size_t size);
StreamResult readSome(int fd, std::span<const iovec> to);
StreamResult writeSome(int fd, std::span<const iovec> from);

/// Waits until `fd` can be read (or written); false at the deadline.
bool waitReadable(int fd, Deadline deadline);
bool waitWritable(int fd, Deadline deadline);

/// Writes, or reads, all bytes. Errors: timeout, or peerLost with the reason (without the peer's name, which the caller
/// knows).
Status writeAll(int fd, std::string_view bytes, Deadline deadline);
Status readAll(int fd, void* to, std::size_t size, Deadline deadline);

/// Bytes that were written here and that the other end's system has not acknowledged; 0 when the connection is gone.
std::size_t unacknowledgedBytes(int fd);

/// Shuts the sending direction down; the other end reads an end of stream.
void endWriting(int fd);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_STREAM_H_
