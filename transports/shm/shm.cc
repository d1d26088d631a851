#include "transports/shm/shm.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hex.h"
#include "gossamer/board.h"
#include "gossamer/config.h"
#include "platform/fence.h"
#include "platform/host.h"
#include "transports/common/errors.h"
#include "transports/shm/board_memory.h"
#include "transports/shm/link.h"

namespace goss::transports {

namespace {

// Poll tokens: the listener, sockets by rank, ends of processes by rank, and sockets of callers by descriptor.
constexpr std::uint64_t kListenerToken = ~std::uint64_t{0};
constexpr std::uint64_t kSocketTokens = 0;
constexpr std::uint64_t kProcessTokens = std::uint64_t{1} << 32;
constexpr std::uint64_t kCallerTokens = std::uint64_t{2} << 32;
// progress() polls the sockets once in so many calls, because that is a system call. After a sleep it polls at once.
constexpr unsigned kCallsPerSocketPoll = 2048;
// A call of progress() that reads a long message in place counts as so many, because it takes as long, and the rank
// must notice when the sender dies meanwhile.
constexpr unsigned kCallsPerDirectRead = 512;
// Other processes may connect and send nothing, so that the oldest caller without a hello is dropped when there are too
// many. That is no rank: a rank sends its hello at once.
constexpr std::size_t kMaxCallers = 256;
constexpr int kMaxAtOnce = 256; ///< Callers that are accepted before other work is done.

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

shm::LinkOptions optionsOf(const Config& config, bool fences) {
  shm::LinkOptions options;
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

struct ShmTransport::PeerEntry {
  PeerEntry(int rank, const shm::LinkOptions& options, shm::LentRegions& lending, Deferred& deferred)
      : link(rank, options, lending, deferred) {}

  shm::Link link;
  platform::UniqueFd process; ///< Readable when the peer's process has ended.
  std::string name;           ///< The name at which the peer listens; set by connect().
  bool asked = false;         ///< connect() was called.
  bool lost = false;
  Status error; ///< Why the link failed.

  [[nodiscard]] bool ready() const { return asked && !lost && link.isReady(); }
  [[nodiscard]] bool open() const { return ready() && !link.end().isLeaving() && !link.end().isOver(); }
};

/// The boards of lost peers stay mapped, because this rank may still read their last bytes.
class ShmTransport::SharedBoard final : public Board {
 public:
  SharedBoard(ShmTransport& transport, shm::BoardMemory own)
      : transport_(transport), own_(std::move(own)), peers_(static_cast<std::size_t>(transport.context_.size)) {}

  [[nodiscard]] std::uint32_t lanes() const override { return shm::BoardMemory::kLanes; }
  [[nodiscard]] std::size_t laneBytes(std::uint32_t lane) const override { return shm::BoardMemory::laneBytes(lane); }
  [[nodiscard]] std::byte* mine(std::uint32_t lane) override { return own_.lane(lane); }
  [[nodiscard]] const std::byte* of(int peer, std::uint32_t lane) const override {
    const shm::BoardMemory& memory = peers_[static_cast<std::size_t>(peer)];
    return memory.valid() ? memory.lane(lane) : nullptr;
  }
  void wake(std::span<const int> peers) override {
    for (const int peer : peers)
      transport_.entry(peer).link.doorbell().wakeFor(shm::kWakeForData);
  }

  [[nodiscard]] int fd() const { return own_.fd(); }
  Status attach(int peer, platform::UniqueFd fd) {
    Result<shm::BoardMemory> memory = shm::BoardMemory::attach(std::move(fd), peer);
    if (!memory.isOk()) return memory.status();
    peers_[static_cast<std::size_t>(peer)] = memory.take();
    return Status::ok();
  }

 private:
  ShmTransport& transport_;
  shm::BoardMemory own_;
  std::vector<shm::BoardMemory> peers_; ///< By rank.
};

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
  for (auto& at : entries_)
    at->link.leave();
}

Result<std::string> ShmTransport::open() {
  Result<platform::Poller> poller = platform::Poller::create();
  if (!poller.isOk()) return poller.status();
  poller_.emplace(poller.take());
  Result<std::string> name = randomName();
  if (!name.isOk()) return name.status();
  Result<platform::UniqueFd> listener = shm::listenAt(name.value());
  if (!listener.isOk()) return listener.status();
  Result<platform::ListeningSocket> watched =
      platform::ListeningSocket::create(listener.take(), *poller_, kListenerToken);
  if (!watched.isOk()) return watched.status();
  listener_.emplace(watched.take());
  Result<shm::BoardMemory> board = shm::BoardMemory::create();
  if (!board.isOk()) return board.status();
  board_ = std::make_unique<SharedBoard>(*this, board.take());
  return shm::ShmAddress{host_, name.value()}.encode();
}

bool ShmTransport::reaches(std::string_view address) const {
  std::optional<shm::ShmAddress> decoded = shm::ShmAddress::decode(address);
  return decoded && decoded->host == host_;
}

Status ShmTransport::connect(int rank, std::string_view address) {
  PeerEntry& to = entry(rank);
  std::optional<shm::ShmAddress> decoded = shm::ShmAddress::decode(address);
  to.asked = true;
  if (!decoded || decoded->host != host_) {
    to.lost = true;
    return to.error = protocolError(rank, "an address that is not of this host");
  }
  if (rank == context_.self) {
    to.lost = true;
    return to.error = Status::error(GOSS_ERR_UNSUPPORTED, "shm does not connect a rank to itself; use loopback");
  }
  to.name = decoded->name;
  if (!to.ready()) ++unready_;
  // The higher rank calls, the lower one is called.
  if (rank > context_.self) return Status::ok();
  Status status = dial(rank);
  if (!status.isOk()) {
    to.lost = true;
    to.error = status;
    --unready_;
  }
  return status;
}

Status ShmTransport::dial(int rank) {
  PeerEntry& to = entry(rank);
  Result<platform::UniqueFd> socket = shm::dial(to.name, rank);
  if (!socket.isOk()) return socket.status();
  if (!socket.value().valid()) return Status::ok(); // The listener is busy; retryDials() calls again.
  Result<shm::Segment> segment = shm::Segment::create(ringBytes(context_));
  if (!segment.isOk()) return segment.status();
  Status sent = shm::sendHello(socket.value().get(), context_, rank, segment.value(), board_->fd());
  if (!sent.isOk()) return sent;
  segment.value().closeFd();
  return attach(rank, segment.take(), socket.take());
}

bool ShmTransport::retryDials() {
  bool any = false;
  for (int rank = 0; rank < context_.self; ++rank) {
    PeerEntry& to = entry(rank);
    if (!to.asked || to.lost || to.link.attached()) continue;
    Status status = dial(rank);
    if (!status.isOk()) {
      to.link.breakOff(status);
      losePeer(rank);
    }
    any |= to.lost || to.link.attached();
  }
  return any;
}

Status ShmTransport::attach(int rank, shm::Segment segment, platform::UniqueFd socket) {
  PeerEntry& to = entry(rank);
  to.process = shm::watchProcess(socket.get());
  int fd = socket.get();
  to.link.attach(std::move(segment), std::move(socket));
  loans_.attach(rank, to.link.segment().mySide(), to.link.segment().theirSide());
  Status added = poller_->add(fd, true, false, kSocketTokens + static_cast<std::uint64_t>(rank));
  if (!added.isOk() || !to.process.valid()) return added;
  return poller_->add(to.process.get(), true, false, kProcessTokens + static_cast<std::uint64_t>(rank));
}

LinkState ShmTransport::link(int rank) const {
  const PeerEntry* at = find(rank);
  if (at != nullptr && at->lost) return LinkState::failed;
  return at != nullptr && at->ready() ? LinkState::ready : LinkState::connecting;
}

Status ShmTransport::linkError(int rank) const {
  const PeerEntry* at = find(rank);
  return at != nullptr ? at->error : Status();
}

bool ShmTransport::send(SendOperation& operation) {
  PeerEntry& to = entry(operation.peer);
  if (to.open()) return to.link.send(operation);
  operation.hook = {};
  if (to.lost) {
    deferred_.add(operation, to.error);
  } else if (to.link.end().isOver()) {
    deferred_.add(operation, to.link.end().reason());
  } else if (to.link.end().isLeaving()) {
    deferred_.add(operation, peerDepartedError(operation.peer));
  } else {
    deferred_.add(operation, notConnectedError(operation.peer, name()));
  }
  return false;
}

void ShmTransport::recv(RecvOperation& operation) {
  PeerEntry& from = entry(operation.peer);
  if (from.lost && !from.link.matcher().hasFailed()) {
    operation.hook = {};
    deferred_.add(operation, from.error); // connect() itself had failed.
  } else {
    from.link.matcher().post(operation);
  }
}

TryResult ShmTransport::trySend(int peer, Tag tag, const Envelope& envelope, std::span<const std::byte> bytes) {
  PeerEntry* to = find(peer);
  return to != nullptr && to->open() && to->link.trySend(tag, envelope, bytes) ? TryResult::done : TryResult::refused;
}

// Counts as a call of progress(): a rank that only calls tryRecv() must poll the sockets now and then, too.
TryResult ShmTransport::tryRecv(int peer, Tag tag, const Envelope& envelope, std::span<std::byte> room,
                                std::size_t& bytes) {
  PeerEntry* from = find(peer);
  if (from == nullptr || !from->open() || ++calls_ >= kCallsPerSocketPoll) return TryResult::refused;
  return from->link.tryRecv(tag, envelope, room, bytes);
}

void ShmTransport::cancel(SendOperation& operation) {
  deferred_.cancel(operation);
  entry(operation.peer).link.cancel(operation);
}

void ShmTransport::cancel(RecvOperation& operation) {
  deferred_.cancel(operation);
  entry(operation.peer).link.matcher().cancel(operation);
}

bool ShmTransport::progress() {
  bool any = !deferred_.empty() && deferred_.drain();
  if (poll_sockets_ || unready_ > 0 || ++calls_ >= kCallsPerSocketPoll) any |= checkSockets();
  for (auto& at : entries_) {
    shm::Link& link = at->link;
    if (unready_ == 0 && link.isQuiet()) continue;
    any |= link.progress();
    if (link.isReadingDirectly()) calls_ += kCallsPerDirectRead;
    if (unready_ > 0) handleWelcome(static_cast<int>(&at - entries_.data())); // progress() may have read the socket.
    if (link.end().isOver() && !at->lost) {
      losePeer(static_cast<int>(&at - entries_.data()));
      any = true;
    }
  }
  return any;
}

bool ShmTransport::checkSockets() {
  poll_sockets_ = false;
  calls_ = 0;
  if (!poller_) return false;
  if (listener_) listener_->tick();
  for (auto& at : entries_)
    at->link.tellForgotten();
  bool any = unready_ > 0 && retryDials();
  for (const platform::PollEvent& event : poller_->wait(0)) {
    auto low = static_cast<int>(event.token & 0xffffffffu);
    if (event.token == kListenerToken) {
      acceptCallers();
    } else if (event.token >= kCallerTokens) {
      readCallerHello(low);
    } else if (event.token >= kProcessTokens) {
      poller_->remove(entry(low).process.get());
      entry(low).link.socketEnded();
    } else {
      readSocket(low);
    }
    any = true;
  }
  return any;
}

void ShmTransport::acceptCallers() {
  for (int i = 0; i < kMaxAtOnce; ++i) {
    Result<platform::Accepted> accepted = listener_->accept();
    if (!accepted.isOk()) continue; // No descriptor is left for this caller.
    platform::UniqueFd fd = std::move(accepted.value().fd);
    if (!fd.valid()) return;
    if (callers_.size() == kMaxCallers) {
      poller_->remove(callers_.front().get());
      callers_.erase(callers_.begin());
    }
    int number = fd.get();
    callers_.push_back(std::move(fd));
    bool waits = readCallerHello(number) &&
                 poller_->add(number, true, false, kCallerTokens + static_cast<std::uint64_t>(number)).isOk();
    if (!waits) std::erase_if(callers_, [&](const platform::UniqueFd& caller) { return caller.get() == number; });
  }
}

// Reads the hello of an accepted socket. Returns whether the socket waits for more of it.
bool ShmTransport::readCallerHello(int fd) {
  auto at = std::find_if(callers_.begin(), callers_.end(), [&](const auto& caller) { return caller.get() == fd; });
  if (at == callers_.end()) return false;
  shm::Hello hello;
  shm::HelloResult result = shm::readHello(fd, context_, hello);
  if (result == shm::HelloResult::again) return true;
  poller_->remove(fd);
  platform::UniqueFd socket = std::move(*at);
  callers_.erase(at);
  if (result == shm::HelloResult::bad) return false;
  PeerEntry& from = entry(hello.from);
  if (from.lost || from.link.attached()) return false; // The rank called before; a second link would reorder messages.
  Result<shm::Segment> segment = shm::Segment::attach(std::move(hello.segment), hello.ring_bytes, hello.from);
  Status usable = segment.isOk() ? board_->attach(hello.from, std::move(hello.board)) : segment.status();
  if (!usable.isOk()) {
    from.link.breakOff(usable); // The caller does not call again.
    return false;
  }
  if (!shm::sendWelcome(socket.get(), board_->fd())) return false;
  Status attached = attach(hello.from, segment.take(), std::move(socket));
  if (!attached.isOk()) from.link.breakOff(attached);
  from.link.becomeReady();
  if (from.asked) --unready_;
  return false;
}

void ShmTransport::readSocket(int rank) {
  PeerEntry& from = entry(rank);
  if (!from.link.attached()) return;
  const bool ended = from.link.readPackets();
  handleWelcome(rank);
  if (!ended || !from.link.attached()) return;
  poller_->remove(from.link.socket());
  from.link.socketEnded();
}

// Handles the called rank's welcome, if it has come.
void ShmTransport::handleWelcome(int rank) {
  PeerEntry& from = entry(rank);
  if (!from.link.hasWelcome() || from.link.isReady() || from.link.end().isOver()) return;
  if (Status status = board_->attach(rank, from.link.takeBoard()); !status.isOk()) return from.link.breakOff(status);
  from.link.becomeReady();
  if (from.asked) --unready_;
}

void ShmTransport::losePeer(int rank) {
  PeerEntry& from = entry(rank);
  if (from.asked && !from.ready()) --unready_;
  from.lost = true;
  from.error = from.link.end().reason();
  const PeerLoss how = from.link.end().loss(from.process.get());
  if (from.process.valid()) poller_->remove(from.process.get());
  from.process.reset();
  loans_.forget(rank);
  from.link.fail();
  context_.listener->onPeerLost(rank, from.error, how);
}

bool ShmTransport::prepareToSleep() {
  bool sleeps = deferred_.empty() && !poll_sockets_;
  for (auto& at : entries_)
    at->link.announceSleep();
  // After this fence this rank sees what peers wrote before it, and peers that write later see that this rank sleeps.
  if (fences_ && !platform::fenceAll()) sleeps = false;
  for (auto& at : entries_)
    sleeps = sleeps && !at->link.hasWork();
  if (!sleeps) {
    for (auto& at : entries_)
      at->link.doorbell().sleepEnded();
  }
  return sleeps;
}

void ShmTransport::sleepEnded() {
  for (auto& at : entries_)
    at->link.doorbell().sleepEnded();
  poll_sockets_ = true;
}

Board* ShmTransport::board() { return board_.get(); }

void ShmTransport::add(const MemoryRegion& region) { lending_.add(region); }

Status ShmTransport::remove(const std::byte* data) {
  const shm::LentRegions::Region* region = lending_.find(data);
  if (!region) return Status::ok();
  if (region->uses > 0) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "a message out of this memory is not complete; wait for its request before you free it");
  }
  for (auto& at : entries_)
    at->link.forget(region->id);
  lending_.remove(*region);
  return Status::ok();
}

void ShmTransport::discard(Tag mask, Tag value) {
  for (auto& at : entries_)
    at->link.matcher().discard(mask, value);
}

void ShmTransport::abandon(int peer, const Status& why) { entry(peer).link.breakOff(why); }

bool ShmTransport::peek(int rank, Tag mask, Tag value, Arrived& found) const {
  const PeerEntry* at = find(rank);
  return at != nullptr && at->link.matcher().peek(mask, value, found);
}

PeerStatistics ShmTransport::statistics(int rank) const {
  const PeerEntry* at = find(rank);
  return at != nullptr ? at->link.matcher().statistics() : PeerStatistics();
}

} // namespace goss::transports
