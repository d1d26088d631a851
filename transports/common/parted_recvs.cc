#include "transports/common/parted_recvs.h"

#include <algorithm>

#include "transports/common/errors.h"

namespace goss::transports {

namespace {

/// What is left of a message's last bytes, which complete it.
constexpr std::size_t kLeftBytes = 64;

Status memoryError(int peer) {
  return Status::error(GOSS_ERR_RESOURCE, "no memory for a message that came before its receive", ErrorScope::peer,
                       peer);
}

} // namespace

Status PartedRecvs::message(const MessageHeader& header, std::span<const std::byte> bytes) {
  if (!whole_.begin(header)) return memoryError(matcher_.peer());
  if (!whole_.wasKept()) release(header.tag, header.bytes);
  whole_.deliver(bytes);
  return Status::ok();
}

Status PartedRecvs::begin(const MessageHeader& header, std::uint64_t ahead, std::span<const std::byte> bytes) {
  if (ahead > header.bytes || bytes.size() > ahead)
    return protocolError(matcher_.peer(), "a message that begins with more than all of it");
  Arrivals::Arrival* arrival = arrivals_.add(header, ahead);
  if (arrival == nullptr) return memoryError(matcher_.peer());
  if (!arrival->inflow.wasKept()) {
    release(header.tag, ahead);
    answer(*arrival);
  }
  if (!bytes.empty() || header.bytes == 0) return more(arrival->number, bytes);
  return Status::ok();
}

Status PartedRecvs::more(std::uint64_t number, std::span<const std::byte> bytes) {
  Arrivals::Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr) return protocolError(matcher_.peer(), "a part of a message that was not begun");
  const std::uint64_t most = arrival->granted ? arrival->header.bytes : arrival->held;
  if (bytes.size() > most - arrival->come) return protocolError(matcher_.peer(), "a part that nobody has asked for");
  arrival->come += bytes.size();
  if (!arrival->dropped) arrival->inflow.deliver(bytes);
  endIfOver(*arrival);
  return Status::ok();
}

void PartedRecvs::withdraw(std::uint64_t number) {
  Arrivals::Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr) return;
  if (arrival->dropped) {
    arrivals_.end(*arrival);
  } else {
    arrivals_.withdraw(*arrival);
  }
}

std::size_t PartedRecvs::passable(std::uint64_t number, std::size_t bytes) {
  const Arrivals::Arrival* arrival = arrivals_.find(number);
  if (arrival == nullptr || arrival->dropped || bytes == 0) return 0;
  const std::uint64_t most = arrival->granted ? arrival->header.bytes : arrival->held;
  if (bytes > most - arrival->come) return 0;
  return bytes == arrival->inflow.remaining() ? (bytes - 1) / kLeftBytes * kLeftBytes : bytes;
}

void PartedRecvs::passOn(std::uint64_t number, std::span<const std::byte> bytes) {
  Arrivals::Arrival* arrival = arrivals_.find(number);
  arrival->come += bytes.size();
  arrival->inflow.deliver(bytes);
  endIfOver(*arrival);
}

/// Once it has met a receive, or nobody wants it.
void PartedRecvs::answer(Arrivals::Arrival& arrival) {
  if (arrival.granted || arrival.dropped || arrival.held >= arrival.header.bytes) return; // It comes without.
  const bool wanted = !arrival.inflow.isDropped();
  answers_.push_back({arrival.number, wanted});
  if (wanted) {
    arrival.granted = true;
    return;
  }
  arrival.dropped = true;
  arrival.inflow.finishDropped();
  endIfOver(arrival);
}

void PartedRecvs::endIfOver(const Arrivals::Arrival& arrival) {
  if (arrival.come == (arrival.dropped ? arrival.held : arrival.header.bytes)) arrivals_.end(arrival);
}

bool PartedRecvs::settle() {
  if (!matcher_.hasReleased()) return false;
  for (const Released& released : matcher_.takeReleased()) {
    release(released.tag, released.held);
    if (released.ticket == 0) continue;
    if (Arrivals::Arrival* arrival = arrivals_.find(released.ticket)) answer(*arrival);
  }
  return true;
}

} // namespace goss::transports
