/// What a run reports to its user: progress lines on the terminal, one JSON object a line in the log.
#ifndef GOSS_TRAINER_RUN_REPORT_H_
#define GOSS_TRAINER_RUN_REPORT_H_

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

namespace goss::trainer {

struct StepRecord {
  std::size_t step = 0; // steps done, this one included
  double loss = 0;      // mean over the global batch, nats a token
  double lr = 0;
  double grad_norm = 0; // before clipping
  double seconds = 0;
  double share = 1; // part of the batch that was trained: ranks of different speed leave some of it out
};

struct RunShape {
  std::size_t total_steps = 1;
  std::size_t first_step = 0; // steps done before this run
  std::size_t tokens_per_step = 1;
  std::size_t print_every = 1;
  int ranks = 1;
};

/// Reports a run. Only rank 0's object is active; the others are silent. One thread.
class Report {
 public:
  /// `log_path` may be empty; the log is appended to. Throws Error when it cannot be opened.
  Report(bool is_active, const std::string& log_path);

  /// Prints a line of text for the user.
  void note(const std::string& text);
  /// `settings` is a JSON text (trajectorySettings).
  void begin(const RunShape& shape, const std::string& settings);
  void step(const StepRecord& record);
  void validation(std::size_t step, double loss);
  void checkpoint(std::size_t step);
  void sample(const std::string& prompt, const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void log(const std::string& line);

  bool is_active_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> log_;
  std::string log_path_;
  RunShape shape_;
  double run_seconds_ = 0;     // seconds of steps since begin
  double printed_seconds_ = 0; // seconds of steps since the last progress line
  double printed_tokens_ = 0;
  double left_out_tokens_ = 0; // tokens that ranks left out since begin
};

/// "1h02m", "3m05s" or "12s".
std::string formatDuration(double seconds);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_REPORT_H_
