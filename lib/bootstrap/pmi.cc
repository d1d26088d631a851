#include "bootstrap/pmi.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <string_view>

#include "base/hex.h"
#include "bootstrap/launcher_variables.h"
#include "platform/clock.h"
#include "platform/host.h"

namespace goss {

namespace {

Status cannotMeet(std::string_view why) { return launcherError("PMI", why); }

/// The client's side of PMI-1: lines of "key=value" words, one answer for each question.
class PmiClient {
 public:
  PmiClient(int fd, std::int64_t timeout_ms)
      : fd_(fd), deadline_(platform::Deadline::after(std::chrono::milliseconds(timeout_ms))) {}

  /// Sends a question and returns the answer, whose command must be `answer`, and whose rc must be 0 where it has one.
  Result<std::string> ask(std::string question, std::string_view answer) {
    question += '\n';
    for (std::size_t at = 0; at < question.size();) {
      const ssize_t sent = ::send(fd_, question.data() + at, question.size() - at, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return cannotMeet("the launcher does not listen on PMI_FD, or MPI has been finalised");
      at += static_cast<std::size_t>(sent);
    }
    auto line = readLine();
    if (!line.isOk()) return line;
    const auto rc = field(line.value(), "rc");
    if (field(line.value(), "cmd") != answer || (!rc.empty() && rc != "0"))
      return cannotMeet(fmt::format("it answers \"{}\"", line.value()));
    return line;
  }

  static std::string field(std::string_view line, std::string_view key) {
    while (!line.empty()) {
      const std::string_view word = line.substr(0, line.find(' '));
      if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
        return std::string(word.substr(key.size() + 1));
      line.remove_prefix(std::min(line.size(), word.size() + 1));
    }
    return {};
  }

 private:
  static constexpr std::size_t kMaxLineBytes = 4096;

  /// Reads a byte at a time: bytes behind the line may be for MPI, which uses the same descriptor.
  Result<std::string> readLine() {
    std::string line;
    while (line.size() < kMaxLineBytes) {
      pollfd readable{fd_, POLLIN, 0};
      const int found = ::poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(deadline_.leftMs(), 60000)));
      if (found == 0 && deadline_.expired()) return cannotMeet("not all processes of the job have come in time");
      if (found <= 0) continue;
      char byte = 0;
      const ssize_t got = ::read(fd_, &byte, 1);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return cannotMeet("the launcher has closed PMI_FD");
      if (byte == '\n') return line;
      line += byte;
    }
    return cannotMeet("it sends a line without an end");
  }

  int fd_;
  platform::Deadline deadline_;
};

/// This process's session with PMI and the number of worlds met through it. The launcher takes the exit of a process
/// that has not sent "finalize" for a crash, and answers no process that has, so "finalize" is sent when the process
/// exits.
class PmiSession {
 public:
  /// The session of this process, which has one descriptor.
  static PmiSession& ofProcess() {
    static PmiSession session;
    return session;
  }

  /// Rank 0 publishes `value`, and every rank gets it after the barrier. One thread at a time.
  Result<std::string> exchange(PmiClient& pmi, int fd, int rank, const std::string& value) {
    const std::lock_guard lock(mutex_);
    if (owner_ != 0 && !isStillOpen()) return cannotMeet("MPI has been finalised");
    if (failed_) return cannotMeet("an earlier meeting failed half way");
    auto met = meet(pmi, fd, rank, value);
    failed_ = !met.isOk(); // An answer may still come, which the next question would take for its own.
    return met;
  }

  PmiSession(const PmiSession&) = delete;
  PmiSession& operator=(const PmiSession&) = delete;

 private:
  PmiSession() = default;
  ~PmiSession() {
    constexpr std::int64_t kFarewellMs = 1000;
    // A forked child that exits must not finalize for its parent. MPI may have finalized already.
    if (owner_ == platform::processId() && isStillOpen())
      (void)PmiClient(fd_, kFarewellMs).ask("cmd=finalize", "finalize_ack");
  }

  Result<std::string> meet(PmiClient& pmi, int fd, int rank, const std::string& value) {
    // MPI may have initialised PMI on the same descriptor, or may later: initialising twice is harmless.
    auto started = pmi.ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    if (!started.isOk()) return started;
    struct stat file {};
    if (::fstat(fd, &file) != 0) return cannotMeet("PMI_FD is closed");
    owner_ = platform::processId();
    fd_ = fd;
    device_ = file.st_dev;
    inode_ = file.st_ino;
    auto named = pmi.ask("cmd=get_my_kvsname", "my_kvsname");
    if (!named.isOk()) return named;
    const std::string space = PmiClient::field(named.value(), "kvsname");
    // A key can be published once, so the worlds of one job use different keys; all ranks make the worlds in the same
    // order.
    const std::string key = fmt::format("gossamer-world-{}", worlds_++);
    if (rank == 0) {
      auto put = pmi.ask(fmt::format("cmd=put kvsname={} key={} value={}", space, key, value), "put_result");
      if (!put.isOk()) return put;
    }
    auto all = pmi.ask("cmd=barrier_in", "barrier_out");
    if (!all.isOk()) return all;
    auto got = pmi.ask(fmt::format("cmd=get kvsname={} key={}", space, key), "get_result");
    if (!got.isOk()) return got;
    return PmiClient::field(got.value(), "value");
  }

  /// MPI closes the descriptor when it is finalised, and another file may have its number by then.
  [[nodiscard]] bool isStillOpen() const {
    struct stat file {};
    return ::fstat(fd_, &file) == 0 && file.st_dev == device_ && file.st_ino == inode_;
  }

  std::mutex mutex_;
  std::int64_t owner_ = 0; ///< The process that initialised PMI; 0: none has.
  int fd_ = -1;
  dev_t device_ = 0; ///< Device of the file fd_; inode_ is its inode.
  ino_t inode_ = 0;
  unsigned worlds_ = 0;
  bool failed_ = false;
};

} // namespace

Result<goss_unique_id> exchangeThroughPmi(int fd, int rank, std::int64_t timeout_ms,
                                          const std::function<Result<goss_unique_id>()>& make) {
  constexpr std::string_view kNone = "none";
  std::string value(kNone);
  Status made;
  if (rank == 0) {
    const auto id = make();
    made = id.status();
    // The other ranks wait in the barrier whatever happens here, and get an empty value when there is no id.
    if (id.isOk()) value = base::toHex({id.value().bytes, sizeof id.value().bytes});
  }
  PmiClient pmi(fd, timeout_ms);
  const auto got = PmiSession::ofProcess().exchange(pmi, fd, rank, value);
  if (!made.isOk()) return made;
  if (!got.isOk()) return got.status();
  if (got.value() == kNone) return cannotMeet("rank 0 could not listen and has told why");
  goss_unique_id id;
  const std::string bytes = base::fromHex(got.value());
  if (bytes.size() != sizeof id.bytes) return cannotMeet("rank 0 published something else");
  bytes.copy(id.bytes, sizeof id.bytes);
  return id;
}

} // namespace goss
