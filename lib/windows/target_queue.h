/// The order of one rank's calls to one target of a window, and a bound of what they make the target keep.
#ifndef GOSS_LIB_WINDOWS_TARGET_QUEUE_H_
#define GOSS_LIB_WINDOWS_TARGET_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "platform/thread_safety.h"

namespace goss {

class WindowOperation;

/// A get is a request of some bytes for which the target copies all elements at once. So the origin asks for no more
/// than kMaxAnswerBytes before answers have come, unless a single get is longer; further gets wait here, and all calls
/// behind them do, because the target performs calls in their order. The origin holds them back: targets that held
/// requests back could wait for each other. (A pair average needs no such bound: a target makes one offer at a time.)
///
/// Under the engine's lock.
class TargetQueue {
 public:
  static constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20;

  /// `operation` null: the release of the target's lock.
  struct Call {
    WindowOperation* operation = nullptr;
    std::size_t answer_bytes = 0; ///< What the target keeps for the answer; 0 where the answer has no elements.
  };

  /// Whether the call may be sent now; else it waits until takeOnLoop() returns it.
  [[nodiscard]] bool admitsOnLoop(const Call& call) GOSS_ON_LOOP {
    if (waiting_.empty() && fits(call)) return true;
    waiting_.push_back(call);
    return false;
  }
  /// The first call that waits, if it may be sent now.
  std::optional<Call> takeOnLoop() GOSS_ON_LOOP {
    if (waiting_.empty() || !fits(waiting_.front())) return std::nullopt;
    const Call first = waiting_.front();
    waiting_.pop_front();
    return first;
  }
  /// An answer to question `serial` is to come, also if the operation that asks is given up.
  void askedOnLoop(std::uint32_t serial, std::size_t answer_bytes) GOSS_ON_LOOP {
    answers_[serial] = answer_bytes;
    answer_bytes_ += answer_bytes;
  }
  /// Does nothing where no answer to that question is to come.
  void answeredOnLoop(std::uint32_t serial) GOSS_ON_LOOP {
    const auto found = answers_.find(serial);
    if (found == answers_.end()) return;
    answer_bytes_ -= found->second;
    answers_.erase(found);
  }
  /// The operation waits no more. Returns whether it did.
  bool forgetOnLoop(const WindowOperation& operation) GOSS_ON_LOOP {
    return std::erase_if(waiting_, [&](const Call& call) { return call.operation == &operation; }) > 0;
  }
  [[nodiscard]] const std::deque<Call>& waitingOnLoop() const GOSS_ON_LOOP { return waiting_; }

 private:
  [[nodiscard]] bool fits(const Call& call) const GOSS_ON_LOOP {
    return call.answer_bytes == 0 || answer_bytes_ == 0 || answer_bytes_ + call.answer_bytes <= kMaxAnswerBytes;
  }

  std::deque<Call> waiting_ GOSS_GUARDED;
  std::map<std::uint32_t, std::size_t> answers_ GOSS_GUARDED; ///< By serial: bytes of the answers that are to come.
  std::size_t answer_bytes_ GOSS_GUARDED = 0;                 ///< Their sum.
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_TARGET_QUEUE_H_
