// Ranks as threads of this process, and as its forked children.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/transports/conformance/board.h"
#include "tests/transports/conformance/harness.h"

namespace goss::tests {

namespace {

/// A Board in memory that forked children share.
class SharedBoard {
 public:
  SharedBoard() {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    board_ = new (memory) Board;
    // Runs on one machine at the same time must not meet.
    std::uint64_t words[2] = {static_cast<std::uint64_t>(::getpid()),
                              static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())};
    std::memcpy(board_->job.data(), words, sizeof words);
  }
  ~SharedBoard() { ::munmap(board_, sizeof(Board)); }
  SharedBoard(const SharedBoard&) = delete;
  SharedBoard& operator=(const SharedBoard&) = delete;
  Board& operator*() const { return *board_; }

 private:
  Board* board_;
};

} // namespace

void runThreads(const TransportFactory& factory, int ranks, const std::function<void(Node&)>& body,
                const Config& config) {
  SharedBoard board;
  std::vector<std::unique_ptr<Node>> nodes;
  for (int rank = 0; rank < ranks; ++rank) {
    nodes.push_back(std::make_unique<Node>(factory, config, rank, ranks, *board));
  }
  std::vector<std::thread> threads;
  for (auto& node : nodes) {
    threads.emplace_back([&] {
      if (!node->connectAll()) return;
      body(*node);
      node->barrier();
    });
  }
  for (std::thread& thread : threads)
    thread.join();
}

namespace {

[[noreturn]] void runChild(const std::function<void()>& body) {
  body();
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

void expectEnd(pid_t pid, int rank, bool killed) {
  int status = 0;
  for (int waited_ms = 0; ::waitpid(pid, &status, WNOHANG) == 0; ++waited_ms) {
    if (waited_ms == 30000) {
      ::kill(pid, SIGKILL);
      ADD_FAILURE() << "rank " << rank << " did not end";
    }
    ::usleep(1000);
  }
  if (killed) {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "rank " << rank << " was to be killed";
  } else {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "rank " << rank << " failed";
  }
}

} // namespace

void runProcesses(const TransportFactory& factory, int ranks,
                  const std::function<void(Node&, const std::vector<pid_t>&)>& body, const std::vector<int>& killed,
                  const Config& config) {
  SharedBoard board;
  auto run = [&](int rank, const std::vector<pid_t>& pids) {
    Node node(factory, config, rank, ranks, *board);
    if (node.connectAll()) body(node, pids);
  };
  std::vector<pid_t> pids{::getpid()};
  for (int rank = 1; rank < ranks; ++rank) {
    pid_t pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) runChild([&] { run(rank, {}); });
    pids.push_back(pid);
  }
  run(0, pids);
  for (int rank = 1; rank < ranks; ++rank) {
    expectEnd(pids[static_cast<std::size_t>(rank)], rank,
              std::find(killed.begin(), killed.end(), rank) != killed.end());
  }
}

} // namespace goss::tests
