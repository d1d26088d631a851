/// Memory that the ranks of a communicator read and change without the owner's help.
#ifndef GOSS_LIB_WINDOWS_WINDOW_H_
#define GOSS_LIB_WINDOWS_WINDOW_H_

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/operation_environment.h"
#include "platform/thread_safety.h"
#include "windows/pairing.h"
#include "windows/target_queue.h"
#include "windows/window_channel.h"
#include "windows/window_lock.h"
#include "windows/window_memory.h"
#include "windows/window_operation.h"

namespace goss {

/// One rank's end of a window. Whichever thread drives the loop serves the rank's peers; while a window is open, the
/// progress thread drives if no other thread does. Messages of one rank are served in their order.
///
/// Under the engine's lock where nothing else is said.
class Window final : public WindowService, private WindowHandler, private Pairing::Host {
 public:
  /// All arguments outlive it. `number` is the same on all ranks of the communicator.
  Window(const OperationEnvironment& environment, std::uint32_t number, WindowMemory memory);
  ~Window() override;
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  void openOnLoop() GOSS_ON_LOOP;
  /// Ends serving. No operation of the window may be active. `leaves`: the other ranks do not close their ends, and are
  /// told that this rank leaves.
  void closeOnLoop(bool leaves) GOSS_ON_LOOP;

  /// Any thread may call the following without the lock, to read what never changes.
  [[nodiscard]] const OperationEnvironment& environment() const override { return environment_; }
  [[nodiscard]] const WindowMemory& memory() const override { return memory_; }
  [[nodiscard]] Tag tag() const override { return channel_.tag(); }
  [[nodiscard]] int rank() const { return environment_.group.rank(); }
  [[nodiscard]] const Status& leftOnLoop(int target) const GOSS_ON_LOOP override {
    return left_[static_cast<std::size_t>(target)];
  }

  /// How many changes of this rank's memory by `origin` are complete.
  [[nodiscard]] std::uint64_t versionOnLoop(int origin) const GOSS_ON_LOOP { return memory_.version(origin); }
  /// Whether this rank holds the lock of `target`.
  [[nodiscard]] bool holdsOnLoop(int target) const GOSS_ON_LOOP { return held_[static_cast<std::size_t>(target)]; }
  /// Whether this rank holds the lock of `target`, or one of its operations waits for it.
  [[nodiscard]] bool claimsOnLoop(int target) const GOSS_ON_LOOP;
  /// The ranks whose locks this one holds.
  [[nodiscard]] std::vector<int> heldOnLoop() const GOSS_ON_LOOP;
  /// The rank that this one has made an offer of its elements, until the average takes place; -1: none.
  [[nodiscard]] int engagedWithOnLoop() const GOSS_ON_LOOP override {
    return pairing_.engaged() ? pairing_.engaged()->rank : -1;
  }
  /// This rank holds the lock of `target` and gives it up.
  void unlockOnLoop(int target) GOSS_ON_LOOP;

  /// Starts an operation, which may end at once.
  void beginOnLoop(WindowOperation& operation) GOSS_ON_LOOP override;
  /// Gives the operation up: an answer that arrives later does not complete it.
  void forgetOnLoop(WindowOperation& operation) GOSS_ON_LOOP override;

 private:
  bool expects(int rank, const WindowMessage& message, std::size_t bytes) GOSS_ON_LOOP override;
  void take(int rank, const WindowMessage& message, std::size_t at,
            std::span<const std::byte> bytes) GOSS_ON_LOOP override;
  void serve(int rank, const WindowMessage& message, std::size_t bytes) GOSS_ON_LOOP override;
  void left(int rank) GOSS_ON_LOOP override;
  void forgetRankOnLoop(int rank, const Status& why) GOSS_ON_LOOP;
  void requestOnLoop(std::uint32_t serial) GOSS_ON_LOOP override;
  void offerOnLoop(const Pairing::Request& request) GOSS_ON_LOOP override;
  void settleOnLoop(std::uint32_t serial) GOSS_ON_LOOP override;

  void beginHereOnLoop(WindowOperation& operation) GOSS_ON_LOOP;
  /// Begins an operation on another rank, which need not wait in its queue.
  void beginThereOnLoop(WindowOperation& operation) GOSS_ON_LOOP;
  /// Begins the calls of this rank that waited and may be sent to `target` now.
  void resumeOnLoop(int target) GOSS_ON_LOOP;
  /// The operation waits for an answer, by the serial that it gets.
  void expectAnswerOnLoop(WindowOperation& operation) GOSS_ON_LOOP;
  /// The operation of this rank that `answer` from `rank` is for; null: it was given up.
  [[nodiscard]] WindowOperation* askerOnLoop(int rank, const WindowMessage& answer) const GOSS_ON_LOOP;
  [[nodiscard]] bool expectsAnswer(int rank, const WindowMessage& answer, std::size_t bytes) const GOSS_ON_LOOP;
  [[nodiscard]] bool expectsDifference(int rank, const WindowMessage& message, std::size_t bytes) const GOSS_ON_LOOP;
  void serveAnswer(int rank, const WindowMessage& answer) GOSS_ON_LOOP;
  void sendElements(int rank, const WindowMessage& message) GOSS_ON_LOOP;
  /// Tells a rank that has made an offer that the average does not take place.
  void declineOnLoop(int rank, std::uint32_t serial) GOSS_ON_LOOP;
  void grantOnLoop(const WindowLock::Claim& claim) GOSS_ON_LOOP;
  void grantedOnLoop(WindowOperation& operation) GOSS_ON_LOOP;
  void releaseOnLoop() GOSS_ON_LOOP;

  const OperationEnvironment environment_;
  WindowMemory memory_;
  WindowChannel channel_;
  WindowLock lock_;
  Pairing pairing_;
  bool open_ GOSS_GUARDED = false;
  std::uint32_t last_serial_ GOSS_GUARDED = 0;
  std::map<std::uint32_t, WindowOperation*> askers_ GOSS_GUARDED; ///< By serial: they wait for an answer.
  std::map<int, TargetQueue> queues_ GOSS_GUARDED;                ///< By target.
  std::vector<bool> held_ GOSS_GUARDED;                           ///< By target: whether this rank holds its lock.
  std::vector<Status> left_ GOSS_GUARDED;                         ///< By target: why it serves no more; ok: it does.
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_WINDOW_H_
