/// libFuzzer target: arbitrary bytes as any message between cores: those of bootstrap, cards, control messages, views
/// of who is gone, envelopes, unique ids. Input: which message (1 byte), number of ranks (1 byte), bytes. What a
/// decoder accepts must come out of its encoder as the same bytes.
#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/wire.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wire.h"
#include "call/history.h"
#include "call/signature.h"
#include "health/agreement.h"
#include "mesh/control.h"
#include "mesh/mesh.h"
#include "planner/observed_links.h"
#include "schedule/shares.h"

namespace {

using namespace goss;

void require(bool condition) {
  if (!condition) std::abort();
}

void tryHello(std::string_view bytes) {
  const auto hello = decodeHello(bytes);
  if (!hello.isOk()) return;
  require(helloMayBegin(bytes) && hello.value().rank < hello.value().ranks && encodeHello(hello.value()) == bytes);
}

void tryFrame(std::string_view bytes) {
  constexpr std::size_t kLimit = 4096;
  const auto header = decodeHeader(bytes.substr(0, kBootstrapHeaderBytes), kLimit);
  if (!header.isOk()) return;
  require(header.value().bytes <= kLimit + kBootstrapChecksumBytes);
  const std::string_view rest = bytes.substr(kBootstrapHeaderBytes);
  if (rest.size() != header.value().bytes) return;
  const auto payload = decodePayload(header.value(), rest);
  if (payload.isOk()) require(encodeFrame(header.value().kind, header.value().round, payload.value()) == bytes);
}

void tryCards(std::string_view bytes, int ranks) {
  const auto cards = decodeCards(bytes, ranks);
  if (!cards.isOk()) return;
  require(cards.value().size() == static_cast<std::size_t>(ranks));
  require(decodeCards(encodeCards(cards.value()), ranks).value() == cards.value());
}

void tryCard(std::string_view bytes) {
  const auto card = PeerCard::decode(bytes);
  if (card.isOk()) require(card.value().encode() == bytes);
}

void tryView(std::string_view bytes, int ranks) {
  const auto decoded = AgreementView::decode(bytes, ranks);
  if (!decoded.isOk()) return;
  const AgreementView& view = decoded.value();
  const auto again = AgreementView::decode(view.encode(), ranks);
  require(again.isOk() && again.value() == view);
  const auto remaining = remainingRanks(view, ranks);
  require(std::is_sorted(remaining.begin(), remaining.end()) && remaining.size() <= static_cast<std::size_t>(ranks));
  // Quorums of both sides of a cut would be two groups that both go on.
  std::vector<bool> agreed(static_cast<std::size_t>(ranks), false);
  std::vector<bool> others(agreed.size(), true);
  for (const int rank : remaining) {
    agreed[static_cast<std::size_t>(rank)] = true;
    others[static_cast<std::size_t>(rank)] = false;
  }
  const std::vector<bool> none_ended(agreed.size(), false);
  require(!hasQuorum(agreed, none_ended) || !hasQuorum(others, none_ended));
  if (ranks < 2) return;
  for (const auto manner : {Agreement::Manner::all, Agreement::Manner::coordinator}) {
    Agreement agreement(
        0, ranks, [](std::uint32_t least) { return least; }, manner);
    agreement.receiveView(1, view);
    agreement.receiveDecision(ranks - 1, {view, agreed, false});
    for (const int rank : agreement.awaited())
      require(rank > 0 && rank < ranks);
    for (const int rank : agreement.audience())
      require(rank > 0 && rank < ranks);
  }
}

void tryOutcome(std::string_view bytes, int ranks) {
  const auto decoded = AgreementOutcome::decode(bytes, ranks);
  if (!decoded.isOk()) return;
  const auto again = AgreementOutcome::decode(decoded.value().encode(), ranks);
  require(again.isOk() && again.value() == decoded.value());
  tryView(decoded.value().view.encode(), ranks);
}

void tryHistory(const ControlMessage& message) {
  const auto theirs = History::decode(message.operation, message.text);
  if (!theirs.has_value()) return;
  require(theirs->encode() == message.text && theirs->first() == message.operation);
  require(!theirs->firstDifference(*theirs).has_value());
  History ours;
  ours.add(message.signature);
  const auto number = ours.firstDifference(*theirs);
  require(!number.has_value() || *number == 0);
}

/// Rates of paths that ranks plan by. Equal bytes must give equal shares of a vector.
void tryRates(std::string_view bytes, int ranks) {
  if (ranks > 16) return;
  const auto links = ObservedLinks::decode(bytes, schedule::Links(ranks, {0.02, 1e8, 0, 0}));
  if (!links.has_value()) return;
  const std::vector<double> shares = schedule::overlappedShares(*links);
  require(shares.empty() || shares.size() == static_cast<std::size_t>(ranks));
  for (const double share : shares)
    require(share >= -1e-9 && share <= 1 + 1e-9);
}

void tryControl(std::string_view bytes, int ranks) {
  const auto decoded = ControlMessage::decode(bytes);
  if (!decoded.isOk()) return;
  const ControlMessage& message = decoded.value();
  if (message.text.size() <= ControlMessage::kMaxTextBytes) require(message.encode() == bytes);
  require(!Signature::decode(message.signature).describe().empty());
  if (message.type == ControlMessage::Type::view) tryView(message.text, ranks);
  if (message.type == ControlMessage::Type::agreed) tryOutcome(message.text, ranks);
  if (message.type == ControlMessage::Type::history) tryHistory(message);
  if (message.type == ControlMessage::Type::decision) tryRates(message.text, ranks);
}

void tryEnvelope(std::string_view bytes) {
  goss::Envelope envelope{};
  if (bytes.size() != envelope.size()) return;
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(envelope.data()));
  const Signature signature = Signature::decode(envelope);
  require(!signature.describe().empty() && signature.encode() == envelope);
}

/// Adds the right checksum, which no mutation would find.
void tryUniqueId(std::string_view bytes) {
  goss_unique_id id{};
  constexpr std::size_t kHashed = sizeof id.bytes - sizeof(std::uint64_t);
  std::copy_n(bytes.begin(), std::min(bytes.size(), kHashed), id.bytes);
  goss::base::storeLittleEndian(id.bytes + kHashed, XXH3_64bits(id.bytes, kHashed));
  const auto decoded = decodeUniqueId(id);
  if (!decoded.isOk()) return;
  const goss_unique_id encoded = encodeUniqueId(decoded.value());
  const auto again = decodeUniqueId(encoded);
  require(again.isOk() && again.value().addresses == decoded.value().addresses);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const int ranks = 1 + data[1];
  // A copy of exactly this length, so that the sanitizers see a read behind it.
  const std::string bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 8) {
    case 0:
      tryHello(bytes);
      break;
    case 1:
      tryFrame(bytes);
      break;
    case 2:
      tryCards(bytes, ranks);
      break;
    case 3:
      tryCard(bytes);
      break;
    case 4:
      tryControl(bytes, ranks);
      break;
    case 5:
      tryView(bytes, ranks);
      break;
    case 6:
      tryEnvelope(bytes);
      break;
    default:
      tryUniqueId(bytes);
  }
  return 0;
}
