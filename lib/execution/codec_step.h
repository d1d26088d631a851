/// What the encode and decode steps of a compressed schedule compute, wherever they run. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_CODEC_STEP_H_
#define GOSS_LIB_EXECUTION_CODEC_STEP_H_

#include <cstdint>
#include <span>

#include "call/call.h"
#include "execution/feedback.h"
#include "gossamer/codec.h"
#include "schedule/layout.h"

namespace goss {

/// One encode or decode step, bound to memory: target, out = finish(base + payloads).
struct CodecStep {
  std::uint64_t elems = 0;
  const std::byte* base = nullptr;       ///< Numbers of the call's dtype; may be null.
  std::span<const PayloadView> payloads; ///< Added in this order.
  bool payloads_are_results = false;     ///< Which of the two codecs the payloads belong to.
  bool finishes = false;                 ///< The mean is computed, if the op is a mean.
  std::byte* target = nullptr;           ///< Destination of the numbers; may be null.
  std::span<std::byte> out;              ///< encode only: destination of the payload.
  bool out_is_result = false;            ///< Which of the two codecs encodes the payload.
  std::size_t bytes = 0;                 ///< Set by encode().
  KeptFeedback kept;                     ///< Error feedback of this encoding.
  Randomness random;
  std::uint64_t first_element = 0; ///< First element within the tensor.
};

/// Random streams of a call's operation number `draw` on this rank. `stream` distinguishes its encodings.
Randomness randomnessOf(const Call& call, std::uint64_t draw, std::uint32_t stream, int rank);

/// The fragment that a step belongs to, and the operation's number in random streams.
struct StepContext {
  const Schedule& schedule;
  const Call& call;
  const schedule::Layout& layout;
  std::uint64_t draw = 0;
};

/// The members that do not depend on where slots lie: all but base, payloads, target, out and kept.
CodecStep describeCodecStep(const StepContext& context, const Step& step);

/// Whether the step keeps feedback. A partial sum that is encoded on its way has none: no rank could compensate the
/// loss.
bool keepsFeedback(const Schedule& schedule, const CodecPair& codecs, const Step& step);

/// Whose loss a step that keepsFeedback() keeps.
FeedbackKey feedbackKeyOf(const StepContext& context, const Step& step);

/// The codec that a payload slot's bytes belong to.
const Compression& compressionOf(const CodecPair& codecs, bool result);

} // namespace goss

#endif // GOSS_LIB_EXECUTION_CODEC_STEP_H_
