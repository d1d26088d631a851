#include "messages/point_to_point.h"

#include <fmt/format.h>

#include <cstring>

#include "call/call.h"
#include "call/tag.h"

namespace goss {

MessageOperation::MessageOperation(MessageContext& context)
    : Operation(context.operations.host(), Failure::alone), context_(context) {}

MessageOperation::MessageOperation(MessageContext& context, const MessageCall& call) : MessageOperation(context) {
  bind(call);
}

// Copies field by field: a copy of the whole struct would load in large parts what was just stored in small ones, and
// the processor would stall.
void MessageOperation::bindLightly(const MessageCall& call) {
  call_.sends = call.sends;
  call_.buffer = call.buffer;
  call_.count = call.count;
  call_.dtype = call.dtype;
  call_.peer = call.peer;
  call_.tag = call.tag;
  call_.timeout_ms = call.timeout_ms;
}

void MessageOperation::bindRest() {
  piece_ = {call_.buffer, call_.count * dtypeBytes(call_.dtype)};
  timeout_ms = call_.timeout_ms != 0 ? call_.timeout_ms : context_.default_timeout_ms;
  payload_bytes = piece_.iov_len;
  at_once_ = false;
  const std::span<const iovec> pieces(&piece_, piece_.iov_len > 0 ? 1 : 0);
  // The half that is not used keeps its old values.
  if (call_.sends) {
    SendOperation::pieces = pieces;
    SendOperation::bytes = piece_.iov_len;
    SendOperation::envelope = context_.envelope(call_.dtype);
  } else {
    RecvOperation::pieces = pieces;
    RecvOperation::capacity = piece_.iov_len;
  }
  if (!call_.isWild()) aimAt(call_.peer, call_.tag);
}

void MessageOperation::aimAt(int peer, std::int32_t tag) {
  peer_ = peer;
  tag_ = tag;
  const Tag wire_tag = pointToPointTag(context_.context, tag);
  const int world_peer = context_.group.worldRank(peer);
  (call_.sends ? SendOperation::peer : RecvOperation::peer) = world_peer;
  (call_.sends ? SendOperation::tag : RecvOperation::tag) = wire_tag;
}

MessageOperation::~MessageOperation() { withdrawOnLoop(); }

bool MessageOperation::mayEndAtOnceOnLoop() const {
  return call_.peer != context_.group.rank() && (call_.sends || !context_.receives.holds({call_.peer, call_.tag}));
}

bool MessageOperation::tryRunOnLoop(int looks) {
  at_once_ = true;
  postOnLoop();
  if (!call_.sends && !ended_) context_.engine.turnUntilOnLoop(ended_, looks);
  at_once_ = !ended_ || !result_.isOk();
  return !at_once_;
}

void MessageOperation::startOnLoop() {
  if (!at_once_) return postOnLoop();
  at_once_ = false;
  if (ended_) ended(result_);
}

void MessageOperation::postOnLoop() {
  ended_ = false;
  taken_back_ = false;
  if (!call_.sends && context_.receives.holds({call_.peer, call_.tag})) {
    forgetPlace();
    return queueOnLoop();
  }
  postToPeerOnLoop();
}

void MessageOperation::queueOnLoop() {
  message = {call_.peer, call_.tag, 0};
  context_.receives.add(*this);
  context_.engine.active().keepPolling(*this);
}

void MessageOperation::postToPeerOnLoop() {
  message = call_.sends ? goss_message{-1, 0, 0} : goss_message{peer_, tag_, 0};
  if (peer_ == context_.group.rank()) return postToSelfOnLoop();
  Mesh& mesh = context_.mesh;
  if (!call_.sends) {
    posted_ = true;
    mesh.transport(RecvOperation::peer)->recv(*this);
    return;
  }
  if (!mesh.isUp(SendOperation::peer)) {
    if (Status status = mesh.linkStatus(SendOperation::peer); !status.isOk()) return ended(status);
  }
  context_.operations.counters().wire_bytes_sent += piece_.iov_len;
  posted_ = true;
  if (mesh.transport(SendOperation::peer)->send(*this)) ended(Status::ok());
}

void MessageOperation::postToSelfOnLoop() {
  posted_ = true;
  MessageOperation* partner =
      context_.self_channel.matchOnLoop({this, call_.sends, {peer_, tag_, call_.sends ? piece_.iov_len : 0}});
  if (partner == nullptr) return;
  if (call_.sends) {
    partner->takeFromSelfOnLoop(*this);
  } else {
    takeFromSelfOnLoop(*partner);
  }
}

void MessageOperation::advanceOnLoop() {
  if (ended_) return context_.operations.endOnLoop(*this, result_);
  if (!taken_back_) return;
  taken_back_ = false;
  takeBackOnLoop();
  queueOnLoop();
}

bool MessageOperation::pollOnLoop() { return context_.receives.pollOnLoop(*this); }

void MessageOperation::takeOnLoop(const goss_message& found) {
  aimAt(found.source, found.tag);
  postToPeerOnLoop();
}

void MessageOperation::giveBackOnLoop() { takeBackOnLoop(); }

void MessageOperation::giveUpOnLoop(const Status& why) { context_.operations.endOnLoop(*this, why); }

/// A receive that names rank and tag stays posted.
void MessageOperation::onTakenBack() {
  if (!call_.isWild()) return;
  taken_back_ = true;
  context_.engine.active().markDirty(*this);
}

void MessageOperation::withdrawOnLoop() {
  if (isQueued()) context_.receives.remove(*this);
  takeBackOnLoop();
}

/// Cancels the message at its transport, or among this rank's messages to itself.
void MessageOperation::takeBackOnLoop() {
  if (!posted_) return;
  posted_ = false;
  if (peer_ == context_.group.rank()) {
    context_.self_channel.withdrawOnLoop(*this);
    return;
  }
  Transport& transport = *context_.mesh.transport(call_.sends ? SendOperation::peer : RecvOperation::peer);
  if (call_.sends) {
    transport.cancel(static_cast<SendOperation&>(*this));
  } else {
    transport.cancel(static_cast<RecvOperation&>(*this));
  }
}

std::string MessageOperation::describe() const {
  return fmt::format("{} of {} {} {} {}", call_.sends ? "send" : "receive", call_.count, dtypeName(call_.dtype),
                     call_.sends ? "to" : "from", goss::describe(pattern()));
}

std::vector<int> MessageOperation::waitingForRanks() const {
  if (posted_) return {peer_};
  return context_.receives.sources(pattern());
}

void MessageOperation::ended(const Status& status) {
  if (isQueued()) context_.receives.remove(*this);
  posted_ = false;
  ended_ = true;
  if (!status.isOk() || !result_.isOk()) result_ = context_.group.named(status); // In the common case both are ok.
  if (at_once_) return;
  if (status.isOk()) {
    context_.operations.completeOnLoop(*this, status);
  } else {
    context_.engine.active().markDirty(*this);
  }
}

void MessageOperation::onSent(const Status& status) { ended(status); }

int MessageOperation::senderInWorld() const { return peer_ >= 0 ? context_.group.worldRank(peer_) : -1; }

Status MessageOperation::onMatched(const Envelope& received, std::size_t length) {
  if (isQueued()) context_.receives.remove(*this);
  taken_back_ = false;
  if (std::memcmp(received.data(), context_.envelope(call_.dtype).data(), sizeof received) != 0) {
    const Signature theirs = Signature::decode(received);
    return Status::error(
        GOSS_ERR_MISMATCH,
        fmt::format("{}: the message holds {}; use the sender's dtype", describe(), dtypeName(theirs.dtype)),
        ErrorScope::operation, senderInWorld());
  }
  if (length > RecvOperation::capacity) {
    return Status::error(
        GOSS_ERR_TRUNCATED,
        fmt::format("{}: the message has {} bytes, the buffer only {}", describe(), length, RecvOperation::capacity),
        ErrorScope::operation, senderInWorld());
  }
  message.bytes = length;
  return Status::ok();
}

void MessageOperation::onReceived(const Status& status) {
  if (status.isOk()) context_.operations.counters().wire_bytes_received += message.bytes;
  ended(status);
}

void MessageOperation::takeFromSelfOnLoop(MessageOperation& send) {
  const Status status = onMatched(send.SendOperation::envelope, send.piece_.iov_len);
  if (status.isOk() && message.bytes > 0) std::memcpy(piece_.iov_base, send.piece_.iov_base, message.bytes);
  send.ended(Status::ok());
  ended(status);
}

} // namespace goss
