/// A descriptor that event loops watch for completed operations.
#ifndef GOSS_LIB_ENGINE_COMPLETION_SIGNAL_H_
#define GOSS_LIB_ENGINE_COMPLETION_SIGNAL_H_

#include <cstddef>
#include <memory>

#include "gossamer/status.h"
#include "platform/fd.h"
#include "platform/thread_safety.h"

namespace goss {

/// Polls readable while completed operations were not collected, or after stayRaised(). Each completion is an event for
/// edge-triggered watchers. Used under the engine's lock.
class CompletionSignal {
 public:
  /// Error: resource.
  static Result<std::unique_ptr<CompletionSignal>> create();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// An operation has completed.
  void add() GOSS_ON_LOOP;
  /// One of the completed operations was collected.
  void remove() GOSS_ON_LOOP;
  /// From now on the descriptor polls readable for good.
  void stayRaised() GOSS_ON_LOOP;

 private:
  explicit CompletionSignal(platform::UniqueFd fd) : fd_(std::move(fd)) {}

  platform::UniqueFd fd_;
  std::size_t uncollected_ GOSS_GUARDED = 0;
  bool stays_ GOSS_GUARDED = false;
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_COMPLETION_SIGNAL_H_
