/// How much may lie unexpected at a peer, shared fairly between communicators.
#ifndef GOSS_TRANSPORTS_COMMON_CREDIT_H_
#define GOSS_TRANSPORTS_COMMON_CREDIT_H_

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gossamer/message.h"

namespace goss::transports {

/// What an unexpected message costs the receiver beside its bytes.
inline constexpr std::uint64_t kMessageCost = 256;

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
  /// False, and nothing is changed: the flow does not have so many.
  bool remove(Tag tag, std::uint64_t bytes) {
    const auto found = by_flow_.find(flowOf(tag));
    if (found == by_flow_.end() || found->second < bytes) return bytes == 0;
    found->second -= bytes;
    total_ -= bytes;
    if (found->second == 0) by_flow_.erase(found); // Communicators come and go.
    return true;
  }
  /// All of it: a tag of each flow, and its bytes.
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

/// The sender's half. A message may go before its receive while its flow has no more underway than is left over: a flow
/// alone gets half of the limit, the next one half of the rest, and none can use up what another one needs. (Switches
/// share their buffers between queues like this: Choudhury and Hahne, "Dynamic queue length thresholds", 1998.) A
/// message that may not waits with its sender. A little is left over for urgent messages. One thread.
class Credit {
 public:
  void setLimit(std::uint64_t bytes) { limit_ = bytes; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }
  /// False: the message must wait to be asked for.
  bool take(Tag tag, std::uint64_t cost) {
    const bool urgent = tag == kUrgentTag;
    const std::uint64_t limit = urgent ? limit_ : limit_ - limit_ / kUrgentPart;
    if (cost > limit || used_.total() + cost > limit) return false;
    if (!urgent && used_.of(tag) + cost > limit - used_.total() - cost) return false;
    used_.add(tag, cost);
    return true;
  }
  /// The receiver has room again. False: for more than was taken.
  bool giveBack(Tag tag, std::uint64_t cost) { return used_.remove(tag, cost); }

 private:
  static constexpr std::uint64_t kUrgentPart = 16;
  std::uint64_t limit_ = 0;
  FlowBytes used_;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_CREDIT_H_
