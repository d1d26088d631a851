/// Runs jobs that write files in the background, while training goes on.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace goss::trainer {

/// Runs one job at a time, in a thread of its own. One thread makes all calls.
class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  /// Waits for the job that runs. Nobody learns of its failure, so call finish() where it matters.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Starts a job, which may throw. Only when none runs.
  void start(std::function<void()> job);
  /// Whether a job was completed since the last call of poll() or finish(). Throws Error when it has failed. Never
  /// waits.
  bool poll() { return is_done_ && finish(); }
  /// As poll, but waits for the job that runs.
  bool finish();

 private:
  std::string error_;                // written by the job's thread, read after it is joined
  std::atomic<bool> is_done_{false}; // the job has ended, and its thread is about to
  std::thread thread_;               // joinable until poll() or finish() has collected its result
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
