/// Error feedback around any codec: plain residuals, LoCo's averaged ones in 8 bits, and DGC's momentum correction with
/// masking. All of them are compositions of encode(), decode() and selected(); codecs know nothing of feedback.
#ifndef GOSS_COMPRESSORS_FEEDBACK_H_
#define GOSS_COMPRESSORS_FEEDBACK_H_

#include "gossamer/codec.h"

namespace goss::compressors {

/// Encodes vectors of one length, adding what earlier encodes lost. The caller holds the state: stateBytes() zeroed
/// bytes aligned to 4 for each tensor and side, which may be saved and restored. Immutable; safe for concurrent use
/// with different states. Ranks need not agree on states.
///
/// | feedback | state | what an encode does with values x |
/// |---|---|---|
/// | none | - | sends x |
/// | ef | residual e, float32 | sends x + decay e; e = what that lost |
/// | loco | error e, int8 blocks of 256 | sends x + e; e = keep e + (1 - keep) lost; forgotten every reset_steps |
/// | momentum | u, v, float32 | u = momentum u + x; sends v + u; v = what that lost; u = 0 where it was sent |
class FeedbackEncoder {
 public:
  /// Feedback must be one that makeCompression() gives.
  FeedbackEncoder(Compression compression, std::size_t count);

  [[nodiscard]] std::size_t stateBytes() const;
  /// Scratch for encode() or merge(), aligned to 64.
  [[nodiscard]] std::size_t scratchBytes() const;

  /// The worker's side: as codec.encode(), with the job's residual, decay and scratch left to this class. `step` counts
  /// the encodes from 0. Errors: as the codec's; GOSS_ERR_INVALID_ARGUMENT for a state or scratch that is too small.
  Status encode(EncodeJob job, std::span<std::byte> state, std::span<std::byte> scratch, std::uint64_t step) const;
  /// The server's side: as codec.merge(). Momentum belongs to the worker: with such a feedback merge() keeps nothing.
  Status merge(MergeJob& job, std::span<std::byte> state, std::span<std::byte> scratch, std::uint64_t step) const;

 private:
  struct Parts; ///< The parts of a state and of scratch.
  [[nodiscard]] Result<Parts> open(std::size_t count, std::span<std::byte> state, std::span<std::byte> scratch,
                                   std::uint64_t step) const;
  Status keepError(const Parts& parts) const;
  Status maskMomentum(const EncodeJob& job, const Parts& parts) const;
  [[nodiscard]] bool hasMomentum() const { return compression_.feedback.momentum != 0; }

  const Compression compression_;
  const std::size_t count_;
  const std::shared_ptr<const Codec> error_codec_; ///< Codes errors in eight bits.
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_FEEDBACK_H_
