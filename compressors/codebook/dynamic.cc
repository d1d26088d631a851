#include "compressors/codebook/dynamic.h"

#include <fmt/format.h>

#include <bit>

namespace goss::compressors {

DynamicMap makeDynamicMap() {
  DynamicMap map{};
  float magnitude[DynamicMap::kMagnitudes] = {};
  std::uint32_t next = 1;
  double decade = 1e-6;
  for (int exponent = 0; exponent < 7; ++exponent, decade *= 10) {
    const int parts = 1 << exponent;
    for (int i = 0; i < parts; ++i) {
      magnitude[next++] = static_cast<float>(decade * (0.1 + 0.9 * (i + 0.5) / parts));
    }
  }
  magnitude[next] = 1.0f;
  for (std::uint32_t i = 0; i < DynamicMap::kMagnitudes; ++i) {
    const bool last = i + 1 == DynamicMap::kMagnitudes;
    map.boundary[i] = last ? 2.0f : (magnitude[i] + magnitude[i + 1]) / 2;
    map.value[DynamicMap::kZeroCode + i] = magnitude[i];
    if (i <= DynamicMap::kZeroCode) {
      map.value[DynamicMap::kZeroCode - i] = i == 0 ? 0.0f : -magnitude[i];
    }
  }
  std::uint32_t index = 0;
  for (std::uint32_t cell = 0; cell < DynamicMap::kCells; ++cell) {
    const auto start = std::bit_cast<float>((DynamicMap::kFirstCell + cell) << DynamicMap::kCellShift);
    while (map.boundary[index] < start) {
      ++index;
    }
    map.cell[cell] = index;
  }
  return map;
}

std::string DynamicCodec::spec() const { return fmt::format("dynamic8:block={}", block_); }

CodecTraits DynamicCodec::traits() const {
  CodecTraits traits;
  traits.fixed_size = true;
  traits.block = static_cast<std::uint32_t>(block_);
  return traits;
}

} // namespace goss::compressors
