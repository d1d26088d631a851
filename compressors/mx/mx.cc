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

} // namespace goss::compressors
