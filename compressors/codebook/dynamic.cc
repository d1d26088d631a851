#include "compressors/codebook/dynamic.h"

#include <fmt/format.h>

namespace goss::compressors {

DynamicMap makeDynamicMap() {
  DynamicMap map{};
  const auto put = [&map](std::uint32_t magnitude, double value) {
    map.value[DynamicMap::kZeroCode + magnitude] = static_cast<float>(value);
    if (magnitude <= DynamicMap::kZeroCode) {
      map.value[DynamicMap::kZeroCode - magnitude] = magnitude == 0 ? 0.0f : static_cast<float>(-value);
    }
  };
  put(0, 0);
  for (int decade = 0; decade < DynamicMap::kDecades; ++decade) {
    for (int part = 0; part < 1 << decade; ++part) {
      put(static_cast<std::uint32_t>((1 << decade) + part), DynamicMap::valueOf(decade, part));
    }
  }
  put(DynamicMap::kMagnitudes - 1, 1);
  return map;
}

std::string DynamicCodec::spec() const { return fmt::format("dynamic8:block={}", block_); }

CodecTraits DynamicCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.block = static_cast<std::uint32_t>(block_);
  return traits;
}

/// Below the peak the map's values are at most 0.9 / 64 apart.
LossBound DynamicCodec::lossBound(std::size_t, bool) const { return {0.01, 0.0071, 0x1p-100}; }

} // namespace goss::compressors
