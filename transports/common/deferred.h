/// Operations that failed when they were posted, kept until progress() may report it.
#ifndef GOSS_TRANSPORTS_COMMON_DEFERRED_H_
#define GOSS_TRANSPORTS_COMMON_DEFERRED_H_

#include <utility>
#include <vector>

#include "gossamer/message.h"

namespace goss::transports {

/// Callbacks come only out of progress(), so send() and recv() on a lost peer park their operation here. One per
/// transport; one thread. It may allocate, because only errors take this path.
class Deferred {
 public:
  void add(SendOperation& operation, Status status) { sends_.emplace_back(&operation, std::move(status)); }
  void add(RecvOperation& operation, Status status) { recvs_.emplace_back(&operation, std::move(status)); }
  /// Forgets the operation, if it is here.
  void cancel(SendOperation& operation);
  void cancel(RecvOperation& operation);
  [[nodiscard]] bool empty() const { return sends_.empty() && recvs_.empty(); }
  /// Completes all operations; called out of progress(). Returns whether there was one. Callbacks may add and cancel.
  bool drain();

 private:
  std::vector<std::pair<SendOperation*, Status>> sends_;
  std::vector<std::pair<RecvOperation*, Status>> recvs_;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_DEFERRED_H_
