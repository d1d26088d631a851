/// The messages of one window: those of one peer keep their order, and their elements are processed as they arrive.
#ifndef GOSS_LIB_WINDOWS_WINDOW_CHANNEL_H_
#define GOSS_LIB_WINDOWS_WINDOW_CHANNEL_H_

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/operation.h"
#include "engine/operation_environment.h"
#include "platform/thread_safety.h"
#include "windows/window_message.h"

namespace goss {

/// What a window does with the messages of its peers. `rank` is the sender's in the communicator.
class WindowHandler {
 public:
  virtual ~WindowHandler() = default;
  /// Called by a transport: whether a correct peer could send this message, which brings `bytes` bytes, now.
  virtual bool expects(int rank, const WindowMessage& message, std::size_t bytes) GOSS_ON_LOOP = 0;
  /// Called by a transport with the next elements of a message, the first of which begins at byte `at` of it.
  virtual void take(int rank, const WindowMessage& message, std::size_t at,
                    std::span<const std::byte> bytes) GOSS_ON_LOOP = 0;
  /// All of the message has come; here messages may be sent.
  virtual void serve(int rank, const WindowMessage& message, std::size_t bytes) GOSS_ON_LOOP = 0;
  /// The rank has left or is lost: all that it has sent was served, and nothing will come any more.
  virtual void left(int rank) GOSS_ON_LOOP = 0;
};

/// Keeps one receive posted for each peer. It is no operation that anybody starts: the engine advances it behind the
/// transports' progress. Under the engine's lock.
class WindowChannel final : private Operation {
 public:
  /// All arguments outlive it.
  WindowChannel(const OperationEnvironment& environment, Tag tag, WindowHandler& handler);
  ~WindowChannel() override;

  void openOnLoop() GOSS_ON_LOOP;
  void closeOnLoop() GOSS_ON_LOOP;
  /// Tells all other ranks that this one will serve no more, behind all that it has sent. closeOnLoop() follows.
  void leaveOnLoop() GOSS_ON_LOOP;
  /// Sends a message, which also leaves when the channel is closed before; does nothing where the peer has left or is
  /// lost: the handler is told.
  void sendOnLoop(int rank, const WindowMessage& what, std::vector<std::byte> elements = {}) GOSS_ON_LOOP;
  /// Requests a call of advanceOnLoop() before the loop turns again.
  void callOnLoop() GOSS_ON_LOOP { environment_.engine.active().markDirty(*this); }
  [[nodiscard]] Tag tag() const { return tag_; }

 private:
  class Receive;

  void startOnLoop() GOSS_ON_LOOP override {}
  void advanceOnLoop() GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override {}
  [[nodiscard]] std::string describe() const override { return "the service of a window"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override { return {}; }
  void handleOnLoop(Receive& receive) GOSS_ON_LOOP;
  void postOnLoop(Receive& receive) GOSS_ON_LOOP;

  const OperationEnvironment environment_;
  const Tag tag_;
  WindowHandler& handler_;
  std::vector<std::unique_ptr<Receive>> receives_ GOSS_GUARDED;
  std::vector<Receive*> arrived_ GOSS_GUARDED; ///< Their messages have come.
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_WINDOW_CHANNEL_H_
