// The steps of a Run that encode and decode.
#include "execution/run.h"
#include "execution/tensor_use.h"
#include "schedule/contract.h"

namespace goss {

/// Whether the step keeps feedback. A partial sum that is encoded on its way has none: no rank could compensate the
/// loss.
bool Run::keepsFeedback(const Step& step) const {
  if (step.kind != StepKind::encode) return false;
  const std::span<const Slot> sources = context_.schedule->slotsOf(step.sources);
  const bool own = sources.size() == 1 && sources[0].space != Space::payload;
  const CodecPair& codecs = *context_.call->codecs;
  return step.finishes ? codecs.result.feedback.server : own && codecs.contribution.feedback.worker;
}

std::uint32_t Run::keptEncodings(bool of_sum) const {
  std::uint32_t count = 0;
  for (const Step& step : context_.schedule->steps)
    count += keepsFeedback(step) && step.finishes == of_sum ? 1 : 0;
  return count;
}

bool Run::mayDoCodecWork() const {
  if (!hasCodecWork()) return false;
  const Step& step = context_.schedule->steps[codec_ready_[codec_head_]];
  return !keepsFeedback(step) || !mustLetOthersEncodeOnLoop(environment_.operations, operation_, step.finishes);
}

/// The loss that feedback adds to the next encoding; empty where none is kept.
Result<KeptFeedback> Run::feedbackOf(const Step& step, std::uint64_t first_element, std::uint64_t elems) {
  if (!keepsFeedback(step)) return KeptFeedback{};
  const Call& call = *context_.call;
  const std::span<const Slot> sources = context_.schedule->slotsOf(step.sources);
  FeedbackPlace place;
  place.tensor = call.tensor;
  // Each block of an all_to_all is a tensor of its own.
  if (schedule::exchangesBlocks(call.collective)) place.id = context_.schedule->chunkLike(sources[0]);
  place.range = {first_element, elems};
  place.server = step.finishes;
  place.draw = context_.draw;
  const ErrorFeedback& feedback = (step.finishes ? call.codecs->result : call.codecs->contribution).feedback;
  return openFeedback(environment_.references, feedback, place);
}

Status Run::addPayloads(std::uint32_t index) {
  const Schedule& schedule = *context_.schedule;
  const Step& step = schedule.steps[index];
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const Place& target = places_[step.targets.first];
  const auto viewOf = [&](std::uint32_t i) {
    return PayloadView(places_[step.sources.first + i].data, payload_bytes_[sources[i].index]);
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
  CodecStep job = describeCodecStep({schedule, *context_.call, *layout_, context_.draw}, step);
  if (job.elems == 0) {
    if (encodes) payload_bytes_[result.index] = 0;
    stepDone(index);
    return Status::ok();
  }
  payload_views_.clear();
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    const Place& place = places_[step.sources.first + i];
    if (sources[i].space == Space::payload) {
      payload_views_.emplace_back(place.data, payload_bytes_[sources[i].index]);
    } else {
      job.base = place.data;
    }
  }
  job.payloads = payload_views_;
  Status status = Status::ok();
  if (!encodes) {
    job.target = places_[step.targets.first].data;
    status = context_.codec->decode(job);
  } else {
    const Place& out = places_[step.targets.first];
    job.out = std::span(out.data, out.capacity);
    if (targets.size() > 1) job.target = places_[step.targets.first + 1].data;
    Result<KeptFeedback> kept = feedbackOf(step, job.first_element, job.elems);
    if (!kept.isOk()) return kept.status();
    job.kept = kept.value();
    status = context_.codec->encode(job);
    payload_bytes_[result.index] = job.bytes;
  }
  if (status.isOk()) stepDone(index);
  return status;
}

/// Sees which steps have run on the device, and lets others run.
Status Run::advanceOnDevice() {
  const Schedule& schedule = *context_.schedule;
  const StepContext step_context{schedule, *context_.call, *layout_, context_.draw};
  const EdgeFragment fragment{step_context, passage_.slots(), passage_.memory(), passage_.deviceMemory()};
  const Status status = on_device_.advance(passage_, fragment, payload_bytes_, steps_left_, done_on_device_);
  if (status.kind() == GOSS_ERR_PROTOCOL) return status; // A peer's fault.
  if (!status.isOk()) return ofDevice(status, environment_.group, *context_.signature);
  for (const std::uint32_t index : done_on_device_) {
    const Slot result = schedule.slotsOf(schedule.steps[index].targets)[0];
    if (result.space == Space::payload) payload_bytes_[result.index] = context_.edge->bytesOf(*layout_, result);
    stepDone(index);
  }
  return Status::ok();
}

} // namespace goss
