// The steps of a Run that encode and decode.
#include "execution/run.h"
#include "execution/tensor_use.h"
#include "schedule/contract.h"

namespace goss {

std::uint32_t Run::keptEncodings(bool of_sum) const {
  std::uint32_t count = 0;
  for (const Step& step : context_.schedule->steps)
    count += context_.keeps(step) && step.finishes == of_sum ? 1 : 0;
  return count;
}

bool Run::mayDoCodecWork() const {
  if (!hasCodecWork()) return false;
  const Step& step = context_.schedule->steps[codec_ready_[codec_head_]];
  if (!context_.keeps(step)) return true;
  if (mustLetOthersEncodeOnLoop(environment_.operations, operation_, step.finishes)) return false;
  const Result<bool> on_host = isFeedbackOnHost(step);
  return !on_host.isOk() || on_host.value(); // The step fails with the error.
}

/// Whether what the step keeps lies in the host's memory; if not, it is on its way.
Result<bool> Run::isFeedbackOnHost(const Step& step) const {
  DeviceFeedback& on_devices = environment_.device_feedback;
  if (on_devices.isEmpty()) return true;
  const FeedbackKey encoding = feedbackKeyOf(stepContext(), step);
  const ErrorFeedback& feedback = compressionOf(*context_.call->codecs, step.finishes).feedback;
  Result<bool> on_host = on_devices.moveToHost({residualKeyOf(feedback, encoding), encoding.range});
  if (on_host.isOk() && on_host.value() && feedback.momentum != 0)
    on_host = on_devices.moveToHost({momentumKeyOf(encoding), encoding.range});
  if (on_host.isOk()) return on_host;
  return ofDevice(on_host.status(), environment_.group, *context_.signature);
}

/// The loss that feedback adds to the next encoding; empty where none is kept.
Result<KeptFeedback> Run::feedbackOf(const Step& step) const {
  if (!context_.keeps(step)) return KeptFeedback{};
  if (const Result<bool> on_host = isFeedbackOnHost(step); !on_host.isOk()) return on_host.status();
  const ErrorFeedback& feedback = compressionOf(*context_.call->codecs, step.finishes).feedback;
  return openFeedback(environment_.references, feedback, feedbackKeyOf(stepContext(), step));
}

Status Run::addPayloads(std::uint32_t index) {
  const Schedule& schedule = *context_.schedule;
  const Step& step = schedule.steps[index];
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const SlotMemory& target = memory_of_[step.targets.first];
  const auto viewOf = [&](std::uint32_t i) {
    return PayloadView(memory_of_[step.sources.first + i].data, payload_bytes_[sources[i].index]);
  };
  std::size_t bytes = 0;
  if (target.elems > 0) {
    Result<std::size_t> sum =
        context_.codec->addPayloads(target.elems, viewOf(0), viewOf(1), std::span(target.data, target.capacity));
    if (!sum.isOk()) return sum.status();
    bytes = sum.value();
  }
  payload_bytes_[schedule.slotsOf(step.targets)[0].index] = bytes;
  stepDone(index);
  return Status::ok();
}

Status Run::runCodec(std::uint32_t index) {
  if (context_.schedule->steps[index].kind == StepKind::reduce) return addPayloads(index);
  const Schedule& schedule = *context_.schedule;
  const Step& step = schedule.steps[index];
  const std::span<const Slot> targets = schedule.slotsOf(step.targets);
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const bool encodes = step.kind == StepKind::encode;
  const Slot result = targets[0];
  CodecStep job = describeCodecStep(stepContext(), step);
  if (job.elems == 0) {
    if (encodes) payload_bytes_[result.index] = 0;
    stepDone(index);
    return Status::ok();
  }
  payload_views_.clear();
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    const SlotMemory& memory = memory_of_[step.sources.first + i];
    if (sources[i].space == Space::payload) {
      payload_views_.emplace_back(memory.data, payload_bytes_[sources[i].index]);
    } else {
      job.base = memory.data;
    }
  }
  job.payloads = payload_views_;
  Status status = Status::ok();
  if (!encodes) {
    job.target = memory_of_[step.targets.first].data;
    status = context_.codec->decode(job);
  } else {
    const SlotMemory& out = memory_of_[step.targets.first];
    job.out = std::span(out.data, out.capacity);
    if (targets.size() > 1) job.target = memory_of_[step.targets.first + 1].data;
    Result<KeptFeedback> kept = feedbackOf(step);
    if (!kept.isOk()) return kept.status();
    job.kept = kept.value();
    status = context_.codec->encode(job);
    payload_bytes_[result.index] = job.bytes;
  }
  if (status.isOk()) stepDone(index);
  return status;
}

/// Completes the steps that have run on the device, and starts others.
Status Run::advanceOnDevice() {
  const Schedule& schedule = *context_.schedule;
  const StepContext step_context = stepContext();
  const DeviceFragment fragment{
      step_context,
      passage_.slots(),
      passage_.memory(),
      passage_.deviceMemory(),
      context_.residuals == nullptr ? KeptOnDevice() : context_.residuals->ofFragment(fragment_),
      passage_.isEnqueued() ? std::span<const std::size_t>() : payload_bytes_};
  const Status status = on_device_.advance(passage_, fragment, payload_bytes_, steps_left_, done_on_device_);
  if (status.kind() == GOSS_ERR_PROTOCOL) return status; // A peer's fault.
  if (!status.isOk()) return ofDevice(status, environment_.group, *context_.signature);
  for (const std::uint32_t index : done_on_device_) {
    const Step& step = schedule.steps[index];
    const Slot result = schedule.slotsOf(step.targets)[0];
    if (result.space == Space::payload) payload_bytes_[result.index] = context_.device_steps->bytesOf(fragment, result);
    if (context_.keeps(step)) context_.outcome.countEncoding(step.finishes);
    stepDone(index);
  }
  return Status::ok();
}

} // namespace goss
