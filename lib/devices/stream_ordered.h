/// A call that is a part of its caller's stream, as the starting thread sees it.
#ifndef GOSS_LIB_DEVICES_STREAM_ORDERED_H_
#define GOSS_LIB_DEVICES_STREAM_ORDERED_H_

#include <cstdint>

#include "gossamer/status.h"
#include "platform/thread_safety.h"

namespace goss {

/// Whether the handle is cudaStreamPerThread, which stands for a different stream in each thread.
inline bool isStreamOfThread(const void* stream) { return reinterpret_cast<std::uintptr_t>(stream) == 2; }

/// The thread that starts it calls these at each start, without the engine's lock: where streams are made synchronous,
/// enqueuing returns only when the loop has turned. Failures to enqueue fail the call.
class StreamOrdered {
 public:
  virtual ~StreamOrdered() = default;
  /// Before the start: waits for what the call must come behind, and gets its memory; Devices::prepare(). May block.
  /// `in_group`: the start is in an open group of calls.
  [[nodiscard]] virtual Status prepare(bool in_group) = 0;
  /// Called with the engine's lock before a start in an open group, because a persistent call may have been created
  /// outside of one. From then on the call always counts as a call of a group.
  virtual void joinGroupOnLoop() GOSS_ON_LOOP {}
  /// Enqueues the first part: what comes from the caller's buffers.
  virtual void enqueueArrivals() = 0;
  /// Enqueues the rest; in a group of calls, after the first parts of all of them.
  virtual void enqueueGates() = 0;
  /// Whether enqueueGates() has still to end: until then the call must live. False for a call that failed as it
  /// started.
  [[nodiscard]] virtual bool isEnqueuing() const = 0;
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_STREAM_ORDERED_H_
