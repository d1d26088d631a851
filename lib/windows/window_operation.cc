#include "windows/window_operation.h"

#include <fmt/format.h>

#include <utility>

#include "call/signature.h"

namespace goss {

namespace {

const char* nameOf(WindowCall::Kind kind) {
  switch (kind) {
    case WindowCall::Kind::put:
      return "put";
    case WindowCall::Kind::accumulate:
      return "accumulate";
    case WindowCall::Kind::get:
      return "get";
    case WindowCall::Kind::flush:
      return "flush";
    case WindowCall::Kind::lock:
      return "lock";
    case WindowCall::Kind::pairAverage:
      return "pair average";
  }
  return "";
}

} // namespace

WindowOperation::WindowOperation(WindowService& window, const WindowCall& call)
    : Operation(window.environment().operations.host(), Failure::alone), window_(window), call_(call) {
  timeout_ms = call.timeout_ms != 0 ? call.timeout_ms : window.environment().default_timeout_ms;
  const std::size_t elements = window.memory().bytesOf(call.range.count);
  payload_bytes = elements;
  if (call.kind == WindowCall::Kind::pairAverage) theirs_.resize(elements);
}

WindowOperation::~WindowOperation() { withdrawOnLoop(); }

void WindowOperation::startOnLoop() {
  const OperationEnvironment& with = window_.environment();
  if (call_.target != with.group.rank()) {
    const int target = with.group.worldRank(call_.target);
    if (!with.mesh.isUp(target)) {
      if (const Status status = with.mesh.linkStatus(target); !status.isOk()) return endByLinkOnLoop(status);
    }
  }
  if (const Status& left = window_.leftOnLoop(call_.target); !left.isOk()) return endOnLoop(left);
  started_ = true;
  window_.beginOnLoop(*this);
}

void WindowOperation::sendOnLoop(const WindowMessage& what) {
  const OperationEnvironment& with = window_.environment();
  peer = with.group.worldRank(call_.target);
  tag = window_.tag();
  SendOperation::envelope = what.encode();
  piece_ = {call_.buffer, window_.memory().bytesOf(call_.range.count)};
  bytes = piece_.iov_len;
  pieces = std::span<const iovec>(&piece_, bytes > 0 ? 1 : 0);
  with.operations.counters().wire_bytes_sent += bytes;
  posted_ = true;
  if (with.mesh.transport(peer)->send(*this)) onSent(Status::ok());
}

void WindowOperation::onSent(const Status& status) {
  posted_ = false;
  return status.isOk() ? endOnLoop(status) : endByLinkOnLoop(status);
}

/// While it is not known yet why the link has ended, the call waits: if the target has died, the communicator fails,
/// which names the target to the others, too.
void WindowOperation::endByLinkOnLoop(const Status& status) {
  const OperationEnvironment& with = window_.environment();
  if (with.mesh.isLost(with.group.worldRank(call_.target))) endOnLoop(with.group.named(status));
}

void WindowOperation::endOnLoop(const Status& status) {
  const OperationEnvironment& with = window_.environment();
  if (status.isOk()) {
    started_ = false;
    with.operations.completeOnLoop(*this, status);
  } else {
    result_ = status;
    with.engine.active().markDirty(*this);
  }
}

void WindowOperation::advanceOnLoop() {
  if (!result_.isOk()) window_.environment().operations.endOnLoop(*this, result_);
}

void WindowOperation::withdrawOnLoop() {
  if (std::exchange(posted_, false)) window_.environment().mesh.transport(peer)->cancel(*this);
  if (std::exchange(started_, false)) window_.forgetOnLoop(*this);
}

std::vector<int> WindowOperation::waitingForRanks() const {
  // While this rank is engaged its own average waits for the rank that has its offer.
  const int engaged = call_.kind == WindowCall::Kind::pairAverage ? window_.engagedWithOnLoop() : -1;
  return engaged < 0 || engaged == call_.target ? std::vector<int>{call_.target}
                                                : std::vector<int>{engaged, call_.target};
}

std::string WindowOperation::describe() const {
  const bool has_elements = call_.kind != WindowCall::Kind::flush && call_.kind != WindowCall::Kind::lock;
  return fmt::format("{} {} of rank {}", nameOf(call_.kind),
                     has_elements
                         ? fmt::format("of {} {} in the window", call_.range.count, dtypeName(window_.memory().dtype()))
                         : std::string("of the window"),
                     call_.target);
}

} // namespace goss
