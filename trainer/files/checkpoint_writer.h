/// Checkpoints written in the background, while training goes on.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include "trainer/files/checkpoint.h"

namespace goss::trainer {

/// Owns a thread while a checkpoint is being written, one at a time. All calls come from one other thread.
class CheckpointWriter {
 public:
  /// `config` and `table` must outlive the writer; nobody else uses `store` meanwhile.
  CheckpointWriter(CheckpointStore store, const ModelConfig& config, const ParameterTable& table);
  /// Waits for the checkpoint that is being written; a failure is lost, so call finish() where it matters.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// May be used while nothing is being written.
  CheckpointStore& store() { return store_; }
  /// Starts writing `state`, which stays in memory until it is written. Only after finish().
  void start(TrainingState state);
  /// The step whose checkpoint was completed since the last call of poll() or finish(). Throws the store's Error when
  /// writing has failed. Never waits.
  std::optional<std::size_t> poll();
  /// As poll, after waiting for the checkpoint that is being written.
  std::optional<std::size_t> finish();

 private:
  CheckpointStore store_;
  const ModelConfig& config_;
  const ParameterTable& table_;
  std::size_t step_ = 0;
  std::string error_;                // belongs to the thread until it is joined
  std::atomic<bool> is_done_{false}; // the thread is about to end
  std::thread thread_;               // joinable until poll() or finish() has collected its result
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
