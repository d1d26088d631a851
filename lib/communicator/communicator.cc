#include "communicator/communicator.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "planner/observed_links.h"
#include "world/world.h"

namespace goss {

using Origin = FailurePropagator::Origin;

namespace {

/// Why plans are compared; nullopt: they are not.
std::optional<TrialSeries::Reason> reasonFor(Measuring measuring) {
  if (measuring == Measuring::nothing) return std::nullopt;
  return measuring == Measuring::trials ? TrialSeries::Reason::times : TrialSeries::Reason::links;
}

} // namespace

Communicator::Communicator(std::shared_ptr<World> world, std::uint32_t context, std::vector<int> ranks)
    : world_(std::move(world)),
      context_(context),
      group_(std::move(ranks), world_->rank(), world_->size()),
      engine_(world_->engine()),
      mesh_(world_->mesh()),
      default_timeout_ms_(world_->config().timeout_ms),
      boards_(world_->makeBoardChannel(context_, group_.worldRanks(), rank())),
      operations_(engine_, *this),
      peers_{group_, context_, mesh_, world_->control()},
      detector_(peers_, operations_,
                {std::chrono::milliseconds(world_->config().silence_ms),
                 [this](int world_rank) GOSS_ON_LOOP { return world_->isSeenToRun(world_rank); },
                 [this](int world_rank) { return world_->isHere(world_rank); }}),
      propagator_(peers_, operations_, world_->log(),
                  [this](int except) GOSS_ON_LOOP { world_->flushControlOnLoop(except); }),
      mismatches_(peers_, operations_, propagator_),
      shrink_(peers_, operations_, detector_, propagator_,
              [this](std::uint32_t wanted, unsigned raised)
                  GOSS_ON_LOOP { return world_->contextsOnLoop().reserve(wanted, context_, raised); }),
      collectives_({environment(), boards_.get(), world_->lendingAmong(group_.worldRanks()), references_,
                    device_feedback_, propagator_, mismatches_},
                   peers_, makePlanner(),
                   {reasonFor(world_->comparesPlans(group_.worldRanks())), world_->catalogue(), world_->log()}),
      messages_(environment()),
      requests_(operations_, messages_, collectives_),
      windows_(environment(), requests_, collectives_) {
  auto lock = engine().enter();
  world_->registerOnLoop(context_, group_, *this);
}

OperationEnvironment Communicator::environment() {
  return {group_, context_, default_timeout_ms_, engine_, mesh_, operations_, world_->devices()};
}

Planner Communicator::makePlanner() const {
  const Config& config = world_->config();
  return Planner(rank(), world_->linksBetween(group_.worldRanks()), world_->catalogue(),
                 Preferences{config.algorithm, config.fragment_bytes, std::string(world_->preferredAmongEquals()),
                             world_->takesTurns()},
                 boards_ != nullptr ? boards_->capacity() : 0);
}

Communicator::~Communicator() {
  lifetime_->end();
  auto lock = engine().enter();
  ClosedCommunicator closed;
  if (!operations_.asyncError().isOk()) closed.failure = propagator_.abortMessage();
  propagator_.fail(Lifetime::endedError(), Origin::destroyed);
  closed.goes_on = shrink_.agreement().goesOn();
  closed.last_decision = shrink_.agreement().lastDecision();
  // From now on the world answers the other ranks, to which its end here is no failure.
  world_->unregisterOnLoop(context_, std::move(closed));
  world_->devices().releaseOnLoop(context_);
  operations_.blockedCalls().close(lock);
  engine().driveUntil(lock, [this]() GOSS_ON_LOOP { return !operations_.isAnyActive(); });
  lock.unlock();
  requests_.enqueueRest();
  lock.lock();
  operations_.freeHandedOut(lock);
  windows_.closeAllOnLoop();
}

std::string Communicator::transportName(int rank) const {
  const Transport* transport = mesh().transport(group_.worldRank(rank));
  return transport != nullptr ? std::string(transport->name()) : "self";
}

void Communicator::abort(const std::string& reason) {
  auto lock = engine().enter();
  propagator_.fail(Status::error(GOSS_ERR_ABORTED, fmt::format("rank {} aborted the communicator: {}", rank(), reason),
                                 ErrorScope::communicator, group_.worldRank(rank())),
                   Origin::here);
  world_->devices().releaseOnLoop(context_);
  engine().notify(lock);
}

Result<std::unique_ptr<Communicator>> Communicator::shrink(std::int64_t timeout_ms) {
  std::shared_ptr<World> world = world_; // This communicator may go meanwhile.
  const std::optional<schedule::Links> links = collectives().firstLinks();
  const Group all = group_;
  Result<Shrink::Survivors> survivors = shrink_.run(timeout_ms > 0 ? timeout_ms : defaultTimeoutMs());
  if (!survivors.isOk()) return survivors.status();
  auto made = std::make_unique<Communicator>(std::move(world), survivors.value().context,
                                             std::move(survivors.value().world_ranks));
  made->collectives().inheritLinks(links, all);
  return made;
}

Result<int> Communicator::eventFd() {
  world_->driveUnattended();
  auto lock = engine().enter();
  return operations_.eventFd();
}

Status Communicator::asyncError() {
  auto lock = engine().enter();
  return operations_.asyncError();
}

goss_counters Communicator::counters() {
  auto lock = engine().enter();
  return operations_.counters();
}

// ---- From the engine and the world ---------------------------------------------------------------------------------

void Communicator::expired(Operation& operation) {
  failed(operation, detector_.expiry(operation, std::chrono::steady_clock::now()));
}

void Communicator::failed(Operation& operation, const Status& status) {
  if (operation.failsAlone()) {
    operations_.endOnLoop(operation, status);
  } else {
    propagator_.fail(status, Origin::here);
  }
}

void Communicator::probeDue(Operation& operation, TimePoint now) { detector_.probe(operation, now); }

void Communicator::startUnposted(Operation& operation) { messages().startUnpostedOnLoop(operation); }

void Communicator::handlePeerLost(int rank, const Status& status, bool departed) {
  shrink_.agreement().accuse(rank);
  if (departed) return;
  propagator_.fail(Status::error(GOSS_ERR_PEER_LOST,
                                 fmt::format("{} was lost: {}", group_.nameOf(rank), group_.named(status).text()),
                                 ErrorScope::communicator, group_.worldRank(rank)),
                   Origin::here);
}

void Communicator::handleControl(int rank, const ControlMessage& message) {
  detector_.heard(rank, message);
  switch (message.type) {
    case ControlMessage::Type::abort:
      propagator_.fail(
          Status::error(static_cast<ErrorKind>(message.error_kind == 0 ? GOSS_ERR_ABORTED : message.error_kind),
                        message.text, ErrorScope::communicator, message.culprit),
          Origin::elsewhere);
      break;
    case ControlMessage::Type::probe:
      // A rank that probes for a failed communicator has not received the abort, or waits for this rank to shrink it.
      if (!operations_.asyncError().isOk()) {
        propagator_.tell(rank);
      } else if (!mismatches_.checkProbe(rank, message)) {
        break;
      }
      detector_.reply(rank);
      break;
    case ControlMessage::Type::reply: // Only the detector uses its contents.
    case ControlMessage::Type::ended: // Of no communicator.
      break;
    case ControlMessage::Type::history:
      mismatches_.handle(rank, message);
      break;
    case ControlMessage::Type::report:
    case ControlMessage::Type::decision:
      if (operations_.asyncError().isOk()) collectives_.handleControlOnLoop(rank, message);
      break;
    case ControlMessage::Type::view:
    case ControlMessage::Type::agreed:
      shrink_.agreement().handle(rank, message);
      break;
  }
}

} // namespace goss
