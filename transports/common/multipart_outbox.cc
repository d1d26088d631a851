#include "transports/common/multipart_outbox.h"

#include <utility>

namespace goss::transports {

bool MultipartOutbox::post(SendOperation& operation, bool now) {
  operation.hook.extra = kNowhere;
  List& list = listOf(operation);
  const Launched launched = now && list.empty() ? launch(operation) : Launched::blocked;
  if (launched == Launched::blocked) {
    operation.hook.extra = kQueued;
    list.pushBack(operation);
    idle_ = false;
  }
  if (launched != Launched::begun) return launched == Launched::whole;
  // Sends as much as fits, where nothing else waits.
  Open& open = *reinterpret_cast<Open*>(operation.hook.extra);
  while (sends_.next() == &open && hasRoom(open.allowed_bytes))
    sendPart(open, false);
  if (sends_.next() != nullptr) idle_ = false;
  if (!open.isOver()) return false;
  close(open);
  return true;
}

MultipartOutbox::Launched MultipartOutbox::launch(SendOperation& operation) {
  const Elsewhere other = sendElsewhere(operation);
  if (other == Elsewhere::taken) operation.hook.extra = kElsewhere;
  if (other != Elsewhere::no) return other == Elsewhere::full ? Launched::blocked : Launched::elsewhere;
  if (!hasRoom(operation.bytes)) return Launched::blocked;
  if (goesWhole(operation)) {
    operation.hook.extra = kNowhere;
    writeWhole(operation);
    return Launched::whole;
  }
  Open& open = takeOpen(operation);
  sends_.begin(open, operation);
  sendPart(open, true);
  return Launched::begun;
}

void MultipartOutbox::sendPart(Open& open, bool first) {
  const std::size_t bytes = writePart(*open.operation, open, first);
  if (bytes > 0) sends_.advance(open, bytes);
}

MultipartOutbox::Open& MultipartOutbox::takeOpen(SendOperation& operation) {
  if (free_.empty()) {
    all_.push_back(std::make_unique<Open>());
    free_.push_back(all_.back().get());
  }
  Open& open = *free_.back();
  free_.pop_back();
  open.operation = &operation;
  operation.hook.extra = reinterpret_cast<std::uintptr_t>(&open);
  return open;
}

SendOperation& MultipartOutbox::close(Open& open) {
  SendOperation& operation = *std::exchange(open.operation, nullptr);
  operation.hook.extra = kNowhere;
  free_.push_back(&open);
  return operation;
}

void MultipartOutbox::cancel(SendOperation& operation) {
  const std::uint64_t where = operation.hook.extra;
  operation.hook.extra = kNowhere;
  if (where == kQueued) listOf(operation).remove(operation);
  if (where <= kElsewhere) return;
  Open& open = *reinterpret_cast<Open*>(where);
  std::erase(answered_, &open);
  if (!open.isOver()) {
    tell({ControlFrame::Kind::cut, open.number, 0});
    sends_.end(open);
  }
  close(open);
}

void MultipartOutbox::tell(const ControlFrame& frame) {
  controls_.push_back(frame);
  idle_ = false;
}

void MultipartOutbox::tellOf(MultipartRecvs& recvs) {
  for (const MultipartRecvs::Answer& answer : recvs.takeAnswers())
    tell({answer.wanted ? ControlFrame::Kind::grant : ControlFrame::Kind::skip, answer.number, 0});
  // Messages to the peer can carry this credit; more than an eighth of the limit does not wait for the next message.
  if (recvs.owed().total() <= sends_.limit() / 8) return;
  for (const auto& [tag, bytes] : recvs.owed().takeAll())
    tell({ControlFrame::Kind::credit, bytes, tag});
}

void MultipartOutbox::onAnswer(std::uint64_t number, bool wanted) {
  if (MultipartSend* over = sends_.answer(number, wanted)) answered_.push_back(static_cast<Open*>(over));
  idle_ = false;
}

bool MultipartOutbox::sendFront(List& list) {
  SendOperation& operation = *list.front();
  const Launched launched = launch(operation);
  if (launched == Launched::blocked) {
    operation.hook.extra = kQueued;
    return false;
  }
  list.popFront();
  if (launched == Launched::whole) {
    operation.onSent(Status::ok());
  } else if (launched == Launched::begun) {
    Open& open = *reinterpret_cast<Open*>(operation.hook.extra);
    if (open.isOver()) close(open).onSent(Status::ok());
  }
  return true;
}

bool MultipartOutbox::sendNext() {
  if (!controls_.empty()) {
    if (!hasRoom(0)) return false;
    write(controls_.front());
    controls_.pop_front();
    return true;
  }
  if (!partsAreNext()) {
    const bool urgent = !urgent_.empty();
    List& list = urgent ? urgent_ : queue_;
    if (list.empty() || !sendFront(list)) return false;
    header_was_last_ = !urgent;
    return true;
  }
  Open& open = static_cast<Open&>(*sends_.next());
  if (!hasRoom(open.allowed_bytes)) return false;
  header_was_last_ = false;
  sendPart(open, false);
  if (open.isOver()) close(open).onSent(Status::ok());
  return true;
}

bool MultipartOutbox::run() {
  bool any = false;
  while (!answered_.empty()) {
    Open& open = *answered_.back();
    answered_.pop_back();
    close(open).onSent(Status::ok());
    any = true;
  }
  while (sendNext())
    any = true;
  idle_ = controls_.empty() && urgent_.empty() && queue_.empty() && sends_.next() == nullptr && answered_.empty();
  return any;
}

bool MultipartOutbox::hasWork() const {
  if (idle_) return false;
  if (!answered_.empty()) return true;
  if (!controls_.empty()) return hasRoom(0);
  if (partsAreNext()) return hasRoom(sends_.next()->allowed_bytes);
  const SendOperation* next = urgent_.empty() ? queue_.front() : urgent_.front();
  return next != nullptr && hasRoom(next->bytes);
}

void MultipartOutbox::fail(const Status& status) {
  controls_.clear();
  sends_.clear();
  answered_.clear();
  // Callbacks may cancel operations, but post none on this link any more.
  for (const auto& open : all_)
    if (open->operation != nullptr) close(*open).onSent(status);
  for (List* list : {&urgent_, &queue_})
    while (SendOperation* operation = list->popFront()) {
      operation->hook.extra = kNowhere;
      operation->onSent(status);
    }
  idle_ = true;
}

} // namespace goss::transports
