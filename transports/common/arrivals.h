/// Messages of one peer whose bytes, or most of them, stay with the sender until they have matched a receive.
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

/// Numbers the messages from 1 in the order of their headers, in which they are also matched. One thread.
class Arrivals {
 public:
  struct Arrival {
    explicit Arrival(Matcher& matcher) : sink(matcher) {}
    MessageSink sink;
    MessageHeader header;
    std::uint64_t number = 0;
    std::uint64_t held = 0;  ///< Bytes that come before the message has matched a receive.
    std::uint64_t come = 0;  ///< Bytes that have arrived, or are to arrive in a part that is being read.
    std::uint32_t parts = 0; ///< Parts that are being read.
    bool granted = false;    ///< The receiver has asked the sender for all of the message.
    bool dropped = false;    ///< The receiver has told the sender that the rest is not wanted.
    bool withdrawn = false;  ///< The sender has cancelled it; the entry is removed when its parts have been read.
  };

  /// `matcher` outlives this object. It reports the tickets of messages that it releases; tickets are their numbers.
  /// With `whole` it also reports messages without a ticket.
  explicit Arrivals(Matcher& matcher, bool whole) : matcher_(matcher) { matcher.trackReleased(whole); }

  /// Adds the message of the next header. Null: memory is short.
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
    // Callbacks may not add messages, but may cancel the receive that this message matches.
    if (!arrival.sink.beginPart(header, held, arrival.number)) return nullptr;
    by_number_.insert(std::move(spare_));
    return last_ = &arrival;
  }
  /// The message with this number. Null: it is complete, or never existed.
  [[nodiscard]] Arrival* find(std::uint64_t number) {
    if (last_ != nullptr && last_->number == number) return last_;
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : last_ = found->second.get();
  }
  /// Number of messages that were added.
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::size_t size() const { return by_number_.size(); }
  /// Ends a message that has arrived, or is kept whole.
  void end(const Arrival& arrival) {
    last_ = nullptr;
    spare_ = by_number_.extract(arrival.number);
  }
  /// Removes a message as if it had never been sent: a receive that has matched it waits for another message.
  void withdraw(Arrival& arrival) {
    if (arrival.sink.waits())
      arrival.sink.revoke();
    else if (arrival.sink.isIdle())
      matcher_.forget(arrival.number);
    else if (arrival.sink.isDropped())
      arrival.sink.finishDropped(); // A receive that refused the message has its error already.
    else
      arrival.sink.restart();
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
  ByNumber::node_type spare_; ///< Recycled, because mostly one message begins when another has ended.
  /// The last one found in by_number_, or null: parts of one message mostly follow one another.
  Arrival* last_ = nullptr;
  std::uint64_t count_ = 0;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_ARRIVALS_H_
