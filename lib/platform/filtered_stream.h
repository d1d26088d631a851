/// A connected socket, with or without a filter over it.
#ifndef GOSS_LIB_PLATFORM_FILTERED_STREAM_H_
#define GOSS_LIB_PLATFORM_FILTERED_STREAM_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "platform/clock.h"
#include "platform/fd.h"
#include "platform/stream.h"
#include "platform/stream_filter.h"

namespace goss::platform {

/// Movable; one thread. Without a filter the stream is the plain socket.
class Stream {
 public:
  Stream() = default;
  explicit Stream(UniqueFd fd, std::unique_ptr<StreamFilter> filter = nullptr)
      : fd_(std::move(fd)), filter_(std::move(filter)) {}

  [[nodiscard]] bool isOpen() const { return fd_.valid(); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  void close() {
    fd_.reset();
    filter_.reset();
  }

  /// Adds a filter: from now on written bytes go through `inner` first, and then through the filter that the stream
  /// has; bytes that are read go the other way.
  void nest(std::unique_ptr<StreamFilter> inner) {
    if (filter_) inner->setUnder(std::move(filter_));
    filter_ = std::move(inner);
  }

  /// Without a filter the stream is ready from the start.
  Greeting greet() { return filter_ ? filter_->greet(fd_.get()) : Greeting::ready; }
  /// Completes the greeting. Errors: timeout; peerLost when the connection ended; protocol with failure().
  Status greetUntil(Deadline deadline);
  /// Why the greeting failed; "" without a filter.
  [[nodiscard]] std::string failure() const { return filter_ ? filter_->failure() : std::string(); }
  /// The filter; null: there is none.
  [[nodiscard]] const StreamFilter* filter() const { return filter_.get(); }

  StreamResult read(std::span<const iovec> to) {
    return filter_ ? filter_->read(fd_.get(), to) : readSome(fd_.get(), to);
  }
  StreamResult write(std::span<const iovec> from) {
    return filter_ ? filter_->write(fd_.get(), from) : writeSome(fd_.get(), from);
  }
  StreamResult read(void* to, std::size_t size);
  StreamResult write(std::string_view bytes);
  void flush() {
    if (filter_ && fd_.valid()) filter_->flush(fd_.get());
  }
  [[nodiscard]] bool hasInput() const { return filter_ && filter_->hasInput(); }
  [[nodiscard]] bool hasOutput() const { return filter_ && filter_->hasOutput(); }
  /// As writeAll() and readAll() of platform/stream.h, through the filter: they move all bytes, or return an error.
  Status writeAll(std::string_view bytes, Deadline deadline);
  Status readAll(void* to, std::size_t size, Deadline deadline);
  /// Why a result of this stream ended: the filter's text where there is a filter.
  [[nodiscard]] std::string reason(const StreamResult& result) const;

 private:
  UniqueFd fd_;
  std::unique_ptr<StreamFilter> filter_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FILTERED_STREAM_H_
