/// The figures that goss-tune has measured so far. goss-tune prints its progress once a second, and writes the file
/// also when it is ended early.
#ifndef GOSS_BENCH_TUNE_NOTEBOOK_H_
#define GOSS_BENCH_TUNE_NOTEBOOK_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>

namespace goss::bench {

/// `value` with three significant digits: further ones of a measurement are noise.
double rounded(double value);

/// Rank 0's notebook writes the file and prints the progress on standard error; the notebooks of the other ranks are
/// silent. Each has a thread of its own, because a rank that waits for another one cannot look at a clock: when the
/// time is over, or SIGINT or SIGTERM comes, this thread writes the figures that there are and ends the process.
/// Thread-safe.
class Notebook {
 public:
  /// The calling thread, and threads that it starts from now on, leave SIGINT and SIGTERM to the notebook.
  Notebook(std::string path, double seconds);
  ~Notebook();
  Notebook(const Notebook&) = delete;
  Notebook& operator=(const Notebook&) = delete;

  /// The ranks have met, and the time begins. Throws std::runtime_error on rank 0 when there is a file that is no
  /// tuning file.
  void begin(int rank, int ranks);
  /// Sets the name of the step that is measured now; rank 0 prints it once a second.
  void say(std::string doing);
  /// Keeps a figure of a level of the machine, such as "latency_s" of "network".
  void noteLink(const std::string& level, const std::string& key, double value);
  /// Keeps a figure of the processor.
  void noteCpu(const std::string& key, double value);
  /// Seconds until the notebook ends rank 0.
  [[nodiscard]] double left_s() const;
  /// Writes the file, if there is a figure, and prints it. Levels that this run has not measured stay in the file as
  /// they were. Throws std::runtime_error.
  void write();

 private:
  void watch();
  void look(int signal);
  void end(const std::string& why, int status);
  void writeLocked();
  [[nodiscard]] double spent_s() const;

  const std::string path_;
  const double seconds_;
  mutable std::mutex mutex_; ///< Guards the members below.
  int rank_ = -1;            ///< -1: the ranks have not met.
  std::chrono::steady_clock::time_point start_;
  const std::unique_ptr<nlohmann::ordered_json> file_; ///< The contents that write() writes.
  std::string doing_;
  bool has_figures_ = false;
  bool over_ = false;
  double told_s_ = 0;
  std::thread watcher_;
};

} // namespace goss::bench

#endif // GOSS_BENCH_TUNE_NOTEBOOK_H_
