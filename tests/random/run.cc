#include "tests/random/run.h"

#include <array>
#include <mutex>
#include <thread>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/random/generate.h"
#include "tests/random/lane_run.h"
#include "tests/random/work.h"
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

void runRank(const Program& program, goss_comm_t world, int rank, Verdict& verdict) {
  std::vector<goss_comm_t> comms{world};
  for (std::size_t lane = 1; lane < program.lanes.size(); ++lane) {
    comms.push_back(nullptr);
    if (goss_comm_dup(world, &comms.back()) != GOSS_SUCCESS) return verdict.add(rank, goss_last_error());
  }
  const auto runLane = [&](std::size_t lane) {
    const std::uint64_t manner = program.seed * 1000 + static_cast<std::uint64_t>(rank) * 10 + lane;
    const std::string failure = LaneRun(program.lanes[lane], comms[lane], manner).run();
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
  std::string text;  ///< Of the error.
  std::string wrong; ///< Not empty: a call succeeded with a wrong result.
};

/// Calls that match again, which nobody may get through: at first some that read nothing from most ranks.
Lane reductions() {
  Lane lane;
  for (const std::size_t count : {1U, 300U, 1U, 20000U, 1U, 1U}) {
    Step step;
    step.call.count = count;
    step.call.salt = 77 + lane.size();
    lane.push_back(step);
  }
  return lane;
}

/// Runs `lane` until a call fails. Results of the steps from `unchecked` on before `checked` are anybody's guess.
End runUntilFailure(const Lane& lane, goss_comm_t comm, std::size_t unchecked, std::size_t checked) {
  End end;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const std::unique_ptr<Work> work = makeWork(lane[i], comm, i);
    end.status = work->start(0, nullptr);
    end.text = end.status == GOSS_SUCCESS ? "" : work->describe() + ": " + goss_last_error();
    if (end.status != GOSS_SUCCESS) break;
    if (i >= unchecked && i < checked) continue;
    if (const std::string difference = work->difference(); !difference.empty())
      end.wrong += "step " + std::to_string(i) + ", " + work->describe() + ": " + difference + "; ";
  }
  return end;
}

std::string judge(const std::vector<End>& ends) {
  std::string text;
  bool named = false;
  bool good = true;
  for (std::size_t rank = 0; rank < ends.size(); ++rank) {
    const End& end = ends[rank];
    const bool told = end.status == GOSS_ERR_MISMATCH || end.status == GOSS_ERR_ABORTED;
    named = named || end.status == GOSS_ERR_MISMATCH;
    good = good && told && end.wrong.empty();
    text += "\n  rank " + std::to_string(rank) + ": " + goss_status_string(end.status) + ": " + end.text +
            (end.wrong.empty() ? "" : " SUCCESS WITH WRONG RESULTS: " + end.wrong);
  }
  if (!named) text += "\n  nobody reports the mismatch";
  return good && named ? "" : text;
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

std::string runMismatch(const Program& program, const Alteration& alteration, const std::string& transport) {
  ScopedEnvironment environment;
  setEnvironment(environment, program);
  std::vector<End> ends(static_cast<std::size_t>(program.ranks));
  runRanks(setupFor(program, transport, kMismatchTimeoutMs), [&](goss_comm_t world, int rank) {
    const Lane& steps = program.lanes[0];
    const bool differs = rank == alteration.rank;
    Lane lane = steps;
    const Lane reduce = reductions();
    lane.insert(lane.end(), reduce.begin(), reduce.end());
    if (differs) lane = altered(lane, alteration);
    const std::size_t last = lane.size() - reduce.size();
    ends[static_cast<std::size_t>(rank)] = runUntilFailure(lane, world, differs ? alteration.step : last, last);
  });
  return judge(ends);
}

} // namespace goss::test
