/// What goss-tune has measured so far: told once a second, and written whatever happens.
#ifndef GOSS_BENCH_TUNE_NOTEBOOK_H_
#define GOSS_BENCH_TUNE_NOTEBOOK_H_

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

namespace goss::bench {

/// A number with three digits: more would be noise in a file.
double rounded(double value);

/// Rank 0's writes the file and says on standard error how far it is; those of the others are silent. A thread of its
/// own ends the process, having written what there is, when the time is over or SIGINT or SIGTERM comes: a rank that
/// waits for others can do neither. Thread-safe.
class Notebook {
 public:
  /// This thread, and those that it makes from now on, leave SIGINT and SIGTERM to the notebook.
  Notebook(std::string path, double seconds);
  ~Notebook();
  Notebook(const Notebook&) = delete;
  Notebook& operator=(const Notebook&) = delete;

  /// The ranks have met, and the time begins. Throws std::runtime_error on rank 0 when there is a file that is no
  /// tuning file.
  void begin(int rank, int ranks);
  /// What is done now, for who watches.
  void say(std::string doing);
  /// A figure of a level of the machine, such as "network" and "latency_s".
  void noteLink(const std::string& level, const std::string& key, double value);
  void noteCpu(const std::string& key, double value);
  /// Seconds until rank 0 is ended.
  [[nodiscard]] double left_s() const;
  /// Writes the file, if there is a figure, and prints it. The levels that it had and that were not measured stay.
  /// Throws std::runtime_error.
  void write();

 private:
  void watch();
  void look(int signal);
  void end(const std::string& why, int status);
  void writeLocked();
  [[nodiscard]] double spent_s() const;

  const std::string path_;
  const double seconds_;
  mutable std::mutex mutex_; ///< Of all below.
  int rank_ = -1;            ///< -1: they have not met.
  std::chrono::steady_clock::time_point start_;
  nlohmann::ordered_json file_; ///< What it will hold.
  std::string doing_;
  bool has_figures_ = false;
  bool over_ = false;
  double told_s_ = 0;
  std::thread watcher_;
};

} // namespace goss::bench

#endif // GOSS_BENCH_TUNE_NOTEBOOK_H_
