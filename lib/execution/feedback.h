/// Error feedback of one encoding: how it changes values and residuals, with the state in a reference store.
#ifndef GOSS_LIB_EXECUTION_FEEDBACK_H_
#define GOSS_LIB_EXECUTION_FEEDBACK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gossamer/codec.h"
#include "state/reference_store.h"

namespace goss {

/// The kept state of the elements of one encoding, in the store; null where there is none.
struct KeptFeedback {
  float* residual = nullptr; ///< Losses of earlier encodings; LoCo's are rounded to 8 bits.
  float* momentum = nullptr;
  bool forget = false; ///< LoCo's reset is due.
};

/// Identifies an encoding: the tensor's elements, and the role of the rank that encodes them.
struct FeedbackKey {
  std::uint64_t tensor = 0;
  std::uint64_t id = 0; ///< Number of a block that is a tensor of its own.
  ElementRange range;
  bool server = false;    ///< The owner's encoding of a sum; else of this rank's own contribution.
  std::uint64_t draw = 0; ///< Number of the tensor's operations so far.
};

/// The key under which the store keeps what an encoding loses. Residuals have the role worker or server; DGC's
/// accumulators velocity (its residual) and momentum.
ReferenceKey residualKeyOf(const ErrorFeedback& feedback, const FeedbackKey& encoding);
/// The key under which the store keeps the momentum of an encoding that has one.
ReferenceKey momentumKeyOf(const FeedbackKey& encoding);

/// Whether LoCo's error of the tensor's operation number `draw` is forgotten before the encoding.
bool forgetsError(const ErrorFeedback& feedback, std::uint64_t draw);

/// Opens the state. Valid until the same elements are opened again. Errors: as ReferenceStore::open.
Result<KeptFeedback> openFeedback(ReferenceStore& store, const ErrorFeedback& feedback, const FeedbackKey& encoding);

/// Use: begin(), then addMomentum() where there is a momentum, then the encoding with residual() and the feedback's
/// decay, then end(), maskMomentum(). One encoding at a time; memory grows to the longest.
class FeedbackWork {
 public:
  Status begin(const ErrorFeedback& feedback, const KeptFeedback& kept, std::size_t count);
  [[nodiscard]] bool hasMomentum() const { return kept_.momentum != nullptr; }
  /// The vector to encode instead of `values`.
  std::span<const float> addMomentum(std::span<const float> values);
  /// The residual for EncodeJob, MergeJob and RunJob; may be null.
  [[nodiscard]] float* residual() const { return residual_; }
  Status end();
  [[nodiscard]] std::size_t heldBytes() const {
    return lost_.capacity() * sizeof(float) + error_.capacity() + indices_.capacity() * sizeof(std::uint32_t);
  }
  /// Called after end(). The payload holds all elements.
  Status maskMomentum(const Codec& codec, PayloadView payload, const SharedStream& shared, std::uint64_t first_element);

 private:
  Status encodeError(std::span<const float> values);

  ErrorFeedback feedback_;
  KeptFeedback kept_;
  std::size_t count_ = 0;
  float* residual_ = nullptr;
  std::vector<float> lost_;            ///< LoCo's residual of this encoding.
  std::shared_ptr<const Codec> eight_; ///< LoCo's codec of errors.
  std::vector<std::byte> error_;       ///< Payload of the error.
  std::vector<std::uint32_t> indices_; ///< Indices of the elements that were sent.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_FEEDBACK_H_
