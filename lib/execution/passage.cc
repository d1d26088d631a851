#include "execution/passage.h"

namespace goss {

Result<bool> Passage::begin(Stage& stage, std::uint32_t fragment) {
  stage_ = &stage;
  phase_ = Phase::arriving;
  const Result<std::byte*> memory = stage.memory(slots_.bytes());
  if (!memory.isOk()) return memory.status();
  const bool moved = memory.value() != memory_;
  memory_ = memory.value();
  if (Status status = stage.bringIn(fragment, slots_); !status.isOk()) return status;
  return moved;
}

Status Passage::bringOut() {
  phase_ = Phase::leaving;
  if (Status status = stage_->bringOut(); !status.isOk()) return status;
  return advance();
}

Status Passage::advance() {
  if (phase_ != Phase::arriving && phase_ != Phase::leaving) return Status::ok();
  const Result<bool> done = isDone();
  if (done.isOk() && done.value()) phase_ = phase_ == Phase::arriving ? Phase::here : Phase::left;
  return done.status();
}

bool Passage::hasCome() const {
  if (phase_ != Phase::arriving && phase_ != Phase::leaving) return false;
  const Result<bool> done = isDone();
  return !done.isOk() || done.value();
}

} // namespace goss
