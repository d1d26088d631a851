/// The receiving half of messages that go in parts.
#ifndef GOSS_TRANSPORTS_COMMON_MULTIPART_RECVS_H_
#define GOSS_TRANSPORTS_COMMON_MULTIPART_RECVS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gossamer/tag.h"
#include "transports/common/arrivals.h"
#include "transports/common/credit.h"
#include "transports/common/matcher.h"
#include "transports/common/message_sink.h"

namespace goss::transports {

/// The counterpart of MultipartSends: accepts everything that comes at once, and says what the peer is to be told.
/// Errors: protocol, when a frame is malformed or exceeds the peer's credit, and the link must break; resource, when
/// memory is short. One thread; only message(), begin() and more() call operations back.
class MultipartRecvs {
 public:
  /// What the peer is to be told of a message that has matched a receive: send all of it, or no more of it.
  struct Answer {
    std::uint64_t number = 0;
    bool wanted = false;
  };

  /// `matcher` outlives this object, and has no limit of its own. `room`: the credit of the peer. `whole`: message() is
  /// used, and takes credit.
  MultipartRecvs(Matcher& matcher, std::uint64_t room, bool whole = true)
      : matcher_(matcher), room_(room), arrivals_(matcher, whole), whole_(matcher) {}

  /// A whole message has come.
  Status message(const MessageHeader& header, std::span<const std::byte> bytes);
  /// A message begins: `ahead` bytes of it come without an answer, `bytes` with its header.
  Status begin(const MessageHeader& header, std::uint64_t ahead, std::span<const std::byte> bytes);
  /// The next bytes of message `number`; at least one.
  Status more(std::uint64_t number, std::span<const std::byte> bytes);
  /// The peer has cancelled message `number`.
  void withdraw(std::uint64_t number);

  /// How many of the next bytes of a message may be given to passOn() outside of the transport's progress(): they
  /// complete nothing.
  [[nodiscard]] std::size_t passable(std::uint64_t number, std::size_t bytes);
  void passOn(std::uint64_t number, std::span<const std::byte> bytes);

  /// Whether the message that begin() or more() took last continues without being asked for.
  [[nodiscard]] bool goesOn() const { return goes_on_; }

  /// Looks for messages that have matched their receives. Returns whether there is one.
  bool settle();
  [[nodiscard]] bool hasWork() const { return !answers_.empty() || matcher_.hasReleased(); }
  std::vector<Answer> takeAnswers() { return std::exchange(answers_, {}); }
  /// Credit that the peer has again and has not been told of.
  [[nodiscard]] FlowBytes& owed() { return owed_; }

 private:
  void answer(Arrivals::Arrival& arrival);
  void endIfOver(const Arrivals::Arrival& arrival);
  Status charge(std::uint64_t cost);
  void release(Tag tag, std::uint64_t cost) {
    charged_ -= cost;
    if (cost > 0) owed_.add(tag, cost);
  }

  Matcher& matcher_;
  const std::uint64_t room_;
  /// Credit in use for unexpected messages, besides owed_, which the peer has not been told of.
  std::uint64_t charged_ = 0;
  Arrivals arrivals_;
  MessageSink whole_;
  FlowBytes owed_;
  std::vector<Answer> answers_;
  bool goes_on_ = false;
};

/// Takes all credit that is owed to the flow of `tag`; the caller tells the peer.
inline std::uint64_t takeOwed(FlowBytes& owed, Tag tag) {
  const std::uint64_t bytes = owed.total() == 0 ? 0 : owed.of(tag);
  if (bytes > 0) (void)owed.remove(tag, bytes);
  return bytes;
}

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MULTIPART_RECVS_H_
