#include "transports/mpi/mpi.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "base/wire.h"
#include "gossamer/config.h"
#include "platform/process.h"
#include "transports/common/errors.h"
#include "transports/common/process_identity.h"
#include "transports/mpi/link.h"
#include "transports/mpi/session.h"

namespace goss::transports {

namespace {

using std::chrono::milliseconds;

constexpr std::string_view kMagic = "GMP1";
constexpr std::size_t kMaxProcessBytes = 1024;
// Smaller tokens are the ranks of peers whose process is watched.
constexpr std::uint64_t kTickerToken = std::uint64_t{1} << 32;
constexpr unsigned kTurnsPerLook = 1024;
constexpr milliseconds kCloseSpan(2000);
constexpr milliseconds kLongestNap(40);

struct Address {
  int process_rank = 0;
  std::string_view process;
};

std::optional<Address> decode(std::string_view bytes) {
  base::WireReader reader(bytes);
  if (reader.raw(kMagic.size()) != kMagic) return std::nullopt;
  Address address;
  address.process_rank = reader.integer<std::int32_t>();
  address.process = reader.text(kMaxProcessBytes);
  if (!reader.complete() || address.process_rank < 0) return std::nullopt;
  return address;
}

} // namespace

MpiTransport::MpiTransport(const TransportContext& context)
    : context_(context),
      session_(std::make_unique<mpi::Session>()),
      process_ranks_(static_cast<std::size_t>(context.size)) {
  for (int peer = 0; peer < context.size; ++peer)
    links_.add(context.config->unexpected_bytes, links_.deferred());
}

MpiTransport::~MpiTransport() {
  if (!begun_ || !session_->mayCall()) return;
  const auto deadline = platform::Deadline::after(kCloseSpan);
  const auto closed = [this] {
    bool all = true;
    for (auto& link : links_)
      all = link->close() && all;
    return all;
  };
  while (!closed() && !deadline.expired())
    ::sched_yield();
  bool idle = true;
  for (auto& link : links_)
    idle = link->giveUp() && idle;
  if (idle) session_->disconnect();
  if (idle && !lost_) mpi::Session::settle();
}

Result<std::string> MpiTransport::open() {
  if (Status status = session_->open(); !status.isOk()) return status;
  auto poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  auto ticker = platform::Ticker::create();
  if (!ticker.isOk()) return ticker.status();
  poller_.emplace(poller.take());
  ticker_.emplace(ticker.take());
  if (Status status = poller_->add(ticker_->fd(), true, false, kTickerToken); !status.isOk()) return status;
  const Result<std::string> process = platform::ownProcessName();
  if (!process.isOk()) return process.status();
  process_ranks_[static_cast<std::size_t>(context_.self)] = session_->processRank();
  base::WireWriter writer;
  writer.raw(kMagic).integer(static_cast<std::int32_t>(session_->processRank())).text(process.value());
  return writer.take();
}

bool MpiTransport::reaches(std::string_view address) const { return decode(address).has_value(); }

Status MpiTransport::connect(int peer, std::string_view address) {
  const auto decoded = decode(address);
  if (!decoded) return protocolError(peer, "an address that is no MPI address of this version");
  process_ranks_[static_cast<std::size_t>(peer)] = decoded->process_rank;
  ++known_;
  platform::UniqueFd death_fd = watchProcess(decoded->process);
  if (!death_fd.valid()) return Status::ok();
  Status status = poller_->add(death_fd.get(), true, false, static_cast<std::uint64_t>(peer));
  links_.getOrMake(peer).watch(std::move(death_fd));
  return status;
}

/// Connects once all peers are known. Waits, as MPI does, for ranks that do not know all of theirs yet.
bool MpiTransport::begin() {
  if (begun_ || known_ < context_.size) return false;
  begun_ = true;
  const Status status = session_->connect(process_ranks_, context_.job);
  for (auto& link : links_) {
    if (link->peer() == context_.self) continue;
    if (status.isOk()) {
      link->open(session_->comm(), context_.job);
    } else {
      link->endWith(status);
    }
  }
  return true;
}

LinkState MpiTransport::link(int peer) const { return links_.getOrMake(peer).state(); }

Status MpiTransport::linkError(int peer) const { return links_.getOrMake(peer).error(); }

void MpiTransport::recv(RecvOperation& operation) { links_.recv(operation); }

void MpiTransport::cancel(SendOperation& operation) { links_.cancel(operation); }

void MpiTransport::cancel(RecvOperation& operation) { links_.cancel(operation); }

void MpiTransport::discard(Tag mask, Tag value) { links_.discard(mask, value); }

bool MpiTransport::peek(int peer, Tag mask, Tag value, Arrived& found) const {
  return links_.peek(peer, mask, value, found);
}

PeerStatistics MpiTransport::statistics(int peer) const { return links_.statistics(peer); }

bool MpiTransport::send(SendOperation& operation) { return links_.send(operation, name(), session_->mayCall()); }

bool MpiTransport::progress() {
  bool any = links_.drain();
  if (!poller_ || !session_->mayCall()) return any;
  any = begin() || any;
  if (look_for_deaths_ || ++turns_ % kTurnsPerLook == 0) any = lookForDeaths() || any;
  for (auto& link : links_) {
    any = link->run() || any;
    if (!link->hasEnded()) continue;
    if (link->deathFd() >= 0) poller_->remove(link->deathFd());
    const PeerLoss how = link->departed() ? PeerLoss::departed : lossOf(link->error(), link->deathFd());
    lost_ = lost_ || how != PeerLoss::departed;
    const Status why = link->end();
    context_.listener->onPeerLost(link->peer(), why, how);
    any = true;
  }
  moved_ = moved_ || any;
  return any;
}

bool MpiTransport::lookForDeaths() {
  look_for_deaths_ = false;
  bool any = false;
  for (const platform::PollEvent& event : poller_->wait(0)) {
    if (event.token == kTickerToken) continue;
    mpi::Link& link = links_.getOrMake(static_cast<int>(event.token));
    while (!link.hasEnded() && link.run()) {
    } // Frames that it sent before it died still count.
    link.doomDead();
    any = true;
  }
  return any;
}

bool MpiTransport::prepareToSleep() {
  if (session_->mayCall() ? links_.hasWork() : !links_.deferred().empty()) return false;
  const auto now = platform::Clock::now();
  if (std::exchange(moved_, false)) idle_since_ = now;
  const auto idle = std::chrono::duration_cast<milliseconds>(now - idle_since_);
  ticker_->start(std::clamp(idle, milliseconds(1), kLongestNap));
  return true;
}

void MpiTransport::sleepEnded() {
  ticker_->stop();
  ticker_->drain();
  look_for_deaths_ = true;
}

void MpiTransport::abandon(int peer, const Status& why) { links_.getOrMake(peer).endWith(why); }

} // namespace goss::transports
