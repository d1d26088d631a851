#include "execution/device_step_progress.h"

#include <utility>

namespace goss {

void DeviceStepProgress::begin(const DeviceCodecSteps* codec) {
  codec_ = codec;
  ready_.clear();
  running_.clear();
  phase_ = 0;
  if (codec != nullptr) ready_in_phase_.assign(codec->plan()->phases.size(), 0);
}

bool DeviceStepProgress::take(std::uint32_t step) {
  if (codec_ == nullptr || !codec_->plan()->isOnDevice(step)) return false;
  ready_.push_back(step);
  ++ready_in_phase_[codec_->plan()->phase_of[step]];
  return true;
}

Status DeviceStepProgress::advance(Passage& passage, const DeviceFragment& fragment,
                                   const std::vector<std::size_t>& payload_bytes, std::size_t steps_left,
                                   std::vector<std::uint32_t>& done) {
  done.clear();
  if (passage.isWorking()) {
    const Result<bool> ended = passage.endWork();
    if (ended.isOk() && ended.value()) done = running_;
    return ended.status();
  }
  return passage.isEnqueued() ? startPhase(passage, fragment, payload_bytes, steps_left, done)
                              : startReady(passage, fragment, payload_bytes);
}

Status DeviceStepProgress::startReady(Passage& passage, const DeviceFragment& fragment,
                                      const std::vector<std::size_t>& payload_bytes) {
  if (ready_.empty()) return Status::ok();
  std::swap(running_, ready_);
  ready_.clear();
  if (Status status = codec_->check(fragment, running_, payload_bytes); !status.isOk()) return status;
  work(passage, fragment, 0);
  return Status::ok();
}

/// Lets running_ run.
void DeviceStepProgress::work(Passage& passage, const DeviceFragment& fragment, std::uint32_t phase) {
  passage.work(batch_.emplace(*codec_, fragment, running_), phase);
}

/// Starts the next phase of steps that were enqueued on the stream. The first phase has run when the fragment arrives.
/// The last one runs when the fragment leaves, and no step waits for it.
Status DeviceStepProgress::startPhase(Passage& passage, const DeviceFragment& fragment,
                                      const std::vector<std::size_t>& payload_bytes, std::size_t steps_left,
                                      std::vector<std::uint32_t>& done) {
  const std::vector<std::vector<std::uint32_t>>& phases = codec_->plan()->phases;
  if (phase_ == 0) {
    done = phases[phase_++];
    if (!done.empty()) return Status::ok();
  }
  if (phase_ == phases.size()) return Status::ok();
  const std::vector<std::uint32_t>& steps = phases[phase_];
  const bool is_last = phase_ + 1 == phases.size();
  if (ready_in_phase_[phase_] != steps.size() || (is_last && steps_left != steps.size())) return Status::ok();
  if (Status status = codec_->check(fragment, steps, payload_bytes); !status.isOk()) return status;
  running_ = steps;
  const std::uint32_t phase = phase_++;
  if (is_last) {
    done = steps;
  } else {
    work(passage, fragment, phase);
  }
  return Status::ok();
}

} // namespace goss
