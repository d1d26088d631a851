#include "runner/execution_pool.h"

#include <algorithm>
#include <utility>

namespace goss {

namespace {

constexpr std::size_t kMaxIdlePlans = 256;
/// Number of idle executions that are kept for each plan; kMaxReplaced when another call has taken the cache entry of
/// one, so that calls which alternate on too few entries do not create executions again.
constexpr std::size_t kMaxIdle = 1;
constexpr std::size_t kMaxReplaced = 4;
/// Calls that move more bytes, all ranks' blocks together, are not cached: it would save less than 1.5 % of their time,
/// and keep their scratch memory.
constexpr std::uint64_t kMaxCachedBytes = std::uint64_t{1} << 20;

PlanKey keyOf(const Call& call) {
  PlanKey key;
  key.collective = call.collective;
  key.count = call.count;
  key.element_bytes = static_cast<std::uint32_t>(call.shape.element_bytes);
  key.root = call.root;
  key.uneven = call.uneven;
  key.algorithm = call.algorithm;
  key.codecs = call.codecs.get();
  key.neighborhood = call.neighborhood.get();
  return key;
}

} // namespace

Result<std::unique_ptr<Execution>> ExecutionPool::acquire(const Call& call) {
  if (!environment_.operations.asyncError().isOk()) return environment_.operations.asyncError();
  auto plan = planner_.plan(keyOf(call));
  if (!plan.isOk()) return plan.status();
  return acquire(call, plan.take());
}

Result<std::unique_ptr<Execution>> ExecutionPool::acquire(const Call& call, std::shared_ptr<const Plan> plan) {
  if (!environment_.operations.asyncError().isOk()) return environment_.operations.asyncError();
  const auto idle = idle_.find(plan.get());
  std::unique_ptr<Execution> execution;
  if (idle != idle_.end() && !idle->second.empty()) {
    execution = std::move(idle->second.back());
    idle->second.pop_back();
  } else {
    execution = std::make_unique<Execution>(environment_, std::move(plan));
  }
  execution->bind(call, ++bindings_);
  if (call.codecs != nullptr && call.phase_of == nullptr) environment_.mismatches.know(call.codecs);
  if (execution->timeout_ms == 0) execution->timeout_ms = environment_.default_timeout_ms;
  return execution;
}

void ExecutionPool::release(std::unique_ptr<Execution> execution) {
  execution->setInactive();
  for (Set& set : cached_) {
    for (CachedCall& each : set) {
      if (each.binding != execution->binding()) continue;
      each.idle = std::move(execution);
      return;
    }
  }
  keepIdle(std::move(execution), kMaxIdle);
}

void ExecutionPool::keepIdle(std::unique_ptr<Execution> execution, std::size_t most) {
  if (idle_.size() >= kMaxIdlePlans) idle_.clear();
  std::vector<std::unique_ptr<Execution>>& idle = idle_[&execution->plan()];
  if (idle.size() < most) {
    idle.push_back(std::move(execution));
  } else {
    idle.back() = std::move(execution);
  }
}

void ExecutionPool::forget(const Plan& plan) {
  idle_.erase(&plan);
  for (Set& set : cached_) {
    for (CachedCall& each : set) {
      if (each.idle != nullptr && &each.idle->plan() == &plan) each = {};
    }
  }
}

Status ExecutionPool::check(const Call& call, std::uint32_t element_bytes) {
  PlanKey key;
  key.collective = call.collective;
  key.count = call.count;
  key.element_bytes = element_bytes;
  key.algorithm = call.algorithm;
  auto plan = planner_.plan(key);
  return plan.isOk() ? Status::ok() : plan.status();
}

std::unique_ptr<Execution>* ExecutionPool::cached(const CallKey& key) {
  for (CachedCall& each : cached_[key.hash() % kSets]) {
    if (each.idle != nullptr && each.key == key) return &each.idle;
  }
  return nullptr;
}

void ExecutionPool::cache(const CallKey& key, const Call& call) {
  const std::uint64_t blocks = std::max<std::size_t>(1, call.shape.input_blocks.size());
  if (call.count * call.shape.element_bytes > kMaxCachedBytes / blocks) return;
  const auto plan = planner_.plan(keyOf(call));
  if (!plan.isOk()) return;
  const auto idle = idle_.find(plan.value().get());
  if (idle == idle_.end() || idle->second.empty() || !idle->second.back()->isBoundTo(call)) return;
  auto& [first, second] = cached_[key.hash() % kSets];
  std::unique_ptr<Execution> replaced = std::move(second.idle);
  second = std::move(first);
  const std::uint64_t binding = idle->second.back()->binding();
  first = {key, std::move(idle->second.back()), binding};
  idle->second.pop_back();
  if (replaced != nullptr) keepIdle(std::move(replaced), kMaxReplaced);
}

void ExecutionPool::useLinks(schedule::Links links) {
  planner_.useLinks(std::move(links));
  // Cached calls are bound to earlier plans.
  cached_ = {};
  idle_.clear();
}

} // namespace goss
