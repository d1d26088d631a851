/// The synchronizer between the islands of a pipeline run: each rank's stages with the same stages of other islands.
#ifndef GOSS_TRAINER_PIPELINE_STAGE_REPLICAS_H_
#define GOSS_TRAINER_PIPELINE_STAGE_REPLICAS_H_

#include <string>
#include <vector>

#include "trainer/pipeline/pipeline_rank.h"
#include "trainer/ranks/library_replicas.h"

namespace goss::trainer {

/// The events of Replicas, for the stages of one rank. Collective over the ranks that hold the same stages. Where the
/// backend's memory is not the host's, parameters and gradients are staged through the host. One thread.
class StageReplicas {
 public:
  /// Collective. `across`, `stages` and `ops` must outlive this. Throws Error.
  StageReplicas(goss_comm_t across, const std::string& spec, PipelineRank& stages, Ops& ops);
  /// Collective, once, as Replicas::start.
  std::string start(const SavedSync& saved);
  /// As Replicas::state.
  [[nodiscard]] std::string state() { return replicas_.state(); }

  [[nodiscard]] std::string spec() const { return replicas_.spec(); }
  /// Whether islands have something of their own on the way: parameters, or what codecs keep.
  [[nodiscard]] bool hasLocalSteps() const { return replicas_.hasLocalSteps(); }
  /// As Replicas::givesSigns.
  [[nodiscard]] bool givesSigns() const { return replicas_.givesSigns(); }
  [[nodiscard]] ReplicaTraffic traffic() const { return replicas_.traffic(); }
  [[nodiscard]] std::string missedExchanges() const { return trainer::missedExchanges(replicas_); }
  void setLr(double lr) { replicas_.setLr(lr); }
  /// After a step's gradients: they become what the optimizer shall see.
  void gradients();
  /// After the optimizer: parameters may change.
  void step();
  /// All islands hold the same parameters afterwards.
  void finish();
  void abort(const std::string& reason) noexcept { replicas_.abort(reason); }

 private:
  /// One stage's parameters and gradient on the host, where the backend keeps them elsewhere.
  struct HostCopy {
    std::vector<float> parameters;
    std::vector<float> gradient;
  };
  void download();
  void upload();

  PipelineRank& stages_;
  Ops& ops_;
  std::vector<HostCopy> copies_; // [stage of this rank], or empty
  LibraryReplicas replicas_;     // after what it is lent
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_STAGE_REPLICAS_H_
