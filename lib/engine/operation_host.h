/// The interface through which the engine and operations use the communicator of an operation.
#ifndef GOSS_LIB_ENGINE_OPERATION_HOST_H_
#define GOSS_LIB_ENGINE_OPERATION_HOST_H_

#include "gossamer/message.h"
#include "gossamer/status.h"
#include "platform/thread_safety.h"

namespace goss {

class Operation;

/// Outlives its operations; two operations of one communicator have the same host. The engine calls these functions
/// under its lock and only for rare events: frequent ones, such as a completion, use no virtual call.
class OperationHost {
 public:
  OperationHost(const OperationHost&) = delete;
  OperationHost& operator=(const OperationHost&) = delete;

  /// The deadline of an active operation has passed. The host completes the operation with an error.
  virtual void expired(Operation& operation) GOSS_ON_LOOP = 0;
  /// An active operation cannot go on, because of `status`. The host completes the operation with this error.
  virtual void failed(Operation& operation, const Status& status) GOSS_ON_LOOP = 0;
  /// An active operation has waited until its next probe: the host asks the ranks that it waits for whether they live,
  /// and sets the time of the next probe.
  virtual void probeDue(Operation& operation, TimePoint now) GOSS_ON_LOOP = 0;
  /// An unposted receive becomes an ordinary operation: the host binds and starts it, or completes it with an error.
  virtual void startUnposted(Operation& operation) GOSS_ON_LOOP = 0;

 protected:
  OperationHost() = default;
  ~OperationHost() = default;
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_OPERATION_HOST_H_
