#include "compressors/natural/natural.h"

#include <array>

#include "compressors/stage.h"

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

namespace {

ValueCodec read(StageReader& reader) {
  const bool nearest = reader.choice("round", {"stochastic", "nearest"}) == 1;
  return {
      [nearest](const Loops& loops) { return std::make_shared<NaturalCodec>(nearest, loops.common, loops.natural); },
      NaturalSettings{nearest}};
}

} // namespace

std::span<const ValueStage> naturalStages() {
  static const std::array kStages = {
      ValueStage{"natural",
                 {"1", "powers of two from 2^-108 to 2^17; larger magnitudes become 2^17", "Horvath 2019",
                  "n bytes: sign (bit 7) and e; e of 1 to 126 is 2^(e - 109), 0 is zero, byte 0x80 is NaN"},
                 {"natural:round=stochastic", "natural:round=nearest"},
                 read},
  };
  return kStages;
}

} // namespace goss::compressors
