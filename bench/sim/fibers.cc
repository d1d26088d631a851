#include "bench/sim/fibers.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <utility>

namespace goss::bench::sim {

namespace {

constexpr std::size_t kStackBytes = 256 << 10; ///< Address space of a stack; it takes the memory that a rank touches.
/// A rank that overflows its stack crashes instead of writing another's.
constexpr std::size_t kGuardBytes = 4096;
/// More fibers have no guards: each takes two mappings, of which Linux gives a process 65,530 (vm.max_map_count).
constexpr std::size_t kMaxGuarded = 20000;

} // namespace

Fibers::Fibers(int count, std::function<void(int)> body)
    : body_(std::move(body)),
      fibers_(static_cast<std::size_t>(count)),
      bytes_(static_cast<std::size_t>(count) * kStackBytes) {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  stacks_ = static_cast<std::byte*>(memory);
  for (std::size_t i = 0; i < fibers_.size() && fibers_.size() <= kMaxGuarded; ++i)
    ::mprotect(stacks_ + i * kStackBytes, kGuardBytes, PROT_NONE);
}

Fibers::~Fibers() { ::munmap(stacks_, bytes_); }

void Fibers::begin(Fiber& fiber, int number) {
  ::getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stacks_ + static_cast<std::size_t>(number) * kStackBytes + kGuardBytes;
  fiber.context.uc_stack.ss_size = kStackBytes - kGuardBytes;
  fiber.context.uc_link = &loop_;
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  // makecontext passes ints.
  ::makecontext(&fiber.context, reinterpret_cast<void (*)()>(&Fibers::enter), 2, static_cast<unsigned>(self >> 32),
                static_cast<unsigned>(self));
  fiber.begun = true;
}

void Fibers::enter(unsigned high, unsigned low) {
  auto* self = reinterpret_cast<Fibers*>(static_cast<std::uintptr_t>(high) << 32 | low);
  const int number = self->running_;
  self->body_(number);
  self->fibers_[static_cast<std::size_t>(number)].ended = true;
}

void Fibers::resume(int fiber) {
  Fiber& next = fibers_[static_cast<std::size_t>(fiber)];
  if (!next.begun) begin(next, fiber);
  running_ = fiber;
  ::swapcontext(&loop_, &next.context);
  running_ = -1;
}

void Fibers::yield() { ::swapcontext(&fibers_[static_cast<std::size_t>(running_)].context, &loop_); }

} // namespace goss::bench::sim
