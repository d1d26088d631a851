/// Vectors inside a synchronizer's saved state.
#ifndef GOSS_LIB_SYNC_SAVED_VECTORS_H_
#define GOSS_LIB_SYNC_SAVED_VECTORS_H_

#include <bit>
#include <cstdint>
#include <span>

#include "base/wire.h"

namespace goss::sync {

/// Writes values without their number, which the reader knows.
inline void saveFloats(base::WireWriter& writer, std::span<const float> values) {
  for (const float value : values) {
    writer.integer(std::bit_cast<std::uint32_t>(value));
  }
}

inline void loadFloats(base::WireReader& reader, std::span<float> values) {
  for (float& value : values) {
    value = std::bit_cast<float>(reader.integer<std::uint32_t>());
  }
}

/// Writes numbers with their count.
inline void saveNumbers(base::WireWriter& writer, std::span<const std::uint64_t> numbers) {
  writer.integer(static_cast<std::uint64_t>(numbers.size()));
  for (const std::uint64_t number : numbers) {
    writer.integer(number);
  }
}

/// Whether exactly these numbers come next.
inline bool hasNumbers(base::WireReader& reader, std::span<const std::uint64_t> numbers) {
  bool is_same = reader.integer<std::uint64_t>() == numbers.size();
  for (std::size_t i = 0; is_same && i < numbers.size(); ++i) {
    is_same = reader.integer<std::uint64_t>() == numbers[i];
  }
  return is_same && reader.ok();
}

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_SAVED_VECTORS_H_
