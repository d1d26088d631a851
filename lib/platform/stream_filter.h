/// The seam for transformations of a connection's bytes, such as encryption; users of Stream see plain bytes.
#ifndef GOSS_LIB_PLATFORM_STREAM_FILTER_H_
#define GOSS_LIB_PLATFORM_STREAM_FILTER_H_

#include <sys/uio.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/status.h"
#include "platform/stream.h"

namespace goss::platform {

/// State of the handshake of the two ends.
enum class Greeting { underway, ready, failed };

/// One end of one connection. `fd` is its non-blocking socket, the same one in every call. No call blocks; one thread.
class StreamFilter {
 public:
  virtual ~StreamFilter() = default;
  StreamFilter() = default;
  StreamFilter(const StreamFilter&) = delete;
  StreamFilter& operator=(const StreamFilter&) = delete;

  /// Continues the greeting. Before it is ready nothing may be read or written. Ready means that the other end has
  /// proved its identity, not yet that it accepts this end: only bytes from it show that.
  virtual Greeting greet(int fd) = 0;
  /// Why the greeting or the stream failed, for people; "" while neither has failed, or when only the connection has
  /// ended.
  [[nodiscard]] virtual std::string failure() const = 0;

  /// As readSome and writeSome. Fewer bytes than asked for: the socket would block. Written bytes may stay in the
  /// filter until flush() has moved them to the socket; the caller's buffers are free when the call returns.
  virtual StreamResult read(int fd, std::span<const iovec> to) = 0;
  virtual StreamResult write(int fd, std::span<const iovec> from) = 0;
  virtual void flush(int fd) = 0;
  /// Whether read() may return bytes that the filter holds, for which the socket does not poll readable.
  [[nodiscard]] virtual bool hasInput() const = 0;
  /// Whether flush() has something left to do once the socket is writable.
  [[nodiscard]] virtual bool hasOutput() const = 0;

  /// Before greet(): the bytes go through `under`, which is ready, instead of the socket. For a stream within a stream:
  /// a relay that carries the outer one cannot read the inner one.
  virtual void setUnder(std::unique_ptr<StreamFilter> under) = 0;

  // Valid once the filter is ready:
  /// The identity that the other end has proved, as StreamSecurity::identity() of that process: 32 bytes.
  [[nodiscard]] virtual std::string_view identity() const = 0;
  /// A name for people; "": it has none.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Whether the other end's credentials allow it to be this rank.
  [[nodiscard]] virtual bool mayBe(int rank) const = 0;
};

/// Makes the filters of one process. Used by one thread at a time; outlives its filters.
class StreamSecurity {
 public:
  virtual ~StreamSecurity() = default;
  StreamSecurity() = default;
  StreamSecurity(const StreamSecurity&) = delete;
  StreamSecurity& operator=(const StreamSecurity&) = delete;

  /// Makes the filter of a connection that this process has dialled, or accepted. `whom`: the identity that the other
  /// end should prove, "" where it is not known; a repeated greeting with the same process is shorter. Errors:
  /// resource.
  virtual Result<std::unique_ptr<StreamFilter>> caller(std::string_view whom) = 0;
  virtual Result<std::unique_ptr<StreamFilter>> callee() = 0;
  /// The identity that this process proves: the SHA-256 of its public key, 32 bytes.
  [[nodiscard]] virtual std::string_view identity() const = 0;
};

inline constexpr std::size_t kIdentityBytes = 32;

/// Called when a transport or a meeting opens. Errors: invalidArgument naming the setting and the file.
using SecurityMaker = std::function<Result<std::unique_ptr<StreamSecurity>>()>;

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_STREAM_FILTER_H_
