#include "tests/random/lane_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace goss::test {

std::string LaneRun::run() {
  for (std::size_t i = 0; i < lane_.size() && failure_.empty();) {
    std::size_t end = i + 1;
    const auto grouped = [&](std::size_t index) {
      return lane_[index].start == Start::grouped &&
             (lane_[index].kind == Step::Kind::collective || lane_[index].kind == Step::Kind::exchange);
    };
    while (grouped(i) && end < lane_.size() && grouped(end))
      ++end;
    if (!(grouped(i) ? runGroup(i, end) : runStep(i))) break;
    if (!settle(end - 1)) break;
    i = end;
  }
  settleAll();
  finish();
  return failure_;
}

bool LaneRun::runStep(std::size_t index) {
  const Step& step = lane_[index];
  if (step.kind == Step::Kind::split || step.kind == Step::Kind::dup) return divide(index);
  if (step.kind == Step::Kind::destroy) return drop(index);
  if (commOf(step) == nullptr) return true;
  if (step.start != Start::blocking) return begin(index);
  Pending pending;
  pending.step = index;
  pending.work = makeWork(step, commOf(step), index);
  return expect(pending.work->start(0, nullptr), index, pending.work->describe()) &&
         expectRight(pending.work->difference(), pending);
}

bool LaneRun::divide(std::size_t index) {
  const Step& step = lane_[index];
  goss_comm_t parent = commOf(step);
  comms_.push_back(nullptr);
  alive_.push_back(true);
  if (parent == nullptr) return true;
  if (step.kind == Step::Kind::dup) return expect(goss_comm_dup(parent, &comms_.back()), index, "dup");
  std::int32_t rank = 0;
  if (!expect(goss_comm_rank(parent, &rank), index, "rank")) return false;
  const std::int32_t color = rank == step.left_out ? -1 : rank % step.colors;
  return expect(goss_comm_split(parent, color, step.reversed ? -rank : rank, &comms_.back()), index, "split");
}

bool LaneRun::drop(std::size_t index) {
  const auto comm = static_cast<std::size_t>(lane_[index].comm);
  if (!settleAll()) return false;
  alive_[comm] = false;
  return expect(goss_comm_destroy(std::exchange(comms_[comm], nullptr)), index, "destroy");
}

bool LaneRun::runGroup(std::size_t first, std::size_t last) {
  std::vector<Pending> members;
  if (!expect(goss_group_begin(), first, "group begin")) return false;
  for (std::size_t i = first; i < last && failure_.empty(); ++i) {
    if (commOf(lane_[i]) == nullptr) continue;
    members.emplace_back();
    members.back().step = i;
    members.back().work = makeWork(lane_[i], commOf(lane_[i]), i);
    expect(members.back().work->start(0, nullptr), i, "in a group: " + members.back().work->describe());
  }
  if (!expect(goss_group_end(), first, "group end")) return false;
  return failure_.empty() && std::all_of(members.begin(), members.end(), [&](const Pending& member) {
           return expectRight(member.work->difference(), member);
         });
}

bool LaneRun::begin(std::size_t index) {
  const Step& step = lane_[index];
  Pending pending;
  pending.work = makeWork(step, commOf(step), index);
  pending.step = index;
  pending.due = index + step.wait_within;
  pending.likely = index + below(step.wait_within + 1);
  pending.late = step.kind == Step::Kind::exchange && step.late_receive;
  pending.persistent = step.start == Start::persistent;
  pending.starts_left = pending.persistent ? 1 : 0;
  const goss_status status = pending.work->start(pending.persistent ? GOSS_PERSISTENT : 0, &pending.requests);
  bool good = expect(status, index, pending.work->describe());
  for (goss_request_t request : pending.requests) {
    if (good && pending.persistent) good = expect(goss_start(request), index, "start");
  }
  pending_.push_back(std::move(pending));
  return good;
}

bool LaneRun::settle(std::size_t index) {
  std::vector<std::size_t> order(pending_.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  for (const std::size_t i : order) {
    if (pending_[i].likely <= index && !postRest(pending_[i])) return false;
  }
  for (const std::size_t i : order) {
    const bool now = pending_[i].late ? pending_[i].due <= index : pending_[i].likely <= index;
    if (now && !wait(pending_[i])) return false;
  }
  for (Pending& pending : pending_) { // Starts count as calls: in the same order on all ranks.
    if (pending.due > index) continue;
    if (pending.starts_left > 0 && !startAgain(pending, index)) return false;
    if (pending.waited && pending.persistent && !free(pending)) return false;
  }
  std::erase_if(pending_, [&](const Pending& pending) {
    return pending.waited && (!pending.persistent || pending.due <= index);
  });
  return true;
}

/// Everything to its end, in the order in which it is due: the ranks start the same things again in the same order.
bool LaneRun::settleAll() {
  while (failure_.empty() && !pending_.empty()) {
    std::size_t next = pending_[0].due;
    for (const Pending& pending : pending_)
      next = std::min(next, pending.due);
    if (!settle(next)) return false;
  }
  return failure_.empty();
}

bool LaneRun::postRest(Pending& pending) {
  if (std::exchange(pending.rested, true)) return true;
  return expect(pending.work->startRest(pending.requests), pending.step, "late " + pending.work->describe());
}

bool LaneRun::wait(Pending& pending) {
  if (std::exchange(pending.waited, true)) return true;
  std::vector<std::size_t> order(pending.requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  return waitFor(pending, order) && expectRight(pending.work->difference(), pending);
}

/// Completes the requests with a random one of the calls that can.
bool LaneRun::waitFor(Pending& pending, const std::vector<std::size_t>& order) {
  const std::string what = "waiting for " + pending.work->describe();
  const std::size_t manner = below(4);
  if (manner == 0) return expect(goss_wait_all(pending.requests.data(), order.size()), pending.step, what);
  // goss_wait_any would choose a persistent request twice, so a copy is used up.
  std::vector<goss_request_t> requests = pending.requests;
  for (const std::size_t i : order) {
    goss_message message{};
    int done = 0;
    goss_status status = GOSS_SUCCESS;
    while (manner == 1 && done == 0 && status == GOSS_SUCCESS)
      status = goss_test(&requests[i], &done, &message);
    if (manner != 1) status = goss_wait(&requests[i], &message);
    if (!expect(status, pending.step, what)) return false;
    if (pending.persistent) continue;
    if (!expectRight(pending.work->checkMessage(i, message), pending)) return false;
    pending.requests[i] = nullptr;
  }
  return true;
}

bool LaneRun::startAgain(Pending& pending, std::size_t index) {
  --pending.starts_left;
  pending.work->reset();
  pending.waited = false;
  pending.due = index + lane_[pending.step].wait_within;
  pending.likely = index + below(lane_[pending.step].wait_within + 1);
  for (goss_request_t request : pending.requests) {
    if (!expect(goss_start(request), pending.step, "second start of " + pending.work->describe())) return false;
  }
  return true;
}

bool LaneRun::free(Pending& pending) {
  for (goss_request_t& request : pending.requests) {
    if (!expect(goss_request_free(&request), pending.step, "free")) return false;
  }
  return true;
}

bool LaneRun::expect(goss_status status, std::size_t step, const std::string& what) {
  if (status == GOSS_SUCCESS) return failure_.empty();
  if (failure_.empty()) {
    status_ = status;
    error_ = goss_last_error();
    failure_ = "step " + std::to_string(step) + ": " + what + ": " + goss_status_string(status) + ": " + error_;
  }
  return false;
}

bool LaneRun::expectRight(const std::string& difference, const Pending& pending) {
  if (difference.empty() || (pending.step >= unchecked_first_ && pending.step < unchecked_last_)) return true;
  if (failure_.empty()) {
    failure_ =
        "step " + std::to_string(pending.step) + ": WRONG RESULT of " + pending.work->describe() + ": " + difference;
  }
  return false;
}

void LaneRun::finish() {
  // After a mismatch the others fail by themselves, perhaps while they still make that communicator of another one.
  const bool others_wait = !failure_.empty() && status_ != GOSS_ERR_MISMATCH;
  for (std::size_t i = 0; i < comms_.size(); ++i) {
    if (others_wait && comms_[i] != nullptr) goss_comm_abort(comms_[i], "a random program failed");
    if (i > 0 && goss_comm_destroy(comms_[i]) != GOSS_SUCCESS && failure_.empty()) failure_ = goss_last_error();
  }
}

} // namespace goss::test
