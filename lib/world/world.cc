#include "world/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/wide_area.h"
#include "builtins/builtins.h"
#include "gossamer/transport_names.h"
#include "planner/link_prices.h"
#include "planner/observed_links.h"
#include "planner/oversubscription.h"
#include "planner/question.h"
#include "planner/setting_file.h"
#include "platform/clock.h"
#include "platform/host.h"
#include "platform/memory/pages.h"
#include "platform/process.h"

namespace goss {

namespace {

/// Regions of goss_mem_alloc that are shared; further memory works too, but peers do not read it in place.
constexpr std::ptrdiff_t kMaxSharedRegions = 256;

/// A rank may begin to connect this much later than another, and the other still receives its report in time.
constexpr std::int64_t kLinkGraceMs = 2000;

/// Maximum number of aborts that are kept for communicators that this rank has not made. Aborts of communicators that
/// it will never make stay, because context numbers are not reused.
constexpr std::size_t kMaxEarlyAborts = 1024;

/// Checks GOSS_CODEC before any call uses it.
Status checkCodec(CodecRegistry& codecs, const std::string& spec, int ranks) {
  if (spec.empty()) return Status::ok();
  const auto named = [](const Status& status) {
    return Status::error(status.kind(), fmt::format("GOSS_CODEC: {}", status.text()));
  };
  auto found = codecs.find(spec, {});
  if (!found.isOk()) return named(found.status());
  if (!found.value()->multiPhase()) return Status::ok();
  RunJob trial; // A run of no elements: the codec refuses it if it cannot serve so many ranks.
  trial.ranks = ranks;
  auto run = found.value()->contribution.codec->start(trial);
  return run.isOk() ? Status::ok() : named(run.status());
}

/// As in LinkReport::CommonSettings.
std::uint64_t numberOf(const std::string& text) { return text.empty() ? 0 : XXH3_64bits(text.data(), text.size()); }

/// Whether some of `ranks` (world ranks) are a wide-area network apart.
bool areWideApart(const RoundTrips& round_trips, const std::vector<int>& ranks) {
  for (const int one : ranks)
    for (const int other : ranks)
      if (round_trips.between(one, other) > 0) return true;
  return false;
}

/// Answers a message that `peer` has sent to a communicator that this rank, `self`, has destroyed.
void answerFor(const ClosedCommunicator& closed, ControlChannel& control, int self, int peer,
               const ControlMessage& message) GOSS_ON_LOOP {
  ControlMessage departure;
  departure.context = message.context;
  if (message.type == ControlMessage::Type::history) {
    departure.type = ControlMessage::Type::history;
    control.sendOnLoop(peer, departure);
  }
  if (message.type == ControlMessage::Type::probe && closed.failure.has_value())
    control.sendOnLoop(peer, *closed.failure);
  // Two ranks that answered messages that want no answer would answer each other for ever.
  if (!message.wantsDecision(self)) return;
  if (closed.last_decision.has_value() && closed.last_decision->operation == message.operation)
    control.sendOnLoop(peer, *closed.last_decision);
  departure.type = closed.goes_on ? ControlMessage::Type::agreed : ControlMessage::Type::view;
  departure.operation = message.operation;
  control.sendOnLoop(peer, departure);
}

} // namespace

World::World(const Config& config, int rank)
    : config_(config), log_(config.log_level, rank), catalogue_(makeCatalogue()), engine_(config_) {}

World::~World() {
  progress_thread_.reset();
  if (flush_ != nullptr) { // An abort that is still queued must reach the others.
    flush_->forgetSlowOnLoop();
    flush_->runOnLoop(-1);
  }
  flush_.reset();
  control_.reset();
  mesh_.reset();
  if (devices_ != nullptr && !devices_->drain()) { // To free memory of a GPU would wait for a gate that nobody opens.
    for (auto& [address, block] : lent_on_devices_)
      (void)block.release();
    (void)devices_.release();
  }
  // The application may still read memory that it has not freed.
  for (auto& [address, pages] : lent_)
    pages.abandon();
}

Result<void*> World::allocate(std::size_t bytes) {
  platform::SharedPages pages;
  void* memory = nullptr;
  // Each region holds a file descriptor, so small ones are not shared, and their number is limited.
  bool is_shared = bytes >= config_.shm_direct_bytes;
  if (is_shared) {
    const Engine::Lock lock = engine_.enter();
    is_shared =
        std::ranges::count_if(lent_, [](const auto& entry) { return entry.second.valid(); }) < kMaxSharedRegions;
  }
  if (is_shared) {
    Result<platform::SharedPages> shared = platform::SharedPages::create(bytes);
    if (shared.isOk()) pages = shared.take();
    memory = pages.data();
  }
  if (memory == nullptr) {
    const Result<void*> ordinary = platform::allocatePages(bytes);
    if (!ordinary.isOk()) return ordinary.status();
    memory = ordinary.value();
  }
  const Engine::Lock lock = engine_.enter();
  if (pages.valid()) mesh_->addRegion({pages.data(), pages.bytes(), pages.fd()});
  lent_.emplace(memory, std::move(pages));
  return memory;
}

Result<void*> World::allocateOnDevice(std::size_t bytes) {
  if (!devices_->present())
    return Status::error(GOSS_ERR_UNSUPPORTED, "goss_mem_alloc_device: there are no devices; set GOSS_DEVICE=cuda");
  const Result<Device*> device = devices_->current();
  if (!device.isOk()) return device.status();
  Result<std::unique_ptr<DeviceBlock>> block = device.value()->allocate(MemoryKind::device, bytes);
  if (!block.isOk()) return block.status();
  const Engine::Lock lock = engine_.enter();
  void* memory = block.value()->data();
  lent_on_devices_.emplace(memory, block.take());
  return memory;
}

Status World::free(void* memory) {
  std::unique_ptr<DeviceBlock> block; // Freed without the lock, because that may wait for the device.
  const Engine::Lock lock = engine_.enter();
  if (const auto found = lent_on_devices_.find(memory); found != lent_on_devices_.end()) {
    block = std::move(found->second);
    lent_on_devices_.erase(found);
    return Status::ok();
  }
  const auto at = lent_.find(memory);
  if (at == lent_.end()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "goss_mem_free: the address is not from goss_mem_alloc");
  }
  Status status = at->second.valid() ? mesh_->removeRegion(at->second.data()) : platform::freePages(memory);
  if (status.isOk()) lent_.erase(at);
  return status;
}

Result<std::shared_ptr<World>> World::create(const Config& config, Launch launch) {
  const int rank = launch.rank;
  const int ranks = launch.ranks;
  std::shared_ptr<World> world(new World(config, rank));
  for (const std::string& notice : config.notices) // Mostly all ranks have the same environment, so rank 0 logs.
    world->log_.write(rank == 0 ? base::LogLevel::warn : base::LogLevel::info, notice);
  Result<std::unique_ptr<Devices>> devices = Devices::open(config);
  if (!devices.isOk()) return devices.status();
  world->devices_ = devices.take();
  if (Status status = checkCodec(world->codecs_, config.codec, ranks); !status.isOk()) return status;
  if (Status status = world->readPrices(ranks); !status.isOk()) return status;
  if (Status status = world->connect(std::move(launch)); !status.isOk()) return status;
  World* self = world.get();
  assumeAlone();
  for (int peer = 0; peer < ranks; ++peer) // Any two may become a communicator.
    if (world->lendingAmong({rank, peer}) != nullptr) world->devices_->compute();
  world->mesh_->setPeerLostHandler([self](int peer, const Status& status, PeerLoss how) GOSS_ON_LOOP {
    self->lost_.push_back({peer, status, how});
  });
  world->control_ =
      std::make_unique<ControlChannel>(*world->mesh_, [self](int peer, const ControlMessage& message)
                                                          GOSS_ON_LOOP { self->handleControlOnLoop(peer, message); });
  world->control_->start();
  world->flush_ = std::make_unique<ControlFlush>(*world->mesh_, *world->control_,
                                                 [self](int peer) GOSS_ON_LOOP { return self->isSeenToRun(peer); });
  world->engine_.attach(world->mesh_.get(), [self]() GOSS_ON_LOOP { return self->afterProgressOnLoop(); });
  if (ranks > 1) world->progress_thread_ = std::make_unique<ProgressThread>(world->engine_);
  world->devices_->openCurrent(); // This takes a while, and peers want answers meanwhile.
  return world;
}

void World::driveUnattended() {
  if (unattended_.load(std::memory_order_acquire)) return;
  auto lock = engine_.enter();
  engine_.driveUnattendedOnLoop();
  // A single rank has no probes to answer, and so no thread until now.
  if (progress_thread_ == nullptr) progress_thread_ = std::make_unique<ProgressThread>(engine_);
  unattended_.store(true, std::memory_order_release);
}

Status World::readPrices(int ranks) {
  const Result<std::string> tuning_text = readSettingFile("GOSS_TUNING", config_.tuning_file);
  if (!tuning_text.isOk()) return tuning_text.status();
  Result<Tuning> tuning = tuningOf(tuning_text.value());
  if (!tuning.isOk()) return tuning.status();
  tuning_ = tuning.take();
  const Result<std::string> links_text = readSettingFile("GOSS_LINKS", config_.links_file);
  if (!links_text.isOk()) return links_text.status();
  if (!links_text.value().empty()) {
    Result<schedule::Links> links = schedule::Links::parse(links_text.value(), ranks);
    if (!links.isOk()) return links.status();
    given_links_ = links.take();
  }
  const std::uint64_t codec = config_.codec.empty() ? 0 : codecs_.find(config_.codec, {}).value()->hash;
  settings_ = {numberOf(config_.algorithm), codec, config_.fragment_bytes, numberOf(tuning_text.value()),
               numberOf(links_text.value())};
  return Status::ok();
}

Status World::connect(Launch launch) {
  TransportContext context;
  context.self = launch.rank;
  context.size = launch.ranks;
  context.job = launch.job;
  context.config = &config_;
  context.listener = &relay_;
  context.sites = &sites_;
  sites_.resize(static_cast<std::size_t>(launch.ranks));
  auto transports = makeTransports(config_, context);
  if (!transports.isOk()) return transports.status();
  mesh_ = std::make_unique<Mesh>(launch.rank, launch.ranks, transports.take());
  relay_.setTarget(mesh_.get());

  PeerCard card;
  card.host = platform::hostIdentity().text();
  Result<std::string> process = platform::ownProcessName();
  if (!process.isOk()) return process.status();
  card.process = process.take();
  card.processors = platform::usableProcessors();
  card.place = launch.ranks > 1 ? platform::ownPlace() : platform::Place();
  cards_ = {card};
  if (launch.ranks == 1) return Status::ok();

  // A rank that cannot open a transport still meets the others, so that they learn the reason at once.
  Status opened = mesh_->open(card);
  auto meeting = connectRendezvous(std::move(launch), config_);
  if (!meeting.isOk()) return opened.isOk() ? meeting.status() : opened;
  card.site = meeting.value()->site();
  auto gathered = meeting.value()->allGather(card.encode(), 0);
  if (!opened.isOk()) return opened;
  if (!gathered.isOk()) return gathered.status();
  cards_.clear();
  for (const std::string& bytes : gathered.value()) {
    Result<PeerCard> peer = PeerCard::decode(bytes);
    if (!peer.isOk())
      return Status::error(peer.status().kind(), fmt::format("rank {} sent {}", cards_.size(), peer.status().text()),
                           ErrorScope::communicator, static_cast<int>(cards_.size()));
    sites_[cards_.size()] = peer.value().site;
    cards_.push_back(peer.take());
  }
  processors_ = shareOfProcessors(cards_, card.host);
  engine_.setOversubscribed(processors_.oversubscribed);
  Status linked = waitForLinks(*meeting.value());
  for (PeerCard& one : cards_) // The transports have read them, and thousands of ranks take space.
    one.forgetAddresses();

  // Every rank learns whether all ranks have made their links, so that no rank begins to work after another has failed.
  // A rank that has made its links may have to relay for ranks that have not.
  if (linked.isOk()) {
    meeting.value()->whileWaiting([this] {
      assumeAlone();
      mesh_->progressOnLoop();
    });
  }
  auto reports = meeting.value()->allGather(reportOf(linked).encode(), config_.bootstrap_timeout_ms + kLinkGraceMs);
  if (!linked.isOk()) return linked;
  return reports.isOk() ? learn(reports.value()) : reports.status();
}

LinkReport World::reportOf(const Status& linked) const {
  assumeAlone();
  LinkReport report;
  report.trouble = linked.text();
  const bool may_measure = !given_links_.has_value() && config_.algorithm.empty() && config_.fragment_bytes == 0;
  if (may_measure && config_.measure == "links") report.measuring = Measuring::links;
  if (may_measure && config_.measure == "trials" && !devices_->present()) report.measuring = Measuring::trials;
  report.settings = settings_;
  report.has_devices = devices_->present();
  report.device = devices_->currentIdentity();
  // The lower rank of a pair reports its link. Among very many ranks the reports would be too long.
  if (!linked.isOk() || size() > LinkReport::kMaxRanks) return report;
  for (int peer = rank() + 1; peer < size(); ++peer) {
    const bool elsewhere = !isHere(peer);
    const double seconds = elsewhere ? mesh_->roundTrip_s(peer) : 0;
    if (seconds >= kWideAreaRoundTrip_s || (elsewhere && mesh_->relayedBy(peer) >= 0))
      report.round_trips.emplace_back(peer, seconds);
  }
  return report;
}

Status World::learn(const std::vector<std::string>& reports) {
  round_trips_ = RoundTrips(cards_);
  device_of_rank_.clear();
  LinkReport::CommonSettings settings{}; // Those of rank 0.
  bool all_try = true;
  bool all_measure = true;
  for (int rank = 0; rank < size(); ++rank) {
    const auto report = LinkReport::decode(reports[static_cast<std::size_t>(rank)], size());
    if (!report.has_value())
      return Status::error(GOSS_ERR_BOOTSTRAP,
                           fmt::format("rank {} says of its links what makes no sense; do all "
                                       "ranks run the same version of Gossamer?",
                                       rank),
                           ErrorScope::communicator, rank);
    if (!report->trouble.empty())
      return Status::error(GOSS_ERR_BOOTSTRAP, fmt::format("rank {} could not connect: {}", rank, report->trouble),
                           ErrorScope::communicator, rank);
    if (rank == 0) settings = report->settings;
    if (const std::string_view setting = report->settingUnlike(settings); !setting.empty())
      return Status::error(
          GOSS_ERR_MISMATCH,
          fmt::format("rank {} has set {} otherwise than rank 0; it must be the same on all ranks", rank, setting),
          ErrorScope::communicator, rank);
    if (config_.measure == "trials" && report->measuring != Measuring::trials && all_try)
      log_.write(base::LogLevel::info,
                 fmt::format("plans are not tried, GOSS_MEASURE=trials or not: rank {} does not say so, or it has "
                             "GOSS_LINKS, GOSS_ALGORITHM, GOSS_FRAGMENT_BYTES or GPUs",
                             rank));
    all_try = all_try && report->measuring == Measuring::trials;
    all_measure = all_measure && report->measuring == Measuring::links;
    any_has_devices_ = any_has_devices_ || report->has_devices;
    device_of_rank_.push_back(report->device);
    for (const auto& [peer, seconds] : report->round_trips)
      round_trips_.add(rank, peer, seconds);
  }
  measuring_ = all_try ? Measuring::trials : all_measure ? Measuring::links : Measuring::nothing;
  round_trips_.settle();
  const auto farFrom = [&](int peer) {
    const double latency_s =
        given_links_.has_value() ? given_links_->price(peer, rank()).latency_s : round_trips_.between(peer, rank()) / 2;
    return peer == rank() || latency_s >= kFar_s;
  };
  bool far = true;
  for (int peer = 0; peer < size(); ++peer)
    far = far && farFrom(peer);
  if (far) engine_.setHighLatency();
  return Status::ok();
}

Status World::waitForLinks(Rendezvous& meeting) {
  assumeAlone();
  if (Status status = mesh_->connect(cards_); !status.isOk()) return status;
  const auto deadline = platform::Deadline::after(std::chrono::milliseconds(config_.bootstrap_timeout_ms));
  for (;;) {
    const bool moved = mesh_->progressOnLoop();
    Result<bool> connected = mesh_->connected();
    if (!connected.isOk()) return connected.status();
    if (connected.value()) return Status::ok();
    if (deadline.expired()) {
      const std::vector<int> absent = mesh_->peersNotReady();
      return Status::error(GOSS_ERR_BOOTSTRAP,
                           fmt::format("no connection to rank {} within {} ms; can this host reach its addresses?",
                                       fmt::join(absent, ", "), config_.bootstrap_timeout_ms),
                           ErrorScope::communicator, absent.empty() ? -1 : absent.front());
    }
    if (moved) continue;
    if (Status status = meeting.check(); !status.isOk()) return status; // A rank that has died will never answer.
    if (!mesh_->prepareToSleepOnLoop()) continue;
    std::vector<pollfd> fds;
    mesh_->appendPollFds(fds);
    // Handshakes have timers of their own inside the transports.
    constexpr std::int64_t kLongestPollMs = 20;
    ::poll(fds.data(), fds.size(), static_cast<int>(std::min(deadline.leftMs(), kLongestPollMs)));
    mesh_->sleepEndedOnLoop();
  }
}

double World::ranksPerProcessor() const {
  // Only on one host all ranks compute the same number, and so the same prices.
  const bool one_host =
      std::all_of(cards_.begin(), cards_.end(), [&](const PeerCard& one) { return one.host == cards_[0].host; });
  return one_host ? processors_.ranks_per_processor : 1;
}

std::string_view World::preferredAmongEquals() const {
  if (given_links_.has_value()) return ""; // The link file names its own hosts.
  return goss::preferredAmongEquals(std::any_of(cards_.begin(), cards_.end(), usesSockets), ranksPerProcessor());
}

Measuring World::comparesPlans(const std::vector<int>& ranks) const {
  const bool here = areMeasured(static_cast<int>(ranks.size())) && areWideApart(round_trips_, ranks);
  return here && !any_has_devices_ ? measuring_ : Measuring::nothing;
}

bool World::measuresLinks() const {
  if (measuring_ != Measuring::links) return false;
  std::set<std::string_view> hosts;
  for (const PeerCard& card : cards_)
    hosts.insert(card.host);
  std::vector<int> ranks(cards_.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return areMeasured(static_cast<int>(hosts.size())) && areWideApart(round_trips_, ranks);
}

bool World::takesTurns() const {
  const bool memory = std::all_of(cards_.begin(), cards_.end(),
                                  [](const PeerCard& card) { return card.offers(transport_names::kShm); });
  if (given_links_.has_value() || !goss::takesTurns(memory, size(), ranksPerProcessor())) return false;
  for (std::size_t i = 1; i < cards_.size(); ++i) // Threads of a process read each other's buffers.
    for (std::size_t j = 0; j < i; ++j)
      if (cards_[i].process == cards_[j].process) return false;
  return true;
}

schedule::Links World::linksBetween(const std::vector<int>& ranks) const {
  if (given_links_.has_value()) return given_links_->subset(ranks);
  return goss::linksBetween(cards_, ranks, {tuning_, ranksPerProcessor(), round_trips_});
}

std::unique_ptr<BoardChannel> World::makeBoardChannel(std::uint32_t context, const std::vector<int>& ranks,
                                                      int rank) const {
  // All ranks must answer alike, so this rank asks the cards, which all have, for each pair.
  Board* board = nullptr;
  for (const int i : ranks) {
    for (const int j : ranks) {
      if (i < j && transportBetween(cards_[static_cast<std::size_t>(i)], cards_[static_cast<std::size_t>(j)]) !=
                       transport_names::kShm)
        return nullptr;
    }
    if (Transport* transport = mesh_->transport(i); transport != nullptr) board = transport->board();
  }
  return BoardChannel::create(board, context, ranks, rank, processors_.oversubscribed);
}

void World::registerOnLoop(std::uint32_t context, const Group& group, CommunicatorEvents& events) {
  communicators_[context] = {&group, &events};
  contexts_.take(context);
  const auto early = early_aborts_.find(context);
  if (early == early_aborts_.end()) return;
  const auto [peer, message] = std::move(early->second);
  early_aborts_.erase(early);
  handleControlOnLoop(peer, message);
}

void World::unregisterOnLoop(std::uint32_t context, ClosedCommunicator closed) {
  communicators_.erase(context);
  closed_contexts_.emplace(context, std::move(closed));
}

Lending* World::lendingAmong(const std::vector<int>& ranks) const {
  std::set<std::string_view> processes;
  for (const int rank : ranks) {
    if (device_of_rank_.empty()) return nullptr;
    const std::string& device = device_of_rank_[static_cast<std::size_t>(rank)];
    if (device.empty() || device != device_of_rank_[static_cast<std::size_t>(ranks.front())]) return nullptr;
    processes.insert(cards_[static_cast<std::size_t>(rank)].process);
  }
  // Unmapping memory of other processes may wait for streams, of which a rank beside this one may have closed some.
  const auto live = std::count_if(cards_.begin(), cards_.end(),
                                  [&](const PeerCard& card) { return processes.contains(card.process); });
  const bool alone = processes.size() == ranks.size() && static_cast<std::size_t>(live) == ranks.size();
  return alone || processes.size() == 1 ? mesh_->lendingAmong(ranks) : nullptr;
}

bool World::isHere(int rank) const {
  return cards_[static_cast<std::size_t>(rank)].host == cards_[static_cast<std::size_t>(this->rank())].host;
}

bool World::isSeenToRun(int rank) const {
  return isHere(rank) && platform::isSeenToRun(cards_[static_cast<std::size_t>(rank)].process);
}

bool World::afterProgressOnLoop() {
  // Control messages first: an abort names the culprit better than the loss of the rank that forwarded it.
  bool did = control_->drainOnLoop();
  mesh_->outbox().sweepOnLoop();
  flush_->sweepOnLoop();
  if (devices_->pollHeldOnLoop()) did = true;
  while (!lost_.empty()) {
    Loss loss = std::move(lost_.front());
    lost_.pop_front();
    // Links between hosts are made at the start, so that the ranks of other hosts notice this themselves.
    control_->receiveRestOnLoop(loss.peer);
    const bool is_here = isHere(loss.peer);
    if (is_here) control_->noteLossOnLoop(loss.peer, loss.how);
    if (loss.how == PeerLoss::absent && told_ended_.contains(loss.peer)) loss.how = PeerLoss::ended;
    if (loss.how == PeerLoss::absent) absent_.emplace(loss.peer, loss.status);
    if (is_here && loss.how == PeerLoss::ended) control_->tellOfEndOnLoop(loss.peer);
    for (const auto& [context, communicator] : communicators_) {
      const int rank = communicator.group->rankOfWorld(loss.peer);
      const bool fails = loss.how == PeerLoss::ended || loss.how == PeerLoss::silent;
      if (rank >= 0) communicator.events->handlePeerLost(rank, loss.status, !fails);
    }
    devices_->forgetOnLoop(loss.peer); // Last: failed calls let go of the rank's memory as soon as they leave.
    did = true;
  }
  return did;
}

void World::handleControlOnLoop(int peer, const ControlMessage& message) {
  if (message.type == ControlMessage::Type::ended) {
    const int gone = message.culprit;
    if (gone < 0 || gone >= size() || gone == rank() || !told_ended_.insert(gone).second) return;
    // A rank believes only the host of `gone`: a rank without a link to it calls it, and the host refuses the call.
    control_->probeOnLoop(gone);
    if (const auto absent = absent_.extract(gone); !absent.empty())
      lost_.push_back({gone, absent.mapped(), PeerLoss::ended});
    return;
  }
  const auto found = communicators_.find(message.context);
  if (found != communicators_.end()) {
    const int rank = found->second.group->rankOfWorld(peer);
    if (rank >= 0) found->second.events->handleControl(rank, message);
    return;
  }
  if (const auto closed = closed_contexts_.find(message.context); closed != closed_contexts_.end()) {
    answerFor(closed->second, *control_, rank(), peer, message);
  } else if (message.type == ControlMessage::Type::abort && early_aborts_.size() < kMaxEarlyAborts) {
    early_aborts_.emplace(message.context, std::pair(peer, message));
  }
  if (message.type != ControlMessage::Type::probe) return;
  // This rank has not made that communicator yet, or has destroyed it, but it lives.
  ControlMessage reply;
  reply.type = ControlMessage::Type::reply;
  reply.context = message.context;
  control_->sendOnLoop(peer, reply);
}

} // namespace goss
