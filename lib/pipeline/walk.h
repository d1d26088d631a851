/// Runs all ranks' lists against each other, in an order that a real run could have.
#ifndef GOSS_LIB_PIPELINE_WALK_H_
#define GOSS_LIB_PIPELINE_WALK_H_

#include <functional>

#include "gossamer/status.h"
#include "pipeline/schedule.h"

namespace goss::pipeline {

/// Calls `visit` once for every action: a rank's actions in the order of its list, a receive after its send, and a
/// computation after the actions that it needs of a stage of the same rank. Sends do not wait; receives block their
/// rank, although they would not block in a runtime that posts them early. Errors: GOSS_ERR_INVALID_ARGUMENT that names
/// a rank and the action it is stuck at.
Status walk(const Schedule& schedule, const std::function<void(int rank, const Action& action)>& visit);

/// Numbers (kind, stage, micro-batch) without gaps, for tables.
class ActionIndex {
 public:
  explicit ActionIndex(const Schedule& schedule)
      : stages_(static_cast<std::size_t>(schedule.stages())),
        micro_batches_(static_cast<std::size_t>(schedule.micro_batches)) {}
  [[nodiscard]] std::size_t of(ActionKind kind, int stage, int micro_batch) const {
    return (static_cast<std::size_t>(kind) * stages_ + static_cast<std::size_t>(stage)) * micro_batches_ +
           static_cast<std::size_t>(micro_batch);
  }
  [[nodiscard]] std::size_t size() const { return 11 * stages_ * micro_batches_; }

 private:
  std::size_t stages_;
  std::size_t micro_batches_;
};

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_WALK_H_
