/// Messages of one peer whose bytes, or most of them, stay with the sender until they have met a receive.
#ifndef GOSS_TRANSPORTS_COMMON_ARRIVALS_H_
#define GOSS_TRANSPORTS_COMMON_ARRIVALS_H_

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "transports/common/matcher.h"
#include "transports/common/message_sink.h"

namespace goss::transports {

/// Numbered from 1 in the order of their headers, which is the order in which they are matched. One thread.
class Arrivals {
 public:
  struct Arrival {
    explicit Arrival(Matcher& matcher) : inflow(matcher) {}
    MessageSink inflow;
    MessageHeader header;
    std::uint64_t number = 0;
    std::uint64_t held = 0;  ///< Bytes that come before it has met a receive.
    std::uint64_t come = 0;  ///< Bytes that have come or are on their way in a part that is being read.
    std::uint32_t parts = 0; ///< Parts that are being read.
    bool granted = false;    ///< The sender was asked for all of it.
    bool dropped = false;    ///< The sender was told that nobody wants the rest.
    bool withdrawn = false;  ///< The sender has taken it back; it goes when the parts are read.
  };

  /// `matcher` outlives this. It names the tickets of messages that it keeps no longer, which are their numbers; with
  /// `whole` also messages that are none of these.
  explicit Arrivals(Matcher& matcher, bool whole) : matcher_(matcher) { matcher.trackReleased(whole); }

  /// The next header. Null: memory is short.
  Arrival* add(const MessageHeader& header, std::uint64_t held) {
    if (spare_.empty()) spare_ = makeNode();
    spare_.key() = ++count_;
    Arrival& arrival = *spare_.mapped();
    arrival.header = header;
    arrival.number = count_;
    arrival.held = held;
    arrival.come = 0;
    arrival.parts = 0;
    arrival.granted = arrival.dropped = arrival.withdrawn = false;
    // Callbacks may add no other one, but cancel the receive that this one meets.
    if (!arrival.inflow.beginPart(header, held, arrival.number)) return nullptr;
    by_number_.insert(std::move(spare_));
    return last_ = &arrival;
  }
  /// Null: it is over, or never was.
  [[nodiscard]] Arrival* find(std::uint64_t number) {
    if (last_ != nullptr && last_->number == number) return last_;
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : last_ = found->second.get();
  }
  /// How many there have been.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return by_number_.size(); }
  /// It has come, or is kept whole.
  void end(const Arrival& arrival) {
    last_ = nullptr;
    spare_ = by_number_.extract(arrival.number);
  }
  /// It is as if it had never been sent: a receive that it has met waits for another one.
  void withdraw(Arrival& arrival) {
    if (arrival.inflow.waits())
      arrival.inflow.revoke();
    else if (arrival.inflow.isIdle())
      matcher_.forget(arrival.number);
    else if (arrival.inflow.isDropped())
      arrival.inflow.finishDropped(); // A receive that refused it has its error.
    else
      arrival.inflow.restart();
    end(arrival);
  }

 private:
  using ByNumber = std::unordered_map<std::uint64_t, std::unique_ptr<Arrival>>;
  [[nodiscard]] ByNumber::node_type makeNode() const {
    ByNumber one;
    one.emplace(0, std::make_unique<Arrival>(matcher_));
    return one.extract(one.begin());
  }

  Matcher& matcher_;
  ByNumber by_number_;
  ByNumber::node_type spare_; ///< Mostly one comes when one has ended.
  Arrival* last_ = nullptr;   ///< Of by_number_, or null: the parts of a message mostly follow one another.
  std::uint64_t count_ = 0;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_ARRIVALS_H_
