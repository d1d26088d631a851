// The transports' suite over MPI: started by mpirun, ranks are its processes, and every test runs in all of them.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/transports/conformance/board.h"
#include "tests/transports/conformance/harness.h"
#include "transports/mpi/mpi.h"

namespace goss::tests {

namespace {

using Clock = std::chrono::steady_clock;

/// State that the processes share in all tests.
struct Hall {
  std::atomic<int> arrived{0};
  pid_t pids[Board::kMaxRanks]{};
  alignas(Board) std::byte board[sizeof(Board)];
};

class Job {
 public:
  Job() {
    int level = 0;
    const bool multiple = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS;
    if (!multiple || level < MPI_THREAD_MULTIPLE) std::abort();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    void* memory = nullptr;
    MPI_Win_allocate_shared(rank_ == 0 ? sizeof(Hall) : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window_);
    MPI_Aint bytes = 0;
    int unit = 0;
    MPI_Win_shared_query(window_, 0, &bytes, &unit, &memory);
    hall_ = rank_ == 0 ? new (memory) Hall : static_cast<Hall*>(memory);
    MPI_Barrier(MPI_COMM_WORLD);
    hall_->pids[rank_] = ::getpid();
  }
  ~Job() {
    meet();
    MPI_Win_free(&window_);
    MPI_Finalize();
  }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  /// The program's only run is one in which processes die: MPI cannot be finalised then.
  void endAfterDeath() { ends_early_ = true; }
  [[nodiscard]] bool endsEarly() const { return ends_early_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] const Hall& hall() const { return *hall_; }
  /// Waits for all processes without MPI, which would spin.
  void meet() {
    ++meetings_;
    hall_->arrived.fetch_add(1);
    const auto end = Clock::now() + std::chrono::seconds(120);
    while (hall_->arrived.load() < meetings_ * size_) {
      ::usleep(200);
      if (Clock::now() < end) continue;
      std::fprintf(stderr, "process %d waits in vain for the others\n", rank_);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  /// Between two meetings: the board of a new run.
  Board& newBoard(int ranks) {
    if (ranks > size_) std::abort();
    meet();
    auto* board = reinterpret_cast<Board*>(hall_->board);
    if (rank_ == 0) {
      board = new (hall_->board) Board;
      const auto now = Clock::now().time_since_epoch().count();
      std::memcpy(board->job.data(), &now, sizeof now);
    }
    meet();
    return *board;
  }

 private:
  int rank_ = 0;
  int size_ = 0;
  int meetings_ = 0;
  bool ends_early_ = false;
  MPI_Win window_ = MPI_WIN_NULL;
  Hall* hall_ = nullptr;
};

/// There is one for the program, because MPI can be initialised once.
Job& job() {
  static Job job;
  return job;
}

} // namespace

std::vector<TransportFactory> allTransports() {
  TransportFactory mpi{
      "mpi", [](const TransportContext& context) { return std::make_unique<transports::MpiTransport>(context); }, true};
  mpi.naps = true;
  return {mpi};
}

void runThreads(const TransportFactory& factory, int ranks, const std::function<void(Node&)>& body,
                const Config& config) {
  Board& board = job().newBoard(ranks);
  if (job().rank() >= ranks) return;
  Node node(factory, config, job().rank(), ranks, board);
  if (!node.connectAll()) return;
  body(node);
  node.barrier();
}

void runProcesses(const TransportFactory& factory, int ranks,
                  const std::function<void(Node&, const std::vector<pid_t>&)>& body, const std::vector<int>& killed,
                  const Config& config) {
  Board& board = job().newBoard(ranks);
  if (job().rank() >= ranks) return;
  if (!killed.empty()) job().endAfterDeath();
  const pid_t* pids = job().hall().pids;
  Node node(factory, config, job().rank(), ranks, board);
  if (node.connectAll()) body(node, {pids, pids + ranks});
}

} // namespace goss::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  goss::tests::job();
  const int result = RUN_ALL_TESTS();
  if (!goss::tests::job().endsEarly()) return result;
  std::fflush(nullptr);
  ::_exit(result);
}
