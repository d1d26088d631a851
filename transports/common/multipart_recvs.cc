#include "transports/common/multipart_recvs.h"

#include <algorithm>

#include "transports/common/errors.h"

namespace goss::transports {

namespace {

/// Bytes at the end of a message that passOn() leaves, because the last bytes complete it.
constexpr std::size_t kLeftBytes = 64;

} // namespace

Status MultipartRecvs::message(const MessageHeader& header, std::span<const std::byte> bytes) {
  const std::uint64_t cost = kMessageCost + header.bytes;
  if (Status charged = charge(cost); !charged.isOk()) return charged;
  if (!whole_.begin(header)) return memoryError(matcher_.peer());
  if (!whole_.wasKept()) release(header.tag, cost);
  whole_.deliver(bytes);
  return Status::ok();
}

Status MultipartRecvs::begin(const MessageHeader& header, std::uint64_t ahead, std::span<const std::byte> bytes) {
  if (ahead > header.bytes || bytes.size() > ahead)
    return protocolError(matcher_.peer(), "a message that begins with more than all of it");
  if (Status charged = charge(costOfHeld(ahead)); !charged.isOk()) return charged;
  Arrivals::Arrival* arrival = arrivals_.add(header, ahead);
  if (arrival == nullptr) return memoryError(matcher_.peer());
  goes_on_ = ahead > 0;
  const std::uint64_t number = arrival->number;
  if (!arrival->sink.wasKept()) {
    release(header.tag, costOfHeld(ahead));
    answer(*arrival);
  }
  return bytes.empty() ? Status::ok() : more(number, bytes);
}

Status MultipartRecvs::more(std::uint64_t number, std::span<const std::byte> bytes) {
  Arrivals::Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr) return protocolError(matcher_.peer(), "a part of a message that was not begun");
  const std::uint64_t most = arrival->granted ? arrival->header.bytes : arrival->held;
  if (bytes.size() > most - arrival->come) return protocolError(matcher_.peer(), "a part that nobody has asked for");
  arrival->come += bytes.size();
  goes_on_ = arrival->come < most;
  if (!arrival->dropped) arrival->sink.deliver(bytes);
  endIfOver(*arrival);
  return Status::ok();
}

void MultipartRecvs::withdraw(std::uint64_t number) {
  Arrivals::Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr) return;
  if (arrival->dropped) {
    arrivals_.end(*arrival);
  } else {
    arrivals_.withdraw(*arrival);
  }
}

std::size_t MultipartRecvs::passable(std::uint64_t number, std::size_t bytes) {
  const Arrivals::Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr || arrival->dropped || bytes == 0) return 0;
  const std::uint64_t most = arrival->granted ? arrival->header.bytes : arrival->held;
  if (bytes > most - arrival->come) return 0;
  return bytes == arrival->sink.remaining() ? (bytes - 1) / kLeftBytes * kLeftBytes : bytes;
}

void MultipartRecvs::passOn(std::uint64_t number, std::span<const std::byte> bytes) {
  Arrivals::Arrival* arrival = arrivals_.find(number);
  arrival->come += bytes.size();
  arrival->sink.deliver(bytes);
  endIfOver(*arrival);
}

/// Called once the message has matched a receive, or is dropped.
void MultipartRecvs::answer(Arrivals::Arrival& arrival) {
  const bool comes_whole = arrival.held > 0 && arrival.held == arrival.header.bytes;
  if (arrival.granted || arrival.dropped || comes_whole) return;
  const bool wanted = !arrival.sink.isDropped();
  answers_.push_back({arrival.number, wanted});
  (wanted ? arrival.granted : arrival.dropped) = true;
  if (!wanted) arrival.sink.finishDropped();
  endIfOver(arrival);
}

void MultipartRecvs::endIfOver(const Arrivals::Arrival& arrival) {
  if (arrival.come == (arrival.dropped ? arrival.held : arrival.header.bytes)) arrivals_.end(arrival);
}

Status MultipartRecvs::charge(std::uint64_t cost) {
  if (cost > room_ || charged_ + owed_.total() > room_ - cost)
    return protocolError(matcher_.peer(), "more without a receive than it has credit for");
  charged_ += cost;
  return Status::ok();
}

bool MultipartRecvs::settle() {
  if (!matcher_.hasReleased()) return false;
  for (const Released& released : matcher_.takeReleased()) {
    // A message without a number came whole, unless its bytes are fetched later.
    const bool whole = released.ticket == 0 && released.held == released.bytes;
    release(released.tag, whole ? kMessageCost + released.held : costOfHeld(released.held));
    if (Arrivals::Arrival* arrival = arrivals_.find(released.ticket)) answer(*arrival);
  }
  return true;
}

} // namespace goss::transports
