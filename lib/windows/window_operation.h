/// One rank's access to a window.
#ifndef GOSS_LIB_WINDOWS_WINDOW_OPERATION_H_
#define GOSS_LIB_WINDOWS_WINDOW_OPERATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/operation.h"
#include "engine/operation_environment.h"
#include "gossamer/message.h"
#include "platform/thread_safety.h"
#include "windows/window_memory.h"
#include "windows/window_message.h"

namespace goss {

/// A validated call.
struct WindowCall {
  enum class Kind : std::uint8_t { put, accumulate, get, flush, lock, pairAverage };

  Kind kind = Kind::put;
  ReduceOp op = GOSS_SUM;          ///< accumulate.
  int target = -1;                 ///< Rank in the communicator; for a pairAverage not this rank.
  WindowRange range;               ///< Range of the target's memory; the caller has checked that the window holds it.
  void* buffer = nullptr;          ///< put, accumulate: only read.
  std::uint64_t shadow_offset = 0; ///< pairAverage: where the second range begins.
  double shadow_factor = 0;        ///< pairAverage: its factor; 0: there is none.
  std::int64_t timeout_ms = 0;
};

class WindowOperation;

/// What an operation needs of its window. Under the engine's lock where the name says so.
class WindowService {
 public:
  virtual ~WindowService() = default;
  [[nodiscard]] virtual const OperationEnvironment& environment() const = 0;
  [[nodiscard]] virtual const WindowMemory& memory() const = 0;
  [[nodiscard]] virtual Tag tag() const = 0;
  /// The rank that this one has made an offer of its elements, until the average takes place; -1: none.
  [[nodiscard]] virtual int engagedWithOnLoop() const GOSS_ON_LOOP = 0;
  /// Why `target` serves the window no more; ok while it does.
  [[nodiscard]] virtual const Status& leftOnLoop(int target) const GOSS_ON_LOOP = 0;
  /// Starts an operation, which may end at once.
  virtual void beginOnLoop(WindowOperation& operation) GOSS_ON_LOOP = 0;
  /// Gives the operation up: an answer that arrives later does not complete it.
  virtual void forgetOnLoop(WindowOperation& operation) GOSS_ON_LOOP = 0;
};

/// A failure of one leaves the communicator usable. A put or an accumulate ends when its bytes have left the buffer,
/// the others with the target's answer.
class WindowOperation final : public Operation, private SendOperation {
 public:
  /// The window lives as long as the operation is active.
  WindowOperation(WindowService& window, const WindowCall& call);
  ~WindowOperation() override;

  void startOnLoop() GOSS_ON_LOOP override;
  void advanceOnLoop() GOSS_ON_LOOP override;
  void withdrawOnLoop() GOSS_ON_LOOP override;
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] std::vector<int> waitingForRanks() const GOSS_ON_LOOP override;

  [[nodiscard]] const WindowService& window() const { return window_; }
  [[nodiscard]] const WindowCall& call() const { return call_; }
  /// Where an answer's elements go.
  [[nodiscard]] std::byte* answerBuffer() {
    return theirs_.empty() ? static_cast<std::byte*>(call_.buffer) : theirs_.data();
  }
  /// The elements of the partner of a pairAverage; taken once.
  [[nodiscard]] std::vector<std::byte> takeTheirs() { return std::move(theirs_); }

  /// Number of the question that it has asked a rank; 0: none.
  std::uint32_t serial = 0;

  /// Called by the window: sends the elements.
  void sendOnLoop(const WindowMessage& what) GOSS_ON_LOOP;
  /// Called by the window: the operation is over.
  void endOnLoop(const Status& status) GOSS_ON_LOOP;

 private:
  void onSent(const Status& status) GOSS_ON_LOOP override;
  void endByLinkOnLoop(const Status& status) GOSS_ON_LOOP;

  WindowService& window_;
  const WindowCall call_;
  iovec piece_{};
  std::vector<std::byte> theirs_; ///< pairAverage: the partner's elements.
  bool started_ = false;          ///< The window knows the operation.
  bool posted_ = false;           ///< The transport has it.
  Status result_;
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_WINDOW_OPERATION_H_
