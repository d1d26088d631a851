#include "transports/common/matcher.h"

#include <algorithm>

namespace goss::transports {

namespace {

// RecvOperation::hook.extra says where the operation is: in no list, in the list of posted ones, or the address of the
// Delivery that has its message.
constexpr std::uint64_t kNowhere = 0;
constexpr std::uint64_t kPosted = 1;

std::size_t costOf(const Unexpected& message) { return sizeof(Unexpected) + static_cast<std::size_t>(message.held); }

} // namespace

Matcher::Matcher(int peer, Deferred& deferred) : peer_(peer), deferred_(deferred), replay_(peer, nullptr) {
  add(replay_);
}

Matcher::~Matcher() = default;

void Matcher::add(Delivery& delivery) {
  delivery.place_ = deliveries_.size();
  deliveries_.push_back(&delivery);
}

void Matcher::remove(Delivery& delivery) {
  Delivery* last = deliveries_.back();
  deliveries_[delivery.place_] = last;
  last->place_ = delivery.place_;
  deliveries_.pop_back();
}

void Matcher::post(RecvOperation& operation) {
  bool kept = std::any_of(unexpected_.begin(), unexpected_.end(),
                          [&](const Unexpected& message) { return message.header.tag == operation.tag; });
  if (hasFailed() && !kept) {
    operation.hook.extra = kNowhere;
    deferred_.add(operation, failure_);
    return;
  }
  operation.hook.extra = kPosted;
  posted_.pushBack(operation);
  if (kept) rematch_ = true;
}

void Matcher::cancel(RecvOperation& operation) {
  if (operation.hook.extra == kNowhere) {
    deferred_.cancel(operation);
  } else if (operation.hook.extra == kPosted) {
    posted_.remove(operation);
    operation.hook.extra = kNowhere;
  } else {
    reinterpret_cast<Delivery*>(operation.hook.extra)->drop();
  }
}

void Matcher::postAgain(RecvOperation& operation) {
  operation.hook.extra = kPosted;
  posted_.pushFront(operation);
  rematch_ = true;
  operation.onTakenBack();
}

void Matcher::discard(Tag mask, Tag value) {
  unwanted_.add(mask, value);
  for (auto at = unexpected_.begin(); at != unexpected_.end();) {
    auto message = at++;
    if ((message->header.tag & mask) != value || isPosted(message->header.tag)) continue;
    // A message of which only the header has come stays where its sender has cancelled it: the transport revokes it.
    if (message->absent && !message->delivery->claims()) continue;
    // The rest of a message that is arriving is dropped as it comes. Of one that was claimed the transport fetches
    // nothing, and tells the sender that it was received.
    if (message->delivery != nullptr) {
      message->delivery->claim_ = nullptr;
      message->delivery->ignore();
    }
    noteReleased(*message);
    unexpected_.erase(message);
  }
}

/// Whether as many messages with this tag lie before `at` as receives are posted for it.
bool Matcher::isLeftOver(Tag tag, std::list<Unexpected>::const_iterator at) const {
  auto before =
      std::count_if(unexpected_.begin(), at, [&](const Unexpected& message) { return message.header.tag == tag; });
  for (const RecvOperation* posted = posted_.front(); posted; posted = posted_.next(*posted)) {
    if (posted->tag == tag && before-- == 0) return false;
  }
  return true;
}

bool Matcher::peek(Tag mask, Tag value, Arrived& found) const {
  const auto isIt = [&](const MessageHeader& header, std::list<Unexpected>::const_iterator at) {
    if ((header.tag & mask) != value || !isLeftOver(header.tag, at)) return false;
    found = {header.tag, header.envelope, header.bytes};
    return true;
  };
  for (auto at = unexpected_.begin(); at != unexpected_.end(); ++at) {
    if (isIt(at->header, at)) return true;
  }
  return false;
}

bool Matcher::isPosted(Tag tag) const {
  for (const RecvOperation* at = posted_.front(); at; at = posted_.next(*at)) {
    if (at->tag == tag) return true;
  }
  return false;
}

RecvOperation* Matcher::takePosted(Tag tag) {
  for (RecvOperation* at = posted_.front(); at; at = posted_.next(*at)) {
    if (at->tag != tag) continue;
    posted_.remove(*at);
    at->hook.extra = kNowhere;
    return at;
  }
  return nullptr;
}

bool Matcher::drain() {
  bool any = false;
  while (rematch_) {
    // Starts at the oldest message again after each match, because callbacks may have posted and cancelled receives.
    rematch_ = false;
    for (auto at = unexpected_.begin(); at != unexpected_.end() && !posted_.empty(); ++at) {
      if (!isPosted(at->header.tag)) continue;
      if (at->absent && !at->delivery->claims()) {
        revoke(*at->delivery);
        rematch_ = true;
        break;
      }
      RecvOperation* operation = takePosted(at->header.tag);
      std::list<Unexpected> taken;
      taken.splice(taken.begin(), unexpected_, at);
      const Unexpected& message = taken.front();
      noteReleased(message);
      Delivery& delivery = message.delivery ? *message.delivery : replay_;
      delivery.accept(message.header, *operation);
      if (message.arrived > 0) delivery.deliver({message.payload.get(), static_cast<std::size_t>(message.arrived)});
      rematch_ = any = true;
      break;
    }
  }
  if (hasFailed() && !posted_.empty()) {
    failPosted();
    any = true;
  }
  return any;
}

Unexpected* Matcher::keep(const MessageHeader& header, Delivery& delivery, std::uint64_t held, std::uint64_t ticket) {
  const bool absent = static_cast<bool>(delivery.claim_);
  held = absent ? 0 : std::min(held, header.bytes);
  Unexpected::Payload payload = Unexpected::allocate(held);
  if (held > 0 && !payload) return nullptr;
  unexpected_.push_back({header, held, 0, &delivery, std::move(payload), ticket, absent});
  unexpected_.back().self = std::prev(unexpected_.end());
  kept_bytes_ += costOf(unexpected_.back());
  return &unexpected_.back();
}

bool Matcher::extend(Unexpected& message, std::uint64_t held) {
  message.payload = Unexpected::allocate(held);
  if (!message.payload) return false;
  message.held = held;
  kept_bytes_ += static_cast<std::size_t>(held);
  return true;
}

void Matcher::noteReleased(const Unexpected& message) {
  kept_bytes_ -= costOf(message);
  if (message.ticket == 0 ? tracks_whole_ : tracks_tickets_)
    released_.push_back({message.header.tag, message.header.bytes, message.held, message.ticket});
}

void Matcher::forget(const Unexpected& message) {
  noteReleased(message);
  unexpected_.erase(message.self);
}

void Matcher::forget(std::uint64_t ticket) {
  const auto named = [ticket](const Unexpected& message) { return message.ticket == ticket; };
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(), named);
  if (found == unexpected_.end()) return;
  if (found->delivery != nullptr) found->delivery->ignore();
  noteReleased(*found);
  unexpected_.erase(found);
}

void Matcher::revoke(Delivery& delivery) {
  if (delivery.kept_) forget(*delivery.kept_);
  delivery.clear();
}

void Matcher::fail(const Status& status) {
  if (hasFailed()) return;
  drain();
  failure_ = status;
  for (Delivery* delivery : deliveries_) {
    if (delivery->kept_) forget(*delivery->kept_);
    delivery->abort(failure_);
  }
  failPosted();
}

void Matcher::failPosted() {
  // Callbacks that post again get an error in post(), because hasFailed(), and cannot lengthen this loop.
  while (RecvOperation* operation = posted_.popFront()) {
    operation->hook.extra = kNowhere;
    operation->onReceived(failure_);
  }
}

} // namespace goss::transports
