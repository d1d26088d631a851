#include "execution/call_residuals.h"

#include <utility>

#include "execution/codec_step.h"

namespace goss {

/// All encodings of the call that keep what they lose.
std::vector<KeptEncoding> CallResiduals::encodingsOf(const KeepingCall& keeping) {
  std::vector<KeptEncoding> encodings;
  const Schedule& schedule = *keeping.plan.schedule;
  for (std::uint32_t fragment = 0; fragment < keeping.plan.fragments; ++fragment) {
    const schedule::Layout layout(schedule, keeping.call.shape, fragment, keeping.plan.fragments);
    const StepContext context{schedule, keeping.call, layout, 0};
    for (std::uint32_t i = 0; i < schedule.steps.size(); ++i) {
      if (!keepsFeedback(schedule, *keeping.call.codecs, schedule.steps[i])) continue;
      const FeedbackKey encoding = feedbackKeyOf(context, schedule.steps[i]);
      if (encoding.range.count == 0) continue;
      const bool on_device = keeping.device_steps.isBound() && keeping.device_steps.plan()->isOnDevice(i);
      const ErrorFeedback& feedback = compressionOf(*keeping.call.codecs, schedule.steps[i].finishes).feedback;
      const std::size_t index = fragment * schedule.steps.size() + i;
      encodings.push_back({{residualKeyOf(feedback, encoding), encoding.range}, index, on_device, false});
      if (feedback.momentum != 0)
        encodings.push_back({{momentumKeyOf(encoding), encoding.range}, index, on_device, true});
    }
  }
  return encodings;
}

void CallResiduals::want(DeviceStation& station, const KeepingCall& keeping, BlockReserve& reserve) const {
  environment_.device_feedback.want(station, encodingsOf(keeping), reserve);
}

Result<bool> CallResiduals::open(DeviceStation& station, const KeepingCall& keeping, BlockReserve& reserve) {
  const std::uint64_t tensor = keeping.operation.keptTensor();
  std::size_t others = 0;
  environment_.operations.forEachActiveOnLoop(
      [&](const Operation& other) { others += &other != &keeping.operation && other.keptTensor() == tensor ? 1 : 0; });
  void* stream = keeping.call.device.ordered ? keeping.call.device.stream : nullptr;
  const DeviceFeedback::Beginner beginner{*keeping.device_steps.plan(), tensor, stream, others,
                                          keeping.plan.fragments,       reserve};
  auto opened = environment_.device_feedback.open(station, beginner, encodingsOf(keeping));
  if (!opened.isOk()) return opened.status();
  if (opened.value() == nullptr) return false;
  opened_ = opened.take();
  used_tensor_ = tensor;
  if (stream == nullptr) start(station);
  return true;
}

void CallResiduals::start(DeviceStation& station) {
  if (!opened_->hasStart()) return;
  if (here_ == nullptr) here_ = std::make_unique<DeviceJob>(station.watch);
  here_->start(*station.in, [opened = opened_, &station] { return opened->enqueueStart(*station.in); });
}

Status CallResiduals::moveToHost(const KeepingCall& keeping) const {
  if (environment_.device_feedback.isEmpty()) return Status::ok();
  for (const KeptEncoding& encoding : encodingsOf(keeping)) {
    if (encoding.on_device) continue;
    const Result<bool> on_host = environment_.device_feedback.moveToHost(encoding.kept);
    if (!on_host.isOk()) return on_host.status();
  }
  return Status::ok();
}

void CallResiduals::close() {
  if (const std::uint64_t tensor = std::exchange(used_tensor_, 0); tensor != 0)
    environment_.device_feedback.close(tensor);
}

void CallResiduals::withdraw() {
  if (here_ != nullptr) here_->withdraw();
}

} // namespace goss
