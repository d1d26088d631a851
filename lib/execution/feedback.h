/// Error feedback of one encoding: what it does to values and residuals, over state that a reference store keeps.
#ifndef GOSS_LIB_EXECUTION_FEEDBACK_H_
#define GOSS_LIB_EXECUTION_FEEDBACK_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gossamer/codec.h"
#include "state/reference_store.h"

namespace goss {

/// What is kept of the elements of one encoding, in the store; null where nothing is.
struct KeptFeedback {
  float* residual = nullptr; ///< What earlier encodings lost; LoCo's is rounded to 8 bits.
  float* momentum = nullptr;
  bool forget = false; ///< LoCo's reset is due.
};

/// Whose encoding of which elements of a tensor.
struct FeedbackPlace {
  std::uint64_t tensor = 0;
  std::uint64_t id = 0; ///< Of a block that is a tensor of its own.
  ElementRange range;
  bool server = false;    ///< The owner's encoding of a sum; else of this rank's own contribution.
  std::uint64_t draw = 0; ///< The tensor's operations so far.
};

/// Roles in the store: residuals are worker or server; DGC's accumulators velocity (its residual) and momentum. Valid
/// until the same elements are opened again. Errors: as ReferenceStore::open.
Result<KeptFeedback> openFeedback(ReferenceStore& store, const ErrorFeedback& feedback, const FeedbackPlace& place);

/// begin(), then addMomentum() where there is one, then the encoding with residual() and the feedback's decay, then
/// end(), maskMomentum(). One encoding at a time; memory grows to the longest.
class FeedbackWork {
 public:
  Status begin(const ErrorFeedback& feedback, const KeptFeedback& kept, std::size_t count);
  [[nodiscard]] bool hasMomentum() const { return kept_.momentum != nullptr; }
  /// What is to be encoded in place of `values`.
  std::span<const float> addMomentum(std::span<const float> values);
  /// For EncodeJob, MergeJob and RunJob; may be null.
  [[nodiscard]] float* residual() const { return residual_; }
  Status end();
  [[nodiscard]] std::size_t heldBytes() const {
    return lost_.capacity() * sizeof(float) + error_.capacity() + indices_.capacity() * sizeof(std::uint32_t);
  }
  /// After end(). The payload is of all elements.
  Status maskMomentum(const Codec& codec, PayloadView payload, const SharedStream& shared, std::uint64_t first_element);

 private:
  Status encodeError(std::span<const float> values);

  ErrorFeedback feedback_;
  KeptFeedback kept_;
  std::size_t count_ = 0;
  float* residual_ = nullptr;
  std::vector<float> lost_;            ///< LoCo's residual of this encoding.
  std::shared_ptr<const Codec> eight_; ///< LoCo's codec of errors.
  std::vector<std::byte> error_;       ///< Its payload.
  std::vector<std::uint32_t> indices_; ///< Of what was sent.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_FEEDBACK_H_
