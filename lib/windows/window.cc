#include "windows/window.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "call/tag.h"
#include "kernels/kernels.h"
#include "windows/window_operation.h"

namespace goss {

using Kind = WindowCall::Kind;
using Type = WindowMessage::Type;

namespace {

/// What an answer takes of the target's memory besides its elements.
constexpr std::size_t kLetterBytes = 256;

TargetQueue::Call queuedCall(WindowOperation& operation, const WindowMemory& memory) {
  const WindowCall& call = operation.call();
  return {&operation, call.kind == Kind::get ? memory.bytesOf(call.range.count) + kLetterBytes : 0};
}

WindowMessage question(const WindowOperation& operation, Type type) {
  const WindowRange& range = operation.call().range;
  return {type, GOSS_SUM, operation.serial, range.offset, range.count, 0};
}

} // namespace

Window::Window(const OperationEnvironment& environment, std::uint32_t number, WindowMemory memory)
    : environment_(environment),
      memory_(std::move(memory)),
      channel_(environment_, windowTag(environment.context, number), *this),
      pairing_(environment.group.rank(), *this),
      held_(static_cast<std::size_t>(environment.group.size())),
      left_(held_.size()) {}

Window::~Window() = default;

void Window::openOnLoop() {
  open_ = true;
  environment_.mesh.countWindowsOnLoop(1);
  channel_.openOnLoop();
}

void Window::closeOnLoop(bool leaves) {
  if (!std::exchange(open_, false)) return;
  if (leaves) channel_.leaveOnLoop();
  environment_.mesh.countWindowsOnLoop(-1);
  channel_.closeOnLoop();
}

// ---- This rank's operations ----------------------------------------------------------------------------------------

void Window::expectAnswerOnLoop(WindowOperation& operation) {
  operation.serial = ++last_serial_;
  askers_[operation.serial] = &operation;
}

void Window::beginOnLoop(WindowOperation& operation) {
  const WindowCall& call = operation.call();
  if (call.target == rank()) return beginHereOnLoop(operation);
  if (queues_[call.target].admitsOnLoop(queuedCall(operation, memory_))) beginThereOnLoop(operation);
}

void Window::beginThereOnLoop(WindowOperation& operation) {
  const WindowCall& call = operation.call();
  if (call.kind == Kind::put)
    return operation.sendOnLoop({Type::put, GOSS_SUM, 0, call.range.offset, call.range.count, 0});
  if (call.kind == Kind::accumulate)
    return operation.sendOnLoop({Type::accumulate, call.op, 0, call.range.offset, call.range.count, 0});
  expectAnswerOnLoop(operation);
  if (call.kind == Kind::get) {
    channel_.sendOnLoop(call.target, question(operation, Type::get));
    return queues_[call.target].askedOnLoop(operation.serial, queuedCall(operation, memory_).answer_bytes);
  }
  if (call.kind == Kind::flush) return channel_.sendOnLoop(call.target, question(operation, Type::flush));
  if (call.kind == Kind::lock) return channel_.sendOnLoop(call.target, question(operation, Type::lock));
  pairing_.startOnLoop(operation.serial);
}

void Window::resumeOnLoop(int target) {
  if (!environment_.operations.asyncError().isOk()) return; // All operations end.
  while (const auto next = queues_[target].takeOnLoop()) {
    if (next->operation == nullptr) {
      channel_.sendOnLoop(target, {Type::unlock, GOSS_SUM, 0, 0, 0, 0});
    } else {
      ActiveOperations::failIfShort(*next->operation, [&]() GOSS_ON_LOOP { beginThereOnLoop(*next->operation); });
    }
  }
}

void Window::beginHereOnLoop(WindowOperation& operation) {
  const WindowCall& call = operation.call();
  const auto* from = static_cast<const std::byte*>(call.buffer);
  switch (call.kind) {
    case Kind::put:
    case Kind::accumulate:
      memory_.change({call.kind == Kind::put ? Type::put : Type::accumulate, call.op, 0, call.range.offset, 0, 0}, 0,
                     {from, memory_.bytesOf(call.range.count)});
      memory_.countChange(rank());
      break;
    case Kind::get:
      memory_.read(call.range, static_cast<std::byte*>(call.buffer));
      break;
    case Kind::lock:
      expectAnswerOnLoop(operation);
      if (lock_.claim({rank(), operation.serial})) grantOnLoop({rank(), operation.serial});
      return;
    case Kind::flush:
    case Kind::pairAverage: // Callers refuse it.
      break;
  }
  operation.endOnLoop(Status::ok());
}

void Window::forgetOnLoop(WindowOperation& operation) {
  if (queues_[operation.call().target].forgetOnLoop(operation)) return resumeOnLoop(operation.call().target);
  askers_.erase(operation.serial);
  if (operation.call().kind == Kind::pairAverage) {
    if (pairing_.withdrawOnLoop(operation.serial)) declineOnLoop(operation.call().target, operation.serial);
    if (environment_.operations.asyncError().isOk()) pairing_.resumeOnLoop();
  }
  if (operation.call().kind == Kind::lock && operation.call().target == rank())
    lock_.forget({rank(), operation.serial});
}

// ---- Locks ---------------------------------------------------------------------------------------------------------

bool Window::claimsOnLoop(int target) const {
  const auto claims = [target](const WindowOperation* one) {
    return one != nullptr && one->call().kind == Kind::lock && one->call().target == target;
  };
  const auto queue = queues_.find(target);
  const auto waits = [&](const TargetQueue& of) GOSS_ON_LOOP {
    const auto& calls = of.waitingOnLoop();
    return std::any_of(calls.begin(), calls.end(), [&](const auto& call) { return claims(call.operation); });
  };
  return holdsOnLoop(target) ||
         std::any_of(askers_.begin(), askers_.end(), [&](const auto& asker) { return claims(asker.second); }) ||
         (queue != queues_.end() && waits(queue->second));
}

std::vector<int> Window::heldOnLoop() const {
  std::vector<int> ranks;
  for (int target = 0; target < environment_.group.size(); ++target) {
    if (holdsOnLoop(target)) ranks.push_back(target);
  }
  return ranks;
}

void Window::unlockOnLoop(int target) {
  held_[static_cast<std::size_t>(target)] = false;
  if (target == rank()) return releaseOnLoop();
  if (queues_[target].admitsOnLoop({})) channel_.sendOnLoop(target, {Type::unlock, GOSS_SUM, 0, 0, 0, 0});
}

/// Gives this rank's lock to the claim.
void Window::grantOnLoop(const WindowLock::Claim& claim) {
  if (claim.rank != rank()) {
    return channel_.sendOnLoop(claim.rank, {Type::granted, GOSS_SUM, claim.serial, 0, 0, 0});
  }
  grantedOnLoop(*askers_.at(claim.serial)); // A claim of this rank that is given up is forgotten.
}

/// Completes an operation that has got the lock for which it waited.
void Window::grantedOnLoop(WindowOperation& operation) {
  held_[static_cast<std::size_t>(operation.call().target)] = true;
  askers_.erase(operation.serial);
  operation.endOnLoop(Status::ok());
}

void Window::releaseOnLoop() {
  if (const auto next = lock_.release()) grantOnLoop(*next);
}

// ---- Messages of peers ---------------------------------------------------------------------------------------------

WindowOperation* Window::askerOnLoop(int rank, const WindowMessage& answer) const {
  const auto found = askers_.find(answer.serial);
  return found != askers_.end() && found->second->call().target == rank ? found->second : nullptr;
}

bool Window::expectsAnswer(int rank, const WindowMessage& answer, std::size_t bytes) const {
  const WindowOperation* asker = askerOnLoop(rank, answer);
  const bool brings = answer.bringsElements();
  if (bytes != (brings ? memory_.bytesOf(answer.count) : 0)) return false;
  // The operation was given up. The serial of a later operation is refused: its memory would take this answer.
  if (asker == nullptr) return answer.serial != 0 && answer.serial <= last_serial_;
  const WindowCall& call = asker->call();
  switch (answer.type) {
    case Type::data:
      return call.kind == Kind::get && answer.count == call.range.count;
    case Type::offer:
      return call.kind == Kind::pairAverage && answer.count == call.range.count;
    case Type::flushed:
      return call.kind == Kind::flush;
    default:
      return call.kind == Kind::lock;
  }
}

bool Window::expectsDifference(int rank, const WindowMessage& message, std::size_t bytes) const {
  const auto& engaged = pairing_.engaged();
  if (!engaged || engaged->rank != rank) return false;
  if (message.shadow_factor != 0 && !memory_.holds({message.offset, engaged->range.count})) return false;
  return bytes == 0 || bytes == memory_.bytesOf(engaged->range.count);
}

bool Window::expects(int rank, const WindowMessage& message, std::size_t bytes) {
  const WindowRange range{message.offset, message.count};
  switch (message.type) {
    case Type::put:
      return memory_.holds(range) && bytes == memory_.bytesOf(message.count);
    case Type::accumulate:
      return memory_.holds(range) && bytes == memory_.bytesOf(message.count) &&
             kernels::supported(memory_.dtype(), message.op);
    case Type::get:
      return memory_.holds(range) && bytes == 0;
    case Type::request:
      return memory_.holds(range) && bytes == 0 && kernels::supported(memory_.dtype(), GOSS_PREMUL_SUM);
    case Type::flush:
    case Type::lock:
    case Type::leave:
      return bytes == 0;
    case Type::unlock:
      return bytes == 0 && lock_.isHeldBy(rank);
    case Type::difference:
      return expectsDifference(rank, message, bytes);
    case Type::data:
    case Type::offer:
    case Type::flushed:
    case Type::granted:
      return memory_.holds({0, message.count}) && expectsAnswer(rank, message, bytes);
  }
  return false;
}

void Window::take(int rank, const WindowMessage& message, std::size_t at, std::span<const std::byte> bytes) {
  environment_.operations.counters().wire_bytes_received += bytes.size();
  if (message.type == Type::put || message.type == Type::accumulate) return memory_.change(message, at, bytes);
  if (message.type == Type::difference) {
    memory_.add(pairing_.engaged()->range.offset, 1, at, bytes);
    if (message.shadow_factor != 0) memory_.add(message.offset, message.shadow_factor, at, bytes);
    return;
  }
  if (WindowOperation* asker = askerOnLoop(rank, message); asker != nullptr)
    kernels::copy(asker->answerBuffer() + at, bytes.data(), bytes.size());
}

void Window::serve(int rank, const WindowMessage& message, std::size_t bytes) {
  switch (message.type) {
    case Type::put:
    case Type::accumulate:
      return memory_.countChange(rank);
    case Type::get:
      return sendElements(rank, {Type::data, GOSS_SUM, message.serial, message.offset, message.count, 0});
    case Type::flush:
      return channel_.sendOnLoop(rank, {Type::flushed, GOSS_SUM, message.serial, 0, 0, 0});
    case Type::lock:
      if (lock_.claim({rank, message.serial})) grantOnLoop({rank, message.serial});
      return;
    case Type::unlock:
      return releaseOnLoop();
    case Type::request:
      return pairing_.requestedOnLoop({rank, message.serial, {message.offset, message.count}});
    case Type::difference:
      if (bytes > 0) memory_.countChange(rank);
      return pairing_.endedOnLoop();
    case Type::leave:
      return forgetRankOnLoop(rank, Status::error(GOSS_ERR_PEER_LOST,
                                                  fmt::format("{} has left: it destroyed its communicator",
                                                              environment_.group.nameOf(rank)),
                                                  ErrorScope::operation, environment_.group.worldRank(rank)));
    case Type::data:
    case Type::offer:
    case Type::flushed:
    case Type::granted:
      return serveAnswer(rank, message);
  }
}

void Window::left(int rank) {
  const int peer = environment_.group.worldRank(rank);
  if (environment_.mesh.isLost(peer))
    forgetRankOnLoop(rank, environment_.group.named(environment_.mesh.linkStatus(peer)));
}

/// Releases the lock, the requests and the average that `rank` held here when it destroyed its communicator. Does
/// nothing if the communicator has failed because the rank died: all calls end with that error, and the rank's lock is
/// not passed on, because the accesses that it protects may be incomplete.
void Window::forgetRankOnLoop(int rank, const Status& why) {
  if (!environment_.operations.asyncError().isOk()) return;
  left_[static_cast<std::size_t>(rank)] = why;
  for (const auto& [serial, asker] : askers_) {
    if (asker->call().target != rank) continue;
    asker->endOnLoop(why);
    (void)pairing_.withdrawOnLoop(serial); // Its offer is void.
  }
  const TargetQueue unsent = std::exchange(queues_[rank], {});
  for (const TargetQueue::Call& call : unsent.waitingOnLoop()) {
    if (call.operation != nullptr) call.operation->endOnLoop(why);
  }
  lock_.forgetWaiting(rank);
  if (lock_.isHeldBy(rank)) releaseOnLoop();
  pairing_.leftOnLoop(rank);
}

/// If the operation was given up, still answers an offer or a grant, because the target waits for that.
void Window::serveAnswer(int rank, const WindowMessage& answer) {
  WindowOperation* asker = askerOnLoop(rank, answer);
  if (asker == nullptr) {
    if (answer.type == Type::offer) declineOnLoop(rank, answer.serial);
    if (answer.type == Type::granted) channel_.sendOnLoop(rank, {Type::unlock, GOSS_SUM, 0, 0, 0, 0});
  } else if (answer.type == Type::offer) {
    pairing_.offeredOnLoop(answer.serial);
  } else if (answer.type == Type::granted) {
    grantedOnLoop(*asker);
  } else {
    askers_.erase(answer.serial);
    asker->endOnLoop(Status::ok());
  }
  queues_[rank].answeredOnLoop(answer.serial);
  resumeOnLoop(rank);
}

/// Copies them, because they may change before the transport has them.
void Window::sendElements(int rank, const WindowMessage& message) {
  std::vector<std::byte> elements(memory_.bytesOf(message.count));
  memory_.read({message.offset, message.count}, elements.data());
  channel_.sendOnLoop(rank, message, std::move(elements));
}

// ---- Pair averages -------------------------------------------------------------------------------------------------

void Window::requestOnLoop(std::uint32_t serial) {
  const WindowOperation& own = *askers_.at(serial);
  channel_.sendOnLoop(own.call().target, question(own, Type::request));
}

void Window::offerOnLoop(const Pairing::Request& request) {
  sendElements(request.rank, {Type::offer, GOSS_SUM, request.serial, request.range.offset, request.range.count, 0});
}

void Window::declineOnLoop(int rank, std::uint32_t serial) {
  channel_.sendOnLoop(rank, {Type::difference, GOSS_SUM, serial, 0, 0, 0});
}

void Window::settleOnLoop(std::uint32_t serial) {
  WindowOperation& own = *askers_.at(serial);
  const WindowCall& call = own.call();
  std::vector<std::byte> difference = own.takeTheirs();
  memory_.halveDifference(call.range, difference.data());
  memory_.add(call.range.offset, -1, 0, difference);
  if (call.shadow_factor != 0) memory_.add(call.shadow_offset, -call.shadow_factor, 0, difference);
  channel_.sendOnLoop(call.target, {Type::difference, GOSS_SUM, serial, call.shadow_offset, 0, call.shadow_factor},
                      std::move(difference));
  askers_.erase(serial);
  own.endOnLoop(Status::ok());
}

} // namespace goss
