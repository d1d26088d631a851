#include "core/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "core/tag.h"
#include "core/world.h"

namespace goss::core {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstProbe(250);
constexpr std::size_t kMaxIdleExecutions = 256;

} // namespace

Communicator::Communicator(std::shared_ptr<World> world, std::uint32_t context, std::vector<int> ranks)
    : world_(std::move(world)),
      context_(context),
      ranks_(std::move(ranks)),
      rank_(static_cast<int>(std::find(ranks_.begin(), ranks_.end(), world_->rank()) - ranks_.begin())),
      rank_of_world_(static_cast<std::size_t>(world_->size()), -1),
      planner_(size(), rank_, world_->linksBetween(ranks_), world_->catalogue(), world_->config().algorithm),
      news_(ranks_.size()) {
  for (int rank = 0; rank < size(); ++rank)
    rank_of_world_[static_cast<std::size_t>(worldRank(rank))] = rank;
  counters_.size = sizeof counters_;
  auto lock = engine().enter();
  world_->registerOnLoop(*this);
}

Communicator::~Communicator() {
  auto lock = engine().enter();
  failOnLoop(Status::error(GOSS_ERR_ABORTED, "the communicator was destroyed while the operation was pending",
                           ErrorScope::communicator),
             Propagate::no);
  world_->unregisterOnLoop(*this);
}

int Communicator::rankOfWorld(int world_rank) const { return rank_of_world_[static_cast<std::size_t>(world_rank)]; }
Engine& Communicator::engine() const { return world_->engine(); }
Mesh& Communicator::mesh() const { return world_->mesh(); }
std::int64_t Communicator::defaultTimeoutMs() const { return world_->config().timeout_ms; }

std::string Communicator::transportName(int rank) const {
  const Transport* transport = mesh().transport(worldRank(rank));
  return transport != nullptr ? std::string(transport->name()) : "self";
}

std::string Communicator::nameOf(int rank) const {
  if (worldRank(rank) == rank) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (world rank {})", rank, worldRank(rank));
}

// ---- Starting and ending operations
// ----------------------------------------------------------------------------------

Result<std::unique_ptr<Execution>> Communicator::acquireExecution(Engine::Lock& lock, const Call& call) {
  (void)lock;
  if (!failure_.isOk()) return failure_;
  PlanKey key;
  key.collective = call.collective;
  key.count = call.count;
  key.element_bytes = static_cast<std::uint32_t>(call.shape.element_bytes);
  key.root = call.root;
  key.uneven = call.uneven;
  key.algorithm = call.algorithm;
  auto plan = planner_.plan(key);
  if (!plan.isOk()) return plan.status();
  const auto idle = idle_executions_.find(plan.value().get());
  std::unique_ptr<Execution> execution;
  if (idle != idle_executions_.end()) {
    execution = std::move(idle->second);
    idle_executions_.erase(idle);
  } else {
    execution = std::make_unique<Execution>(*this, plan.take());
  }
  execution->bind(call);
  if (execution->timeout_ms == 0) execution->timeout_ms = defaultTimeoutMs();
  return execution;
}

void Communicator::releaseExecution(std::unique_ptr<Execution> execution) {
  if (idle_executions_.size() >= kMaxIdleExecutions) idle_executions_.clear();
  const Plan* plan = &execution->plan();
  idle_executions_[plan] = std::move(execution);
}

Status Communicator::startOnLoop(Operation& operation) {
  if (!failure_.isOk()) return failure_;
  operation.state_ = Operation::State::active;
  operation.status_ = Status::ok();
  operation.started_ = Clock::now();
  const milliseconds timeout(operation.timeout_ms);
  operation.deadline_ = operation.started_ + timeout;
  operation.next_probe_ = operation.started_ + std::min(kFirstProbe, timeout / 4);
  if (!operation.failsAlone()) operation.sequence = started_++;
  engine().activateOnLoop(operation);
  operation.startOnLoop();
  if (operation.signature() != nullptr) history_[operation.sequence % kHistory] = *operation.signature();
  return Status::ok();
}

Status Communicator::run(const Call& call) {
  auto lock = engine().enter();
  auto acquired = acquireExecution(lock, call);
  if (!acquired.isOk()) return acquired.status();
  std::unique_ptr<Execution> execution = acquired.take();
  if (Status status = startOnLoop(*execution); !status.isOk()) return status;
  engine().driveUntil(lock, [&] { return execution->state() == Operation::State::complete; });
  Status status = execution->status();
  if (status.isOk()) releaseExecution(std::move(execution));
  return status;
}

Result<Operation*> Communicator::start(const Call& call, bool persistent) {
  auto lock = engine().enter();
  auto acquired = acquireExecution(lock, call);
  if (!acquired.isOk()) return acquired.status();
  std::unique_ptr<Execution> execution = acquired.take();
  execution->persistent = persistent;
  if (!persistent) {
    if (Status status = startOnLoop(*execution); !status.isOk()) return status;
    engine().notify(lock);
  }
  return static_cast<Operation*>(execution.release());
}

Status Communicator::runMessage(const MessageCall& call, goss_message* message) {
  MessageOperation operation(*this, call);
  auto lock = engine().enter();
  if (operation.timeout_ms == 0) operation.timeout_ms = defaultTimeoutMs();
  if (Status status = startOnLoop(operation); !status.isOk()) return status;
  engine().driveUntil(lock, [&] { return operation.state() == Operation::State::complete; });
  if (message != nullptr) *message = operation.message;
  return operation.status();
}

Result<Operation*> Communicator::startMessage(const MessageCall& call, bool persistent) {
  auto operation = std::make_unique<MessageOperation>(*this, call);
  operation->persistent = persistent;
  auto lock = engine().enter();
  if (operation->timeout_ms == 0) operation->timeout_ms = defaultTimeoutMs();
  if (!persistent) {
    if (Status status = startOnLoop(*operation); !status.isOk()) return status;
    engine().notify(lock);
  }
  return static_cast<Operation*>(operation.release());
}

Status Communicator::restart(Operation& operation) {
  auto lock = engine().enter();
  if (!operation.persistent) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "goss_start: the request is not persistent; pass GOSS_PERSISTENT");
  }
  if (operation.state() == Operation::State::active) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, "goss_start: the request is still active; wait for it first");
  }
  Status status = startOnLoop(operation);
  engine().notify(lock);
  return status;
}

Status Communicator::wait(Operation& operation) {
  auto lock = engine().enter();
  if (operation.state() == Operation::State::inactive) return Status::ok();
  engine().driveUntil(lock, [&] { return operation.state() == Operation::State::complete; });
  operation.state_ = Operation::State::inactive;
  return operation.status();
}

bool Communicator::test(Operation& operation) {
  auto lock = engine().enter();
  return operation.state() != Operation::State::active;
}

std::size_t Communicator::waitAny(const std::vector<Operation*>& operations) {
  const auto finished = [&] {
    return std::find_if(operations.begin(), operations.end(), [](const Operation* operation) {
      return operation != nullptr && operation->state() == Operation::State::complete;
    });
  };
  const auto pending =
      std::find_if(operations.begin(), operations.end(), [](const Operation* o) { return o != nullptr; });
  if (pending == operations.end()) return operations.size();
  Engine& engine = (*pending)->communicator().engine();
  auto lock = engine.enter();
  const bool any = std::any_of(operations.begin(), operations.end(), [](const Operation* operation) {
    return operation != nullptr && operation->state() != Operation::State::inactive;
  });
  if (!any) return operations.size();
  engine.driveUntil(lock, [&] { return finished() != operations.end(); });
  return static_cast<std::size_t>(finished() - operations.begin());
}

void Communicator::release(Operation* operation) {
  auto lock = engine().enter();
  assert(operation->state() != Operation::State::active);
  std::unique_ptr<Operation> owned(operation);
  if (operation->persistent || !operation->status().isOk()) return;
  if (auto* execution = dynamic_cast<Execution*>(operation); execution != nullptr) {
    owned.release();
    releaseExecution(std::unique_ptr<Execution>(execution));
  }
}

void Communicator::completeOnLoop(Operation& operation, const Status& status) {
  if (operation.state_ != Operation::State::active) return;
  operation.state_ = Operation::State::complete;
  operation.status_ = status;
  engine().deactivateOnLoop(operation);
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - operation.started_);
  if (status.isOk()) {
    ++counters_.operations;
    counters_.payload_bytes += operation.payload_bytes;
    counters_.busy_ns += static_cast<std::uint64_t>(elapsed.count());
  } else {
    ++counters_.failures;
  }
}

// ---- Information and derivation
// --------------------------------------------------------------------------------------

goss_counters Communicator::counters() {
  auto lock = engine().enter();
  return counters_;
}

Result<std::unique_ptr<Communicator>> Communicator::split(std::int32_t color, std::int32_t key) {
  struct Entry {
    std::int32_t color;
    std::int32_t key;
    std::uint32_t next_context;
  };
  Entry mine{color, key, 0};
  {
    auto lock = engine().enter();
    mine.next_context = world_->nextContextOnLoop();
  }
  std::vector<Entry> all(ranks_.size());
  Call call;
  call.collective = Collective::allGather;
  call.dtype = GOSS_INT32;
  call.input = &mine;
  call.output = all.data();
  call.count = sizeof(Entry) / sizeof(std::int32_t);
  setUniformShape(call, size());
  if (Status status = run(call); !status.isOk()) return status;

  std::uint32_t base = 0;
  std::vector<std::int32_t> colors;
  for (const Entry& entry : all) {
    base = std::max(base, entry.next_context);
    if (entry.color >= 0) colors.push_back(entry.color);
  }
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  if (base + colors.size() > kMaxContext) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("goss_comm_split: more than {} communicators were made", kMaxContext));
  }
  {
    auto lock = engine().enter();
    world_->useContextsUpToOnLoop(base + static_cast<std::uint32_t>(colors.size()));
  }
  if (color < 0) return std::unique_ptr<Communicator>();

  std::vector<int> members;
  for (int rank = 0; rank < size(); ++rank) {
    if (all[static_cast<std::size_t>(rank)].color == color) members.push_back(rank);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all[static_cast<std::size_t>(a)].key < all[static_cast<std::size_t>(b)].key;
  });
  for (int& member : members)
    member = worldRank(member);
  const auto index = std::lower_bound(colors.begin(), colors.end(), color) - colors.begin();
  return std::make_unique<Communicator>(world_, base + static_cast<std::uint32_t>(index), std::move(members));
}

} // namespace goss::core
