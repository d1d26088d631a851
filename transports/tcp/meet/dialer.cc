#include "transports/tcp/meet/dialer.h"

#include <errno.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "gossamer/config.h"
#include "platform/stream.h"
#include "transports/tcp/meet/acceptor.h"

namespace goss::transports::tcp {

namespace {

using platform::Deadline;
using std::chrono::milliseconds;

constexpr const char* kNotTried = "not tried";
/// Half of the acceptor's time: a "go" that the acceptor no longer waits for would make a link at this end only.
constexpr milliseconds kAnswerSpan = Acceptor::kWelcomed / 2;

} // namespace

Dialer::Dialer(const TransportContext& context, platform::Poller& poller, std::uint64_t& next_token, Target target,
               Handler handler)
    : context_(context),
      poller_(poller),
      next_token_(next_token),
      target_(std::move(target)),
      handler_(std::move(handler)),
      deadline_(target_.deadline.value_or(Deadline::after(milliseconds(context.config->bootstrap_timeout_ms)))),
      count_(target_.connections),
      failures_(target_.addresses.size(), kNotTried) {}

void Dialer::start() {
  stale_ = Deadline::after(milliseconds(kFreshMs));
  callNext();
}

void Dialer::callNext() {
  if (next_address_ == target_.addresses.size()) {
    // All addresses have been tried; when no call is left that may still be answered, the dialer begins anew after a
    // pause.
    const auto direct = [](const auto& entry) { return entry.second.via < 0; };
    if (std::any_of(calls_.begin(), calls_.end(), direct) && !patience_.expired()) {
      if (target_.deadline) next_call_ = patience_;
      return;
    }
    if (target_.once) return giveUp("no address answers");
    std::erase_if(calls_, direct);
    next_address_ = 0;
    next_call_ = Deadline::after(milliseconds(kPauseMs));
    return;
  }
  if (next_address_ == 0) {
    waited_ = false;
    repeats_left_ = kRepeats;
  }
  if (next_address_ == 0 && target_.deadline) patience_ = Deadline::after(milliseconds(kPatienceMs));
  const std::size_t address = next_address_++;
  next_call_ = headStart();
  // What the last call has found stays until this call finds something else.
  if (failures_[address] == kNotTried) failures_[address] = "no answer";
  const Status called = call(address, 0);
  if (called.isOk() || !error_.isOk()) return;
  failures_[address] = called.text();
  next_call_ = Deadline::after(milliseconds(0));
}

Status Dialer::call(std::size_t address, std::size_t index) {
  int error = 0;
  auto dialled = platform::dial(target_.addresses[address], &error);
  if (error == ECONNREFUSED) noteRefusal(address);
  if (found_nobody_) giveUp(platform::errnoText(error));
  if (!dialled.isOk()) return dialled.status();
  std::unique_ptr<platform::StreamFilter> filter;
  if (target_.security != nullptr) {
    auto made = target_.security->caller(target_.identity);
    if (!made.isOk()) return made.status();
    filter = made.take();
  }
  const std::uint64_t token = next_token_++;
  Status watched = poller_.add(dialled.value().get(), false, true, token);
  if (watched.isOk())
    calls_[token] = Call{platform::Stream(dialled.take(), std::move(filter)), address, index, false, false, -1, {}, {}};
  return watched;
}

bool Dialer::yield() {
  if (chosen_ || yields_ || !error_.isOk()) return false;
  yields_ = true;
  calls_.clear();
  next_call_ = Deadline();
  return true;
}

void Dialer::resume() {
  yields_ = false;
  extend();
  next_address_ = 0;
  callNext();
}

void Dialer::takeRelayed(platform::Stream stream, int via) {
  if (chosen_ || yields_ || !error_.isOk()) return;
  if (target_.security != nullptr) {
    auto filter = target_.security->caller(target_.identity);
    if (!filter.isOk()) return;
    stream.nest(filter.take());
  }
  const std::uint64_t token = next_token_++;
  if (!poller_.add(stream.fd(), true, false, token).isOk()) return;
  Call& call = calls_[token] = Call{std::move(stream), 0, 0, true, false, via, {}, {}};
  greet(token, call);
}

bool Dialer::isHeard() const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [](const auto& entry) { return entry.second.connected && entry.second.via < 0; });
}

bool Dialer::handle(std::uint64_t token) {
  const auto found = calls_.find(token);
  if (found == calls_.end()) return false;
  Call& call = found->second;
  const int error = call.connected ? 0 : platform::socketError(call.stream.fd());
  if (error == ECONNREFUSED) {
    noteRefusal(call.address);
    dropRefused(token, platform::errnoText(error));
  } else if (error == ECONNRESET) {
    hungUp(token, platform::errnoText(error));
  } else if (error != 0) {
    drop(token, platform::errnoText(error));
  } else if (call.introduced) {
    readAnswer(token);
  } else {
    call.connected = true;
    host_accepted_ = host_accepted_ || isRefusingHost(call.address);
    greet(token, call);
  }
  return true;
}

void Dialer::greet(std::uint64_t token, Call& call) {
  switch (call.stream.greet()) {
    case platform::Greeting::failed:
      if (call.stream.failure().empty()) return hungUp(token, "it closed while the connection was being secured");
      return drop(token, call.stream.failure());
    case platform::Greeting::underway:
      break;
    case platform::Greeting::ready: {
      const platform::StreamFilter* filter = call.stream.filter();
      if (filter != nullptr && (filter->identity() != target_.identity || !filter->mayBe(target_.peer)))
        return dropRefused(token, "another process answers there");
      if (!introduce(call)) return hungUp(token, "it closed at once");
      call.introduced = true;
      break;
    }
  }
  [[maybe_unused]] const Status watched = poller_.change(call.stream.fd(), true, call.stream.hasOutput(), token);
}

Hello Dialer::greeting(const Call& call) const {
  // A relayed link is one connection, which is not resumed, because the relay would have to find both ends again.
  Hello hello = call.via < 0 ? target_.hello : Hello{};
  hello.checked = target_.hello.checked;
  hello.from = static_cast<std::uint32_t>(context_.self);
  hello.to = static_cast<std::uint32_t>(target_.peer);
  hello.size = static_cast<std::uint32_t>(context_.size);
  hello.connection = static_cast<std::uint16_t>(hello.connection + call.index);
  hello.job = context_.job;
  return hello;
}

bool Dialer::introduce(Call& call) {
  const std::string bytes = encodeHello(greeting(call));
  call.answer_due = Deadline::after(kAnswerSpan);
  return call.stream.write(bytes).bytes == bytes.size();
}

void Dialer::readAnswer(std::uint64_t token) {
  Call& call = calls_.at(token);
  std::array<char, kAnswerBytes + kMaxReasonBytes> bytes;
  // A welcome is kAnswerBytes long and nothing follows it before this end's "go".
  const platform::StreamResult got = call.stream.read(bytes.data(), bytes.size() - call.input.size());
  call.input.append(bytes.data(), got.bytes);
  if (call.input.size() < kAnswerBytes) {
    if (got.ended) hungUp(token, call.stream.reason(got));
    return;
  }
  const auto answer = decodeAnswer(std::string_view(call.input).substr(0, kAnswerBytes));
  if (!answer.isOk()) return drop(token, answer.status().text());
  if (answer.value().answer != Answer::welcome) {
    if (!got.ended && call.input.size() < kAnswerBytes + answer.value().reason_bytes) return;
    const std::string reason = call.input.substr(kAnswerBytes, answer.value().reason_bytes);
    if (target_.one_host && reason == kAnotherJob) noteRefusal(call.address);
    return dropRefused(token, "it refused: " + reason);
  }
  if (call.answer_due.expired()) return drop(token, "it answered late");
  const std::string go = encodeAnswer(Answer::go);
  if (call.stream.write(go).bytes != go.size()) return hungUp(token, "it closed");
  Call chosen = std::move(call);
  calls_.erase(token);
  poller_.remove(chosen.stream.fd());
  ++connected_;
  if (chosen.via >= 0) count_ = 1;
  if (!std::exchange(chosen_, true)) callRest(chosen.address);
  Hello hello = greeting(chosen);
  const auto remote =
      chosen.via < 0 ? std::optional(target_.addresses[chosen.address]) : platform::remoteAddress(chosen.stream.fd());
  handler_({std::move(chosen.stream), hello, chosen.via, remote});
}

void Dialer::callRest(std::size_t address) {
  calls_.clear();
  next_call_ = Deadline();
  for (std::size_t index = 1; index < count_ && error_.isOk(); ++index) {
    const Status called = call(address, index);
    if (!called.isOk()) giveUp(called.text());
  }
}

void Dialer::drop(std::uint64_t token, const std::string& why) {
  const Call& call = calls_.at(token);
  if (call.via < 0) failures_[call.address] = why;
  // After the choice there is one connection for each index; a half-made link cannot begin anew at the other end.
  if (chosen_) return giveUp(fmt::format("connection {} of {} failed: {}", call.index, count_, why));
  const bool direct = call.via < 0;
  calls_.erase(token);
  extend();
  if (direct) callNext();
}

void Dialer::hungUp(std::uint64_t token, const std::string& why) {
  const std::size_t address = calls_.at(token).address;
  const bool repeats = !chosen_ && calls_.at(token).via < 0 && isRefusingHost(address) && repeats_left_ > 0;
  if (!repeats) return drop(token, why);
  --repeats_left_;
  failures_[address] = why;
  calls_.erase(token);
  extend();
  callAgain(address);
}

void Dialer::dropRefused(std::uint64_t token, const std::string& why) {
  // A refusal that shows that the peer's process has ended was noted before.
  if (!found_nobody_ && (target_.persists || !isRefusingHost(calls_.at(token).address))) return drop(token, why);
  failures_[calls_.at(token).address] = why;
  giveUp(why);
}

bool Dialer::isRefusingHost(std::size_t address) const {
  const platform::SocketAddress& called = target_.addresses[address];
  const auto same = [&](const platform::SocketAddress& other) { return other.sameHost(called); };
  return target_.refusing_host && same(*target_.refusing_host) &&
         std::none_of(target_.of_routers.begin(), target_.of_routers.end(), same);
}

Deadline Dialer::headStart() const {
  const auto addresses = static_cast<std::int64_t>(target_.addresses.size());
  return Deadline::after(milliseconds(std::min(kHeadStartMs, kMaxHeadStartsMs / addresses)));
}

void Dialer::tick() {
  if (isDone() || !error_.isOk()) return;
  const bool bounded = !target_.persists || (!yields_ && !isHeard());
  const bool over = bounded && isOver();
  if (over && error_.isOk())
    giveUp(target_.deadline ? std::string("no connection in time")
                            : fmt::format("no connection within {} ms", context_.config->bootstrap_timeout_ms));
  else if (error_.isOk() && !chosen_ && next_call_.expired() && !waitsForProcess())
    callNext();
}

bool Dialer::isOver() {
  if (chosen_ || !target_.refusing_host) return deadline_.expired();
  if (!deadline_.expired(platform::Clock::now() + kLastCall)) return false;
  if (last_ticks_ == 0) callOnceMore();
  return last_ticks_++ >= kLastTicks && deadline_.expired();
}

void Dialer::callOnceMore() {
  for (std::size_t address = 0; address < target_.addresses.size(); ++address)
    if (error_.isOk() && !isDone() && isRefusingHost(address)) callAgain(address);
}

void Dialer::callAgain(std::size_t address) {
  const Status called = call(address, 0);
  if (!called.isOk() && error_.isOk()) failures_[address] = called.text();
}

/// A process that was busy or stopped beyond the deadline is called once more.
void Dialer::extend() {
  if (!target_.persists || !deadline_.expired()) return;
  deadline_ = Deadline::after(milliseconds(kHeardMs));
  last_ticks_ = 0;
}

bool Dialer::waitsForProcess() {
  if (target_.deadline || waited_ || !isHeard()) return false;
  waited_ = true;
  next_call_ = Deadline::after(milliseconds(kHeardMs));
  return true;
}

std::string Dialer::trouble() const {
  std::string tried;
  for (std::size_t i = 0; i < failures_.size(); ++i)
    tried += fmt::format("{}{}: {}", i == 0 ? "" : ", ", target_.addresses[i].text(), failures_[i]);
  return tried;
}

void Dialer::giveUp(const std::string& why) {
  error_ =
      Status::error(GOSS_ERR_PEER_LOST,
                    fmt::format("rank {} cannot reach rank {} over TCP: {} (tried {}); check firewalls, or choose the "
                                "network with GOSS_INTERFACE",
                                context_.self, target_.peer, why, trouble()),
                    ErrorScope::peer, target_.peer);
  calls_.clear();
}

} // namespace goss::transports::tcp
