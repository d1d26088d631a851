#include "transports/ucx/ucx.h"

#include <fmt/format.h>

#include <algorithm>

#include "gossamer/config.h"
#include "platform/clock.h"
#include "platform/host.h"
#include "platform/process.h"
#include "transports/common/errors.h"
#include "transports/common/process_identity.h"
#include "transports/ucx/link.h"
#include "transports/ucx/wire.h"
#include "transports/ucx/worker.h"

namespace goss::transports {

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kUcxToken = std::uint64_t{1} << 32; // Smaller tokens are peers that have died.
constexpr int kTurnsPerLook = 1024;
constexpr int kMaxTurnsOfUcx = 8;
constexpr milliseconds kCloseSpan(2000);

/// The function that UCX calls for every message; `transport` finds the link.
struct Receiver {
  // NOLINTNEXTLINE(readability-function-size): UCX says which parameters there are
  static ucs_status_t onMessage(void* argument, const void* header, std::size_t header_bytes, void* data,
                                std::size_t bytes, const ucp_am_recv_param_t* param) {
    auto& links = *static_cast<Links<ucx::Link>*>(argument);
    const auto decoded = ucx::decodeHeader({static_cast<const std::byte*>(header), header_bytes});
    // A sender that does not know the key of this rank's address is not of this world, and gets no answer.
    if (!decoded || decoded->from >= links.size()) return UCS_OK;
    ucx::Link& link = links.getOrMake(static_cast<int>(decoded->from));
    if (!link.knows(decoded->key)) return UCS_OK;
    const bool rendezvous = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
    const bool stays = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    return link.arrive(*decoded, {data, bytes, rendezvous, stays});
  }
};

} // namespace

UcxTransport::UcxTransport(const TransportContext& context)
    : context_(context), log_(context.config->log_level, context.self), station_(std::make_unique<ucx::Station>()) {
  station_->self = context.self;
  station_->job = context.job;
  station_->unexpected_limit = context.config->unexpected_bytes;
  station_->deferred = &links_.deferred();
  for (int peer = 0; peer < context.size; ++peer)
    links_.add(*station_);
}

UcxTransport::~UcxTransport() {
  if (!worker_ || station_->poisoned) return;
  for (auto& link : links_)
    link->beginClose();
  const auto closed = [this] {
    return std::all_of(links_.begin(), links_.end(), [](const auto& link) { return link->isClosed(); });
  };
  worker_->progressUntil(closed, kCloseSpan);
  flush();
  for (auto& link : links_)
    link->closeByForce();
}

/// Flushing the whole worker needs nothing from the peers, but with a peer that died UCX may never complete it.
void UcxTransport::flush() {
  ucp_request_param_t param{};
  std::vector<ucs_status_ptr_t> flushes;
  if (std::none_of(links_.begin(), links_.end(), [](const auto& link) { return link->broke(); })) {
    flushes.push_back(ucp_worker_flush_nbx(worker_->get(), &param));
  } else {
    for (auto& link : links_)
      flushes.push_back(link->flush());
  }
  worker_->finish(flushes, kCloseSpan);
}

Result<std::string> UcxTransport::open() {
  ucx::Address address;
  if (Status status = platform::fillRandom(std::as_writable_bytes(std::span(&address.key, 1))); !status.isOk())
    return status;
  Result<ucx::Worker> worker = ucx::Worker::create(context_.size);
  if (!worker.isOk()) return worker.status();
  auto poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  worker_ = std::make_unique<ucx::Worker>(worker.take());
  poller_.emplace(poller.take());
  const Result<int> fd = worker_->eventFd();
  if (!fd.isOk()) return fd.status();
  if (Status status = poller_->add(fd.value(), true, false, kUcxToken); !status.isOk()) return status;
  if (Status status = worker_->setHandler(Receiver::onMessage, &links_); !status.isOk()) return status;
  Result<std::string> own = worker_->address();
  if (!own.isOk()) return own.status();
  address.worker = own.take();
  Result<std::string> process = platform::ownProcessName();
  if (!process.isOk()) return process.status();
  address.process = process.take();
  station_->key = address.key;
  station_->process = address.process;
  station_->worker = worker_.get();
  return ucx::encodeAddress(address);
}

bool UcxTransport::reaches(std::string_view address) const { return ucx::decodeAddress(address).has_value(); }

Status UcxTransport::connect(int peer, std::string_view address) {
  const auto decoded = ucx::decodeAddress(address);
  if (!decoded) return protocolError(peer, "an address that is no UCX address of this version");
  ucx::Link& link = links_.getOrMake(peer);
  if (Status status = link.connect(*decoded); !status.isOk()) return status;
  if (link.deathFd() < 0) return Status::ok();
  return poller_->add(link.deathFd(), true, false, static_cast<std::uint64_t>(peer));
}

LinkState UcxTransport::link(int peer) const { return links_.getOrMake(peer).state(); }

Status UcxTransport::linkError(int peer) const { return links_.getOrMake(peer).error(); }

bool UcxTransport::send(SendOperation& operation) { return links_.send(operation, name()); }

void UcxTransport::recv(RecvOperation& operation) { links_.recv(operation); }

void UcxTransport::cancel(SendOperation& operation) { links_.cancel(operation); }

void UcxTransport::cancel(RecvOperation& operation) { links_.cancel(operation); }

void UcxTransport::discard(Tag mask, Tag value) { links_.discard(mask, value); }

bool UcxTransport::peek(int peer, Tag mask, Tag value, Arrived& found) const {
  return links_.peek(peer, mask, value, found);
}

PeerStatistics UcxTransport::statistics(int peer) const { return links_.statistics(peer); }

bool UcxTransport::progress() {
  bool any = links_.drain();
  if (!worker_) return any;
  any = progressUcx() || any;
  if (look_for_deaths_ || ++turns_ % kTurnsPerLook == 0) any = lookForDeaths() || any;
  return runLinks() || any;
}

bool UcxTransport::progressUcx() {
  if (station_->poisoned) {
    for (auto& link : links_)
      link->endWith(
          peerLostError(link->peer(), "UCX could not let go of a buffer, so this rank gave up all its links"));
    return true;
  }
  int turns = 0;
  station_->has_arrivals = false;
  station_->passes_on = true;
  while (turns < kMaxTurnsOfUcx && !station_->has_arrivals && worker_->progress())
    ++turns;
  station_->passes_on = false;
  return turns > 0;
}

bool UcxTransport::lookForDeaths() {
  look_for_deaths_ = false;
  bool any = false;
  for (const platform::PollEvent& event : poller_->wait(0)) {
    if (event.token == kUcxToken) continue;
    ucx::Link& link = links_.getOrMake(static_cast<int>(event.token));
    while (worker_->progress()) {
    } // Messages that it sent before it died still count.
    link.run();
    link.endWith(peerLostError(link.peer(), "its process has died"));
    any = true;
  }
  return any;
}

bool UcxTransport::runLinks() {
  bool any = false;
  for (auto& link : links_) {
    if (!link->hasWork()) continue;
    any = link->run() || any;
    if (!link->hasEnded()) continue;
    if (link->deathFd() >= 0) poller_->remove(link->deathFd());
    const PeerLoss how = link->departed() ? PeerLoss::departed : lossOf(link->error(), link->deathFd());
    const Status why = link->end();
    context_.listener->onPeerLost(link->peer(), why, how);
    any = true;
  }
  return any;
}

bool UcxTransport::prepareToSleep() { return !links_.hasWork() && worker_->arm(); }

void UcxTransport::abandon(int peer, const Status& why) { links_.getOrMake(peer).abandon(why); }

} // namespace goss::transports
