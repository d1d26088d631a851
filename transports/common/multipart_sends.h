/// The sending half of messages in parts: which bytes of which message may be sent.
#ifndef GOSS_TRANSPORTS_COMMON_MULTIPART_SENDS_H_
#define GOSS_TRANSPORTS_COMMON_MULTIPART_SENDS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "gossamer/message.h"
#include "transports/common/credit.h"
#include "transports/common/piece_cursor.h"

namespace goss::transports {

/// A message that was not sent completely.
struct MultipartSend {
  std::uint64_t number = 0;
  PieceCursor rest;                ///< Cursor of the bytes that were not sent.
  std::uint64_t rest_bytes = 0;    ///< Bytes that were not sent.
  std::uint64_t allowed_bytes = 0; ///< Bytes of those that may be sent now.
  bool unanswered = false;         ///< It has no bytes, and is complete when the peer has answered.
  /// All bytes that are to be sent were sent.
  [[nodiscard]] bool isOver() const { return rest_bytes == 0 && !unanswered; }
};

/// A message begins with a header, followed by as many bytes as the peer keeps of an unexpected message; the others
/// wait until the peer, which answers every such header, asks for them (grant) or drops them (skip). A message without
/// bytes waits for the answer if the peer has no credit for its header. A header without credit brings no bytes, and
/// costs nothing. After a cut a message counts as never sent. Messages are numbered from 1 in the order of their
/// headers, and their parts may alternate. Short messages are sent whole, without a number, while there is credit for
/// them. MultipartRecvs is the counterpart. One thread.
class MultipartSends {
 public:
  /// The peer keeps up to `limit` bytes of unexpected messages, and up to `most_ahead` bytes of a longer one.
  void setLimit(std::uint64_t limit, std::uint64_t most_ahead) {
    credit_.setLimit(limit);
    // A multiple of 64, because views of received bytes are.
    most_ahead_ = std::min(most_ahead, limit / 4) / 64 * 64;
  }
  [[nodiscard]] std::uint64_t limit() const { return credit_.limit(); }
  /// Whether a message may be sent whole, which takes credit.
  bool mayGo(Tag tag, std::uint64_t bytes) { return credit_.take(tag, kMessageCost + bytes); }
  /// The peer has released `cost` bytes.
  void giveBack(Tag tag, std::uint64_t cost) { (void)credit_.giveBack(tag, cost); }

  /// The header of `send` is sent now, with send.allowed_bytes in it.
  void begin(MultipartSend& send, const SendOperation& operation) {
    send.number = ++count_;
    send.rest = PieceCursor(operation.pieces);
    send.rest_bytes = operation.bytes;
    const std::uint64_t ahead = std::min<std::uint64_t>(operation.bytes, most_ahead_);
    send.allowed_bytes = ahead > 0 && mayGo(operation.tag, ahead) ? ahead : 0;
    send.unanswered = operation.bytes == 0;
    if (send.allowed_bytes < send.rest_bytes || send.unanswered) open_.emplace(send.number, &send);
    if (send.allowed_bytes > 0) ready_.push_back(&send);
  }
  /// The message of which a part is to be sent next; null: none may.
  [[nodiscard]] MultipartSend* next() const { return ready_.empty() ? nullptr : ready_.front(); }
  /// The next `bytes` of `send` were sent; the caller has moved send.rest.
  void advance(MultipartSend& send, std::uint64_t bytes) {
    send.rest_bytes -= bytes;
    send.allowed_bytes -= bytes;
    if (send.allowed_bytes == 0) unready(send);
    if (send.rest_bytes == 0 && !open_.empty()) open_.erase(send.number);
  }
  /// The peer wants all of message `number`, or no more than was allowed. Returns the message if all of that was sent
  /// already.
  MultipartSend* answer(std::uint64_t number, bool wanted) {
    const auto found = open_.find(number);
    if (found == open_.end()) return nullptr; // The message was cancelled meanwhile.
    MultipartSend& send = *found->second;
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
  /// The message is cancelled before it is complete.
  void end(MultipartSend& send) {
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
  void unready(const MultipartSend& send) {
    if (next() == &send)
      ready_.pop_front();
    else
      std::erase(ready_, &send);
  }

  Credit credit_;
  std::uint64_t most_ahead_ = 0;
  std::uint64_t count_ = 0;
  std::unordered_map<std::uint64_t, MultipartSend*> open_; ///< By number: messages that the peer has to answer.
  std::deque<MultipartSend*> ready_;                       ///< In the order in which they were allowed.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MULTIPART_SENDS_H_
