/// Ranks as coroutines: each has a stack of its own and runs until it yields.
#ifndef GOSS_BENCH_SIM_FIBERS_H_
#define GOSS_BENCH_SIM_FIBERS_H_

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <vector>

namespace goss::bench::sim {

/// One thread. All fibers must have ended before the object is destroyed, or their locals are not.
class Fibers {
 public:
  /// Fiber i will run body(i). Throws std::bad_alloc when there is no address space for the stacks.
  Fibers(int count, std::function<void(int)> body);
  ~Fibers();
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

  /// Runs a fiber that has not ended until it yields or ends. Not called by a fiber.
  void resume(int fiber);
  /// Returns to resume(), from within the fiber that it runs.
  void yield();
  [[nodiscard]] bool hasEnded(int fiber) const { return fibers_[static_cast<std::size_t>(fiber)].ended; }
  /// The fiber that runs; -1: none.
  [[nodiscard]] int running() const { return running_; }

 private:
  struct Fiber {
    ucontext_t context;
    bool begun = false;
    bool ended = false;
  };
  static void enter(unsigned high, unsigned low);
  void begin(Fiber& fiber, int number);

  std::function<void(int)> body_;
  std::vector<Fiber> fibers_;
  ucontext_t loop_;
  std::byte* stacks_;
  std::size_t bytes_;
  int running_ = -1;
};

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_FIBERS_H_
