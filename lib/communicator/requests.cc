#include "communicator/requests.h"

#include <cassert>
#include <utility>

#include "devices/stream_ordered.h"

namespace goss {

namespace {

bool isEnqueuing(Operation& operation) {
  const StreamOrdered* const ordered = operation.streamOrdered();
  return ordered != nullptr && ordered->isEnqueuing();
}

} // namespace

Status Requests::restart(Operation& operation, bool in_group) {
  auto lock = operations_.engine().enter();
  if (!operation.persistent) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "goss_start: the request is not persistent; pass GOSS_PERSISTENT");
  }
  // A complete operation has a status that no caller has seen yet; whether an error is returned must not depend on
  // timing.
  if (operation.state() != Operation::State::inactive) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "goss_start: the request was started and not waited for since; wait for it first");
  }
  if (StreamOrdered* const ordered = operation.streamOrdered(); ordered != nullptr && in_group)
    ordered->joinGroupOnLoop();
  return operations_.launchOnLoop(operation);
}

Status Requests::detach(Operation& operation) {
  auto lock = operations_.engine().enter();
  operations_.unsignal(operation);
  // Detached operations that are over serve later calls; the others still wait in their streams.
  std::erase_if(detached_, [&](Operation* one) GOSS_ON_LOOP {
    const bool over = one->state() != Operation::State::active && !isEnqueuing(*one);
    if (over) endOnLoop(*one);
    return over;
  });
  if (operation.state() == Operation::State::complete) return finishOnLoop(operation, nullptr);
  detached_.push_back(&operation);
  return Status::ok();
}

Status Requests::finish(Operation& operation, goss_message* message) {
  return *finishBefore(operation, message, TimePoint::max());
}

std::optional<Status> Requests::finishBefore(Operation& operation, goss_message* message, TimePoint limit) {
  if (operation.isAlwaysComplete()) {
    if (message != nullptr) *message = operation.message;
    return Status::ok();
  }
  Engine& engine = operations_.engine();
  auto lock = engine.enter();
  const BlockedCallGuard inside(operations_.blockedCalls(), lock);
  if (operation.state() == Operation::State::active && !messages_.receiveUnpostedUntilOnLoop(operation)) {
    const auto isOver = [&] { return operation.state() == Operation::State::complete; };
    if (!engine.driveUntil(lock, isOver, limit)) {
      engine.turnOnce(lock); // A caller that polls with a limit of 0 makes progress, too.
      if (!isOver()) return std::nullopt;
    }
  }
  return finishOnLoop(operation, message);
}

Status Requests::finishOnLoop(Operation& operation, goss_message* message) {
  if (operation.state() == Operation::State::inactive) return Status::ok();
  Status status = operations_.collectOnLoop(operation, message);
  if (!operation.persistent) releaseOnLoop(operation);
  return status;
}

Status Requests::finishAll(std::span<Operation*> operations) {
  // Finishes them at once: leaving the loop after each would wake other threads.
  Engine& engine = operations_.engine();
  auto lock = engine.enter();
  std::size_t left = operations.size(); // The operations behind it are complete.
  const auto done = [&] {
    while (left > 0 && (operations[left - 1] == nullptr || operations[left - 1]->state() != Operation::State::active))
      --left;
    return left == 0;
  };
  const BlockedCallGuard inside(operations_.blockedCalls(), lock);
  while (!done() && messages_.receiveUnpostedUntilOnLoop(*operations[left - 1])) {
  }
  engine.driveUntil(lock, done);
  Status first;
  for (Operation*& operation : operations) {
    if (operation == nullptr) continue;
    if (messages_.tryReleaseOnLoop(*operation)) {
      operation = nullptr;
      continue;
    }
    const bool persistent = operation->persistent;
    Status status = finishOnLoop(*operation, nullptr);
    if (!persistent) operation = nullptr;
    if (!status.isOk() && first.isOk()) first = std::move(status);
  }
  return first;
}

bool Requests::test(Operation& operation) {
  Engine& engine = operations_.engine();
  auto lock = engine.enter();
  if (operation.state() == Operation::State::active && !messages_.receiveUnpostedUntilOnLoop(operation))
    engine.turnOnce(lock);
  return operation.state() != Operation::State::active;
}

void Requests::release(Operation& operation) {
  auto lock = operations_.engine().enter();
  releaseOnLoop(operation);
}

void Requests::releaseOnLoop(Operation& operation) {
  assert(operation.state() != Operation::State::active);
  // The thread that has its group open enqueues it once more.
  if (isEnqueuing(operation)) return detached_.push_back(&operation);
  endOnLoop(operation);
}

void Requests::endOnLoop(Operation& operation) {
  if (operation.failsAlone()) {
    messages_.releaseOnLoop(operation);
  } else {
    collectives_.releaseOnLoop(operation);
  }
}

void Requests::enqueueRest() {
  std::vector<Operation*> left;
  {
    auto lock = operations_.engine().enter();
    for (Operation* operation : operations_.handedOut())
      if (isEnqueuing(*operation)) left.push_back(operation);
  }
  for (Operation* operation : left)
    operation->streamOrdered()->enqueueGates();
}

Status Requests::failureOf(const Operation& operation) {
  auto lock = operations_.engine().enter();
  return operation.state() == Operation::State::active ? Status::ok() : operation.status();
}

} // namespace goss
