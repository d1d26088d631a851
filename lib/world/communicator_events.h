/// The events that a world reports to its communicators.
#ifndef GOSS_LIB_WORLD_COMMUNICATOR_EVENTS_H_
#define GOSS_LIB_WORLD_COMMUNICATOR_EVENTS_H_

#include "gossamer/status.h"
#include "mesh/control.h"
#include "platform/thread_safety.h"

namespace goss {

/// Called under the engine's lock, and not out of a transport's callback. `rank` is one of the communicator.
class CommunicatorEvents {
 public:
  CommunicatorEvents(const CommunicatorEvents&) = delete;
  CommunicatorEvents& operator=(const CommunicatorEvents&) = delete;

  /// `rank` has sent a control message of this communicator.
  virtual void handleControl(int rank, const ControlMessage& message) GOSS_ON_LOOP = 0;
  /// The transport has lost `rank`. `departed`: it had said that it leaves, which is no failure by itself.
  virtual void handlePeerLost(int rank, const Status& status, bool departed) GOSS_ON_LOOP = 0;

 protected:
  CommunicatorEvents() = default;
  ~CommunicatorEvents() = default;
};

} // namespace goss

#endif // GOSS_LIB_WORLD_COMMUNICATOR_EVENTS_H_
