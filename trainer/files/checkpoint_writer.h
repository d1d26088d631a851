/// Files written in the background, while training goes on.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace goss::trainer {

/// Owns a thread while a job runs, one at a time. All calls come from one other thread.
class CheckpointWriter {
 public:
  CheckpointWriter() = default;
  /// Waits for the job that runs; a failure is lost, so call finish() where it matters.
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Starts a job, which may throw. Only when none runs.
  void start(std::function<void()> job);
  /// Whether a job was completed since the last call of poll() or finish(). Throws Error when it has failed. Never
  /// waits.
  bool poll() { return is_done_ && finish(); }
  /// As poll, after waiting for the job that runs.
  bool finish();

 private:
  std::string error_;                // belongs to the thread until it is joined
  std::atomic<bool> is_done_{false}; // the thread is about to end
  std::thread thread_;               // joinable until poll() or finish() has collected its result
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_WRITER_H_
