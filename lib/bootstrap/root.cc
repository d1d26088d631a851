#include "bootstrap/root.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/wire.h"
#include "platform/host.h"
#include "platform/stream.h"
#include "security/security.h"

namespace goss {

namespace {

using platform::Deadline;
using std::chrono::milliseconds;

constexpr std::size_t kMaxLogged = 64;
constexpr std::size_t kMaxNamed = 16;
/// A member that calls again (after a broken connection, or restarted by its supervisor) does so within this time;
/// later the ranks that wait for it are told.
constexpr milliseconds kReturnSpan(1000);
constexpr std::size_t kMaxPayload = sizeof(std::uint32_t) + Rendezvous::kMaxCardBytes;

/// The ranks as text: "rank 2", "ranks 1 and 3", "ranks 1, 2 and 3", at most kMaxNamed of them by name.
std::string nameRanks(const std::vector<int>& ranks) {
  const std::size_t named = std::min(ranks.size(), kMaxNamed);
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == ranks.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", ranks[i]);
  }
  if (ranks.size() > named) text += fmt::format(" and {} more", ranks.size() - named);
  return text;
}

Welcome endsOf(int fd) {
  const auto caller = platform::remoteAddress(fd);
  const auto root = platform::localAddress(fd);
  const platform::SocketAddress none = platform::SocketAddress::any(false, 0);
  return {caller.value_or(none).bytes(), root.value_or(none).bytes()};
}

Result<platform::UniqueFd> openListener(Launch& launch, const Config& config) {
  if (launch.listener.valid()) return std::move(launch.listener);
  const platform::PortRange port{launch.port, launch.port};
  // A name may stand for another address on other hosts, and an address may be a router's: only an address of this very
  // host restricts the interfaces to listen on.
  const auto numeric = platform::SocketAddress::parse(launch.host, 0);
  if (numeric && platform::interfaceAddresses(launch.host).isOk()) return platform::listenOn(*numeric, port);
  if (config.interface.empty()) return platform::listenOnAll(port);
  auto chosen = platform::interfaceAddresses(config.interface);
  if (!chosen.isOk()) return chosen.status();
  return platform::listenOn(chosen.value().front(), port);
}

Status leftError(int rank, const std::string& why) {
  return Status::error(GOSS_ERR_BOOTSTRAP, fmt::format("rank {} left during start-up: {}", rank, why),
                       ErrorScope::communicator, rank);
}

} // namespace

BootstrapRoot::BootstrapRoot(Launch launch, const Config& config, std::unique_ptr<platform::StreamSecurity> security,
                             platform::Poller poller)
    : launch_(std::move(launch)),
      config_(config),
      log_(config.log_level, launch_.rank),
      security_(std::move(security)),
      poller_(std::move(poller)),
      first_deadline_(Deadline::after(milliseconds(config.bootstrap_timeout_ms))),
      members_(static_cast<std::size_t>(launch_.ranks)),
      cards_missing_(launch_.ranks - 1) {}

Result<std::unique_ptr<Rendezvous>> BootstrapRoot::listen(Launch launch, const Config& config) {
  std::unique_ptr<platform::StreamSecurity> security;
  if (!config.tls.empty()) {
    auto opened = security::openSecurity(config);
    if (!opened.isOk()) return opened.status();
    security = opened.take();
  }
  auto listener = openListener(launch, config);
  if (!listener.isOk())
    return Status::error(listener.status().kind(), fmt::format("rank 0 cannot be met at {}:{}: {}", launch.host,
                                                               launch.port, listener.status().text()));
  auto poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  std::unique_ptr<BootstrapRoot> root(new BootstrapRoot(std::move(launch), config, std::move(security), poller.take()));
  auto watched = platform::ListeningSocket::create(listener.take(), root->poller_, kListenerToken);
  if (!watched.isOk()) return watched.status();
  root->listener_.emplace(watched.take());
  return std::unique_ptr<Rendezvous>(std::move(root));
}

Result<std::vector<std::string>> BootstrapRoot::allGather(const std::string& card, std::int64_t timeout_ms) {
  if (!over_.isOk()) return over_;
  const std::int64_t span = timeout_ms > 0 ? timeout_ms : config_.bootstrap_timeout_ms;
  Deadline deadline = Deadline::after(milliseconds(span));
  if (round_ == 0 && timeout_ms == 0) deadline = first_deadline_;
  // Cards of this round may have come while those of the last round were being sent.
  for (int rank = 1; rank < launch_.ranks; ++rank) {
    Status taken = takeFrames(rank);
    if (!taken.isOk()) return fail(taken);
  }
  Status arrived = waitForCards(deadline, span);
  if (!arrived.isOk()) return fail(arrived);

  std::vector<std::string> cards{card};
  for (int rank = 1; rank < launch_.ranks; ++rank) {
    Member& member = members_[static_cast<std::size_t>(rank)];
    cards.push_back(std::move(member.card));
    member.card.clear();
    member.has_card = false;
    member.deadline = Deadline();
  }
  Status published = publish(cards, Deadline::after(milliseconds(span)));
  if (!published.isOk()) return fail(published);
  ++round_;
  members_deadline_ = Deadline();
  cards_missing_ = launch_.ranks - 1;
  return cards;
}

Status BootstrapRoot::check() {
  if (!over_.isOk()) return over_;
  Status taken = takeEvents(Deadline::after(milliseconds(0)));
  return taken.isOk() ? taken : fail(taken);
}

Status BootstrapRoot::waitForCards(Deadline deadline, std::int64_t timeout_ms) {
  while (cards_missing_ > 0) {
    const Deadline until = earlier(deadline, members_deadline_);
    if (until.expired()) return missing(timeout_ms);
    if (Status left = findLeaver(); !left.isOk()) return left;
    const Deadline next_turn = turn_ ? Deadline::after(turnSpan(launch_.ranks, kTurnMs)) : Deadline();
    if (Status taken = takeEvents(earlier(earlier(until, firstLeaver()), next_turn)); !taken.isOk()) return taken;
    if (turn_) turn_();
  }
  return Status::ok();
}

Status BootstrapRoot::takeEvents(Deadline until) {
  const Deadline next_stranger =
      earlier(listener_->restsUntil(), strangers_.empty() ? Deadline() : strangers_.begin()->second.deadline);
  // A copy: the handlers below may close descriptors, which leaves stale events in the list to be skipped by token.
  const std::vector<platform::PollEvent> events = poller_.wait(earlier(until, next_stranger).pollMs());
  for (const platform::PollEvent& event : events) {
    if (event.token == kListenerToken) {
      acceptAll();
    } else if (event.token >= kFirstStrangerToken) {
      readStranger(event.token);
    } else if (Status read = readMember(static_cast<int>(event.token)); !read.isOk()) {
      return read;
    }
  }
  listener_->tick();
  dropExpiredStrangers();
  return Status::ok();
}

Deadline BootstrapRoot::firstLeaver() const {
  Deadline first;
  for (const auto& [rank, leaver] : leavers_)
    first = earlier(first, leaver.deadline);
  return first;
}

Status BootstrapRoot::findLeaver() const {
  for (const auto& [rank, leaver] : leavers_)
    if (leaver.deadline.expired()) return leftError(rank, leaver.why);
  return Status::ok();
}

Status BootstrapRoot::publish(const std::vector<std::string>& cards, Deadline deadline) {
  const std::string frame = encodeFrame(BootstrapFrame::cards, round_, encodeCards(cards));
  for (int rank = 1; rank < launch_.ranks; ++rank) {
    const Status sent = members_[static_cast<std::size_t>(rank)].stream.writeAll(frame, deadline);
    if (!sent.isOk()) return leftError(rank, sent.text());
  }
  return Status::ok();
}

Status BootstrapRoot::fail(const Status& status) {
  over_ = status;
  const std::string text = status.text().substr(0, kMaxReasonBytes);
  const std::string frame = encodeFrame(BootstrapFrame::failed, round_, text);
  const Deadline deadline = Deadline::after(milliseconds(1000));
  for (Member& member : members_) {
    if (!member.stream.isOpen()) continue;
    // A member that does not read the reason finds the connection closed, so the result of sending does not matter.
    [[maybe_unused]] const Status sent = member.stream.writeAll(frame, deadline);
    platform::endWriting(member.stream.fd());
  }
  // Closing a socket with unread bytes would reset the connection and destroy the reason on its way: so rank 0 reads
  // until the others have closed.
  std::array<char, 4096> rest;
  for (Member& member : members_) {
    while (member.stream.isOpen() && platform::waitReadable(member.stream.fd(), deadline))
      if (platform::readSome(member.stream.fd(), rest.data(), rest.size()).ended) break;
    member.stream.close();
  }
  return status;
}

void BootstrapRoot::acceptAll() {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    auto accepted = listener_->accept();
    if (!accepted.isOk()) {
      logOnce("accept", accepted.status().text());
      dropOldestStranger("it says nothing while there are no descriptors");
      continue;
    }
    if (!accepted.value().fd.valid()) return;
    // All ranks that have not come may call at once.
    const std::size_t most = kMaxStrangers + static_cast<std::size_t>(cards_missing_);
    if (strangers_.size() >= most) dropOldestStranger("too many callers say nothing; the oldest is dropped");
    const std::uint64_t token = next_token_++;
    platform::tuneForMessages(accepted.value().fd.get());
    auto stream = secure(std::move(accepted.value().fd));
    if (!stream.isOk()) {
      logOnce(accepted.value().from.text(), stream.status().text());
      continue;
    }
    if (!poller_.add(stream.value().fd(), true, false, token).isOk()) return;
    strangers_[token] = Stranger{
        stream.take(), accepted.value().from.text(), {}, false, false, Deadline::after(milliseconds(kStrangerMs))};
  }
}

void BootstrapRoot::dropOldestStranger(std::string_view why) {
  if (strangers_.empty()) return;
  logOnce(strangers_.begin()->second.from, why);
  dropStranger(strangers_.begin()->first);
}

Result<platform::Stream> BootstrapRoot::secure(platform::UniqueFd fd) {
  if (!security_) return platform::Stream(std::move(fd));
  auto filter = security_->callee();
  if (!filter.isOk()) return filter.status();
  return platform::Stream(std::move(fd), filter.take());
}

bool BootstrapRoot::greet(std::uint64_t token, Stranger& stranger) {
  const platform::Greeting greeting = stranger.stream.greet();
  stranger.greeted = greeting == platform::Greeting::ready;
  if (greeting == platform::Greeting::failed) {
    if (!stranger.stream.failure().empty()) logOnce(stranger.from, stranger.stream.failure());
    platform::endWriting(stranger.stream.fd());
    stranger.refused = true;
  }
  [[maybe_unused]] const Status watched =
      poller_.change(stranger.stream.fd(), true, stranger.stream.hasOutput(), token);
  return stranger.greeted;
}

void BootstrapRoot::readStranger(std::uint64_t token) {
  const auto found = strangers_.find(token);
  if (found == strangers_.end()) return;
  Stranger& stranger = found->second;
  std::array<char, kHelloBytes> bytes;
  if (stranger.refused) {
    if (platform::readSome(stranger.stream.fd(), bytes.data(), bytes.size()).ended) dropStranger(token);
    return;
  }
  if (!stranger.greeted && !greet(token, stranger)) return;
  const platform::StreamResult got = stranger.stream.read(bytes.data(), kHelloBytes - stranger.input.size());
  if (got.ended) {
    if (!stranger.stream.failure().empty()) logOnce(stranger.from, stranger.stream.failure());
    return dropStranger(token);
  }
  stranger.input.append(bytes.data(), got.bytes);
  if (helloMayBegin(stranger.input) && stranger.input.size() < kHelloBytes) return;
  auto hello = decodeHello(stranger.input);
  if (!hello.isOk()) return refuse(token, hello.status().text());
  if (!platform::equalInConstantTime(hello.value().job, launch_.job))
    return refuse(token,
                  "the caller belongs to another job: its unique id (or GOSS_JOB_ID, MASTER_ADDR, MASTER_PORT, "
                  "WORLD_SIZE) differs from rank 0's");
  admit(token, hello.value());
}

void BootstrapRoot::admit(std::uint64_t token, const Hello& hello) {
  if (hello.ranks != launch_.ranks)
    return refuse(token, fmt::format("rank {} says that there are {} ranks, rank 0 says {}; give all the same number",
                                     hello.rank, hello.ranks, launch_.ranks));
  if (hello.rank == 0) return refuse(token, "a second process says that it is rank 0; give every process its own rank");
  const platform::StreamFilter* filter = strangers_.at(token).stream.filter();
  if (filter != nullptr && !filter->mayBe(hello.rank))
    return refuse(token, fmt::format("it claims rank {}, which the credentials of \"{}\" do not allow", hello.rank,
                                     filter->name()));
  Member& member = members_[static_cast<std::size_t>(hello.rank)];
  const bool silent = !member.has_card && member.card_due.expired();
  if (member.stream.isOpen() && member.caller != hello.caller && !silent)
    return refuse(token,
                  fmt::format("two processes say that they are rank {}; give every process its own rank", hello.rank));
  if (round_ > 0) return refuse(token, fmt::format("rank {} comes back after start-up", hello.rank));
  Stranger stranger = std::move(strangers_.at(token));
  dropStranger(token);
  vacate(hello.rank);
  leavers_.erase(hello.rank);
  poller_.remove(stranger.stream.fd());
  const std::string welcome = encodeFrame(BootstrapFrame::welcome, 0, encodeWelcome(endsOf(stranger.stream.fd())));
  if (stranger.stream.write(welcome).bytes != welcome.size()) {
    // The member has left, as any member may; it may call again.
    [[maybe_unused]] const Status back = lose(hello.rank, "its connection ended as it was made");
    return;
  }
  if (!poller_.add(stranger.stream.fd(), true, false, static_cast<std::uint64_t>(hello.rank)).isOk()) return;
  member.stream = std::move(stranger.stream);
  member.caller = hello.caller;
  member.card_due = Deadline::after(milliseconds(kCardMs));
}

void BootstrapRoot::refuse(std::uint64_t token, const std::string& reason) {
  Stranger& stranger = strangers_.at(token);
  logOnce(stranger.from, reason);
  const std::string frame = encodeFrame(BootstrapFrame::refused, 0, reason);
  stranger.stream.write(frame);
  platform::endWriting(stranger.stream.fd());
  stranger.refused = true;
}

void BootstrapRoot::dropStranger(std::uint64_t token) { strangers_.erase(token); }

void BootstrapRoot::dropExpiredStrangers() {
  while (!strangers_.empty() && strangers_.begin()->second.deadline.expired()) {
    const Stranger& oldest = strangers_.begin()->second;
    if (!oldest.refused) logOnce(oldest.from, "the caller did not introduce itself in time");
    strangers_.erase(strangers_.begin());
  }
}

Status BootstrapRoot::readMember(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  if (!member.stream.isOpen()) return Status::ok();
  std::array<char, 16384> bytes;
  platform::StreamResult got;
  do {
    got = member.stream.read(bytes.data(), bytes.size());
    member.input.append(bytes.data(), got.bytes);
    // The poller does not show bytes that a filter holds.
  } while (member.stream.hasInput() && got.bytes > 0 && member.input.size() <= 2 * kMaxPayload);
  if (member.input.size() > 2 * (kBootstrapHeaderBytes + kMaxPayload + kBootstrapChecksumBytes))
    return Status::error(GOSS_ERR_PROTOCOL, fmt::format("rank {} sends more than its card", rank),
                         ErrorScope::communicator, rank);
  if (!got.ended) return takeFrames(rank);
  return lose(rank, member.stream.reason(got));
}

void BootstrapRoot::vacate(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  const bool had_card = member.has_card;
  member = Member{};
  if (!had_card) return;
  ++cards_missing_;
  members_deadline_ = Deadline();
  for (const Member& other : members_)
    members_deadline_ = earlier(members_deadline_, other.deadline);
}

Status BootstrapRoot::lose(int rank, const std::string& why) {
  if (round_ > 0) return leftError(rank, why);
  vacate(rank);
  leavers_[rank] = Leaver{why, Deadline::after(kReturnSpan)};
  return Status::ok();
}

Status BootstrapRoot::takeFrames(int rank) {
  Member& member = members_[static_cast<std::size_t>(rank)];
  if (member.has_card || member.input.size() < kBootstrapHeaderBytes) return Status::ok();
  const auto damaged = [&](const std::string& why) {
    return Status::error(GOSS_ERR_PROTOCOL, fmt::format("rank {} sent no valid card: {}", rank, why),
                         ErrorScope::communicator, rank);
  };
  const auto header = decodeHeader(std::string_view(member.input).substr(0, kBootstrapHeaderBytes), kMaxPayload);
  if (!header.isOk()) return damaged(header.status().text());
  if (header.value().kind != BootstrapFrame::card || header.value().round != round_)
    return damaged(fmt::format("frame {} of round {} in round {}", static_cast<int>(header.value().kind),
                               header.value().round, round_));
  const std::size_t end = kBootstrapHeaderBytes + header.value().bytes;
  if (member.input.size() < end) return Status::ok();
  const auto payload =
      decodePayload(header.value(), std::string_view(member.input).substr(kBootstrapHeaderBytes, header.value().bytes));
  if (!payload.isOk()) return damaged(payload.status().text());
  base::WireReader in(payload.value());
  const auto left_ms = in.integer<std::uint32_t>();
  if (!in.ok()) return damaged("it is too short");
  member.deadline = Deadline::after(milliseconds(left_ms));
  members_deadline_ = earlier(members_deadline_, member.deadline);
  member.card = in.raw(payload.value().size() - sizeof(std::uint32_t));
  member.has_card = true;
  member.input.erase(0, end);
  --cards_missing_;
  return Status::ok();
}

Status BootstrapRoot::missing(std::int64_t timeout_ms) const {
  std::vector<int> absent;
  std::vector<int> silent;
  for (int rank = 1; rank < launch_.ranks; ++rank) {
    const Member& member = members_[static_cast<std::size_t>(rank)];
    if (!member.stream.isOpen()) absent.push_back(rank);
    if (member.stream.isOpen() && !member.has_card) silent.push_back(rank);
  }
  const std::string at = platform::SocketAddress::parse(launch_.host, launch_.port)
                             ? platform::SocketAddress::parse(launch_.host, launch_.port)->text()
                             : fmt::format("{}:{}", launch_.host, launch_.port);
  const std::vector<int>& named = absent.empty() ? silent : absent;
  const std::string text =
      absent.empty() ? fmt::format(
                           "{} of {} arrived but did not finish within {} ms; do they hang, or can they not reach "
                           "the other ranks?",
                           nameRanks(silent), launch_.ranks, timeout_ms)
                     : fmt::format("{} of {} never arrived within {} ms; {} running, and can {} reach {}?",
                                   nameRanks(absent), launch_.ranks, timeout_ms,
                                   absent.size() == 1 ? "is it" : "are they", absent.size() == 1 ? "it" : "they", at);
  return Status::error(GOSS_ERR_BOOTSTRAP, text, ErrorScope::communicator, named.empty() ? -1 : named.front());
}

void BootstrapRoot::logOnce(const std::string& from, std::string_view reason) {
  // Logs one line for each host and reason, and a limited number of lines.
  const std::string key = from.substr(0, from.rfind(':')) + std::string(reason);
  if (logged_.size() < kMaxLogged && logged_.insert(key).second)
    log_.warn(fmt::format("bootstrap caller {} refused: {}", from, reason));
}

} // namespace goss
