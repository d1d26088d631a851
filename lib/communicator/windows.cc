#include "communicator/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "call/call.h"
#include "call/tag.h"

namespace goss {

namespace {

/// What a rank tells the others of its part of the window.
struct Entry {
  std::uint64_t count;
  std::uint64_t dtype;
};

/// Ok when the entries of all ranks are equal.
Status compare(const std::vector<Entry>& entries) {
  const Entry& first = entries.front();
  for (std::size_t rank = 1; rank < entries.size(); ++rank) {
    const Entry& other = entries[rank];
    if (other.count == first.count && other.dtype == first.dtype) continue;
    return Status::error(GOSS_ERR_MISMATCH,
                         fmt::format("goss_window_create: rank 0 gives {} {}, rank {} {} {}; all ranks give as many "
                                     "elements of one dtype",
                                     first.count, dtypeName(static_cast<DType>(first.dtype)), rank, other.count,
                                     dtypeName(static_cast<DType>(other.dtype))));
  }
  return Status::ok();
}

} // namespace

Result<Window*> Windows::create(const Part& part, std::int64_t timeout_ms) {
  const int ranks = environment_.group.size();
  const Entry mine{part.count, static_cast<std::uint64_t>(part.dtype)};
  std::vector<Entry> all(static_cast<std::size_t>(ranks));
  Call gather;
  gather.collective = Collective::allGather;
  gather.timeout_ms = timeout_ms;
  gather.dtype = GOSS_UINT64;
  gather.input = &mine;
  gather.output = all.data();
  gather.count = sizeof(Entry) / sizeof(std::uint64_t);
  setUniformShape(gather, ranks);
  if (Status status = collectives_.run(gather); !status.isOk()) return status;
  auto lock = environment_.engine.enter();
  const std::uint32_t number = ++last_number_;
  if (number > kMaxWindows) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("goss_window_create: more than {} windows of one communicator", kMaxWindows));
  }
  if (Status status = compare(all); !status.isOk()) return status;
  open_.push_back(
      std::make_unique<Window>(environment_, number, WindowMemory(part.data, part.count, part.dtype, ranks)));
  open_.back()->openOnLoop();
  environment_.engine.notify(lock); // The progress thread serves from now on.
  return open_.back().get();
}

Status Windows::checkFree(const Window& window) {
  auto lock = environment_.engine.enter();
  if (const std::vector<int> held = window.heldOnLoop(); !held.empty()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("goss_window_free: this rank holds the lock of {}; unlock it first",
                                     environment_.group.namesOf(held)));
  }
  std::string pending;
  environment_.operations.forEachActiveOnLoop([&](Operation& operation) {
    const auto* one = dynamic_cast<const WindowOperation*>(&operation);
    if (one != nullptr && &one->window() == &window) pending = one->describe();
  });
  if (pending.empty()) return Status::ok();
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("goss_window_free: a {} is not over; wait for it first", pending));
}

Status Windows::free(Window*& window) {
  if (Status status = checkFree(*window); !status.isOk()) return status;
  // After the barrier no rank sends another message to the window. The barrier runs even if a flush has failed:
  // otherwise this rank's next collective would meet the barrier of the other ranks.
  const Status flushed = flushAll(*window, 0);
  Call barrier;
  barrier.dtype = GOSS_UINT8;
  setUniformShape(barrier, environment_.group.size());
  const Status met = collectives_.run(barrier);
  const Status status = flushed.isOk() ? met : flushed;
  auto lock = environment_.engine.enter();
  window->closeOnLoop(false);
  std::erase_if(open_, [&](const auto& one) { return one.get() == window; });
  window = nullptr;
  return status;
}

void Windows::closeAllOnLoop() {
  for (const auto& window : open_)
    window->closeOnLoop(true);
}

Status Windows::run(Window& window, const WindowCall& call) {
  auto lock = environment_.engine.enter();
  WindowOperation operation(window, call);
  return environment_.operations.run(lock, operation);
}

Result<Operation*> Windows::start(Window& window, const WindowCall& call) {
  auto lock = environment_.engine.enter();
  OperationTable& operations = environment_.operations;
  Operation* operation = operations.handOut(std::make_unique<WindowOperation>(window, call));
  if (Status status = operations.launchOnLoop(*operation); !status.isOk()) {
    operations.takeBack(*operation);
    return status;
  }
  return operation;
}

Status Windows::flushAll(Window& window, std::int64_t timeout_ms) {
  std::vector<Operation*> flushes;
  Status first;
  for (const int target : environment_.group.others()) {
    WindowCall call;
    call.kind = WindowCall::Kind::flush;
    call.target = target;
    call.timeout_ms = timeout_ms;
    const Result<Operation*> started = start(window, call);
    if (started.isOk()) {
      flushes.push_back(started.value());
    } else if (first.isOk()) {
      first = started.status();
    }
  }
  const Status finished = flushes.empty() ? Status::ok() : requests_.finishAll(flushes);
  return first.isOk() ? finished : first;
}

Status Windows::lock(Window& window, int target, std::int64_t timeout_ms) {
  WindowCall call;
  call.kind = WindowCall::Kind::lock;
  call.target = target;
  call.timeout_ms = timeout_ms;
  auto lock = environment_.engine.enter();
  if (window.claimsOnLoop(target)) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("goss_window_lock: this rank holds the lock of {}, or waits for it, already",
                                     environment_.group.nameOf(target)));
  }
  WindowOperation operation(window, call);
  return environment_.operations.run(lock, operation);
}

Status Windows::unlock(Window& window, int target) {
  auto lock = environment_.engine.enter();
  if (!window.holdsOnLoop(target)) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("goss_window_unlock: this rank does not hold the lock of {}", environment_.group.nameOf(target)));
  }
  window.unlockOnLoop(target);
  return environment_.operations.asyncError();
}

std::uint64_t Windows::version(const Window& window, int origin) {
  auto lock = environment_.engine.enter();
  return window.versionOnLoop(origin);
}

} // namespace goss
