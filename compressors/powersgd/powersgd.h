/// PowerSGD approximates a matrix by the product of two thin factors; the sums of factors over the ranks give the
/// factors of the sum (Vogels et al. 2019, arXiv 1905.13727).
#ifndef GOSS_COMPRESSORS_POWERSGD_POWERSGD_H_
#define GOSS_COMPRESSORS_POWERSGD_POWERSGD_H_

#include "compressors/powersgd/settings.h"
#include "gossamer/codec.h"

namespace goss::compressors {

/// Multi-phase and needs the shape. Works on rows x columns; where the factors would not be smaller, or without
/// columns, the vector itself is summed and nothing is lost. State: the start factor, the same on all ranks; a joining
/// rank fetches it. Results are bit-identical on all ranks, since everything after a sum is computed in a fixed order.
class PowerSgdCodec final : public Codec {
 public:
  explicit PowerSgdCodec(const PowerSgdSettings& settings) : settings_(settings) {}

  [[nodiscard]] std::string spec() const override;
  [[nodiscard]] CodecTraits traits() const override;
  /// A product of factors is a projection of the matrix.
  [[nodiscard]] LossBound lossBound(std::size_t, bool) const override { return {1, LossBound::kNone, 0}; }
  [[nodiscard]] std::size_t maxBytes(std::size_t) const override { return 0; }
  [[nodiscard]] std::size_t scratchBytes(std::size_t) const override { return 0; }
  Status encode(const EncodeJob&) const override { return unsupported("encode; use start()"); }
  Status decode(const DecodeJob&) const override { return unsupported("decode; use start()"); }
  Status merge(MergeJob&) const override { return unsupported("merge; use start()"); }
  [[nodiscard]] Status check(PayloadView, std::size_t) const override { return unsupported("check; use start()"); }

  Result<std::unique_ptr<CodecRun>> start(const RunJob& job) const override;
  [[nodiscard]] std::size_t stateFloats(std::size_t count, std::size_t columns) const override;

 private:
  const PowerSgdSettings settings_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_POWERSGD_POWERSGD_H_
