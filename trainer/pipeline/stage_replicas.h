/// The synchronizer between the islands of a pipeline run: it joins each rank's stages with the same stages of other
/// islands.
#ifndef GOSS_TRAINER_PIPELINE_STAGE_REPLICAS_H_
#define GOSS_TRAINER_PIPELINE_STAGE_REPLICAS_H_

#include <string>
#include <vector>

#include "trainer/pipeline/pipeline_rank.h"
#include "trainer/ranks/library_replicas.h"

namespace goss::trainer {

/// Forwards the events of Replicas for the stages of one rank. Collective over the ranks that hold the same stages.
/// Where the backend's memory is not the host's, parameters and gradients are staged through the host. One thread.
class StageReplicas {
 public:
  /// Collective. `across`, `stages` and `ops` must outlive this object. Throws Error.
  StageReplicas(goss_comm_t across, const std::string& spec, PipelineRank& stages, Ops& ops);
  /// Collective, once, as Replicas::start.
  std::string start(const SavedSync& saved);
  /// As Replicas::state.
  [[nodiscard]] std::string state() { return replicas_.state(); }

  [[nodiscard]] std::string spec() const { return replicas_.spec(); }
  /// Whether islands differ between exchanges: in parameters, or in what codecs keep.
  [[nodiscard]] bool hasLocalSteps() const { return replicas_.hasLocalSteps(); }
  /// As Replicas::givesSigns.
  [[nodiscard]] bool givesSigns() const { return replicas_.givesSigns(); }
  [[nodiscard]] ReplicaTraffic traffic() const { return replicas_.traffic(); }
  [[nodiscard]] std::string missedExchanges() const { return trainer::missedExchanges(replicas_); }
  void setLr(double lr) { replicas_.setLr(lr); }
  /// Called after a step's gradients: replaces them by those that the optimizer is to see.
  void gradients();
  /// Called after the optimizer: may change the parameters.
  void step();
  /// Afterwards all islands hold the same parameters.
  void finish();
  void abort(const std::string& reason) noexcept { replicas_.abort(reason); }

 private:
  /// A host copy of one stage's parameters and gradient, where the backend keeps them elsewhere.
  struct HostCopy {
    std::vector<float> parameters;
    std::vector<float> gradient;
  };
  void download();
  void upload();

  PipelineRank& stages_;
  Ops& ops_;
  std::vector<HostCopy> copies_; // [stage of this rank], or empty
  LibraryReplicas replicas_;     // declared after the memory that it is lent
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_PIPELINE_STAGE_REPLICAS_H_
