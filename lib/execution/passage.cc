#include "execution/passage.h"

namespace goss {

bool Passage::begin(Stage& stage, std::uint32_t fragment) {
  stage_ = &stage;
  working_ = false;
  state_ = State::arriving;
  const bool moved = stage.memory() != memory_;
  memory_ = stage.memory();
  device_memory_ = stage.deviceMemory();
  stage.bringIn(fragment, slots_);
  return moved;
}

Status Passage::bringOut() {
  state_ = State::leaving;
  stage_->bringOut();
  return advance();
}

Status Passage::advance() {
  if (state_ != State::arriving && state_ != State::leaving) return Status::ok();
  const Result<bool> done = isDone();
  if (done.isOk() && done.value()) state_ = state_ == State::arriving ? State::here : State::left;
  return done.status();
}

void Passage::work(const StageWork& work, std::uint32_t phase) {
  working_ = true;
  stage_->start(work, phase);
}

Result<bool> Passage::endWork() {
  Result<bool> done = stage_->hasWorked();
  if (done.isOk() && done.value()) working_ = false;
  return done;
}

bool Passage::hasCome() const {
  if (working_) {
    const Result<bool> worked = stage_->hasWorked();
    return !worked.isOk() || worked.value();
  }
  if (state_ != State::arriving && state_ != State::leaving) return false;
  const Result<bool> done = isDone();
  return !done.isOk() || done.value();
}

} // namespace goss
