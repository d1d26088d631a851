// What callers learn of a communicator and its operations without waiting: failures, and a descriptor to watch.
#include "communicator/communicator.h"
#include "world/world.h"

namespace goss {

Result<int> Communicator::eventFd() {
  world_->driveUnattended();
  auto lock = engine().enter();
  return operations_.eventFd();
}

Status Communicator::failure() {
  auto lock = engine().enter();
  return failure_;
}

Status Communicator::failureOf(const Operation& operation) {
  auto lock = engine().enter();
  return operation.state() == Operation::State::active ? Status::ok() : operation.status();
}

} // namespace goss
