#include "compressors/bagua/minmax_uint8.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "compressors/common/element.h"
#include "compressors/common/jobs.h"
#include "compressors/stage.h"

namespace goss::compressors {

CodecTraits MinMaxUint8Codec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.block = 0;
  return traits;
}

/// Half a level between minimum and maximum; Bagua makes the range 1e-7 wider.
LossBound MinMaxUint8Codec::lossBound(std::size_t count, bool) const {
  constexpr double kLevels = 255;
  return {static_cast<double>(count) / (2 * kLevels * kLevels) * 1.001, 1.001 / kLevels, 1e-7 / kLevels};
}

std::size_t MinMaxUint8Codec::maxBytes(std::size_t count) const { return kMinMaxHeaderBytes + minMaxCodeBytes(count); }

std::size_t MinMaxUint8Codec::encodeVector(const VectorIn& in, unsigned char* to) const {
  float range[2] = {0, 0};
  if (in.count != 0) {
    loops_.range(in.values, in.count, range[0], range[1]);
  }
  const bool sound = finite(in.values, in.count);
  if (!sound) {
    range[0] = range[1] = bitCast<float>(kFloatNan);
  }
  std::memset(to, 0, kMinMaxHeaderBytes);
  std::memcpy(to, range, sizeof range);
  std::memset(to + kMinMaxHeaderBytes, 0, minMaxCodeBytes(in.count));
  if (sound) {
    loops_.encode(to + kMinMaxHeaderBytes, in.values, in.count, loops_.scale(range[0], range[1]));
  }
  return maxBytes(in.count);
}

void MinMaxUint8Codec::decodeVector(PayloadView payload, const VectorOut& out) const {
  float range[2];
  std::memcpy(range, payload.data(), sizeof range);
  loops_.decode(out.out, bytesOf(payload) + kMinMaxHeaderBytes, out.count, loops_.scale(range[0], range[1]),
                out.delivery);
}

std::string MinMaxUint8Codec::flawOf(PayloadView payload, std::size_t count) const {
  return payload.size() == maxBytes(count) ? "" : fmt::format("it has {} bytes", maxBytes(count));
}

std::span<const ValueStage> minMaxUint8Stages() {
  static const std::array kStages = {
      ValueStage{"minmaxuint8",
                 {"1 + 32/segment", "Bagua's, byte for byte", "Gan 2021",
                  "float32 minimum and maximum, 24 zero bytes; n codes, zeros to a multiple of 32"},
                 {"minmaxuint8"},
                 [](StageReader&) -> ValueCodec {
                   return {[](const Loops& loops) {
                             return std::make_shared<MinMaxUint8Codec>(loops.common, loops.minmax);
                           },
                           MinMaxUint8Settings{}};
                 }},
  };
  return kStages;
}

} // namespace goss::compressors
