#include "bootstrap/member.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <thread>
#include <utility>

#include "base/wire.h"
#include "platform/host.h"
#include "platform/stream.h"
#include "security/security.h"

namespace goss {

namespace {

using platform::Deadline;
using std::chrono::milliseconds;

/// How long a rank waits beyond its deadline: rank 0 notices a common deadline first, and its answer names the missing
/// ranks.
constexpr milliseconds kGrace(1500);
constexpr milliseconds kFirstPause(10);
constexpr milliseconds kLongestPause(500);
/// Limit for one of several addresses, so that an address that neither refuses nor answers does not use up the time of
/// the others.
constexpr milliseconds kConnectSpan(3000);
constexpr milliseconds kAnswerSpan(10000);
/// Where rank 0 has listened since before its address was known, refused calls for this long mean that rank 0 is gone.
constexpr milliseconds kGoneSpan(1000);
/// Time for the rest of a frame that rank 0 has begun.
constexpr milliseconds kFrameSpan(1000);

Deadline plus(Deadline deadline, milliseconds span) {
  return deadline.never() ? deadline : Deadline(deadline.at() + span);
}

Status bootstrapError(std::string text) {
  return Status::error(GOSS_ERR_BOOTSTRAP, std::move(text), ErrorScope::communicator, 0);
}

/// The error of a meeting that rank 0 has ended. It blames no rank, because rank 0 sends the reason as text only.
Status toldByRank0(std::string reason) {
  return Status::error(GOSS_ERR_BOOTSTRAP, std::move(reason), ErrorScope::communicator);
}

} // namespace

BootstrapMember::BootstrapMember(Launch launch, const Config& config)
    : launch_(std::move(launch)),
      config_(config),
      first_deadline_(Deadline::after(milliseconds(config.bootstrap_timeout_ms))) {}

Result<std::unique_ptr<Rendezvous>> BootstrapMember::call(Launch launch, const Config& config) {
  std::unique_ptr<BootstrapMember> member(new BootstrapMember(std::move(launch), config));
  Status random = platform::fillRandom(std::as_writable_bytes(std::span(&member->caller_, 1)));
  if (!random.isOk()) return random;
  if (!config.tls.empty()) {
    auto opened = security::openSecurity(config);
    if (!opened.isOk()) return opened.status();
    member->security_ = opened.take();
  }
  Status answered = member->callUntilAnswered();
  if (!answered.isOk()) return answered;
  return std::unique_ptr<Rendezvous>(std::move(member));
}

Result<std::vector<platform::SocketAddress>> BootstrapMember::addresses() const {
  std::vector<platform::SocketAddress> found;
  if (const auto numeric = platform::SocketAddress::parse(launch_.host, launch_.port)) {
    found.push_back(*numeric);
  } else {
    auto looked_up = platform::resolve(launch_.host, launch_.port);
    if (!looked_up.isOk()) return looked_up;
    found = looked_up.take();
  }
  found.insert(found.end(), launch_.alternatives.begin(), launch_.alternatives.end());
  return found;
}

std::string BootstrapMember::rootName() const { return fmt::format("{} port {}", launch_.host, launch_.port); }

Status BootstrapMember::callUntilAnswered() {
  std::string last = "there was no time to call";
  milliseconds pause = kFirstPause;
  Deadline gone; // Runs while nothing listens at any of rank 0's addresses.
  while (!first_deadline_.expired()) {
    const auto candidates = addresses();
    if (!candidates.isOk()) {
      last = candidates.status().text();
    } else if (Status called = callEach(candidates.value(), last);
               called.isOk() || called.scope() == ErrorScope::communicator) {
      return called;
    }
    if (!launch_.listens_already || !nobody_listens_) {
      gone = Deadline();
    } else if (gone.never()) {
      gone = Deadline::after(kGoneSpan);
    } else if (gone.expired()) {
      return leftError(last);
    }
    const auto left = milliseconds(first_deadline_.leftMs());
    std::this_thread::sleep_for(std::min(pause, left));
    pause = std::min(2 * pause, kLongestPause);
  }
  return bootstrapError(
      fmt::format("rank 0 of {} was not found at {} within {} ms (last try: {}); is it running, and can "
                  "rank {} reach that address?",
                  launch_.ranks, rootName(), config_.bootstrap_timeout_ms, last, launch_.rank));
}

Status BootstrapMember::callEach(const std::vector<platform::SocketAddress>& candidates, std::string& last) {
  Status refused; // The refusal of one address; another may be rank 0's.
  Status called = Status::error(GOSS_ERR_TIMEOUT, last);
  nobody_listens_ = !candidates.empty();
  for (std::size_t i = 0; i < candidates.size() && !first_deadline_.expired(); ++i) {
    // A single address is tried until the deadline: rank 0 may be there, but busy.
    const Deadline until = candidates.size() == 1
                               ? first_deadline_
                               : earlier(first_deadline_, Deadline::after(kConnectSpan + kAnswerSpan));
    called = callOnce(candidates[i], until);
    if (called.isOk()) return called;
    if (called.scope() == ErrorScope::communicator) refused = called;
    last = fmt::format("{}: {}", candidates[i].text(), called.text());
  }
  return refused.isOk() ? called : refused;
}

Result<platform::UniqueFd> BootstrapMember::dial(const platform::SocketAddress& address, Deadline deadline) {
  int error = 0;
  auto dialled = platform::dial(address, &error);
  const bool reached =
      dialled.isOk() && platform::waitWritable(dialled.value().get(), earlier(deadline, Deadline::after(kConnectSpan)));
  if (reached) error = platform::socketError(dialled.value().get());
  nobody_listens_ = nobody_listens_ && error == ECONNREFUSED;
  if (!dialled.isOk()) return dialled;
  if (!reached) return Status::error(GOSS_ERR_TIMEOUT, "no answer to the connection attempt");
  if (error != 0) return Status::error(GOSS_ERR_PEER_LOST, platform::errnoText(error));
  return dialled;
}

Status BootstrapMember::callOnce(const platform::SocketAddress& address, Deadline deadline) {
  stream_.close();
  auto dialled = dial(address, deadline);
  if (!dialled.isOk()) return dialled.status();
  platform::tuneForMessages(dialled.value().get());
  std::unique_ptr<platform::StreamFilter> filter;
  if (security_) {
    auto made = security_->caller({});
    if (!made.isOk()) return made.status();
    filter = made.take();
  }
  stream_ = platform::Stream(dialled.take(), std::move(filter));
  Status secured = secure(address, deadline);
  if (!secured.isOk()) return secured;
  const std::string hello = encodeHello({launch_.rank, launch_.ranks, caller_, launch_.job});
  Status said = stream_.writeAll(hello, deadline);
  if (!said.isOk()) return said;
  BootstrapHeader header;
  std::string reason;
  Status answered = readFrame(header, reason, deadline);
  // Only now a caller learns that its own credentials are refused.
  if (!answered.isOk() && !stream_.failure().empty()) return refusedBy(address, stream_.failure());
  if (!answered.isOk()) return answered;
  if (header.kind == BootstrapFrame::refused)
    return bootstrapError(fmt::format("rank 0 at {} refused rank {}: {}", address.text(), launch_.rank, reason));
  if (header.kind != BootstrapFrame::welcome) return Status::error(GOSS_ERR_PROTOCOL, "the answer makes no sense here");
  return findSite(reason);
}

Status BootstrapMember::findSite(std::string_view welcome) {
  const auto seen = decodeWelcome(welcome);
  if (!seen.isOk()) return seen.status();
  const auto here = platform::localAddress(stream_.fd());
  const auto there = platform::remoteAddress(stream_.fd());
  site_ = {};
  if (here && here->bytes() != seen.value().caller) site_.from = seen.value().caller;
  if (there && there->bytes() != seen.value().root) site_.at = there->bytes();
  return Status::ok();
}

Status BootstrapMember::refusedBy(const platform::SocketAddress& address, const std::string& why) const {
  return bootstrapError(
      fmt::format("rank {} and rank 0 at {} do not trust each other: {}", launch_.rank, address.text(), why));
}

Status BootstrapMember::leftError(const std::string& why) const {
  return bootstrapError(fmt::format("rank 0 at {} left during start-up: {}", rootName(), why));
}

Status BootstrapMember::secure(const platform::SocketAddress& address, Deadline deadline) {
  Status greeted = stream_.greetUntil(earlier(deadline, Deadline::after(kAnswerSpan)));
  if (!greeted.isOk() && greeted.kind() == GOSS_ERR_PROTOCOL) return refusedBy(address, stream_.failure());
  if (!greeted.isOk()) return greeted;
  const platform::StreamFilter* filter = stream_.filter();
  if (filter == nullptr || filter->mayBe(0)) return Status::ok();
  return refusedBy(address, fmt::format("the credentials of \"{}\" do not allow it to be rank 0", filter->name()));
}

Status BootstrapMember::readFrame(BootstrapHeader& header, std::string& payload, Deadline deadline) {
  while (turn_ && begun_.empty() && !stream_.hasInput() && !deadline.expired() &&
         !platform::waitReadable(stream_.fd(), earlier(deadline, Deadline::after(turnSpan(launch_.ranks, kTurnMs)))))
    turn_();
  char bytes[kBootstrapHeaderBytes] = {};
  const std::size_t had = std::exchange(begun_, {}).copy(bytes, sizeof bytes);
  Status read = stream_.readAll(bytes + had, sizeof bytes - had, deadline);
  if (!read.isOk() && !security_ && std::string_view(bytes).starts_with("\x15\x03"))
    return bootstrapError(
        fmt::format("rank 0 at {} speaks TLS alone; set GOSS_TLS on this rank as on the others", rootName()));
  if (!read.isOk()) return read;
  const auto decoded = decodeHeader({bytes, sizeof bytes}, maxCardsBytes(launch_.ranks));
  if (!decoded.isOk()) return decoded.status();
  header = decoded.value();
  if (header.kind != BootstrapFrame::cards && header.bytes > kMaxReasonBytes + kBootstrapChecksumBytes)
    return Status::error(GOSS_ERR_PROTOCOL, "the reason is too long");
  std::string rest(header.bytes, '\0');
  read = stream_.readAll(rest.data(), rest.size(), deadline);
  if (!read.isOk()) return read;
  const auto whole = decodePayload(header, rest);
  if (whole.isOk()) payload = whole.value();
  return whole.status();
}

Status BootstrapMember::check() {
  if (!over_.isOk()) return over_;
  std::array<char, kBootstrapHeaderBytes> bytes;
  const platform::StreamResult got = stream_.read(bytes.data(), bytes.size() - begun_.size());
  begun_.append(bytes.data(), got.bytes);
  if (begun_.size() == bytes.size()) { // The frame is complete. Without a card of this rank only a failure comes.
    BootstrapHeader header;
    std::string reason;
    const Status read = readFrame(header, reason, Deadline::after(kFrameSpan));
    over_ = read.isOk() ? toldByRank0(reason) : leftError(read.text());
  } else if (got.ended) {
    over_ = leftError(stream_.reason(got));
  }
  if (!over_.isOk()) stream_.close();
  return over_;
}

Result<std::vector<std::string>> BootstrapMember::allGather(const std::string& card, std::int64_t timeout_ms) {
  if (!over_.isOk()) return over_;
  const std::int64_t span = timeout_ms > 0 ? timeout_ms : config_.bootstrap_timeout_ms;
  Deadline deadline = Deadline::after(milliseconds(span));
  if (round_ == 0 && timeout_ms == 0) deadline = first_deadline_;
  auto cards = exchange(card, span, deadline);
  if (cards.isOk()) {
    ++round_;
  } else {
    over_ = cards.status();
    stream_.close();
  }
  return cards;
}

Result<std::vector<std::string>> BootstrapMember::exchange(const std::string& card, std::int64_t span_ms,
                                                           Deadline deadline) {
  if (card.size() > kMaxCardBytes)
    return bootstrapError(
        fmt::format("rank {}'s card has {} bytes; at most {} fit", launch_.rank, card.size(), kMaxCardBytes));
  base::WireWriter payload;
  const std::int64_t most = std::numeric_limits<std::uint32_t>::max();
  payload.integer(static_cast<std::uint32_t>(std::min(deadline.leftMs(), most))).raw(card);
  const Deadline until = plus(deadline, kGrace);
  Status done = stream_.writeAll(encodeFrame(BootstrapFrame::card, round_, payload.take()), until);
  BootstrapHeader header;
  std::string answer;
  // Reads also when the card could not be sent: rank 0 may have sent a reason before it closed.
  const Status read = readFrame(header, answer, until);
  if (!read.isOk()) done = read;
  if (done.isOk() && header.kind == BootstrapFrame::failed) return toldByRank0(answer);
  if (!read.isOk() && read.kind() == GOSS_ERR_TIMEOUT)
    return bootstrapError(fmt::format("rank 0 at {} did not answer within {} ms; does it hang?", rootName(), span_ms));
  if (!done.isOk()) return leftError(done.text());
  if (header.kind != BootstrapFrame::cards || header.round != round_)
    return Status::error(GOSS_ERR_PROTOCOL, "rank 0 sent a frame that makes no sense here", ErrorScope::communicator,
                         0);
  return decodeCards(answer, launch_.ranks);
}

} // namespace goss
