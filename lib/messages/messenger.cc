#include "messages/messenger.h"

#include <utility>

#include "call/call.h"
#include "call/tag.h"
#include "messages/probe.h"

namespace goss {

namespace {

constexpr std::size_t kMaxPooledMessages = 1024;
/// Looks that take about a microsecond, at the head of the ring only. Then the message becomes an operation.
constexpr int kLooksAtOnce = 100;
/// Longer messages come in several pieces, which need an operation anyway.
constexpr std::uint64_t kMaxUnpostedBytes = 16 * 1024;

std::uint64_t bytesOf(const MessageCall& call) { return call.count * dtypeBytes(call.dtype); }

} // namespace

Messenger::Messenger(const OperationEnvironment& environment) : context_(environment) {
  sent_.owner_ = Operation::Owner::fixed;
  sent_.state_ = Operation::State::complete;
}

/// Posts the message and looks briefly whether it completes: then it needs no deadline, and no place
/// in the lists of the loop. True: it has completed with success. False: startOnLoop() must follow.
bool Messenger::tryRunOnLoop(MessageOperation& message) {
  if (!context_.operations.asyncError().isOk() || !message.mayEndAtOnceOnLoop()) return false;
  context_.engine.startUnpostedOnLoop(); // Keeps posting order.
  SampledDuration& time = context_.operations.messageTime();
  const TimePoint begun = time.begin();
  const int looks = !context_.engine.isIdleOnLoop()    ? 0
                    : context_.engine.oversubscribed() ? Engine::kYields
                                                       : Engine::kLooks;
  if (!message.tryRunOnLoop(looks)) return false;
  context_.operations.count(message.payload_bytes, time.end(begun));
  return true;
}

/// Sends a message that needs no operation, because nothing is queued before it. Unless done nothing has changed.
TryResult Messenger::trySendOnLoop(const MessageCall& call) {
  const int peer = context_.group.worldRank(call.peer);
  ShortMessages* way = context_.mesh.shortMessages(peer);
  if (way == nullptr || !context_.operations.asyncError().isOk()) return TryResult::refused;
  SampledDuration& time = context_.operations.messageTime();
  const TimePoint begun = time.begin();
  const std::span bytes(static_cast<const std::byte*>(call.buffer), bytesOf(call));
  const TryResult came =
      way->trySend(peer, pointToPointTag(context_.context, call.tag), context_.envelope(call.dtype), bytes);
  if (came != TryResult::done) return came;
  context_.operations.counters().wire_bytes_sent += bytes.size();
  context_.operations.count(bytes.size(), time.end(begun));
  return came;
}

/// Receives such a message; looks again up to `looks` times.
TryResult Messenger::tryRecvOnLoop(const MessageCall& call, int looks, std::size_t& received) {
  ShortMessages* way = context_.mesh.shortMessages(context_.group.worldRank(call.peer));
  if (way == nullptr || !context_.operations.asyncError().isOk()) return TryResult::refused;
  return tryRecvOnLoop(*way, call, looks, received);
}

inline TryResult Messenger::tryRecvOnLoop(ShortMessages& way, const MessageCall& call, int looks,
                                          std::size_t& received) {
  SampledDuration& time = context_.operations.messageTime();
  const TimePoint begun = time.begin();
  const int peer = context_.group.worldRank(call.peer);
  const Tag tag = pointToPointTag(context_.context, call.tag);
  const Envelope& envelope = context_.envelope(call.dtype);
  const std::span room(static_cast<std::byte*>(call.buffer), bytesOf(call));
  TryResult came = way.tryRecv(peer, tag, envelope, room, received);
  for (; came == TryResult::notYet && looks > 0 && !context_.engine.isWanted(); --looks)
    came = way.tryRecv(peer, tag, envelope, room, received);
  if (came != TryResult::done) return came;
  context_.operations.counters().wire_bytes_received += received;
  context_.operations.count(room.size(), time.end(begun));
  return came;
}

/// Tries to complete a receive for which no caller waits. Messages that have arrived go first to receives that were
/// posted before it.
TryResult Messenger::tryStartOnLoop(const MessageCall& call, std::size_t& received) {
  if (const Operation* unposted = context_.engine.firstUnpostedOnLoop(); unposted != nullptr) {
    // Earlier unposted receives must get their messages first, and tryRecv() does not know them.
    const bool joins = &unposted->host() == &context_.operations.host() &&
                       static_cast<const MessageOperation*>(unposted)->call().peer == call.peer;
    if (joins) return TryResult::notYet;
    context_.engine.startUnpostedOnLoop();
  }
  const TryResult came = tryRecvOnLoop(call, 0, received);
  if (came != TryResult::queued || !context_.engine.turnBrieflyOnLoop()) return came;
  return tryRecvOnLoop(call, 0, received);
}

Status Messenger::run(const MessageCall& call, goss_message* message) {
  auto lock = context_.engine.enter();
  // If something else is in progress, a receive is worth a turn of the loop, too.
  TryResult came = TryResult::refused;
  std::size_t received = 0;
  if (call.sends) {
    came = trySendOnLoop(call);
  } else if (context_.engine.isIdleOnLoop() && !call.isWild()) {
    came = tryRecvOnLoop(call, context_.engine.oversubscribed() ? 0 : kLooksAtOnce, received);
  }
  if (came == TryResult::done) {
    if (message != nullptr) *message = {call.sends ? -1 : call.peer, call.tag, received};
    return Status::ok();
  }
  MessageOperation* operation = takeOnLoop();
  operation->bind(call);
  Status status;
  if (!tryRunOnLoop(*operation)) {
    status = context_.operations.run(lock, *operation);
    if (operation->state() != Operation::State::complete) operation->withdrawOnLoop(); // It failed while we looked.
  }
  if (message != nullptr && status.isOk()) *message = operation->message;
  releaseOnLoop(*operation);
  return status;
}

Operation* Messenger::start(const MessageCall& call, bool persistent, Status& error) {
  auto lock = context_.engine.enter();
  if (persistent) {
    auto made = std::make_unique<MessageOperation>(context_, call);
    made->persistent = true;
    return context_.operations.handOut(std::move(made));
  }
  if (context_.operations.signals()) { // The event descriptor reports only operations, so each message becomes one.
    MessageOperation* operation = takeOnLoop();
    operation->bind(call);
    return startBoundOnLoop(*operation, error);
  }
  if (call.sends && trySendOnLoop(call) == TryResult::done) return &sent_;
  MessageOperation* operation = takeOnLoop(); // Before anything is received: memory may be at an end.
  std::size_t received = 0;
  const bool looks = !call.sends && !call.isWild() && context_.receives.isEmpty();
  const TryResult came = looks ? tryStartOnLoop(call, received) : TryResult::refused;
  const bool unposted =
      came == TryResult::notYet && context_.engine.mayStayUnpostedOnLoop() && bytesOf(call) <= kMaxUnpostedBytes;
  if (came == TryResult::done || unposted) {
    operation->message = {call.peer, call.tag, received};
    operation->state_ = unposted ? Operation::State::active : Operation::State::complete;
    if (!unposted) return operation;
    operation->bindLightly(call);
    context_.engine.addUnpostedOnLoop(*operation);
    return operation;
  }
  operation->bind(call);
  if (call.sends && tryRunOnLoop(*operation)) {
    operation->state_ = Operation::State::complete;
    return operation;
  }
  return startBoundOnLoop(*operation, error);
}

Result<Operation*> Messenger::startOnDevice(const MessageCall& call, const MessageDevice& device, bool persistent) {
  auto message = std::make_unique<DeviceMessage>(context_, call, device);
  if (!persistent || device.stream == nullptr) message->reserve();
  auto lock = context_.engine.enter();
  Operation* operation = context_.operations.handOut(std::move(message));
  operation->persistent = persistent;
  if (persistent) return operation;
  Status status = context_.operations.launchOnLoop(*operation);
  if (status.isOk()) return operation;
  context_.operations.takeBack(*operation);
  return status;
}

int Messenger::deviceBefore(const MessageCall& call) {
  auto lock = context_.engine.enter();
  for (const DeviceMessage* one : context_.arriving)
    if (one->isBefore(call)) return one->device().ordinal;
  return -1;
}

/// Starts a bound operation. Null: `error` says why.
Operation* Messenger::startBoundOnLoop(MessageOperation& operation, Status& error) {
  if (error = context_.operations.launchOnLoop(operation); error.isOk()) return &operation;
  operation.withdrawOnLoop();
  releaseOnLoop(operation);
  return nullptr;
}

bool Messenger::receiveUnpostedUntilOnLoop(const Operation& last) {
  if (!last.unposted_) return false;
  ShortMessages& way =
      *context_.mesh.shortMessages(context_.group.worldRank(static_cast<const MessageOperation&>(last).call().peer));
  while (last.unposted_) {
    auto& unposted = static_cast<MessageOperation&>(*context_.engine.firstUnpostedOnLoop());
    std::size_t received = 0;
    if (tryRecvOnLoop(way, unposted.call(), kLooksAtOnce, received) != TryResult::done) return false;
    unposted.message.bytes = received;
    unposted.state_ = Operation::State::complete;
    context_.engine.removeFirstUnpostedOnLoop();
  }
  return true;
}

void Messenger::startUnpostedOnLoop(Operation& operation) {
  static_cast<MessageOperation&>(operation).bindRest();
  if (Status status = context_.operations.startOnLoop(operation); !status.isOk())
    context_.operations.completeOnLoop(operation, status);
}

/// An inactive operation; releaseOnLoop() returns it.
MessageOperation* Messenger::takeOnLoop() {
  if (Operation* idle = idle_; idle != nullptr) {
    idle_ = std::exchange(idle->active_next_, nullptr);
    return static_cast<MessageOperation*>(idle);
  }
  auto made = std::make_unique<MessageOperation>(context_);
  if (pool_.size() == kMaxPooledMessages)
    return static_cast<MessageOperation*>(context_.operations.handOut(std::move(made)));
  made->owner_ = Operation::Owner::pool;
  pool_.push_back(std::move(made));
  return pool_.back().get();
}

void Messenger::releaseOnLoop(Operation& operation) {
  if (operation.owner_ == Operation::Owner::fixed) return;
  if (operation.owner_ == Operation::Owner::pool) {
    if (!operation.status_.isOk()) operation.status_ = Status::ok();
    return putBackOnLoop(operation);
  }
  context_.operations.retire(context_.operations.takeBack(operation));
}

Result<bool> Messenger::probeNow(const Pattern& pattern, goss_message& found) {
  auto lock = context_.engine.enter();
  if (!context_.operations.asyncError().isOk()) return context_.operations.asyncError();
  context_.engine.turnOnce(lock);
  context_.engine.startUnpostedOnLoop();                             // Earlier receives have their messages first.
  if (context_.receives.sweepOnLoop()) context_.engine.notify(lock); // A sleeping driver does not know what was posted.
  if (!context_.operations.asyncError().isOk()) return context_.operations.asyncError();
  if (!context_.receives.findOnLoop(pattern, found)) {
    if (pattern.source == GOSS_ANY_SOURCE) return false; // Nobody waits here, and this rank may still send to itself.
    if (Status gone = context_.receives.sourceStatus(pattern); !gone.isOk()) return gone;
    return false;
  }
  context_.receives.turnTo(found.source);
  return true;
}

Status Messenger::probe(const Pattern& pattern, std::int64_t timeout_ms, goss_message& found) {
  auto lock = context_.engine.enter();
  ProbeOperation probe(context_, pattern);
  probe.timeout_ms = timeout_ms > 0 ? timeout_ms : context_.default_timeout_ms;
  Status status = context_.operations.run(lock, probe);
  if (status.isOk()) found = probe.message;
  return status;
}

} // namespace goss
