// Starting messages: most of the short ones are over before they are an operation.
#include "core/communicator.h"
#include "core/communicator_inside.h"
#include "core/mesh.h"
#include "core/tag.h"

namespace goss::core {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxIdleMessages = 1024;
/// About a microsecond, at the head of the ring alone. Then the message becomes an operation.
constexpr int kLooksAtOnce = 100;
/// To read the clock costs more than all else of a short message.
constexpr std::uint64_t kTimedOf = 16;

} // namespace

/// A message that needs no operation at all, because nothing is in its way. Unless done nothing has happened.
AtOnce Communicator::sendAtOnceOnLoop(const MessageCall& call) {
  const int peer = worldRank(call.peer);
  Transport* transport = mesh_.transport(peer);
  if (transport == nullptr || !failure_.isOk()) return AtOnce::refused;
  const bool timed = messages_ % kTimedOf == 0;
  const TimePoint begun = timed ? Clock::now() : TimePoint{};
  const std::span bytes(static_cast<const std::byte*>(call.buffer), call.count * dtypeBytes(call.dtype));
  const AtOnce came =
      transport->sendAtOnce(peer, pointToPointTag(context_, call.tag), messageEnvelope(call.dtype), bytes);
  if (came != AtOnce::done) return came;
  ++messages_;
  counters_.wire_bytes_sent += bytes.size();
  if (timed) message_took_ = Clock::now() - begun;
  countOnLoop(bytes.size(), message_took_);
  return came;
}

/// The same; looks again so many times.
AtOnce Communicator::recvAtOnceOnLoop(const MessageCall& call, int looks, std::size_t& received) {
  const int peer = worldRank(call.peer);
  Transport* transport = mesh_.transport(peer);
  if (transport == nullptr || !failure_.isOk()) return AtOnce::refused;
  const bool timed = messages_ % kTimedOf == 0;
  const TimePoint begun = timed ? Clock::now() : TimePoint{};
  const Tag tag = pointToPointTag(context_, call.tag);
  const Envelope& envelope = messageEnvelope(call.dtype);
  const std::span room(static_cast<std::byte*>(call.buffer), call.count * dtypeBytes(call.dtype));
  AtOnce came = transport->recvAtOnce(peer, tag, envelope, room, received);
  for (; came == AtOnce::notYet && looks > 0 && !engine_.isWanted(); --looks)
    came = transport->recvAtOnce(peer, tag, envelope, room, received);
  if (came != AtOnce::done) return came;
  ++messages_;
  counters_.wire_bytes_received += received;
  if (timed) message_took_ = Clock::now() - begun;
  countOnLoop(room.size(), message_took_);
  return came;
}

/// Of a message that is not waited for. What has come for receives that were posted before is given to them first.
AtOnce Communicator::startAtOnceOnLoop(const MessageCall& call, std::size_t& received) {
  if (call.sends) return sendAtOnceOnLoop(call);
  const AtOnce came = recvAtOnceOnLoop(call, 0, received);
  if (came != AtOnce::behind || !engine_.turnBrieflyOnLoop()) return came;
  return recvAtOnceOnLoop(call, 0, received);
}

Status Communicator::runMessage(const MessageCall& call, goss_message* message) {
  auto lock = engine().enter();
  // Where something else goes on a receive is a turn of the loop for it, too.
  AtOnce came = AtOnce::refused;
  std::size_t received = 0;
  if (call.sends) {
    came = sendAtOnceOnLoop(call);
  } else if (engine_.restsOnLoop()) {
    came = recvAtOnceOnLoop(call, engine_.crowded() ? 0 : kLooksAtOnce, received);
  }
  if (came == AtOnce::done) {
    if (message != nullptr) *message = {call.sends ? -1 : call.peer, call.tag, received};
    return Status::ok();
  }
  std::unique_ptr<MessageOperation> operation = acquireMessage(call);
  Status status;
  if (!runAtOnceOnLoop(*operation)) {
    const Inside inside(*this, lock);
    if (Status started = startOnLoop(*operation); !started.isOk()) return started;
    engine().driveUntil(lock, [&] { return operation->state() == Operation::State::complete; });
    status = operation->status();
  }
  if (message != nullptr && status.isOk()) *message = operation->message;
  if (status.isOk()) keepForLater(std::move(operation));
  return status;
}

Operation* Communicator::startMessage(const MessageCall& call, bool persistent, Status& error) {
  auto lock = engine().enter();
  std::size_t received = 0;
  if (!persistent && startAtOnceOnLoop(call, received) == AtOnce::done) {
    std::unique_ptr<MessageOperation> over = takeIdleMessage();
    if (over == nullptr) over = std::make_unique<MessageOperation>(*this, call);
    over->message = {call.sends ? -1 : call.peer, call.tag, received};
    over->persistent = false;
    over->state_ = Operation::State::complete;
    return handOut(std::move(over));
  }
  std::unique_ptr<MessageOperation> operation = acquireMessage(call);
  operation->persistent = persistent;
  if (!persistent && call.sends && runAtOnceOnLoop(*operation)) {
    operation->state_ = Operation::State::complete;
  } else if (!persistent) {
    if (error = startOnLoop(*operation); !error.isOk()) return nullptr;
    engine().startedOnLoop(*operation);
  }
  return handOut(std::move(operation));
}

std::unique_ptr<MessageOperation> Communicator::acquireMessage(const MessageCall& call) {
  std::unique_ptr<MessageOperation> message = takeIdleMessage();
  if (message == nullptr) return std::make_unique<MessageOperation>(*this, call);
  message->bind(call);
  message->state_ = Operation::State::inactive;
  return message;
}

/// Null when there is none.
std::unique_ptr<MessageOperation> Communicator::takeIdleMessage() {
  if (idle_messages_.empty()) return nullptr;
  std::unique_ptr<MessageOperation> message = std::move(idle_messages_.back());
  idle_messages_.pop_back();
  return message;
}

void Communicator::keepForLater(std::unique_ptr<MessageOperation> message) {
  if (idle_messages_.size() < kMaxIdleMessages) idle_messages_.push_back(std::move(message));
}

} // namespace goss::core
