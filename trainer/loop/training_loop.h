/// The training loop, the same on every rank.
#ifndef GOSS_TRAINER_LOOP_TRAINING_LOOP_H_
#define GOSS_TRAINER_LOOP_TRAINING_LOOP_H_

#include <cstdint>
#include <vector>

#include "trainer/loop/step_engine.h"
#include "trainer/run/run_checkpoints.h"

namespace goss::trainer {

/// Runs the steps, validations and checkpoints of a run, generates its sample and writes its run card. One thread.
class TrainingLoop {
 public:
  /// Collective: loads the checkpoint if the options ask for one. `engine` must outlive the loop. Throws Error.
  explicit TrainingLoop(StepEngine& engine);

  /// Collective: trains to the last step or the time limit, with validation, checkpoints and a sample on the way.
  /// Throws Error.
  void run();
  /// Mean loss of each step of this run, in nats a token.
  [[nodiscard]] const std::vector<double>& lossHistory() const { return run_.card.losses; }

 private:
  /// Calls `exchange`, and counts its traffic on the card as that of checkpoints.
  template <typename Exchange>
  auto countedForCheckpoints(const Exchange& exchange) {
    const std::uint64_t sent = run_.group.bytesSent(), received = run_.group.bytesReceived();
    auto result = exchange();
    run_.card.checkpoint_bytes += run_.group.bytesSent() - sent;
    run_.card.checkpoint_bytes_received += run_.group.bytesReceived() - received;
    return result;
  }
  [[nodiscard]] CheckpointSetting checkpointSetting() const { return {run_.settings, engine_.sync(), engine_.grid()}; }
  void trainAll();
  bool trainStep();
  void validate();
  void saveCheckpoint();
  void finish(bool is_stopped);
  void printSample();
  void finishCard();

  StepEngine& engine_;
  TrainingRun& run_;                 // owned by the engine
  std::vector<std::int32_t> prompt_; // tokens that the sample continues
  RunCheckpoints checkpoints_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_LOOP_TRAINING_LOOP_H_
