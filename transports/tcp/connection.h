/// One socket of a link, and what it waits for.
#ifndef GOSS_TRANSPORTS_TCP_CONNECTION_H_
#define GOSS_TRANSPORTS_TCP_CONNECTION_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "platform/filtered_stream.h"
#include "platform/poller.h"

namespace goss::transports::tcp {

/// Keeps the poller's interest in step with as few system calls as possible. One thread.
class Connection {
 public:
  Connection() = default;

  /// Errors: resource.
  Status open(platform::Stream stream, platform::Poller& poller, std::uint64_t token, bool reads) {
    stream_ = std::move(stream);
    poller_ = &poller;
    token_ = token;
    reads_ = reads;
    writes_ = hasOutput();
    return poller.add(fd(), reads_, writes_, token);
  }
  /// The poller forgets it too.
  void close() { stream_.close(); }
  [[nodiscard]] bool isOpen() const { return stream_.isOpen(); }
  [[nodiscard]] int fd() const { return stream_.fd(); }

  platform::StreamResult read(std::span<const iovec> to) { return stream_.read(to); }
  platform::StreamResult read(void* to, std::size_t size) { return stream_.read(to, size); }
  platform::StreamResult write(std::span<const iovec> from) { return stream_.write(from); }
  platform::StreamResult write(const void* from, std::size_t size) {
    return stream_.write({static_cast<const char*>(from), size});
  }
  /// Why a read or a write has ended.
  [[nodiscard]] std::string reason(const platform::StreamResult& result) const { return stream_.reason(result); }
  /// Bytes came that the socket does not show any more.
  [[nodiscard]] bool hasInput() const { return stream_.hasInput(); }
  /// Written bytes are not in the socket yet.
  [[nodiscard]] bool hasOutput() const { return stream_.hasOutput(); }
  /// Brings them there, as far as it has room.
  void flush() {
    if (!hasOutput()) return;
    stream_.flush();
    watchWrites(false);
  }

  void watchReads(bool on) { watch(on, writes_); }
  /// Stays on while there is output to be flushed.
  void watchWrites(bool on) { watch(reads_, on || hasOutput()); }

 private:
  void watch(bool reads, bool writes) {
    if (!isOpen() || (reads == reads_ && writes == writes_)) return;
    reads_ = reads;
    writes_ = writes;
    // Changing a descriptor that is in the set can fail only for lack of kernel memory; the next change tries again.
    [[maybe_unused]] const Status changed = poller_->change(fd(), reads, writes, token_);
  }

  platform::Stream stream_;
  platform::Poller* poller_ = nullptr;
  std::uint64_t token_ = 0;
  bool reads_ = false;
  bool writes_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_CONNECTION_H_
