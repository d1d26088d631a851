/// The receiving half of a link to a sender of this process, whose memory can be read.
#ifndef GOSS_TRANSPORTS_COMMON_LOCAL_RECVS_H_
#define GOSS_TRANSPORTS_COMMON_LOCAL_RECVS_H_

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transports/common/arrivals.h"
#include "transports/common/matcher.h"

namespace goss::transports {

/// A message that has not matched a receive costs a reference to its `Source`, whatever its length. A message that
/// matches at once, or when a receive is posted later, is fetched by settle(). One thread; begin(), settle() and
/// handOver() call operations back.
///
/// `fetch` is a function (const Source&, MessageSink&) that gives all bytes of the message to the MessageSink; it
/// returns false, and gives none, where the sender has cancelled the message.
template <typename Source>
class LocalRecvs {
 public:
  /// `matcher` outlives this object, and has no limit of its own.
  explicit LocalRecvs(Matcher& matcher) : matcher_(matcher), arrivals_(matcher, false) {}

  /// Adds the next message. False: memory is short.
  bool begin(const MessageHeader& header, Source source) {
    Arrivals::Arrival* arrival = arrivals_.add(header, 0);
    if (arrival == nullptr) return false;
    const std::uint64_t number = arrival->number;
    waiting_.emplace(number, std::move(source));
    collect();
    if (!arrival->sink.wasKept()) met_.push_back(number);
    return true;
  }
  /// Fetches messages that have matched their receives, or that are dropped, in this order, and then calls `over`
  /// (const Source&), unless the sender has cancelled the message. Returns whether there was one.
  template <typename Fetch, typename Over>
  bool settle(const Fetch& fetch, const Over& over) {
    collect();
    if (met_.empty()) return false;
    for (const std::uint64_t number : std::exchange(met_, {})) {
      const auto node = waiting_.extract(number);
      if (node.empty()) continue; // The sender has cancelled it.
      Arrivals::Arrival& arrival = *arrivals_.find(number);
      if (fetch(node.mapped(), arrival.sink)) {
        arrivals_.end(arrival);
        over(node.mapped());
      } else {
        arrivals_.withdraw(arrival);
      }
    }
    return true;
  }
  [[nodiscard]] bool hasWork() const { return !met_.empty() || matcher_.hasReleased(); }
  /// Removes messages for which `is_taken_back` (const Source&) holds, as if they had never been sent.
  template <typename IsTakenBack>
  void withdrawIf(const IsTakenBack& is_taken_back) {
    std::erase_if(waiting_, [&](const auto& entry) {
      if (!is_taken_back(entry.second)) return false;
      arrivals_.withdraw(*arrivals_.find(entry.first));
      return true;
    });
  }
  /// Before the sender goes: copies the bytes of waiting messages into the matcher. Afterwards only fail() may be
  /// called.
  template <typename Fetch>
  void keepAll(const Fetch& fetch) {
    for (auto& [number, source] : waiting_) {
      Arrivals::Arrival& arrival = *arrivals_.find(number);
      if (arrival.sink.waits() && arrival.sink.hold(arrival.header.bytes)) fetch(source, arrival.sink);
    }
    waiting_.clear();
  }

 private:
  void collect() {
    if (!matcher_.hasReleased()) return;
    for (const Released& one : matcher_.takeReleased())
      met_.push_back(one.ticket);
  }

  Matcher& matcher_;
  Arrivals arrivals_;
  std::unordered_map<std::uint64_t, Source> waiting_; ///< By the number of the arrival.
  std::vector<std::uint64_t> met_;                    ///< Matched, in order of matching, but not fetched yet.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_LOCAL_RECVS_H_
