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
  // The peak may round down to a value for which a smaller power of two would do; but the decoded values lie on that
  // finer grid too.
  traits.idempotent = true;
  traits.block = kMxBlock;
  return traits;
}

/// A value loses at most half of the widest gap around it, relative to itself or to its block's peak. e2m1 reduces
/// peaks of 8 to 6.
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
