#include "bindings/nccl/turn.h"

namespace goss::nccl {

std::uint64_t Turns::take() {
  const std::lock_guard lock(mutex_);
  return taken_++;
}

void Turns::await(std::uint64_t turn) {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return over_ >= turn; });
}

void Turns::end() {
  const std::lock_guard lock(mutex_);
  ++over_;
  ended_.notify_all();
}

void Turns::awaitAll() {
  std::unique_lock lock(mutex_);
  const std::uint64_t last = taken_;
  ended_.wait(lock, [&] { return over_ >= last; });
}

void Turn::end() {
  if (turns_ == nullptr) return;
  turns_->await(number_);
  turns_->end();
  turns_ = nullptr;
}

} // namespace goss::nccl
