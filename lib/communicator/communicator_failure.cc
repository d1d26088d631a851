// What a communicator does when something goes wrong, and what it learns of that without waiting.
#include <fmt/format.h>

#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

using Origin = CommunicatorFailure::Origin;

void Communicator::abort(const std::string& reason) {
  auto lock = engine().enter();
  failing_.fail(Status::error(GOSS_ERR_ABORTED, fmt::format("rank {} aborted the communicator: {}", rank(), reason),
                              ErrorScope::communicator, worldRank(rank())),
                Origin::here);
  engine().notify(lock);
}

Result<std::unique_ptr<Communicator>> Communicator::shrink(std::int64_t timeout_ms) {
  std::shared_ptr<World> world = world_; // This communicator may go meanwhile.
  Result<Shrink::Survivors> survivors = shrink_.run(timeout_ms > 0 ? timeout_ms : defaultTimeoutMs());
  if (!survivors.isOk()) return survivors.status();
  return std::make_unique<Communicator>(std::move(world), survivors.value().context,
                                        std::move(survivors.value().world_ranks));
}

Result<int> Communicator::eventFd() {
  world_->driveUnattended();
  auto lock = engine().enter();
  return operations_.eventFd();
}

Status Communicator::failure() {
  auto lock = engine().enter();
  return operations_.failure();
}

Status Communicator::failureOf(const Operation& operation) {
  auto lock = engine().enter();
  return operation.state() == Operation::State::active ? Status::ok() : operation.status();
}

// ---- From the engine and the world ---------------------------------------------------------------------------------

void Communicator::expired(Operation& operation) {
  const Status status = detector_.expiry(operation, std::chrono::steady_clock::now());
  if (operation.failsAlone()) {
    operations_.failAloneOnLoop(operation, status);
  } else {
    failing_.fail(status, Origin::here);
  }
}

void Communicator::probeDue(Operation& operation, TimePoint now) { detector_.probe(operation, now); }

void Communicator::startUnposted(Operation& operation) { messages().startUnpostedOnLoop(operation); }

void Communicator::handlePeerLost(int rank, const Status& status, bool departed) {
  shrink_.agreement().accuse(rank);
  if (departed) return;
  failing_.fail(Status::error(GOSS_ERR_PEER_LOST, fmt::format("{} was lost: {}", group_.nameOf(rank), status.text()),
                              ErrorScope::communicator, worldRank(rank)),
                Origin::here);
}

void Communicator::handleControl(int rank, const ControlMessage& message) {
  detector_.heard(rank, message);
  switch (message.type) {
    case ControlMessage::Type::abort:
      failing_.fail(Status::error(static_cast<ErrorKind>(message.kind == 0 ? GOSS_ERR_ABORTED : message.kind),
                                  message.text, ErrorScope::communicator, message.culprit),
                    Origin::elsewhere);
      break;
    case ControlMessage::Type::probe:
      // The abort has not reached a rank that probes for a failed communicator, or it waits for us to shrink it.
      if (!operations_.failure().isOk()) {
        failing_.tell(rank);
      } else if (!mismatches_.checkProbe(rank, message)) {
        break;
      }
      detector_.reply(rank);
      break;
    case ControlMessage::Type::reply: // All that it says is for the detector.
      break;
    case ControlMessage::Type::history:
      mismatches_.handle(rank, message);
      break;
    case ControlMessage::Type::view:
    case ControlMessage::Type::agreed:
      shrink_.agreement().handle(rank, message);
      break;
  }
}

} // namespace goss
