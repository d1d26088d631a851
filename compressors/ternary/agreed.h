/// TernGrad with a scale that the ranks agree on, so that payloads are added as integers and any all-reduce will do
/// (Wen et al. 2017, arXiv 1705.07878, section 4.2: "scaler sharing").
#ifndef GOSS_COMPRESSORS_TERNARY_AGREED_H_
#define GOSS_COMPRESSORS_TERNARY_AGREED_H_

#include "compressors/ternary/ternary.h"

namespace goss::compressors {

/// Multi-phase: the maximum of the ranks' scales, then the sum of their payloads, in words of 2, 4 or 8 bits for 1, up
/// to 7 or up to 127 ranks. The result is bit-identical on all ranks, and without a clip unbiased. Keeps no state.
class AgreedTernaryCodec final : public Codec {
 public:
  /// `common` and `loops` must outlive the codec and its runs.
  AgreedTernaryCodec(float clip, const CommonLoops& common, const TernaryLoops& loops)
      : clip_(clip), common_(common), loops_(loops) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t) const override { return 0; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const override { return 0; }
  Status encode(const EncodeJob&) const override { return unsupported("encode; use start()"); }
  Status decode(const DecodeJob&) const override { return unsupported("decode; use start()"); }
  Status merge(MergeJob&) const override { return unsupported("merge; use start()"); }
  [[nodiscard]] Status check(PayloadView, std::size_t) const override { return unsupported("check; use start()"); }

  Result<std::unique_ptr<CodecRun>> start(const RunJob& job) const override;

 private:
  const float clip_;
  const CommonLoops& common_;
  const TernaryLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_TERNARY_AGREED_H_
