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
  /// Waits for what is being written; a failure is lost, so call finish() where it matters.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// While nothing is being written.
  CheckpointStore& store() { return store_; }
  /// Takes the state, which costs its memory until it is written. Only after finish().
  void start(TrainingState state);
  /// The step whose checkpoint has become whole since the last call of this or finish(). Throws the store's Error when
  /// it has failed. Never waits.
  std::optional<std::size_t> poll();
  /// As poll, after waiting for what is being written.
  std::optional<std::size_t> finish();

 private:
  CheckpointStore store_;
  const ModelConfig& config_;
  const ParameterTable& table_;
  std::size_t step_ = 0;
  std::string error_;                // the thread's until it is joined
  std::atomic<bool> is_done_{false}; // the thread is about to end
  std::thread thread_;               // joinable until what it did has been collected
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
