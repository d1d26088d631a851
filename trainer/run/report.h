/// What a run reports to its user: progress lines on the terminal, one JSON object a line in the log, a row in a table.
#ifndef GOSS_TRAINER_RUN_REPORT_H_
#define GOSS_TRAINER_RUN_REPORT_H_

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

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
  /// Either path may be empty; both files are appended to, without a last line that was cut off. `csv_path` names a
  /// table in CSV form, with a row for each step and each validation. Throws Error when a file cannot be opened, or
  /// when `csv_path` has another first line.
  explicit Report(bool is_active, const std::string& log_path = "", const std::string& csv_path = "");

  /// Prints a line of text for the user.
  void note(const std::string& text);
  /// `settings` is a JSON text (trajectorySettings).
  void begin(const RunShape& shape, const std::string& settings);
  void step(const StepRecord& record);
  void validation(std::size_t step, double loss);
  void checkpoint(std::size_t step);
  void sample(const std::string& prompt, const std::string& text);

 private:
  /// A file to which whole lines are appended; without a path it takes none.
  class LineFile {
   public:
    LineFile(const std::string& path, std::string_view begins);
    void append(const std::string& line);

   private:
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
    std::string path_;
  };

  bool is_active_;
  LineFile log_;
  LineFile csv_;
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
