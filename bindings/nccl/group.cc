#include "bindings/nccl/group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bindings/nccl/errors.h"

namespace goss::nccl {

namespace {

struct Start {
  std::shared_ptr<ncclComm> comm;
  std::shared_ptr<Turns> turns; ///< Turns of the communicator that it comes out of; null: there is none.
  ncclComm_t* out;
  Starter function;
};

/// The calls of one communicator in a group.
struct Submission {
  std::shared_ptr<ncclComm> comm;
  std::vector<std::shared_ptr<Call>> calls;
  Status fetched; ///< Whether their scalars were.
};

struct Group {
  int depth = 0;
  ncclResult_t refused = ncclSuccess;
  std::vector<std::pair<std::shared_ptr<ncclComm>, std::shared_ptr<Call>>> calls;
  std::vector<Start> starts;
};

thread_local Group group;

void spawn(Start& start) {
  // The thread holds the communicator, which may be aborted while it starts.
  start.comm->starter = std::thread(
      [comm = start.comm, turn = std::make_unique<Turn>(start.turns), function = std::move(start.function)] {
        turn->await();
        const auto made = function(*turn);
        turn->end();
        comm->started(made);
      });
}

ncclResult_t outcome(Start& start) {
  if (!start.comm->blocking) return ncclInProgress;
  start.comm->starter.join();
  ncclResult_t state = start.comm->start(); // Another rank may have ended the communicator by now.
  if (state == ncclSuccess && start.comm->aborted)
    state = refuse(ncclInvalidUsage, "another thread called ncclCommAbort while the communicator started");
  if (state != ncclSuccess && start.out != nullptr) {
    forget(*start.out);
    *start.out = nullptr;
  }
  return state;
}

/// Keeps the first result that is an error, else ncclInProgress if any result is that.
void add(ncclResult_t& result, ncclResult_t more) {
  if (result == ncclSuccess || (result == ncclInProgress && more != ncclSuccess)) result = more;
}

ncclResult_t runStarts(std::vector<Start> starts) {
  for (Start& start : starts)
    spawn(start);
  ncclResult_t result = ncclSuccess;
  for (Start& start : starts)
    add(result, outcome(start));
  return result;
}

ncclResult_t submit(std::vector<Submission> submissions) {
  for (Submission& one : submissions)
    one.fetched = one.comm->order->fetchScalars(one.calls);
  ncclResult_t result = ncclSuccess;
  for (const Submission& one : submissions) {
    const auto runs = one.comm->order->submit(one.calls, one.fetched);
    add(result, report(runs.status()));
    if (!runs.isOk() || !runs.value()) continue; // Replays are counted as they run.
    for (const auto& call : one.calls)
      one.comm->count(*call);
  }
  return result;
}

ncclResult_t runCalls(const Group& ended) {
  std::vector<Submission> submissions;
  for (const auto& [comm, call] : ended.calls) {
    auto found = std::ranges::find(submissions, comm, &Submission::comm);
    if (found == submissions.end()) found = submissions.insert(found, {comm, {}, {}});
    found->calls.push_back(call);
  }
  return submit(std::move(submissions));
}

ncclResult_t endGroup() {
  const Group ended = std::exchange(group, {});
  if (ended.refused != ncclSuccess) return ended.refused;
  if (!ended.starts.empty() && !ended.calls.empty())
    return refuse(ncclInvalidUsage, "ncclGroupEnd: a group either makes communicators or uses them");
  return ended.starts.empty() ? runCalls(ended) : runStarts(ended.starts);
}

} // namespace

ncclResult_t launch(const std::shared_ptr<ncclComm>& comm, std::shared_ptr<Call> call) {
  if (group.depth == 0) return submit({{comm, {std::move(call)}, {}}});
  group.calls.emplace_back(comm, std::move(call));
  return ncclSuccess;
}

ncclResult_t begin(const std::shared_ptr<ncclComm>& comm, const ncclComm* parent, ncclComm_t* out, Starter start) {
  Start begun{comm, parent == nullptr ? nullptr : parent->turns, out, std::move(start)};
  if (group.depth == 0) return runStarts({std::move(begun)});
  group.starts.push_back(std::move(begun));
  return ncclSuccess;
}

ncclResult_t refusedInGroup(ncclResult_t result) {
  if (group.depth > 0 && group.refused == ncclSuccess) group.refused = result;
  return result;
}

} // namespace goss::nccl

using goss::nccl::group;

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return goss::nccl::refuse(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
  if (--group.depth > 0) return ncclSuccess;
  return goss::nccl::endGroup();
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t* info) {
  if (group.depth == 0) return goss::nccl::refuse(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
  if (info != nullptr && info->magic != NCCL_SIM_INFO_MAGIC)
    return goss::nccl::refuse(ncclInvalidArgument, "ncclSimInfo_t: begin from NCCL_SIM_INFO_INITIALIZER");
  if (info != nullptr) info->estimatedTime = -1.0f; // not known
  if (--group.depth == 0) group = {};
  return ncclSuccess;
}
