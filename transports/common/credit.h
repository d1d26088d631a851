/// How many bytes of unexpected messages a peer keeps, shared fairly between communicators.
#ifndef GOSS_TRANSPORTS_COMMON_CREDIT_H_
#define GOSS_TRANSPORTS_COMMON_CREDIT_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gossamer/message.h"

namespace goss::transports {

/// Bytes that an unexpected message costs the receiver beside its payload.
inline constexpr std::uint64_t kMessageCost = 256;
/// Credit for a message of which `held` bytes come before it has matched a receive.
inline std::uint64_t costOfHeld(std::uint64_t held) { return held > 0 ? kMessageCost + held : 0; }

/// Bytes in use, by flow (flowOf() of the tag). One thread.
class FlowBytes {
 public:
  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t of(Tag tag) const {
    const auto found = by_flow_.find(flowOf(tag));
    return found == by_flow_.end() ? 0 : found->second;
  }
  void add(Tag tag, std::uint64_t bytes) {
    by_flow_[flowOf(tag)] += bytes;
    total_ += bytes;
  }
  /// Returns false and changes nothing when the flow does not have so many bytes.
  bool remove(Tag tag, std::uint64_t bytes) {
    const auto found = by_flow_.find(flowOf(tag));
    if (found == by_flow_.end() || found->second < bytes) return bytes == 0;
    found->second -= bytes;
    total_ -= bytes;
    if (found->second == 0) by_flow_.erase(found); // Communicators come and go, so empty entries are removed.
    return true;
  }
  /// Removes all entries and returns them: a tag of each flow, and its bytes.
  std::vector<std::pair<Tag, std::uint64_t>> takeAll() {
    std::vector<std::pair<Tag, std::uint64_t>> all(by_flow_.begin(), by_flow_.end());
    by_flow_.clear();
    total_ = 0;
    return all;
  }

 private:
  std::unordered_map<Tag, std::uint64_t> by_flow_;
  std::uint64_t total_ = 0;
};

/// The sender's half. A message may be sent before its receive is posted while its flow has used at most as many bytes
/// as are left: a single flow gets half of the limit, the next one half of the rest, and no flow can use up what
/// another one needs. (Switches share their buffers between queues like this: Choudhury and Hahne, "Dynamic queue
/// length thresholds", 1998.) A message without credit waits at its sender. A small part of the limit is reserved for
/// urgent messages. The receiver returns the credit when the message has met its receive; a sender that exceeds its
/// credit makes a protocol error. One thread.
class Credit {
 public:
  void setLimit(std::uint64_t bytes) { limit_ = bytes; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  /// Takes credit for a message. False: there is not enough, and the message must wait until the receiver asks for it.
  bool take(Tag tag, std::uint64_t cost) {
    const bool urgent = tag == kUrgentTag;
    const std::uint64_t limit = urgent ? limit_ : limit_ - limit_ / kUrgentPart;
    if (cost > limit || used_.total() + cost > limit) return false;
    if (!urgent && used_.of(tag) + cost > limit - used_.total() - cost) return false;
    used_.add(tag, cost);
    return true;
  }
  /// The receiver has released memory. False: it returned more than was taken.
  bool giveBack(Tag tag, std::uint64_t cost) { return used_.remove(tag, cost); }

 private:
  static constexpr std::uint64_t kUrgentPart = 16;
  std::uint64_t limit_ = 0;
  FlowBytes used_;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_CREDIT_H_
