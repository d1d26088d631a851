#include "execution/device_codec_steps.h"

#include <algorithm>

#include "builtins/builtins.h"
#include "schedule/contract.h"

namespace goss {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

} // namespace

std::string_view whyStaged(const CodecPair& codecs) {
  for (const Compression* one : {&codecs.contribution, &codecs.result}) {
    if (const std::string_view why = whyNoKernels(one->codec->spec()); !why.empty()) return why;
  }
  return "";
}

/// Whether a call that has failed leaves NaN alone: makesNan() holds for both codecs, and a sparsifier does not pick
/// some of the NaN that another codec has decoded. This is found out once for all calls with them.
bool DeviceCodecSteps::makeNan(const std::shared_ptr<const CodecPair>& codecs) {
  if (tried_ != codecs) {
    tried_ = codecs;
    const Compression& result = codecs->result;
    const bool keeps = codecs->contribution.codec->spec() == result.codec->spec() || !result.codec->traits().sparse;
    tried_make_nan_ = contribution_->makesNan() && result_->makesNan() && keeps;
  }
  return tried_make_nan_;
}

bool DeviceCodecSteps::findCodecs(const Call& call, Devices& devices) {
  const Result<DeviceStation*> station = devices.station(call.device.device);
  if (!station.isOk()) return false; // The call will fail with the same error.
  for (const Compression* one : {&call.codecs->contribution, &call.codecs->result}) {
    Result<std::shared_ptr<const QueuedCodec>> made = station.value()->codec(one->codec->spec());
    if (!made.isOk()) return false;
    (one == &call.codecs->contribution ? contribution_ : result_) = made.take();
  }
  return !call.device.ordered || makeNan(call.codecs);
}

bool DeviceCodecSteps::bind(const Schedule& schedule, const Call& call, Devices& devices) {
  is_bound_ = false;
  if (!call.device.any() || call.codecs == nullptr || call.dtype != GOSS_FLOAT32) return false;
  const bool sums = schedule::reduces(call.collective);
  const bool changes_input = call.staged_input || (sums && call.op == GOSS_PREMUL_SUM);
  if (changes_input || !whyStaged(*call.codecs).empty() || !findCodecs(call, devices)) return false;
  schedule_ = &schedule;
  call_ = &call;
  factor_ = call.op == GOSS_AVG ? 1.0f / static_cast<float>(schedule.size) : 1.0f;
  const DeviceBuffers& device = call.device;
  const DeviceStepBuffers buffers{device.input && !device.pinned_input, device.output && !device.pinned_output,
                                  sums && factor_ != 1};
  const bool any = planDeviceSteps(schedule, buffers, plan_);
  // Calls of a group have no order that all ranks agree on. Whatever a gate waits for must stand before all gates of
  // the group, as first phases do; a phase between the first and the last would stand behind gates of other calls.
  is_bound_ = any && !(device.grouped && plan_.phases.size() > 2);
  return is_bound_;
}

const Codec& DeviceCodecSteps::hostCodec(Slot payload) const {
  return *compressionOf(*call_->codecs, schedule_->payload_finished[payload.index]).codec;
}

std::size_t DeviceCodecSteps::maxBytesOf(const schedule::Layout& layout, Slot payload) const {
  const std::uint64_t elems = layout.extentOf(payload).count_elems;
  return elems == 0 ? 0 : hostCodec(payload).maxBytes(elems);
}

std::size_t DeviceCodecSteps::bytesOf(const DeviceFragment& fragment, Slot payload) const {
  const std::size_t most = maxBytesOf(fragment.context.layout, payload);
  if (most == 0 || hostCodec(payload).traits().fixed_size) return most;
  return hostCodec(payload).lengthOf({fragment.pinned + fragment.slots.at(payload), most},
                                     fragment.context.layout.extentOf(payload).count_elems);
}

std::size_t DeviceCodecSteps::vectorCount() const {
  return call_->codecs->contribution.feedback.eight_bit || call_->codecs->result.feedback.eight_bit ? 2 : 1;
}

std::size_t DeviceCodecSteps::scratchBytes(std::uint64_t elems) const {
  return std::max(contribution_->scratchBytes(elems), result_->scratchBytes(elems));
}

std::size_t DeviceCodecSteps::memoryBytes(const schedule::Layout& layout, const StagedSlots& slots) const {
  std::size_t scratch = 0;
  for (std::uint32_t i = 0; i < schedule_->steps.size(); ++i) {
    if (!plan_.isOnDevice(i)) continue;
    const std::uint64_t elems = layout.extentOf(schedule_->slotsOf(schedule_->steps[i].targets)[0]).count_elems;
    scratch = std::max(scratch, vectorCount() * aligned(elems * sizeof(float)) + scratchBytes(elems));
  }
  return slots.payloadBytes() + scratch;
}

std::byte* DeviceCodecSteps::placeOf(const DeviceFragment& fragment, Slot slot) const {
  if (slot.space == Space::payload) return fragment.memory + fragment.slots.payloadAt(slot);
  const std::size_t at = fragment.context.layout.extentOf(slot).offset_elems * sizeof(float);
  auto* buffer = static_cast<std::byte*>(slot.space == Space::input ? const_cast<void*>(call_->input) : call_->output);
  return buffer + at;
}

Status DeviceCodecSteps::copyPayloads(DeviceQueue& queue, const DeviceFragment& fragment,
                                      std::span<const std::uint32_t> steps, bool to_device) const {
  std::vector<CopyJob> jobs;
  for (const std::uint32_t index : steps) {
    const Step& step = schedule_->steps[index];
    const PoolRange range = to_device ? step.sources : step.targets;
    for (std::uint32_t i = range.first; i < range.first + range.count; ++i) {
      const Slot slot = schedule_->slots[i];
      if (slot.space != Space::payload || (to_device && !plan_.is_brought[i])) continue;
      std::byte* host = fragment.pinned + fragment.slots.at(slot);
      std::byte* there = placeOf(fragment, slot);
      const bool known = to_device && !fragment.payload_bytes.empty();
      const std::size_t bytes = known ? fragment.payload_bytes[slot.index] : maxBytesOf(fragment.context.layout, slot);
      if (bytes > 0) jobs.push_back(to_device ? CopyJob{there, host, bytes} : CopyJob{host, there, bytes});
    }
  }
  return jobs.empty() ? Status::ok() : queue.copy(jobs);
}

Status DeviceCodecSteps::enqueue(DeviceQueue& queue, const DeviceFragment& fragment,
                                 std::span<const std::uint32_t> steps) const {
  if (Status status = copyPayloads(queue, fragment, steps, true); !status.isOk()) return status;
  for (const std::uint32_t index : steps) {
    const Step& step = schedule_->steps[index];
    const bool codes = step.kind == StepKind::encode || step.kind == StepKind::decode;
    if (Status status = codes ? enqueueStep(queue, fragment, index) : copyNumbers(queue, fragment, step);
        !status.isOk())
      return status;
  }
  return copyPayloads(queue, fragment, steps, false);
}

Status DeviceCodecSteps::copyNumbers(DeviceQueue& queue, const DeviceFragment& fragment, const Step& step) const {
  const std::span<const Slot> targets = schedule_->slotsOf(step.targets);
  const std::span<const Slot> sources = schedule_->slotsOf(step.sources);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const CopyJob job{placeOf(fragment, targets[i]), placeOf(fragment, sources[i]),
                      fragment.context.layout.extentOf(targets[i]).count_elems * sizeof(float)};
    if (job.bytes == 0 || job.to == job.from) continue;
    if (Status status = queue.copy({&job, 1}); !status.isOk()) return status;
  }
  return Status::ok();
}

Status DeviceCodecSteps::enqueueStep(DeviceQueue& queue, const DeviceFragment& fragment, std::uint32_t index) const {
  const Step& step = schedule_->steps[index];
  CodecStep job = describeCodecStep(fragment.context, step);
  if (job.elems == 0) return Status::ok();
  if (!fragment.kept.residuals.empty()) {
    job.kept.residual = fragment.kept.residuals[index];
    job.kept.momentum = fragment.kept.momenta[index];
  }
  std::vector<PayloadView> payloads;
  for (const Slot slot : schedule_->slotsOf(step.sources)) {
    if (slot.space == Space::payload) {
      payloads.emplace_back(placeOf(fragment, slot), maxBytesOf(fragment.context.layout, slot));
    } else {
      job.base = placeOf(fragment, slot);
    }
  }
  job.payloads = payloads;
  const bool encodes = step.kind == StepKind::encode;
  for (const Slot slot : schedule_->slotsOf(step.targets)) {
    if (slot.space == Space::payload) {
      job.out = {placeOf(fragment, slot), maxBytesOf(fragment.context.layout, slot)};
    } else {
      job.target = placeOf(fragment, slot);
    }
  }
  std::byte* numbers = fragment.memory + fragment.slots.payloadBytes();
  std::byte* scratch = numbers + vectorCount() * aligned(job.elems * sizeof(float));
  const std::size_t scratch_bytes = scratchBytes(job.elems);
  const bool merges = encodes && (!payloads.empty() || job.target != nullptr || (job.finishes && factor_ != 1));
  if (merges && job.target == nullptr) job.target = numbers;
  if (job.target != nullptr && job.base != nullptr && job.base != job.target) {
    const CopyJob copy{job.target, job.base, job.elems * sizeof(float)};
    if (Status status = queue.copy({&copy, 1}); !status.isOk()) return status;
  }
  if (!encodes)
    return decode(queue, job, job.base == nullptr ? DecodeMode::set : DecodeMode::add, {scratch, scratch_bytes});
  if (job.kept.momentum != nullptr) return encodeMomentum(queue, job, merges, {scratch, scratch_bytes});
  const ErrorFeedback& feedback = compressionOf(*call_->codecs, job.out_is_result).feedback;
  const bool keeps_error = feedback.eight_bit && job.kept.residual != nullptr;
  const ErrorJob error{job.kept.residual, reinterpret_cast<float*>(numbers + aligned(job.elems * sizeof(float))),
                       job.elems, feedback.keep, forgetsError(feedback, fragment.context.draw)};
  if (keeps_error) {
    if (Status status = queue.openError(error); !status.isOk()) return status;
    job.kept.residual = error.lost;
  }
  Status status = merges ? merge(queue, job, {scratch, scratch_bytes}) : encode(queue, job, {scratch, scratch_bytes});
  return status.isOk() && keeps_error ? queue.keepError(error) : status;
}

Status DeviceCodecSteps::encode(DeviceQueue& queue, CodecStep& step, std::span<std::byte> scratch) const {
  EncodeSegment segment{0, step.elems, step.out, 0};
  EncodeJob job;
  job.values = std::span(reinterpret_cast<const float*>(step.base), step.elems);
  job.residual = step.kept.residual;
  job.decay = compressionOf(*call_->codecs, step.out_is_result).feedback.decay;
  job.random = step.random;
  job.first_element = step.first_element;
  job.scratch = scratch;
  job.segments = std::span(&segment, 1);
  return codec(step.out_is_result).encode(queue, job);
}

Status DeviceCodecSteps::decode(DeviceQueue& queue, const CodecStep& step, DecodeMode mode,
                                std::span<std::byte> scratch) const {
  DecodeJob job;
  job.payloads = step.payloads;
  job.out = std::span(reinterpret_cast<float*>(step.target), step.elems);
  job.mode = mode;
  job.shared = step.random.shared;
  job.first_element = step.first_element;
  job.scratch = scratch;
  return codec(step.payloads_are_results).decode(queue, job);
}

/// As FeedbackWork. The payload of a step that merges has no others in it: payloads of codecs with a momentum are
/// gathered.
Status DeviceCodecSteps::encodeMomentum(DeviceQueue& queue, CodecStep& step, bool merges,
                                        std::span<std::byte> scratch) const {
  const ErrorFeedback& feedback = compressionOf(*call_->codecs, step.out_is_result).feedback;
  const auto* values = reinterpret_cast<const float*>(merges ? step.target : step.base);
  float* const momentum = step.kept.momentum;
  if (Status status = queue.addMomentum({momentum, values, step.elems, feedback.momentum}); !status.isOk())
    return status;
  const CopyJob copy{step.target, momentum, step.elems * sizeof(float)};
  if (Status status = merges ? queue.copy({&copy, 1}) : Status::ok(); !status.isOk()) return status;
  step.base = reinterpret_cast<const std::byte*>(momentum);
  if (Status status = merges ? merge(queue, step, scratch) : encode(queue, step, scratch); !status.isOk())
    return status;
  if (Status status = queue.addMomentum({momentum, nullptr, step.elems, 0}); !status.isOk()) return status;
  if (!feedback.masked) return Status::ok();
  const PayloadView payload = step.out;
  DecodeJob held;
  held.payloads = {&payload, 1};
  held.out = {momentum, step.elems};
  held.shared = step.random.shared;
  held.first_element = step.first_element;
  held.scratch = scratch;
  return codec(step.out_is_result).clearHeld(queue, held);
}

bool DeviceStepBatch::comesToHost() const {
  return std::any_of(steps_.begin(), steps_.end(), [this](std::uint32_t index) {
    return fragment_.context.schedule.steps[index].kind == StepKind::encode;
  });
}

/// As CodecWork merges on the host.
Status DeviceCodecSteps::merge(DeviceQueue& queue, CodecStep& step, std::span<std::byte> scratch) const {
  const CodecPair& codecs = *call_->codecs;
  MergeJob job;
  job.payloads = step.payloads;
  if (!step.payloads.empty() && step.payloads_are_results != step.out_is_result &&
      codecs.contribution.codec->spec() != codecs.result.codec->spec()) {
    if (Status status = decode(queue, step, DecodeMode::add, scratch); !status.isOk()) return status;
    job.payloads = {};
  }
  job.values = std::span(reinterpret_cast<float*>(step.target), step.elems);
  job.factor = step.finishes ? factor_ : 1;
  job.residual = step.kept.residual;
  job.decay = compressionOf(*call_->codecs, step.out_is_result).feedback.decay;
  job.random = step.random;
  job.first_element = step.first_element;
  job.scratch = scratch;
  job.out = step.out;
  return codec(step.out_is_result).merge(queue, job);
}

Status DeviceCodecSteps::check(const DeviceFragment& fragment, std::span<const std::uint32_t> steps,
                               const std::vector<std::size_t>& payload_bytes) const {
  for (const std::uint32_t index : steps) {
    const Step& step = schedule_->steps[index];
    for (std::uint32_t i = step.sources.first; i < step.sources.first + step.sources.count; ++i) {
      const Slot slot = schedule_->slots[i];
      const std::uint64_t elems = fragment.context.layout.extentOf(slot).count_elems;
      if (!plan_.is_brought[i] || elems == 0) continue;
      const PayloadView payload(fragment.pinned + fragment.slots.at(slot), payload_bytes[slot.index]);
      if (Status status = hostCodec(slot).check(payload, elems); !status.isOk()) return status;
    }
  }
  return Status::ok();
}

} // namespace goss
