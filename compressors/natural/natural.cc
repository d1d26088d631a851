#include "compressors/natural/natural.h"

namespace goss::compressors {

CodecTraits NaturalCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.idempotent = true; // a power of two has no fraction to round
  traits.stochastic = traits.unbiased = !nearest_;
  return traits;
}

/// The worst x is a power of two times 1.5, and times 4/3 where rounding is random.
LossBound NaturalCodec::lossBound(std::size_t, bool) const {
  return nearest_ ? LossBound{1.0 / 9, 1.0 / 3, 0x1p-108} : LossBound{1.0 / 8, 1, 0x1p-108};
}

} // namespace goss::compressors
