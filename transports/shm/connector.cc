#include "transports/shm/connector.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/hex.h"
#include "gossamer/config.h"
#include "platform/host.h"
#include "transports/common/errors.h"

namespace goss::transports::shm {

namespace {

// Poll tokens: sockets of callers by descriptor, of calls by rank, the bell, the listener, and ends of processes that
// were called, by rank.
constexpr std::uint64_t kCallerTokens = Connector::kTokens;
constexpr std::uint64_t kCallTokens = std::uint64_t{3} << 32;
constexpr std::uint64_t kBellToken = std::uint64_t{4} << 32;
constexpr std::uint64_t kListenerToken = std::uint64_t{5} << 32;
constexpr std::uint64_t kEndTokens = std::uint64_t{6} << 32;

// A peer that lives may close a call: it has no descriptors left, or has made a link of its own call just then. This
// rank calls again after kRedial, at most kMaxCalls times.
constexpr std::chrono::milliseconds kRedial(10);
constexpr int kMaxCalls = 200;

constexpr std::string_view kAbsent = "it has left or ended, and its process does not answer on this host";

/// Ring size between two ranks. With 2 MiB, twice a core's second-level cache, windows of 4 to 256 KiB are twice as
/// fast where the ranks share a cache, and up to twice as slow where they do not.
constexpr std::size_t kRingBytes = 1u << 20;
/// Ring size where there are more than two ranks: with larger rings, all rings together displace the vectors from the
/// caches that ranks share: with 4 ranks (twelve rings) an all-to-all of 512 KiB takes 400 us, with rings of 1 MiB 780.
/// Rings of 256 KiB are too short for most other collectives.
constexpr std::size_t kRingBytesOfMany = kRingBytes / 2;

std::size_t ringBytes(const TransportContext& context) {
  if (context.config->shm_ring_bytes > 0) return context.config->shm_ring_bytes;
  return context.size > 2 ? kRingBytesOfMany : kRingBytes;
}

Result<std::string> randomName() {
  std::array<std::byte, 16> bytes{};
  Status status = platform::fillRandom(bytes);
  if (!status.isOk()) return status;
  return "gossamer-" + base::toHex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

} // namespace

Connector::Connector(const TransportContext& context, const std::string& host, platform::Poller& poller, Linker& linker)
    : context_(context),
      host_(host),
      poller_(poller),
      linker_(linker),
      callers_(context, poller, kListenerToken, kCallerTokens,
               [this](platform::UniqueFd socket, Hello hello) { meet(std::move(socket), std::move(hello)); }),
      boards_(context.size, [this](int rank) { wantBoard(rank); }) {}

Result<std::string> Connector::open() {
  Result<std::string> name = randomName();
  if (!name.isOk()) return name.status();
  if (Status status = callers_.listen(name.value()); !status.isOk()) return status;
  if (Status status = boards_.open(name.value(), poller_, kBellToken); !status.isOk()) return status;
  return ShmAddress{host_, name.value(), platform::processId(), boards_.fd()}.encode();
}

Status Connector::learn(PeerEntry& to, std::string_view address) {
  std::optional<ShmAddress> decoded = ShmAddress::decode(address);
  to.asked = true;
  if (!decoded || decoded->host != host_) {
    to.error = protocolError(to.rank, "an address that is not of this host");
  } else if (to.rank == context_.self) {
    to.error = Status::error(GOSS_ERR_UNSUPPORTED, "shm does not connect a rank to itself; use loopback");
  }
  to.lost = !to.error.isOk();
  if (to.lost) return to.error;
  decoded->host = std::string();
  boards_.introduce(to.rank, *decoded);
  return Status::ok();
}

void Connector::enqueue(PeerEntry& to) {
  if (!std::exchange(to.queued, true)) to_dial_.push_back(&to);
  linker_.pollSoon();
}

void Connector::wantBoard(int rank) {
  PeerEntry& to = linker_.entry(rank);
  if (!to.on_use || to.over() || std::exchange(to.wants_board, true)) return;
  enqueue(to);
}

bool Connector::dialAll() {
  bool any = false;
  for (PeerEntry* to : std::exchange(to_dial_, {})) {
    to->queued = false;
    const bool wanted = (to->needed && !to->peer.attached()) || (to->wants_board && !boards_.has(to->rank));
    if (!wanted || to->over() || to->call) continue;
    if (!to->redial.never() && !to->redial.expired()) {
      enqueue(*to);
      continue;
    }
    any = true;
    Status status = dial(*to);
    if (status.isOk()) continue;
    const bool absent = to->on_use && status.kind() == GOSS_ERR_PEER_LOST;
    linker_.breakOff(*to, absent ? peerLostError(to->rank, kAbsent) : status, absent);
  }
  return any;
}

Status Connector::dial(PeerEntry& to) {
  Result<platform::UniqueFd> socket = shm::dial(boards_.nameOf(to.rank), to.rank);
  if (!socket.isOk()) return socket.status();
  if (!socket.value().valid()) { // The listener is busy.
    enqueue(to);
    return Status::ok();
  }
  if (hasEnded(socket.value().get())) return peerLostError(to.rank, "its process ended");
  OwnCall call{socket.take(), {}, {}};
  if (to.needed) {
    Result<Segment> segment = Segment::create(ringBytes(context_), to.rank);
    if (!segment.isOk()) { // So that the peer does not wait for this rank.
      [[maybe_unused]] const Status told =
          sendHello(call.socket.get(), context_, to.rank, {}, boards_.fd(), segment.status().text());
      return segment.status();
    }
    call.segment = segment.take();
  }
  Status sent = sendHello(call.socket.get(), context_, to.rank, call.segment, boards_.fd());
  if (!sent.isOk()) return sent;
  call.segment.closeFd();
  const auto number = static_cast<std::uint64_t>(to.rank);
  Status added = poller_.add(call.socket.get(), true, false, kCallTokens + number);
  call.process = watchProcess(call.socket.get());
  if (added.isOk() && call.process.valid()) added = poller_.add(call.process.get(), true, false, kEndTokens + number);
  to.call.emplace(std::move(call));
  return added;
}

void Connector::drop(PeerEntry& to) {
  if (!to.call) return;
  poller_.remove(to.call->socket.get());
  if (to.call->process.valid()) poller_.remove(to.call->process.get());
  to.call.reset();
}

void Connector::handle(std::uint64_t token) {
  if (token == kListenerToken) return callers_.accept();
  if (token == kBellToken) return boards_.drainBell();
  const auto low = static_cast<int>(token & 0xffffffffu);
  if (token < kCallTokens) return callers_.read(low);
  PeerEntry& to = linker_.entry(low);
  readAnswer(to);
  if (token < kEndTokens || !to.call) return;
  drop(to);
  linker_.breakOff(to, peerLostError(low, to.on_use ? kAbsent : "its process ended"), to.on_use);
}

/// Handles the answer to this rank's call, if it has come.
void Connector::readAnswer(PeerEntry& to) {
  if (!to.call) return;
  Answer answer = shm::readAnswer(to.call->socket.get());
  if (answer.kind == Answer::Kind::again) return;
  OwnCall call = std::move(*to.call);
  poller_.remove(call.socket.get());
  if (call.process.valid()) poller_.remove(call.process.get());
  to.call.reset();
  switch (answer.kind) {
    case Answer::Kind::welcome:
      to.calls = 0;
      if (Status status = boards_.attach(to.rank, std::move(answer.board)); !status.isOk())
        return linker_.breakOff(to, status, false);
      if (call.segment.valid()) return linker_.adopt(to, std::move(call.segment), std::move(call.socket));
      return enqueue(to); // The link may have become needed since.
    case Answer::Kind::refused:
      return linker_.breakOff(to, peerLostError(to.rank, answer.why), false);
    case Answer::Kind::ended:
      if (!to.on_use) return linker_.breakOff(to, peerLostError(to.rank, "its process ended"), false);
      // If the process has ended, the next call shows it.
      if (++to.calls > kMaxCalls)
        return linker_.breakOff(
            to, peerLostError(to.rank, "its process closes each call; has it no descriptors left (ulimit -n)?"), false);
      to.redial = platform::Deadline::after(kRedial);
      return enqueue(to);
    case Answer::Kind::otherCall:
    case Answer::Kind::again:
      return;
  }
}

/// A peer has called.
void Connector::meet(platform::UniqueFd socket, Hello hello) {
  PeerEntry& from = linker_.entry(hello.from);
  const auto refuse = [&](const Status& why) {
    sendRefusal(socket.get(), fmt::format("rank {} makes no link: {}", context_.self, why.text()));
    linker_.breakOff(from, why, false);
  };
  if (from.over()) return refuse(from.lost ? from.error : from.peer.end().reason());
  if (!hello.trouble.empty()) return linker_.breakOff(from, peerLostError(hello.from, hello.trouble), false);
  if (Status seen = boards_.attach(hello.from, std::move(hello.board)); !seen.isOk()) return refuse(seen);
  if (!hello.segment.valid()) {
    sendWelcome(socket.get(), boards_.fd());
    return;
  }
  if (from.peer.attached()) return; // The rank called before; a second link would reorder messages.
  const bool calls_too = from.call && from.call->segment.valid();
  if (calls_too && hello.from < context_.self) return sendOtherCall(socket.get());
  Result<Segment> segment = Segment::attach(std::move(hello.segment), hello.ring_bytes, hello.from);
  if (!segment.isOk()) return refuse(segment.status());
  drop(from);
  if (!sendWelcome(socket.get(), boards_.fd())) return enqueue(from); // The caller has gone.
  linker_.adopt(from, segment.take(), std::move(socket));
}

} // namespace goss::transports::shm
