/// Workers of different speed: how many of a period's steps each of them computes.
#ifndef GOSS_LIB_SYNC_LOCAL_STEPS_H_
#define GOSS_LIB_SYNC_LOCAL_STEPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/wire.h"

namespace goss::sync {

/// Dynamic local updates (DyLU; Liu et al., arXiv 2401.09135, section 4.2): of the H steps of a period, worker m
/// computes H_m = floor(v_m / max v * H), at least one, where v is the speed in the period before; in the first period
/// every worker computes all steps. The H_m steps are spread evenly over the period, so that learning rates and the
/// fragments of a stream treat every worker alike. In the paper differences go to a server one by one; here they are
/// averaged, weighted by the steps that they stand for. Every rank knows all workers' plans. A pure function of its
/// arguments.
class LocalSteps {
 public:
  /// `worker` is this rank's; a worker is a rank, or an island of ranks.
  LocalSteps(std::uint64_t period, std::size_t workers, std::size_t worker, std::size_t fragments);

  /// Whether this rank's worker computes the step after `done` steps of training.
  [[nodiscard]] bool computes(std::uint64_t done) const { return isPlanned(done, worker_); }
  /// The step after `done` steps is over.
  void advance(std::uint64_t done);
  /// The period is over, and a step took worker i seconds[i], which are positive.
  void plan(std::span<const double> seconds);
  /// The factor of this worker's difference of a fragment before the mean is taken, so that the mean over workers
  /// becomes the mean over their steps since the fragment's last call: 1 where all computed equally many.
  float takeWeight(std::size_t fragment);

  [[nodiscard]] std::uint64_t planned(std::size_t worker) const { return planned_[worker]; }
  [[nodiscard]] std::size_t workers() const { return planned_.size(); }
  void save(base::WireWriter& writer) const;
  /// False when the bytes belong to other workers, or are malformed.
  bool load(base::WireReader& reader);

 private:
  [[nodiscard]] bool isPlanned(std::uint64_t done, std::size_t worker) const;

  std::uint64_t period_;
  std::size_t worker_;
  std::vector<std::uint64_t> planned_;             // of the current period, by worker
  std::vector<std::vector<std::uint64_t>> window_; // [fragment][worker] steps computed since its last exchange
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_LOCAL_STEPS_H_
