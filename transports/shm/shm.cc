#include "transports/shm/shm.h"

#include <utility>

#include "gossamer/config.h"
#include "platform/fence.h"
#include "platform/host.h"
#include "transports/common/errors.h"

namespace goss::transports {

namespace {

// Poll tokens: sockets by rank, ends of processes by rank, and those of the connector.
constexpr std::uint64_t kSocketTokens = 0;
constexpr std::uint64_t kProcessTokens = std::uint64_t{1} << 32;
// progress() polls the sockets once in so many calls, because that is a system call. After a sleep it polls at once.
constexpr unsigned kCallsPerSocketPoll = 2048;
// A call of progress() that reads a long message in place counts as so many, because it takes as long, and the rank
// must notice when the sender dies meanwhile.
constexpr unsigned kCallsPerDirectRead = 512;

shm::PeerOptions optionsOf(const Config& config, bool fences) {
  shm::PeerOptions options;
  options.fences = fences;
  options.unexpected_bytes = config.unexpected_bytes;
  options.direct_bytes = config.shm_direct_bytes;
  options.maps = config.shm_path.empty() || config.shm_path == "mapped";
  options.addresses = config.shm_path == "addresses" ? shm::CrossMemory::always
                      : config.shm_path.empty()      ? shm::CrossMemory::ifFaster
                                                     : shm::CrossMemory::never;
  return options;
}

} // namespace

ShmTransport::ShmTransport(const TransportContext& context)
    : context_(context),
      process_(platform::processId()),
      host_(platform::hostIdentity().text()),
      fences_(platform::joinFences()) {}

void ShmTransport::makeEntries() {
  std::vector<std::unique_ptr<PeerEntry>> made; // All or none.
  for (int rank = 0; rank < context_.size; ++rank)
    made.push_back(std::make_unique<PeerEntry>(rank, optionsOf(*context_.config, fences_), lending_, deferred_));
  entries_ = std::move(made);
}

ShmTransport::~ShmTransport() {
  if (platform::processId() != process_) return;
  for (auto& at : entries_) {
    at->peer.leave();
    if (at->call) at->call->leave(shm::kLeaves);
  }
}

Result<std::string> ShmTransport::open() {
  Result<platform::Poller> poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  poller_.emplace(poller.take());
  connector_.emplace(context_, host_, *poller_, static_cast<shm::Linker&>(*this));
  return connector_->open();
}

bool ShmTransport::reaches(std::string_view address) const {
  std::optional<shm::ShmAddress> decoded = shm::ShmAddress::decode(address);
  return decoded && decoded->host == host_;
}

Status ShmTransport::connect(int rank, std::string_view address) {
  PeerEntry& to = entry(rank);
  if (Status learned = connector_->learn(to, address); !learned.isOk()) return learned;
  if (to.ready()) return Status::ok();
  to.needed = true;
  ++unready_;
  // The higher rank calls, the lower one is called.
  if (rank > context_.self) return Status::ok();
  Status status = connector_->dial(to);
  if (!status.isOk()) {
    to.lost = true;
    to.error = status;
    to.needed = false;
    --unready_;
  }
  return status;
}

Status ShmTransport::prepare(int rank, std::string_view address) {
  entry(rank).on_use = true;
  return connector_->learn(entry(rank), address);
}

void ShmTransport::adopt(PeerEntry& to, shm::Segment segment, platform::UniqueFd socket) {
  if (to.over() || to.peer.attached()) return;
  if (std::exchange(to.needed, false)) --unready_;
  if (!std::exchange(to.active, true)) active_.push_back(&to);
  to.process = shm::watchProcess(socket.get());
  const int fd = socket.get();
  const auto number = static_cast<std::uint64_t>(to.rank);
  to.peer.attach(std::move(segment), std::move(socket));
  loans_.attach(to.rank, to.peer.segment().mySide(), to.peer.segment().theirSide());
  Status added = poller_->add(fd, true, false, kSocketTokens + number);
  if (added.isOk() && to.process.valid()) added = poller_->add(to.process.get(), true, false, kProcessTokens + number);
  if (!added.isOk()) return breakOff(to, added, false);
  while (SendOperation* operation = to.kept.popFront())
    if (to.peer.send(*operation)) deferred_.add(*operation, Status::ok());
}

LinkState ShmTransport::link(int rank) const {
  const PeerEntry* at = find(rank);
  if (at != nullptr && at->lost) return LinkState::failed;
  if (at != nullptr && at->ready()) return LinkState::ready;
  const bool idle = at != nullptr && at->on_use && !at->needed && !at->peer.attached();
  return idle ? LinkState::idle : LinkState::connecting;
}

Status ShmTransport::linkError(int rank) const {
  const PeerEntry* at = find(rank);
  return at != nullptr ? at->error : Status();
}

bool ShmTransport::send(SendOperation& operation) {
  PeerEntry& to = entry(operation.peer);
  if (to.open()) return to.peer.send(operation);
  operation.hook = {};
  if (to.on_use && !to.over() && !to.peer.attached()) { // Until its link is made.
    to.kept.pushBack(operation);
    if (!std::exchange(to.needed, true)) ++unready_;
    connector_->enqueue(to);
    return false;
  }
  if (to.lost) {
    deferred_.add(operation, to.error);
  } else if (to.peer.end().isOver()) {
    deferred_.add(operation, to.peer.end().reason());
  } else if (to.peer.end().isLeaving()) {
    deferred_.add(operation, peerDepartedError(operation.peer));
  } else {
    deferred_.add(operation, notConnectedError(operation.peer, name()));
  }
  return false;
}

void ShmTransport::recv(RecvOperation& operation) {
  PeerEntry& from = entry(operation.peer);
  if (from.lost && !from.peer.matcher().hasFailed()) {
    operation.hook = {};
    deferred_.add(operation, from.error); // connect() itself had failed.
  } else {
    from.peer.matcher().post(operation);
  }
}

TryResult ShmTransport::trySend(int peer, Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) {
  PeerEntry& to = entry(peer);
  return to.open() && to.peer.trySend(tag, envelope, bytes) ? TryResult::done : TryResult::refused;
}

// Counts as a call of progress(): a rank that only calls tryRecv() must poll the sockets now and then, too.
TryResult ShmTransport::tryRecv(int peer, Tag tag, const Envelope& envelope, std::span<std::byte> room,
                                std::size_t& bytes) {
  PeerEntry& from = entry(peer);
  if (!from.open() || ++calls_ >= kCallsPerSocketPoll) return TryResult::refused;
  return from.peer.tryRecv(tag, envelope, room, bytes);
}

void ShmTransport::cancel(SendOperation& operation) {
  deferred_.cancel(operation);
  PeerEntry& to = entry(operation.peer);
  if (to.kept.contains(operation)) return to.kept.remove(operation);
  to.peer.cancel(operation);
}

void ShmTransport::cancel(RecvOperation& operation) {
  deferred_.cancel(operation);
  entry(operation.peer).peer.matcher().cancel(operation);
}

bool ShmTransport::progress() {
  bool any = !deferred_.empty() && deferred_.drain();
  if (poll_sockets_ || unready_ > 0 || ++calls_ >= kCallsPerSocketPoll) any |= checkSockets();
  for (std::size_t i = 0; i < active_.size(); ++i) { // Callbacks may add to it.
    PeerEntry& at = *active_[i];
    if (at.peer.isQuiet()) continue;
    any |= at.peer.progress();
    if (at.peer.isReadingDirectly()) calls_ += kCallsPerDirectRead;
    if (at.peer.end().isOver() && !at.lost) {
      losePeer(at);
      any = true;
    }
  }
  return any;
}

bool ShmTransport::checkSockets() {
  poll_sockets_ = false;
  calls_ = 0;
  if (!connector_) return false;
  connector_->tick();
  bool any = connector_->dialAll();
  for (const platform::PollEvent& event : poller_->wait(0)) {
    handle(event.token);
    any = true;
  }
  return any;
}

void ShmTransport::handle(std::uint64_t token) {
  if (token >= shm::Connector::kTokens) return connector_->handle(token);
  const auto rank = static_cast<int>(token & 0xffffffffu);
  if (token < kProcessTokens) return readSocket(rank);
  poller_->remove(entry(rank).process.get());
  entry(rank).peer.socketEnded();
}

void ShmTransport::readSocket(int rank) {
  PeerEntry& from = entry(rank);
  if (!from.peer.attached() || !from.peer.readPackets()) return;
  poller_->remove(from.peer.socket());
  from.peer.socketEnded();
}

void ShmTransport::breakOff(PeerEntry& to, const Status& why, bool absent) {
  if (to.over()) return;
  to.absent = absent;
  to.peer.breakOff(why);
  poll_sockets_ = true; // Do not sleep before.
  if (!std::exchange(to.active, true)) active_.push_back(&to);
}

void ShmTransport::losePeer(PeerEntry& lost) {
  if (std::exchange(lost.needed, false)) --unready_;
  lost.lost = true;
  lost.error = lost.peer.end().reason();
  const PeerLoss how = lost.absent ? PeerLoss::absent : lost.peer.end().loss(lost.process.get());
  if (lost.process.valid()) poller_->remove(lost.process.get());
  lost.process.reset();
  if (lost.call) {
    lost.call->leave(shm::kGivesUp);
    connector_->drop(lost);
  }
  while (SendOperation* operation = lost.kept.popFront())
    deferred_.add(*operation, lost.error);
  loans_.forget(lost.rank);
  lost.peer.fail();
  context_.listener->onPeerLost(lost.rank, lost.error, how);
}

bool ShmTransport::prepareToSleep() {
  bool sleeps = deferred_.empty() && !poll_sockets_;
  if (connector_) connector_->boards().announceSleep();
  for (PeerEntry* at : active_)
    at->peer.announceSleep();
  // After this fence this rank sees what peers wrote before it, and peers that write later see that this rank sleeps.
  if (fences_ && !platform::fenceAll()) sleeps = false;
  for (PeerEntry* at : active_)
    sleeps = sleeps && !at->peer.hasWork();
  if (!sleeps) announceWaking();
  return sleeps;
}

void ShmTransport::announceWaking() {
  if (connector_) connector_->boards().sleepEnded();
  for (PeerEntry* at : active_)
    at->peer.doorbell().sleepEnded();
}

void ShmTransport::sleepEnded() {
  announceWaking();
  poll_sockets_ = true;
}

void ShmTransport::add(const MemoryRegion& region) { lending_.add(region); }

Status ShmTransport::remove(const std::byte* data) {
  const shm::Lending::Region* region = lending_.find(data);
  if (!region) return Status::ok();
  if (region->uses > 0) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "a message out of this memory is not complete; wait for its request before you free it");
  }
  for (PeerEntry* at : active_)
    at->peer.forget(region->id);
  lending_.remove(*region);
  return Status::ok();
}

void ShmTransport::discard(Tag mask, Tag value) {
  for (auto& at : entries_)
    at->peer.matcher().discard(mask, value);
}

void ShmTransport::abandon(int peer, const Status& why) { breakOff(entry(peer), why, false); }

bool ShmTransport::peek(int rank, Tag mask, Tag value, Arrived& found) const {
  const PeerEntry* at = find(rank);
  return at != nullptr && at->peer.matcher().peek(mask, value, found);
}

PeerStatistics ShmTransport::statistics(int rank) const {
  const PeerEntry* at = find(rank);
  return at != nullptr ? at->peer.matcher().statistics() : PeerStatistics();
}

} // namespace goss::transports
