/// One bit an element and one scale a segment: the mean magnitude (EF-signSGD, Karimireddy et al. 2019, arXiv
/// 1901.09847) or the root mean square (1-bit Adam, Tang et al. 2021, arXiv 2102.02888).
#ifndef GOSS_COMPRESSORS_SIGN_SIGN_H_
#define GOSS_COMPRESSORS_SIGN_SIGN_H_

#include "compressors/common/vector_codec.h"
#include "compressors/sign/format.h"

namespace goss::compressors {

/// Zeros, -0 too, count as positive. Scales keep 16 bits, so that a decoded vector has the same scale again.
class SignCodec final : public VectorCodec {
 public:
  enum class Norm : std::uint8_t { l1, l2 };
  /// Both tables must outlive the codec.
  SignCodec(Norm norm, const CommonLoops& common, const SignLoops& loops)
      : VectorCodec(common), norm_(norm), loops_(loops) {}

  [[nodiscard]] std::string spec() const override { return norm_ == Norm::l1 ? "sign:norm=l1" : "sign:norm=l2"; }
  [[nodiscard]] CodecTraits traits() const override;
  [[nodiscard]] LossBound lossBound(std::size_t count, bool feedback) const override;
  [[nodiscard]] std::size_t maxBytes(std::size_t count) const override;
  std::size_t encodeVector(const VectorIn& in, unsigned char* to) const override;
  void decodeVector(PayloadView payload, const VectorOut& out) const override;
  [[nodiscard]] std::string flawOf(PayloadView payload, std::size_t count) const override;

 private:
  [[nodiscard]] double meanMagnitude(const VectorIn& in) const;
  [[nodiscard]] double rootMeanSquare(const VectorIn& in) const;

  const Norm norm_;
  const SignLoops& loops_;
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_SIGN_SIGN_H_
