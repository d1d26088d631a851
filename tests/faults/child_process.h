/// A child process whose standard output the test reads line by line.
#ifndef GOSS_TESTS_FAULTS_CHILD_PROCESS_H_
#define GOSS_TESTS_FAULTS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace goss::test {

/// Killed and reaped by the destructor.
class ChildProcess {
 public:
  /// `environment`: NAME=VALUE, in addition to ours.
  ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void signal(int number) const;
  /// Sends a signal to each of its threads.
  void signalThreads(int number) const;
  /// Whether a TCP connection of this process leads to `other`, which runs on this host, too.
  [[nodiscard]] bool isConnectedTo(const ChildProcess& other) const;
  /// The next line of output, or nothing at the end of output or when `timeout` has passed.
  std::optional<std::string> readLine(std::chrono::milliseconds timeout);
  /// Exit code, or nothing when it still runs after `timeout`; 128 + signal when killed.
  std::optional<int> wait(std::chrono::milliseconds timeout);

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string buffered_;
  std::optional<int> exit_code_;
};

} // namespace goss::test

#endif // GOSS_TESTS_FAULTS_CHILD_PROCESS_H_
