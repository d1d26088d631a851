#include "windows/window_channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace goss {

class WindowChannel::Receive final : public RecvOperation {
 public:
  Receive(WindowChannel& channel, int rank) : channel_(channel), rank_(rank) {
    peer = channel.environment_.group.worldRank(rank);
    tag = channel.tag_;
    consumes = true;
    capacity = std::numeric_limits<std::size_t>::max(); // The window's handler looks at the length.
  }

  Status onMatched(const Envelope& envelope, std::size_t bytes) GOSS_ON_LOOP override {
    bytes_ = bytes;
    is_good_ = WindowMessage::decode(envelope, message_) && channel_.handler_.expects(rank_, message_, bytes);
    return is_good_ ? Status::ok() : Status::error(GOSS_ERR_PROTOCOL, "no message of a window");
  }
  void onData(std::size_t offset, std::span<const std::byte> bytes) GOSS_ON_LOOP override {
    channel_.handler_.take(rank_, message_, offset, bytes);
  }
  void onReceived(const Status& status) GOSS_ON_LOOP override {
    posted = false;
    has_left_ = status.kind() == GOSS_ERR_PEER_LOST;
    if (!status.isOk()) is_good_ = false;
    channel_.arrived_.push_back(this);
    channel_.callOnLoop();
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const WindowMessage& message() const { return message_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool isGood() const { return is_good_; }
  [[nodiscard]] bool hasLeft() const { return has_left_; }

  bool posted = false;

 private:
  WindowChannel& channel_;
  const int rank_;
  WindowMessage message_;
  std::size_t bytes_ = 0;
  bool is_good_ = true;
  bool has_left_ = false;
};

WindowChannel::WindowChannel(const OperationEnvironment& environment, Tag tag, WindowHandler& handler)
    : Operation(environment.operations.host(), Failure::ofAll),
      environment_(environment),
      tag_(tag),
      handler_(handler) {}

WindowChannel::~WindowChannel() = default;

void WindowChannel::openOnLoop() {
  for (const int rank : environment_.group.others()) {
    receives_.push_back(std::make_unique<Receive>(*this, rank));
    postOnLoop(*receives_.back());
  }
}

void WindowChannel::closeOnLoop() {
  environment_.engine.active().unmarkDirty(*this);
  for (const auto& receive : receives_) {
    if (receive->posted) environment_.mesh.transport(receive->peer)->cancel(*receive);
  }
  arrived_.clear();
  receives_.clear();
}

/// Where the peer has left, the transport gives what it had sent before, and then fails the receive.
void WindowChannel::postOnLoop(Receive& receive) {
  receive.posted = true;
  environment_.mesh.transport(receive.peer)->recv(receive);
}

void WindowChannel::sendOnLoop(int rank, const WindowMessage& what, std::vector<std::byte> elements) {
  environment_.operations.counters().wire_bytes_sent += elements.size();
  environment_.mesh.postOnLoop({environment_.group.worldRank(rank), tag_, what.encode(), std::move(elements)});
}

void WindowChannel::leaveOnLoop() {
  for (const int rank : environment_.group.others()) {
    WindowMessage leave;
    leave.type = WindowMessage::Type::leave;
    sendOnLoop(rank, leave);
  }
}

/// Where memory is short the sender's call would wait for ever, so that the communicator fails.
void WindowChannel::advanceOnLoop() {
  for (Receive* receive : std::exchange(arrived_, {})) {
    try {
      handleOnLoop(*receive);
    } catch (const std::bad_alloc&) {
      const Status failure = Status::error(GOSS_ERR_RESOURCE, describe() + ": out of memory");
      environment_.operations.host().failed(*this, failure);
    }
  }
}

void WindowChannel::handleOnLoop(Receive& receive) {
  if (receive.hasLeft()) {
    handler_.left(receive.rank());
  } else if (receive.isGood()) {
    handler_.serve(receive.rank(), receive.message(), receive.bytes());
    postOnLoop(receive);
  } else {
    const std::string text =
        fmt::format("{} has sent what no rank sends to a window", environment_.group.nameOf(receive.rank()));
    environment_.mesh.abandon(receive.peer, Status::error(GOSS_ERR_PROTOCOL, text, ErrorScope::peer, receive.peer));
  }
}

} // namespace goss
