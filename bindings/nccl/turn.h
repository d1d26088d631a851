/// Orders the creation of communicators from a parent, because the exchanges of a creation take sequence numbers among
/// the parent's collectives.
#ifndef GOSS_BINDINGS_NCCL_TURN_H_
#define GOSS_BINDINGS_NCCL_TURN_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

namespace goss::nccl {

/// The turns of one communicator. Thread-safe.
class Turns {
 public:
  std::uint64_t take();
  /// Waits until the turns before `turn` are over.
  void await(std::uint64_t turn);
  /// After await() of the same turn.
  void end();
  /// Waits until all turns that were taken are over.
  void awaitAll();

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint64_t taken_ = 0;
  std::uint64_t over_ = 0;
};

/// Taken by the calling thread; the thread that starts a communicator then waits for it. For one thread at a time.
class Turn {
 public:
  /// `turns` null: there is nothing to wait for.
  explicit Turn(std::shared_ptr<Turns> turns) : turns_(std::move(turns)) {
    if (turns_ != nullptr) number_ = turns_->take();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { end(); }

  void await() {
    if (turns_ != nullptr) turns_->await(number_);
  }
  /// The exchange is over; the communicator's next one, and its calls, may begin.
  void end();

 private:
  std::shared_ptr<Turns> turns_; ///< Null when it is over.
  std::uint64_t number_ = 0;
};

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_TURN_H_
