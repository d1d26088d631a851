// The steps of a Run that encode and decode.
#include "core/communicator.h"
#include "core/execution_run.h"

namespace goss::core {

/// Where a slot's chunk lies in the tensor: the same number on all ranks.
std::uint64_t Run::tensorOffset(Slot slot) const {
  const std::uint32_t chunk = context_.schedule->chunkLike(slot);
  const schedule::Shape& shape = context_.call->shape;
  switch (context_.call->collective) {
    case Collective::allGather:
    case Collective::gather:
      return layout_->outputChunk(chunk).offset_elems;
    case Collective::allToAll: // Sender and receiver know the block by different places: each block is a tensor.
      if (slot.space == Space::payload) return tensorOffset(context_.schedule->payload_like[slot.index]);
      return slot.space == Space::output
                 ? layout_->outputChunk(chunk).offset_elems - shape.output_blocks[chunk].offset_elems
                 : layout_->inputChunk(chunk).offset_elems - shape.input_blocks[chunk].offset_elems;
    default:
      return layout_->inputChunk(chunk).offset_elems;
  }
}

/// One set of streams for each operation; results and the blocks of an exchange are rounded with numbers of their own.
Randomness Run::randomOf(bool result, std::uint32_t chunk) const {
  const Call& call = *context_.call;
  RandomContext context;
  context.seed = call.tensor;
  context.step = static_cast<std::uint32_t>(context_.draw);
  context.tensor = static_cast<std::uint32_t>(call.tensor ^ call.tensor >> 32);
  const SharedStream shared(context);
  context.epoch = call.collective == Collective::allToAll ? chunk + 2 : result ? 1 : 0;
  return {PrivateStream(context, static_cast<std::uint32_t>(communicator_.rank())), shared};
}

/// What the coming encoding has lost before; null where nothing is kept. A sum that is encoded on its way has none:
/// whoever contributed to it could not take the loss up.
float* Run::residualOf(const Step& step, std::uint64_t first_element, std::uint64_t elems, Status& status) {
  const Call& call = *context_.call;
  const std::span<const Slot> sources = context_.schedule->slotsOf(step.sources);
  const bool own = sources.size() == 1 && sources[0].space != Space::payload && !step.finishes;
  const ErrorFeedback& feedback = (step.finishes ? call.codecs->back : call.codecs->there).feedback;
  if (!(own && feedback.worker) && !(step.finishes && feedback.server)) return nullptr;
  const auto role = own ? sync::ReferenceRole::worker : sync::ReferenceRole::server;
  // Each block of an all_to_all is a tensor of its own.
  const std::uint64_t id =
      call.collective == Collective::allToAll ? context_.schedule->chunkLike(sources[0]) : std::uint64_t{0};
  Result<std::span<float>> kept =
      communicator_.referencesOnLoop().open({call.tensor, role, id}, {first_element, elems});
  if (!kept.isOk()) {
    status = kept.status();
    return nullptr;
  }
  return kept.value().data();
}

Status Run::runCodec(std::uint32_t index) {
  const Schedule& schedule = *context_.schedule;
  const Step& step = schedule.steps[index];
  const std::span<const Slot> targets = schedule.slotsOf(step.targets);
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const bool encodes = step.kind == StepKind::encode;
  const Slot result = targets[0];
  CodecStep job;
  job.elems = places_[step.targets.first].elems;
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
      job.payloads_are_results = schedule.payload_finished[sources[i].index];
    } else {
      job.base = place.data;
    }
  }
  job.payloads = payload_views_;
  job.finishes = step.finishes;
  job.out_is_result = encodes && schedule.payload_finished[result.index];
  job.first_element = tensorOffset(encodes || payload_views_.empty() ? result : sources.back());
  job.random = randomOf(job.out_is_result, schedule.chunkLike(result));
  Status status = Status::ok();
  if (!encodes) {
    job.target = places_[step.targets.first].data;
    status = context_.codec->decode(job);
  } else {
    const Place& out = places_[step.targets.first];
    job.out = std::span(out.data, out.capacity);
    if (targets.size() > 1) job.target = places_[step.targets.first + 1].data;
    job.residual = residualOf(step, job.first_element, job.elems, status);
    if (status.isOk()) status = context_.codec->encode(job);
    payload_bytes_[result.index] = job.bytes;
  }
  if (status.isOk()) stepDone(index);
  return status;
}

} // namespace goss::core
