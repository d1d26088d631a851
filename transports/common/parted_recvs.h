/// The receiving half of messages that go in parts.
#ifndef GOSS_TRANSPORTS_COMMON_PARTED_RECVS_H_
#define GOSS_TRANSPORTS_COMMON_PARTED_RECVS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/arrivals.h"
#include "transports/common/credit.h"
#include "transports/common/inflow.h"
#include "transports/common/matcher.h"

namespace goss::transports {

/// The other half of PartedSends: takes everything that comes, at once, and says what the peer is to be told. Errors:
/// protocol, when what comes makes no sense, and the link must break; resource, when memory is short. One thread; only
/// message(), begin(), more() and settle() call operations back.
class PartedRecvs {
 public:
  /// What the peer is to be told of a message that has met its receive: send all of it, or no more of it.
  struct Answer {
    std::uint64_t number = 0;
    bool wanted = false;
  };

  /// `matcher` outlives this, and has no limit of its own.
  explicit PartedRecvs(Matcher& matcher) : matcher_(matcher), arrivals_(matcher), whole_(matcher) {}

  /// A message has come whole.
  Status message(const MessageHeader& header, std::span<const std::byte> bytes);
  /// One begins, of which `ahead` bytes come without an answer, `bytes` with its header.
  Status begin(const MessageHeader& header, std::uint64_t ahead, std::span<const std::byte> bytes);
  /// The next bytes of one.
  Status more(std::uint64_t number, std::span<const std::byte> bytes);
  /// The peer has taken it back.
  void withdraw(std::uint64_t number);

  /// So many of the next bytes of a message may be given to passOn(), out of any progress of the transport: they
  /// complete nothing.
  [[nodiscard]] std::size_t passable(std::uint64_t number, std::size_t bytes);
  void passOn(std::uint64_t number, std::span<const std::byte> bytes);

  /// Looks which messages have met their receives. Returns whether one has.
  bool settle();
  [[nodiscard]] bool hasWork() const { return !answers_.empty() || matcher_.hasReleased(); }
  std::vector<Answer> takeAnswers() { return std::exchange(answers_, {}); }
  /// Room that the peer has again and has not been told of.
  [[nodiscard]] FlowBytes& owed() { return owed_; }

 private:
  void answer(Arrivals::Arrival& arrival);
  void endIfOver(const Arrivals::Arrival& arrival);
  void release(Tag tag, std::uint64_t held) {
    if (held > 0) owed_.add(tag, kMessageCost + held);
  }

  Matcher& matcher_;
  Arrivals arrivals_;
  Inflow whole_;
  FlowBytes owed_;
  std::vector<Answer> answers_;
};

/// All that is owed to the flow of `tag`, which is told now.
inline std::uint64_t takeOwed(FlowBytes& owed, Tag tag) {
  const std::uint64_t bytes = owed.total() == 0 ? 0 : owed.of(tag);
  if (bytes > 0) (void)owed.remove(tag, bytes);
  return bytes;
}

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PARTED_RECVS_H_
