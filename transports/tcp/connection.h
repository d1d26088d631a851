/// One socket of a link, and what it waits for.
#ifndef GOSS_TRANSPORTS_TCP_CONNECTION_H_
#define GOSS_TRANSPORTS_TCP_CONNECTION_H_

#include <cstdint>
#include <utility>

#include "platform/fd.h"
#include "platform/poller.h"

namespace goss::transports::tcp {

/// Keeps the poller's interest in step with as few system calls as possible. One thread.
class Connection {
 public:
  Connection() = default;

  /// Errors: resource.
  Status open(platform::UniqueFd fd, platform::Poller& poller, std::uint64_t token, bool reads) {
    fd_ = std::move(fd);
    poller_ = &poller;
    token_ = token;
    reads_ = reads;
    writes_ = false;
    return poller.add(fd_.get(), reads_, writes_, token);
  }
  /// The poller forgets it too.
  void close() { fd_.reset(); }
  [[nodiscard]] bool isOpen() const { return fd_.valid(); }
  [[nodiscard]] int fd() const { return fd_.get(); }

  void watchReads(bool on) { watch(on, writes_); }
  void watchWrites(bool on) { watch(reads_, on); }

 private:
  void watch(bool reads, bool writes) {
    if (!isOpen() || (reads == reads_ && writes == writes_)) return;
    reads_ = reads;
    writes_ = writes;
    // Changing a descriptor that is in the set can fail only for lack of kernel memory; the next change tries again.
    [[maybe_unused]] const Status changed = poller_->change(fd_.get(), reads, writes, token_);
  }

  platform::UniqueFd fd_;
  platform::Poller* poller_ = nullptr;
  std::uint64_t token_ = 0;
  bool reads_ = false;
  bool writes_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_CONNECTION_H_
