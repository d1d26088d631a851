/// Training steps of ranks that hold the whole model.
#ifndef GOSS_TRAINER_LOOP_REPLICA_ENGINE_H_
#define GOSS_TRAINER_LOOP_REPLICA_ENGINE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "trainer/base/share.h"
#include "trainer/loop/step_engine.h"
#include "trainer/model/gpt.h"
#include "trainer/model/gradient_tree.h"
#include "trainer/model/optimizer.h"
#include "trainer/ranks/replicas.h"

namespace goss::trainer {

/// The global batch is cut into micro-batches, and each rank gets a contiguous share of these. Replicas keeps the
/// ranks' copies of the model together. Among the G ranks that average their gradients, each computes the gradient of
/// (the sum of its token losses) * G / (their tokens), so that the mean over them is the gradient of their mean loss,
/// however uneven the shares. Losses are exchanged one by one and added in the order of the samples: given equal
/// parameters, the reported loss has the same bits for every number of ranks.
class ReplicaEngine : public StepEngine {
 public:
  /// Collective: checks that all ranks have the same options and data. The references must outlive the engine. Throws
  /// Error.
  ReplicaEngine(const TrainOptions& options, const Dataset& data, Group& group, Ops& ops, Report& report);

  [[nodiscard]] const ParameterTable& table() const override { return model_.table(); }
  [[nodiscard]] std::string sync() const override { return replicas_->spec(); }
  [[nodiscard]] std::string grid() const override;
  void start(const CheckpointStart& start) override;
  void reportStart() override;
  bool train() override;
  bool finishSteps() override;
  void synchronize() override;
  double validationLoss() override;
  /// The model with the moments, in host memory. Local.
  TrainingState state() override;
  [[nodiscard]] RankShare heldBy(int rank) const override {
    return {static_cast<std::size_t>(rank), model_.table().parameters()};
  }
  [[nodiscard]] bool keepsOwn() const override { return replicas_->hasLocalSteps(); }
  ReplicaState ownState() override;
  void finish() override;
  Gpt& model() override { return model_; }
  void describe() override;
  [[nodiscard]] std::string warning() const override;
  [[nodiscard]] ReplicaTraffic traffic() const { return replicas_->traffic(); }

 private:
  using Clock = std::chrono::steady_clock;
  void startReplicas(const SavedSync& saved);
  [[nodiscard]] float gradientScale() const;
  void checkAgreement();
  /// One optimiser step; false when the run should stop after it.
  bool trainStep();
  /// trainStep() for ranks of different speed, which meet at the ends of periods only.
  bool trainDynamicStep();
  bool meet();
  void computeGradient(std::span<double> losses);
  void reportLocalSteps();
  [[nodiscard]] bool stopsAtOnce() const;
  /// Waits for the losses of all steps but the last `behind`; false when the run should stop.
  bool takeLosses(std::size_t behind);
  /// Reports the steps whose losses were taken.
  void reportSteps();
  void backwardLast(std::size_t count);
  double updateParameters(double lr);
  void stepReplicas(bool is_end);
  /// Loss of each sample of one micro-batch, with its tokens loaded by `start_of` (sample number -> first token).
  std::vector<double> passForward(const Tokens& tokens, const std::vector<std::size_t>& starts, bool with_gradient);

  Gpt model_;
  Optimizer optimizer_;
  Share share_; // this rank's share of the micro-batches of a step
  GradientTree tree_;
  std::vector<float> host_parameters_; // [count] a copy, when the backend's memory is not the host's
  std::vector<float> host_gradient_;
  std::shared_ptr<Replicas> replicas_; // declared after the memory that it is lent
  float gradient_scale_;
  double slowness_; // factor of --slow
  /// What this rank did in a step, when ranks have different speeds.
  struct OwnStep {
    double loss = 0; // summed over its tokens
    double samples = 0;
    double lr = 0;
    double norm = 0;
    double seconds = 0;
  };
  std::vector<OwnStep> steps_since_meeting_; // steps since the ranks last met
  std::size_t computed_steps_ = 0;           // steps of this run that this rank computed
  double trained_samples_ = 0;               // samples of this run, over all ranks
  std::deque<StepRecord> unreported_;        // completed steps that were not reported, the oldest first
  std::size_t with_loss_ = 0;                // how many of these, from the first on, have their losses
  std::size_t last_step_ = std::numeric_limits<std::size_t>::max(); // where the run stops before its end
  std::vector<std::int32_t> inputs_;                                // [micro-batch, T]
  std::vector<std::int32_t> targets_;                               // [micro-batch, T]
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_LOOP_REPLICA_ENGINE_H_
