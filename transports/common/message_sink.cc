#include "transports/common/message_sink.h"

#include <utility>

namespace goss::transports {

MessageSink::MessageSink(Matcher& matcher) : Delivery(matcher.peer(), &matcher.statistics()), matcher_(matcher) {
  matcher_.add(*this);
}

MessageSink::~MessageSink() { matcher_.remove(*this); }

bool MessageSink::begin(const MessageHeader& header) {
  // An older kept message with this tag must match its receive first.
  if (matcher_.hasWork()) matcher_.drain();
  was_kept_ = false;
  const bool claimed = !claim_ || !matcher_.isPosted(header.tag) || claims();
  if (!claimed) return true;
  if (RecvOperation* operation = matcher_.takePosted(header.tag)) {
    accept(header, *operation);
    return true;
  }
  if (matcher_.unwanted().contains(header.tag)) {
    claim_ = nullptr;
    acceptWithout(header, nullptr);
    return true;
  }
  Unexpected* kept = matcher_.hasFailed() ? nullptr : matcher_.keep(header, *this, held_, ticket_);
  was_kept_ = kept != nullptr;
  if (!was_kept_ && !matcher_.hasFailed()) return false;
  acceptWithout(header, kept);
  return true;
}

bool MessageSink::takeWhole(const MessageHeader& header, std::span<const std::byte> bytes) {
  RecvOperation* operation = claim_ || matcher_.hasWork() ? nullptr : matcher_.takePosted(header.tag);
  if (operation == nullptr) {
    if (!begin(header)) return false;
    deliver(bytes);
    return true;
  }
  was_kept_ = false;
  acceptWhole(header, *operation, bytes);
  return true;
}

bool MessageSink::beginAbsent(const MessageHeader& header, std::function<bool()> claim) {
  claim_ = std::move(claim);
  const bool begun = begin(header);
  if (!kept_) claim_ = nullptr;
  return begun;
}

bool MessageSink::beginPart(const MessageHeader& header, std::uint64_t held, std::uint64_t ticket) {
  held_ = held;
  ticket_ = ticket;
  const bool begun = begin(header);
  held_ = kAll;
  ticket_ = 0;
  return begun;
}

bool MessageSink::hold(std::uint64_t held) { return matcher_.extend(*kept_, held); }

void MessageSink::revoke() { matcher_.revoke(*this); }

void MessageSink::restart() {
  if (RecvOperation* operation = detach()) matcher_.postAgain(*operation);
}

} // namespace goss::transports
