#include "execution/codec_step.h"

#include "schedule/contract.h"

namespace goss {

namespace {

/// Offset of a slot's chunk in the tensor: the same on all ranks.
std::uint64_t tensorOffset(const StepContext& context, Slot slot) {
  const std::uint32_t chunk = context.schedule.chunkLike(slot);
  const schedule::Shape& shape = context.call.shape;
  const schedule::Layout& layout = context.layout;
  switch (context.call.collective) {
    case Collective::allGather:
    case Collective::gather:
      return layout.outputChunk(chunk).offset_elems;
    case Collective::neighborAllGather:
    case Collective::neighborAllToAll:
    case Collective::allToAll: // Sender and receiver know the block by different numbers: each block is a tensor.
      if (slot.space == Space::payload) return tensorOffset(context, context.schedule.payload_like[slot.index]);
      return slot.space == Space::output
                 ? layout.outputChunk(chunk).offset_elems - shape.output_blocks[chunk].offset_elems
                 : layout.inputChunk(chunk).offset_elems - shape.input_blocks[chunk].offset_elems;
    default:
      return layout.inputChunk(chunk).offset_elems;
  }
}

/// Random numbers of an encoding: one set of streams for each operation; results and the blocks of an exchange have
/// numbers of their own.
Randomness randomOf(const StepContext& context, bool result, std::uint32_t chunk) {
  const bool exchanges = schedule::exchangesBlocks(context.call.collective);
  const std::uint32_t stream = exchanges ? chunk + 2 : result ? 1 : 0;
  return randomnessOf(context.call, context.draw, stream, context.schedule.rank);
}

} // namespace

Randomness randomnessOf(const Call& call, std::uint64_t draw, std::uint32_t stream, int rank) {
  RandomContext context;
  context.seed = call.tensor;
  context.step = static_cast<std::uint32_t>(draw);
  context.tensor = static_cast<std::uint32_t>(call.tensor ^ call.tensor >> 32);
  const SharedStream shared(context);
  context.epoch = stream;
  return {PrivateStream(context, static_cast<std::uint32_t>(rank)), shared};
}

CodecStep describeCodecStep(const StepContext& context, const Step& step) {
  const Schedule& schedule = context.schedule;
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const Slot result = schedule.slotsOf(step.targets)[0];
  const bool encodes = step.kind == StepKind::encode;
  CodecStep job;
  job.elems = context.layout.extentOf(result).count_elems;
  for (const Slot source : sources) {
    if (source.space == Space::payload) job.payloads_are_results = schedule.payload_finished[source.index];
  }
  job.finishes = step.finishes;
  job.out_is_result = encodes && schedule.payload_finished[result.index];
  const bool has_payloads = !sources.empty() && sources.back().space == Space::payload;
  job.first_element = tensorOffset(context, encodes || !has_payloads ? result : sources.back());
  job.random = randomOf(context, job.out_is_result, schedule.chunkLike(result));
  return job;
}

bool keepsFeedback(const Schedule& schedule, const CodecPair& codecs, const Step& step) {
  if (step.kind != StepKind::encode) return false;
  const std::span<const Slot> sources = schedule.slotsOf(step.sources);
  const bool own = sources.size() == 1 && sources[0].space != Space::payload;
  return step.finishes ? codecs.result.feedback.server : own && codecs.contribution.feedback.worker;
}

FeedbackKey feedbackKeyOf(const StepContext& context, const Step& step) {
  const Call& call = context.call;
  const Slot result = context.schedule.slotsOf(step.targets)[0];
  FeedbackKey key;
  key.tensor = call.tensor;
  // Each block of an all_to_all is a tensor of its own.
  if (schedule::exchangesBlocks(call.collective))
    key.id = context.schedule.chunkLike(context.schedule.slotsOf(step.sources)[0]);
  key.range = {tensorOffset(context, result), context.layout.extentOf(result).count_elems};
  key.server = step.finishes;
  key.draw = context.draw;
  return key;
}

const Compression& compressionOf(const CodecPair& codecs, bool result) {
  return result ? codecs.result : codecs.contribution;
}

} // namespace goss
