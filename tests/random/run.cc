#include "tests/random/run.h"

#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/random/lane_run.h"
#include "tests/support/environment.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {

namespace {

/// After these a hang has a name. Busy machines and sanitizers need a part of them.
constexpr std::int64_t kTimeoutMs = 30000;
constexpr std::int64_t kMismatchTimeoutMs = 20000;

/// The first of all failures: the others follow from it.
class Verdict {
 public:
  void add(int rank, const std::string& failure) {
    const std::lock_guard lock(mutex_);
    if (first_.empty() && !failure.empty()) first_ = "rank " + std::to_string(rank) + ", " + failure;
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return first_;
  }

 private:
  std::mutex mutex_;
  std::string first_;
};

RanksSetup setupFor(const Program& program, const std::string& transport, std::int64_t timeout_ms) {
  RanksSetup setup;
  setup.ranks = program.ranks;
  setup.transport = transport;
  setup.timeout_ms = timeout_ms;
  setup.connections_per_peer = program.connections;
  return setup;
}

void setEnvironment(ScopedEnvironment& environment, const Program& program) {
  for (const auto& [name, value] : program.environment)
    environment.set(name, value);
}

/// Random draws for things that a rank may do differently from the others.
std::uint64_t mannerOf(const Program& program, int rank, std::size_t lane) {
  return program.seed * 1000 + static_cast<std::uint64_t>(rank) * 10 + lane;
}

void runRank(const Program& program, goss_comm_t world, int rank, Verdict& verdict) {
  std::vector<goss_comm_t> comms{world};
  for (std::size_t lane = 1; lane < program.lanes.size(); ++lane) {
    comms.push_back(nullptr);
    if (goss_comm_dup(world, &comms.back()) != GOSS_SUCCESS) return verdict.add(rank, goss_last_error());
  }
  const auto runLane = [&](std::size_t lane) {
    const std::string failure = LaneRun(program.lanes[lane], comms[lane], mannerOf(program, rank, lane)).run();
    if (!failure.empty()) verdict.add(rank, "thread " + std::to_string(lane) + " " + failure);
  };
  std::vector<std::thread> threads;
  for (std::size_t lane = 1; lane < program.lanes.size(); ++lane)
    threads.emplace_back(runLane, lane);
  runLane(0);
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t lane = 1; lane < program.lanes.size(); ++lane) {
    if (goss_comm_destroy(comms[lane]) != GOSS_SUCCESS) verdict.add(rank, goss_last_error());
  }
}

/// How one rank of a mismatch ended.
struct End {
  goss_status status = GOSS_SUCCESS;
  std::string error; ///< The text of the call that failed.
  std::string text;  ///< The failure, of a call or of a result.
};

std::string judge(const std::vector<End>& ends, int accused) {
  std::string text;
  bool good = true;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    const End& end = ends[rank];
    const bool names = end.error.find("rank " + std::to_string(accused)) != std::string::npos;
    good = good && end.status == GOSS_ERR_MISMATCH && names;
    text += "\n  rank " + std::to_string(rank) + ": " + (end.text.empty() ? "success" : end.text);
  }
  return good ? "" : text + "\n  all should tell of a mismatch with rank " + std::to_string(accused);
}

} // namespace

std::string run(const Program& program, const std::string& transport) {
  ScopedEnvironment environment;
  setEnvironment(environment, program);
  Verdict verdict;
  runRanks(setupFor(program, transport, kTimeoutMs),
           [&](goss_comm_t world, int rank) { runRank(program, world, rank, verdict); });
  return verdict.text();
}

std::string runMismatch(const Mismatch& mismatch, const std::string& transport) {
  const Program& program = mismatch.program;
  ScopedEnvironment environment;
  setEnvironment(environment, program);
  std::vector<End> ends(static_cast<std::size_t>(program.ranks));
  runRanks(setupFor(program, transport, kMismatchTimeoutMs), [&](goss_comm_t world, int rank) {
    const Lane lane = mismatch.laneOf(rank);
    LaneRun run(lane, world, mannerOf(program, rank, 0));
    if (rank == mismatch.alteration.rank) run.leaveUnchecked(mismatch.alteration.step, lane.size() - mismatch.closing);
    End& end = ends[static_cast<std::size_t>(rank)];
    end.text = run.run();
    end.status = run.status();
    end.error = run.error();
  });
  return judge(ends, mismatch.accused);
}

} // namespace goss::test
