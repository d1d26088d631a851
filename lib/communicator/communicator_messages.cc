// Starting messages: most of the short ones are over before they are an operation.
#include "call/tag.h"
#include "communicator/communicator.h"
#include "mesh/mesh.h"

namespace goss {

namespace {

constexpr std::size_t kMaxPooledMessages = 1024;
/// About a microsecond, at the head of the ring alone. Then the message becomes an operation.
constexpr int kLooksAtOnce = 100;
/// Longer messages come in several pieces, for which there must be an operation anyway.
constexpr std::uint64_t kMaxLightBytes = 16 * 1024;

std::uint64_t bytesOf(const MessageCall& call) { return call.count * dtypeBytes(call.dtype); }

} // namespace

/// A message that needs no operation at all, because nothing is in its way. Unless done nothing has happened.
TryResult Communicator::trySendOnLoop(const MessageCall& call) {
  const int peer = worldRank(call.peer);
  ShortMessages* way = mesh_.shortMessages(peer);
  if (way == nullptr || !failure_.isOk()) return TryResult::refused;
  SampledDuration& time = operations_.messageTime();
  const TimePoint begun = time.begin();
  const std::span bytes(static_cast<const std::byte*>(call.buffer), bytesOf(call));
  const TryResult came = way->trySend(peer, pointToPointTag(context_, call.tag), messageEnvelope(call.dtype), bytes);
  if (came != TryResult::done) return came;
  operations_.counters().wire_bytes_sent += bytes.size();
  operations_.count(bytes.size(), time.end(begun));
  return came;
}

/// The same; looks again so many times.
TryResult Communicator::tryRecvOnLoop(const MessageCall& call, int looks, std::size_t& received) {
  ShortMessages* way = mesh_.shortMessages(worldRank(call.peer));
  if (way == nullptr || !failure_.isOk()) return TryResult::refused;
  return tryRecvOnLoop(*way, call, looks, received);
}

inline TryResult Communicator::tryRecvOnLoop(ShortMessages& way, const MessageCall& call, int looks,
                                             std::size_t& received) {
  SampledDuration& time = operations_.messageTime();
  const TimePoint begun = time.begin();
  const int peer = worldRank(call.peer);
  const Tag tag = pointToPointTag(context_, call.tag);
  const Envelope& envelope = messageEnvelope(call.dtype);
  const std::span room(static_cast<std::byte*>(call.buffer), bytesOf(call));
  TryResult came = way.tryRecv(peer, tag, envelope, room, received);
  for (; came == TryResult::notYet && looks > 0 && !engine_.isWanted(); --looks)
    came = way.tryRecv(peer, tag, envelope, room, received);
  if (came != TryResult::done) return came;
  operations_.counters().wire_bytes_received += received;
  operations_.count(room.size(), time.end(begun));
  return came;
}

/// Of a message that is not waited for. What has come for receives that were posted before is given to them first.
TryResult Communicator::tryStartOnLoop(const MessageCall& call, std::size_t& received) {
  if (const Operation* light = engine_.firstUnpostedOnLoop(); light != nullptr) {
    // It is behind these, which its own call of the transport could not know.
    const bool joins = &light->host() == this && static_cast<const MessageOperation*>(light)->call().peer == call.peer;
    if (joins) return TryResult::notYet;
    engine_.startUnpostedOnLoop();
  }
  const TryResult came = tryRecvOnLoop(call, 0, received);
  if (came != TryResult::queued || !engine_.turnBrieflyOnLoop()) return came;
  return tryRecvOnLoop(call, 0, received);
}

Status Communicator::runMessage(const MessageCall& call, goss_message* message) {
  auto lock = engine().enter();
  // Where something else goes on a receive is a turn of the loop for it, too.
  TryResult came = TryResult::refused;
  std::size_t received = 0;
  if (call.sends) {
    came = trySendOnLoop(call);
  } else if (engine_.isIdleOnLoop() && !call.isWild()) {
    came = tryRecvOnLoop(call, engine_.oversubscribed() ? 0 : kLooksAtOnce, received);
  }
  if (came == TryResult::done) {
    if (message != nullptr) *message = {call.sends ? -1 : call.peer, call.tag, received};
    return Status::ok();
  }
  MessageOperation* operation = takeMessageOnLoop();
  operation->bind(call);
  Status status;
  if (!tryRunOnLoop(*operation)) {
    const BlockedCallGuard inside(blocked_calls_, lock);
    status = startOnLoop(*operation);
    if (status.isOk()) {
      engine().driveUntil(lock, [&] { return operation->state() == Operation::State::complete; });
      status = operation->status();
      operation->state_ = Operation::State::inactive;
    } else {
      operation->withdrawOnLoop(); // The communicator failed while we looked.
    }
  }
  if (message != nullptr && status.isOk()) *message = operation->message;
  releaseOnLoop(operation);
  return status;
}

Operation* Communicator::startMessage(const MessageCall& call, bool persistent, Status& error) {
  auto lock = engine().enter();
  if (persistent) {
    auto made = std::make_unique<MessageOperation>(*this, call);
    made->persistent = true;
    return operations_.handOut(std::move(made));
  }
  if (operations_.signals()) return startSignalledOnLoop(call, error);
  if (call.sends && trySendOnLoop(call) == TryResult::done) return &sent_;
  MessageOperation* operation = takeMessageOnLoop(); // Before anything is received: memory may be at an end.
  std::size_t received = 0;
  const bool looks = !call.sends && !call.isWild() && receives_.isEmpty();
  const TryResult came = looks ? tryStartOnLoop(call, received) : TryResult::refused;
  const bool light = came == TryResult::notYet && engine_.mayStayUnpostedOnLoop() && bytesOf(call) <= kMaxLightBytes;
  if (came == TryResult::done || light) {
    operation->message = {call.peer, call.tag, received};
    operation->state_ = light ? Operation::State::active : Operation::State::complete;
    if (!light) return operation;
    operation->bindLightly(call);
    engine_.addUnpostedOnLoop(*operation);
    return operation;
  }
  operation->bind(call);
  if (call.sends && tryRunOnLoop(*operation)) {
    operation->state_ = Operation::State::complete;
    return operation;
  }
  return startTakenOnLoop(*operation, error);
}

/// It is bound. Null: `error` says why.
Operation* Communicator::startTakenOnLoop(MessageOperation& operation, Status& error) {
  if (error = startOnLoop(operation); !error.isOk()) {
    operation.withdrawOnLoop();
    releaseOnLoop(&operation);
    return nullptr;
  }
  engine().startedOnLoop(operation);
  return &operation;
}

/// The descriptor tells of operations alone, so that each message is one.
Operation* Communicator::startSignalledOnLoop(const MessageCall& call, Status& error) {
  MessageOperation* operation = takeMessageOnLoop();
  operation->bind(call);
  operation->signalled_ = true;
  return startTakenOnLoop(*operation, error);
}

/// Gives light receives their messages, in their order, until `last`, which is active, has its own. False: it does not
/// come, or is none of them. They are all of one communicator, and from one peer.
bool Communicator::takeUnpostedUntilOnLoop(const Operation& last) {
  if (!last.unposted_) return false;
  ShortMessages& way = *mesh_.shortMessages(worldRank(static_cast<const MessageOperation&>(last).call().peer));
  while (last.unposted_) {
    auto& light = static_cast<MessageOperation&>(*engine_.firstUnpostedOnLoop());
    std::size_t received = 0;
    if (tryRecvOnLoop(way, light.call(), kLooksAtOnce, received) != TryResult::done) return false;
    light.message.bytes = received;
    light.state_ = Operation::State::complete;
    engine_.removeFirstUnpostedOnLoop();
  }
  return true;
}

void Communicator::startUnposted(Operation& operation) {
  static_cast<MessageOperation&>(operation).bindRest();
  if (Status status = startOnLoop(operation); !status.isOk()) completeOnLoop(operation, status);
}

/// Inactive. releaseOnLoop() ends its use.
MessageOperation* Communicator::takeMessageOnLoop() {
  if (Operation* idle = idle_message_; idle != nullptr) {
    idle_message_ = std::exchange(idle->active_next_, nullptr);
    return static_cast<MessageOperation*>(idle);
  }
  auto made = std::make_unique<MessageOperation>(*this);
  if (pool_.size() == kMaxPooledMessages) return static_cast<MessageOperation*>(operations_.handOut(std::move(made)));
  made->home_ = Operation::Owner::pool;
  pool_.push_back(std::move(made));
  return pool_.back().get();
}

} // namespace goss
