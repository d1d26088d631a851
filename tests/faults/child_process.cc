#include "tests/faults/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

namespace goss::test {

using Clock = std::chrono::steady_clock;

namespace {

/// Ports of the established TCP connections of the process, own and remote, in hexadecimal digits.
std::set<std::pair<std::string, std::string>> connectionsOf(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  std::set<std::string> sockets;
  std::error_code ended;
  for (const auto& file : std::filesystem::directory_iterator(process + "/fd", ended))
    sockets.insert(std::filesystem::read_symlink(file, ended).string());
  std::set<std::pair<std::string, std::string>> found;
  for (const char* table : {"/net/tcp", "/net/tcp6"}) {
    std::ifstream lines(process + table);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream fields(line);
      std::string number, own, remote, state, skipped, inode;
      fields >> number >> own >> remote >> state;
      for (int i = 0; i < 5; ++i)
        fields >> skipped;
      fields >> inode;
      if (state == "01" && sockets.contains("socket:[" + inode + "]"))
        found.emplace(own.substr(own.find(':')), remote.substr(remote.find(':')));
    }
  }
  return found;
}

} // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    for (const std::string& setting : environment)
      ::putenv(const_cast<char*>(setting.c_str()));
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
}

ChildProcess::~ChildProcess() {
  if (!exit_code_.has_value()) {
    signal(SIGKILL);
    wait(std::chrono::seconds(10));
  }
  ::close(output_);
}

void ChildProcess::signal(int number) const {
  if (!exit_code_.has_value()) ::kill(pid_, number);
}

void ChildProcess::signalThreads(int number) const {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task"))
    ::syscall(SYS_tgkill, pid_, std::stoi(thread.path().filename().string()), number);
}

bool ChildProcess::isConnectedTo(const ChildProcess& other) const {
  const auto theirs = connectionsOf(other.pid_);
  for (const auto& [own, remote] : connectionsOf(pid_))
    if (theirs.contains({remote, own})) return true;
  return false;
}

std::optional<std::string> ChildProcess::readLine(std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  for (;;) {
    if (const auto newline = buffered_.find('\n'); newline != std::string::npos) {
      std::string line = buffered_.substr(0, newline);
      buffered_.erase(0, newline + 1);
      return line;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    pollfd waiting{output_, POLLIN, 0};
    if (left <= 0 || ::poll(&waiting, 1, static_cast<int>(left)) <= 0) return std::nullopt;
    char bytes[4096];
    const ssize_t got = ::read(output_, bytes, sizeof bytes);
    if (got <= 0) return std::nullopt;
    buffered_.append(bytes, static_cast<std::size_t>(got));
  }
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  while (!exit_code_.has_value()) {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      break;
    }
    if (Clock::now() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return exit_code_;
}

} // namespace goss::test
