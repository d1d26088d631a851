/// The sending half of messages that go in parts: which bytes of which message may leave.
#ifndef GOSS_TRANSPORTS_COMMON_PARTED_SENDS_H_
#define GOSS_TRANSPORTS_COMMON_PARTED_SENDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "gossamer/message.h"
#include "transports/common/credit.h"
#include "transports/common/piece_cursor.h"

namespace goss::transports {

/// A message of which not all has left.
struct PartedSend {
  std::uint64_t number = 0;
  PieceCursor rest;                ///< What has not left,
  std::uint64_t rest_bytes = 0;    ///< how much that is,
  std::uint64_t allowed_bytes = 0; ///< and how much of it may go now.
  bool unanswered = false;         ///< It has no bytes, and is over when the peer has answered.
  /// All that is to leave has left.
  [[nodiscard]] bool isOver() const { return rest_bytes == 0 && !unanswered; }
};

/// A message begins with a header, behind which come as many bytes as the peer has room for where no receive is posted;
/// the others wait until the peer, which answers every such header, asks for them (grant) or does not want them (skip).
/// So does the end of one that has no bytes, if the peer has no room for its header. Messages are numbered from 1 in
/// the order of their headers. Whole short messages go without all that, and without a number, while there is credit
/// for them. PartedRecvs is the other half. One thread.
class PartedSends {
 public:
  /// The peer keeps up to `limit` bytes of messages that have no receive, and up to `most_ahead` of one that is longer.
  void setLimit(std::uint64_t limit, std::uint64_t most_ahead) {
    credit_.setLimit(limit);
    // Views of received bytes are multiples of 64.
    most_ahead_ = std::min(most_ahead, limit / 4) / 64 * 64;
  }
  [[nodiscard]] std::uint64_t limit() const { return credit_.limit(); }
  /// Whether a message may go whole, which takes credit.
  bool mayGo(Tag tag, std::uint64_t bytes) { return credit_.take(tag, kMessageCost + bytes); }
  /// The peer has room again.
  void giveBack(Tag tag, std::uint64_t cost) { (void)credit_.giveBack(tag, cost); }

  /// The header of `send` goes now, with send.allowed_bytes in it.
  void begin(PartedSend& send, const SendOperation& operation) {
    send.number = ++count_;
    send.rest = PieceCursor(operation.pieces);
    send.rest_bytes = operation.bytes;
    const std::uint64_t ahead = std::min<std::uint64_t>(operation.bytes, most_ahead_);
    send.allowed_bytes = ahead > 0 && mayGo(operation.tag, ahead) ? ahead : 0;
    send.unanswered = operation.bytes == 0;
    if (send.allowed_bytes < send.rest_bytes || send.unanswered) open_.emplace(send.number, &send);
    if (send.allowed_bytes > 0) ready_.push_back(&send);
  }
  /// The message of which a part is to go next; null: none may.
  [[nodiscard]] PartedSend* next() const { return ready_.empty() ? nullptr : ready_.front(); }
  /// The next `bytes` of `send` have left; the caller has moved send.rest.
  void advance(PartedSend& send, std::uint64_t bytes) {
    send.rest_bytes -= bytes;
    send.allowed_bytes -= bytes;
    if (send.allowed_bytes == 0) unready(send);
    if (send.rest_bytes == 0 && !open_.empty()) open_.erase(send.number);
  }
  /// The peer wants all of a message, or no more of it than was allowed. Returns the message if that has left already.
  PartedSend* answer(std::uint64_t number, bool wanted) {
    const auto found = open_.find(number);
    if (found == open_.end()) return nullptr; // It was taken back meanwhile.
    PartedSend& send = *found->second;
    send.unanswered = false;
    if (!wanted) {
      send.rest_bytes = send.allowed_bytes;
    } else if (send.allowed_bytes < send.rest_bytes) {
      if (send.allowed_bytes == 0) ready_.push_back(&send);
      send.allowed_bytes = send.rest_bytes;
    }
    if (!send.isOver()) return nullptr;
    open_.erase(found);
    return &send;
  }
  /// It is taken back; it is not over.
  void end(PartedSend& send) {
    unready(send);
    open_.erase(send.number);
    send.rest_bytes = send.allowed_bytes = 0;
    send.unanswered = false;
  }
  void clear() {
    ready_.clear();
    open_.clear();
  }

 private:
  void unready(const PartedSend& send) {
    if (next() == &send)
      ready_.pop_front();
    else
      std::erase(ready_, &send);
  }

  Credit credit_;
  std::uint64_t most_ahead_ = 0;
  std::uint64_t count_ = 0;
  std::unordered_map<std::uint64_t, PartedSend*> open_; ///< By number, of those that the peer answers.
  std::deque<PartedSend*> ready_;                       ///< In the order in which they were allowed.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PARTED_SENDS_H_
