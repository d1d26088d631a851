#include "messages/point_to_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "call/call.h"
#include "call/tag.h"
#include "communicator/communicator.h"
#include "mesh/mesh.h"

namespace goss {

MessageEnvelopes makeMessageEnvelopes() {
  MessageEnvelopes envelopes;
  for (unsigned dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
    Signature signature;
    signature.kind = Signature::Kind::pointToPoint;
    signature.dtype = static_cast<DType>(dtype);
    envelopes[dtype] = signature.encode();
  }
  return envelopes;
}

void SelfChannel::postOnLoop(MessageOperation& operation) {
  const auto partner = std::find_if(waiting_.begin(), waiting_.end(), [&](const MessageOperation* other) {
    return other->tag() == operation.tag() && other->sends() != operation.sends();
  });
  if (partner == waiting_.end()) {
    waiting_.push_back(&operation);
    return;
  }
  MessageOperation& other = **partner;
  waiting_.erase(partner);
  MessageOperation& receive = operation.sends() ? other : operation;
  receive.takeFromSelfOnLoop(operation.sends() ? operation : other);
}

bool SelfChannel::peekOnLoop(std::int32_t tag, goss_message& found) const {
  const auto send = std::find_if(waiting_.begin(), waiting_.end(), [&](const MessageOperation* other) {
    return other->sends() && (tag == GOSS_ANY_TAG || other->tag() == tag);
  });
  if (send == waiting_.end()) return false;
  found = {(*send)->call().peer, (*send)->tag(), (*send)->payload_bytes};
  return true;
}

void SelfChannel::withdrawOnLoop(MessageOperation& operation) { std::erase(waiting_, &operation); }

MessageOperation::MessageOperation(Communicator& communicator)
    : Operation(communicator.operationHost(), Failure::alone), communicator_(communicator) {}

MessageOperation::MessageOperation(Communicator& communicator, const MessageCall& call)
    : MessageOperation(communicator) {
  bind(call);
}

// One by one: a copy of it whole would read in large parts what was just written in small ones, for which the processor
// waits.
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
  timeout_ms = call_.timeout_ms != 0 ? call_.timeout_ms : communicator().defaultTimeoutMs();
  payload_bytes = piece_.iov_len;
  at_once_ = false;
  const std::span<const iovec> pieces(&piece_, piece_.iov_len > 0 ? 1 : 0);
  // The half that is not used keeps what it had.
  if (call_.sends) {
    SendOperation::pieces = pieces;
    SendOperation::bytes = piece_.iov_len;
    SendOperation::envelope = communicator().messageEnvelope(call_.dtype);
  } else {
    RecvOperation::pieces = pieces;
    RecvOperation::capacity = piece_.iov_len;
  }
  if (!call_.isWild()) aimAt(call_.peer, call_.tag);
}

void MessageOperation::aimAt(int peer, std::int32_t tag) {
  peer_ = peer;
  tag_ = tag;
  const Tag wire_tag = pointToPointTag(communicator().context(), tag);
  const int world_peer = communicator().worldRank(peer);
  (call_.sends ? SendOperation::peer : RecvOperation::peer) = world_peer;
  (call_.sends ? SendOperation::tag : RecvOperation::tag) = wire_tag;
}

MessageOperation::~MessageOperation() { withdrawOnLoop(); }

bool MessageOperation::mayEndAtOnceOnLoop() const {
  return call_.peer != communicator().rank() &&
         (call_.sends || !communicator().receivesOnLoop().holds({call_.peer, call_.tag}));
}

bool MessageOperation::tryRunOnLoop(int looks) {
  at_once_ = true;
  postOnLoop();
  if (!call_.sends && !ended_) communicator().engine().turnUntilOnLoop(ended_, looks);
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
  if (!call_.sends && communicator().receivesOnLoop().holds({call_.peer, call_.tag})) {
    forgetPlace();
    return queueOnLoop();
  }
  postToPeerOnLoop();
}

void MessageOperation::queueOnLoop() {
  message = {call_.peer, call_.tag, 0};
  communicator().receivesOnLoop().add(*this);
  communicator().engine().keepPollingOnLoop(*this);
}

void MessageOperation::postToPeerOnLoop() {
  message = call_.sends ? goss_message{-1, 0, 0} : goss_message{peer_, tag_, 0};
  if (peer_ == communicator().rank()) {
    posted_ = true;
    communicator().selfChannelOnLoop().postOnLoop(*this);
    return;
  }
  Mesh& mesh = communicator().mesh();
  if (!call_.sends) {
    posted_ = true;
    mesh.transport(RecvOperation::peer)->recv(*this);
    return;
  }
  if (!mesh.isUp(SendOperation::peer)) {
    if (Status status = mesh.linkStatus(SendOperation::peer); !status.isOk()) return ended(status);
  }
  communicator().countSentOnLoop(piece_.iov_len);
  posted_ = true;
  if (mesh.transport(SendOperation::peer)->send(*this)) ended(Status::ok());
}

void MessageOperation::advanceOnLoop() {
  if (ended_) return communicator().failAloneOnLoop(*this, result_);
  if (!taken_back_) return;
  taken_back_ = false;
  takeBackOnLoop();
  queueOnLoop();
}

bool MessageOperation::pollOnLoop() { return communicator().receivesOnLoop().pollOnLoop(*this); }

void MessageOperation::takeOnLoop(const goss_message& found) {
  aimAt(found.source, found.tag);
  postToPeerOnLoop();
}

void MessageOperation::giveBackOnLoop() { takeBackOnLoop(); }

void MessageOperation::giveUpOnLoop(const Status& why) { communicator().failAloneOnLoop(*this, why); }

/// A receive that names rank and tag waits where it is.
void MessageOperation::onTakenBack() {
  if (!call_.isWild()) return;
  taken_back_ = true;
  communicator().engine().markDirtyOnLoop(*this);
}

void MessageOperation::withdrawOnLoop() {
  if (isQueued()) communicator().receivesOnLoop().remove(*this);
  takeBackOnLoop();
}

/// From the transport.
void MessageOperation::takeBackOnLoop() {
  if (!posted_) return;
  posted_ = false;
  if (peer_ == communicator().rank()) {
    communicator().selfChannelOnLoop().withdrawOnLoop(*this);
    return;
  }
  Transport& transport = *communicator().mesh().transport(call_.sends ? SendOperation::peer : RecvOperation::peer);
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
  return communicator().receivesOnLoop().sources(pattern());
}

void MessageOperation::ended(const Status& status) {
  if (isQueued()) communicator().receivesOnLoop().remove(*this);
  posted_ = false;
  ended_ = true;
  if (!status.isOk() || !result_.isOk()) result_ = status; // Mostly both are.
  if (at_once_) return;
  if (status.isOk()) {
    communicator().completeOnLoop(*this, status);
  } else {
    communicator().engine().markDirtyOnLoop(*this);
  }
}

void MessageOperation::onSent(const Status& status) { ended(status); }

Status MessageOperation::onMatched(const Envelope& received, std::size_t length) {
  if (isQueued()) communicator().receivesOnLoop().remove(*this);
  taken_back_ = false;
  if (std::memcmp(received.data(), communicator().messageEnvelope(call_.dtype).data(), sizeof received) != 0) {
    const Signature theirs = Signature::decode(received);
    return Status::error(GOSS_ERR_MISMATCH, fmt::format("{}: the message holds {}; use the sender's dtype", describe(),
                                                        dtypeName(theirs.dtype)));
  }
  if (length > RecvOperation::capacity) {
    return Status::error(GOSS_ERR_TRUNCATED, fmt::format("{}: the message has {} bytes, the buffer only {}", describe(),
                                                         length, RecvOperation::capacity));
  }
  message.bytes = length;
  return Status::ok();
}

void MessageOperation::onReceived(const Status& status) {
  if (status.isOk()) communicator().countReceivedOnLoop(message.bytes);
  ended(status);
}

void MessageOperation::takeFromSelfOnLoop(MessageOperation& send) {
  const Status status = onMatched(send.SendOperation::envelope, send.piece_.iov_len);
  if (status.isOk() && message.bytes > 0) std::memcpy(piece_.iov_base, send.piece_.iov_base, message.bytes);
  send.ended(Status::ok());
  ended(status);
}

} // namespace goss
