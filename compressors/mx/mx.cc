#include "compressors/mx/mx.h"

#include <array>

namespace goss::compressors {

std::string MxCodec::spec() const {
  constexpr std::array<const char*, kMxElements> kNames = {"mxfp8", "mxfp4", "e3m0"};
  return kNames[static_cast<std::size_t>(element_)];
}

CodecTraits MxCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  // The peak may round down to where a smaller power of two would do; but what was decoded lies on that finer grid too.
  traits.idempotent = true;
  traits.block = kMxBlock;
  return traits;
}

/// Half of the widest gap that a value may lie in, beside the value or beside its block's peak. e2m1 cuts peaks of 8
/// to 6.
LossBound MxCodec::lossBound(std::size_t, bool) const {
  constexpr double kTiny = 0x1p-100;
  switch (element_) {
    case MxElement::e4m3:
      return {0x1p-8 * 1.001, 0x1p-4, kTiny};
    case MxElement::e2m1:
      return {0.12, 0.25, kTiny};
    default:
      return {0.12, 1.0 / 3, kTiny};
  }
}

} // namespace goss::compressors
