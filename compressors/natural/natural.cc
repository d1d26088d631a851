#include "compressors/natural/natural.h"

namespace goss::compressors {

CodecTraits NaturalCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.idempotent = true; // a power of two has no fraction to round
  traits.stochastic = traits.unbiased = !nearest_;
  return traits;
}

} // namespace goss::compressors
