/// The events of one socket for which the poller watches.
#ifndef GOSS_TRANSPORTS_TCP_LINK_POLL_INTEREST_H_
#define GOSS_TRANSPORTS_TCP_LINK_POLL_INTEREST_H_

#include <cstdint>

#include "platform/poller.h"

namespace goss::transports::tcp {

/// Tells the poller what the owner of a socket waits for, with a system call only when that changes. begin() may follow
/// again when the socket is closed and another one has taken its place. One thread.
class PollInterest {
 public:
  /// Begins to watch a socket, whose events carry `token`. `poller` outlives this. Errors: resource.
  Status begin(platform::Poller& poller, std::uint64_t token, int fd, bool reads, bool writes) {
    poller_ = &poller;
    token_ = token;
    reads_ = reads;
    writes_ = writes;
    return poller.add(fd, reads, writes, token);
  }
  /// begin() was called.
  [[nodiscard]] bool hasBegun() const { return poller_ != nullptr; }
  /// The arguments of begin(), which must have been called.
  [[nodiscard]] platform::Poller& poller() const { return *poller_; }
  [[nodiscard]] std::uint64_t token() const { return token_; }
  [[nodiscard]] bool reads() const { return reads_; }
  [[nodiscard]] bool writes() const { return writes_; }
  /// From now on the poller is asked for this. `fd` is the socket that begin() was told of.
  void change(int fd, bool reads, bool writes) {
    if (reads == reads_ && writes == writes_) return;
    reads_ = reads;
    writes_ = writes;
    // Changing a descriptor that is in the set can fail only for lack of kernel memory; the next change tries again.
    [[maybe_unused]] const Status changed = poller_->change(fd, reads, writes, token_);
  }

 private:
  platform::Poller* poller_ = nullptr;
  std::uint64_t token_ = 0;
  bool reads_ = false;
  bool writes_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_POLL_INTEREST_H_
