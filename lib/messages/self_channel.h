/// Messages of a rank to itself, which no transport carries.
#ifndef GOSS_LIB_MESSAGES_SELF_CHANNEL_H_
#define GOSS_LIB_MESSAGES_SELF_CHANNEL_H_

#include <algorithm>
#include <cstdint>
#include <deque>

#include "gossamer/gossamer.h"
#include "platform/thread_safety.h"

namespace goss {

class MessageOperation;

/// Sends and receives that have no partner yet, in the order in which they were posted. Under the engine's lock.
class SelfChannel {
 public:
  struct Entry {
    MessageOperation* operation = nullptr;
    bool sends = false;
    goss_message message{}; ///< This rank and the tag; of a send also its length.
  };

  /// Removes and returns the first operation with the tag of `posted` and the other direction. Null: there is none, and
  /// `posted` waits.
  MessageOperation* matchOnLoop(const Entry& posted) GOSS_ON_LOOP {
    const auto partner = std::find_if(waiting_.begin(), waiting_.end(), [&](const Entry& other) {
      return other.message.tag == posted.message.tag && other.sends != posted.sends;
    });
    if (partner == waiting_.end()) {
      waiting_.push_back(posted);
      return nullptr;
    }
    MessageOperation* operation = partner->operation;
    waiting_.erase(partner);
    return operation;
  }

  void withdrawOnLoop(const MessageOperation& operation) GOSS_ON_LOOP {
    std::erase_if(waiting_, [&](const Entry& entry) { return entry.operation == &operation; });
  }

  /// Whether a send waits that a receive of `tag` (GOSS_ANY_TAG: of any tag) would get.
  [[nodiscard]] bool peekOnLoop(std::int32_t tag, goss_message& found) const GOSS_ON_LOOP {
    const auto send = std::find_if(waiting_.begin(), waiting_.end(), [&](const Entry& entry) {
      return entry.sends && (tag == GOSS_ANY_TAG || entry.message.tag == tag);
    });
    if (send == waiting_.end()) return false;
    found = send->message;
    return true;
  }

 private:
  std::deque<Entry> waiting_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_MESSAGES_SELF_CHANNEL_H_
