/// The windows of a communicator, and the calls that use them.
#ifndef GOSS_LIB_COMMUNICATOR_WINDOWS_H_
#define GOSS_LIB_COMMUNICATOR_WINDOWS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/requests.h"
#include "engine/operation_environment.h"
#include "platform/thread_safety.h"
#include "runner/collective_runner.h"
#include "windows/window.h"
#include "windows/window_operation.h"

namespace goss {

/// Thread-safe where not marked OnLoop; OnLoop functions need the engine's lock.
class Windows {
 public:
  /// What a rank gives to a window.
  struct Part {
    void* data = nullptr;
    std::uint64_t count = 0;
    DType dtype = GOSS_INT8;
  };

  /// The arguments outlive it.
  Windows(const OperationEnvironment& environment, Requests& requests, CollectiveRunner& collectives)
      : environment_(environment), requests_(requests), collectives_(collectives) {}

  /// Collective. Error: mismatch, on all ranks, where the parts differ in count or dtype; the communicator goes on.
  Result<Window*> create(const Part& part, std::int64_t timeout_ms);
  /// Collective. Error, and the window stays: invalidArgument, while this rank holds a lock or has an operation that is
  /// not over. In every other case the window is freed, even if the status is an error, and `window` becomes null.
  Status free(Window*& window);
  void closeAllOnLoop() GOSS_ON_LOOP;

  /// Blocks until the operation is over.
  Status run(Window& window, const WindowCall& call);
  /// Starts an operation; the caller holds it.
  Result<Operation*> start(Window& window, const WindowCall& call);
  /// Blocks until every rank has served what this one has sent to it.
  Status flushAll(Window& window, std::int64_t timeout_ms);
  /// As goss_window_lock and goss_window_unlock.
  Status lock(Window& window, int target, std::int64_t timeout_ms);
  Status unlock(Window& window, int target);
  [[nodiscard]] std::uint64_t version(const Window& window, int origin);

 private:
  [[nodiscard]] Status checkFree(const Window& window);

  const OperationEnvironment environment_;
  Requests& requests_;
  CollectiveRunner& collectives_;
  std::uint32_t last_number_ GOSS_GUARDED = 0; ///< Ranks create windows in the same order, so they agree.
  std::vector<std::unique_ptr<Window>> open_ GOSS_GUARDED;
};

} // namespace goss

#endif // GOSS_LIB_COMMUNICATOR_WINDOWS_H_
