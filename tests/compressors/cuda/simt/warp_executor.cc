#include "tests/compressors/cuda/simt/warp_executor.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

namespace goss::compressors::cuda {

/// A multiprocessor's shared memory, as launch.h declares it.
inline constexpr std::size_t kSharedWords = (std::size_t{64} << 10) / sizeof(unsigned long long);
alignas(16) unsigned long long shared_memory[kSharedWords];

} // namespace goss::compressors::cuda

namespace goss::test::simt {

Dim thread_index{0}, block_index{0};

namespace {

/// Switches by _setjmp() and _longjmp(), which make no system calls as swapcontext() does; makecontext() lends the
/// stack.
class Fiber {
 public:
  /// Begins `run`, which never returns, and comes back when it calls leave().
  void begin(void (*run)()) {
    stack_.resize(kStackBytes);
    getcontext(&made_);
    made_.uc_stack.ss_sp = stack_.data();
    made_.uc_stack.ss_size = stack_.size();
    made_.uc_link = nullptr;
    makecontext(&made_, run, 0);
    if (_setjmp(caller_) == 0) {
      setcontext(&made_);
    }
  }
  void resume() {
    if (_setjmp(caller_) == 0) {
      _longjmp(own_, 1);
    }
  }
  void leave() {
    if (_setjmp(own_) == 0) {
      _longjmp(caller_, 1);
    }
  }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{256} << 10;
  std::vector<unsigned char> stack_;
  ucontext_t made_;
  jmp_buf own_, caller_;
};

class Executor {
 public:
  static Executor& executor() {
    static Executor the_executor;
    return the_executor;
  }

  void run(const Grid& grid, const std::function<void()>& kernel) {
    const unsigned warps = grid.block_threads / kLanes;
    const std::size_t each_bytes = grid.shared_bytes / warps;
    check(grid.shared_bytes + kGuardBytes <= sizeof compressors::cuda::shared_memory,
          "more shared memory than there is");
    beginFibers();
    kernel_ = &kernel;
    std::vector<unsigned> order(std::size_t{grid.blocks} * warps);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random_);
    for (const unsigned warp : order) {
      block_index.x = warp / warps;
      runWarp(warp % warps, each_bytes);
    }
  }

  void meet(Meeting meeting) {
    if (meeting == Meeting::sync) {
      const std::size_t number = lanes_[current_].syncs++;
      most_syncs_ = std::max(most_syncs_, number + 1);
      if (skip_ == kSkipAll || skip_ == number) {
        return;
      }
    }
    lanes_[current_].meeting = meeting;
    lanes_[current_].fiber.leave();
  }

  const std::array<Word, kLanes>& exchange(Meeting meeting, Word own) {
    // A lane may be one exchange ahead of those that have yet to read, so two of them are kept.
    std::array<Word, kLanes>& words = words_[lanes_[current_].exchanges++ % 2];
    words[current_] = own;
    meet(meeting);
    return words;
  }

  void skipSync(std::size_t number) {
    skip_ = number;
    most_syncs_ = 0;
  }
  [[nodiscard]] std::size_t maxSyncs() const { return most_syncs_; }

 private:
  struct Lane {
    Fiber fiber;
    bool running = false;
    Meeting meeting = Meeting::sync;
    std::size_t syncs = 0, exchanges = 0;
  };

  static void check(bool right, const char* wrong) {
    if (!right) {
      std::fprintf(stderr, "warp executor: %s\n", wrong);
      std::abort();
    }
  }

  std::vector<std::array<unsigned, kLanes>> randomOrders() {
    std::vector<std::array<unsigned, kLanes>> orders(257);
    for (auto& order : orders) {
      std::iota(order.begin(), order.end(), 0u);
      std::shuffle(order.begin(), order.end(), random_);
    }
    return orders;
  }
  void beginFibers() {
    for (current_ = begun_ ? kLanes : 0; current_ < kLanes; ++current_) {
      lanes_[current_].fiber.begin([] { executor().loop(); });
    }
    begun_ = true;
  }
  /// What a fiber does: one warp's lane after the other.
  [[noreturn]] void loop() {
    for (;;) {
      lanes_[current_].fiber.leave();
      (*kernel_)();
      lanes_[current_].running = false;
    }
  }

  void runWarp(unsigned warp, std::size_t shared_bytes) {
    const SharedPart shared = sharedPart(warp, shared_bytes);
    fillShared(shared);
    for (Lane& lane : lanes_) {
      lane.running = true;
      lane.syncs = lane.exchanges = 0;
    }
    while (lanes_[0].running) {
      for (const unsigned lane : orders_[random_() % orders_.size()]) {
        current_ = lane;
        thread_index.x = warp * kLanes + lane;
        lanes_[lane].fiber.resume();
      }
      for (const Lane& lane : lanes_) {
        check(lane.running == lanes_[0].running, "some lanes have returned, others wait for them");
        check(!lane.running || lane.meeting == lanes_[0].meeting, "lanes wait at different operations");
      }
    }
    checkShared(shared);
  }

  /// A warp's own part, and guards before and behind it.
  struct SharedPart {
    unsigned char *before, *own, *behind, *end;
  };
  static SharedPart sharedPart(unsigned warp, std::size_t bytes) {
    auto* const all = reinterpret_cast<unsigned char*>(compressors::cuda::shared_memory);
    unsigned char* const own = all + warp * bytes;
    return {std::max(all, own - kGuardBytes), own, own + bytes, own + bytes + kGuardBytes};
  }
  static void fillShared(const SharedPart& part) { std::fill(part.before, part.end, kRubbish); }
  static void checkShared(const SharedPart& part) {
    const auto rubbish = [](unsigned char byte) { return byte == kRubbish; };
    check(std::all_of(part.before, part.own, rubbish), "a warp wrote before its shared memory");
    check(std::all_of(part.behind, part.end, rubbish), "a warp wrote behind its shared memory");
  }

  static constexpr unsigned char kRubbish = 0xb7;
  static constexpr std::size_t kGuardBytes = 256;
  std::array<Lane, kLanes> lanes_;
  std::array<Word, kLanes> words_[2] = {};
  const std::function<void()>* kernel_ = nullptr;
  bool begun_ = false;
  unsigned current_ = 0;
  std::size_t skip_ = kSkipNone, most_syncs_ = 0;
  std::minstd_rand random_{1};
  std::vector<std::array<unsigned, kLanes>> orders_ = randomOrders(); ///< Orders of a warp's lanes.
};

} // namespace

void meet(Meeting meeting) { Executor::executor().meet(meeting); }
const std::array<Word, kLanes>& exchange(Meeting meeting, Word own) {
  return Executor::executor().exchange(meeting, own);
}
void run(const Grid& grid, const std::function<void()>& kernel) { Executor::executor().run(grid, kernel); }
void skipSync(std::size_t number) { Executor::executor().skipSync(number); }
std::size_t maxSyncs() { return Executor::executor().maxSyncs(); }

} // namespace goss::test::simt
