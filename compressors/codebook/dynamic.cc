#include "compressors/codebook/dynamic.h"

#include <fmt/format.h>

#include <array>

#include "compressors/stage.h"

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

namespace {

ValueCodec read(StageReader& reader) {
  const std::size_t block = reader.block("block", kTileElems, {32, kTileElems});
  return {[block](const Loops& loops) { return std::make_shared<DynamicCodec>(block, loops.common, loops.codebook); },
          DynamicSettings{block}};
}

} // namespace

std::span<const ValueStage> dynamicStages() {
  static const std::array kStages = {
      ValueStage{"dynamic8",
                 {"1 + 4/block", "8-bit map, dense near 0 and near the peak", "Dettmers 2022",
                  "n indices into the ascending map; a float32 peak for each block"},
                 {"dynamic8:block=4096"},
                 read},
  };
  return kStages;
}

} // namespace goss::compressors
