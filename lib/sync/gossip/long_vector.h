/// Vectors of a rule that keep more than float32.
#ifndef GOSS_LIB_SYNC_GOSSIP_LONG_VECTOR_H_
#define GOSS_LIB_SYNC_GOSSIP_LONG_VECTOR_H_

#include <cstddef>
#include <vector>

namespace goss::sync {

/// A vector with 48 bits an element, in two vectors of a rule's state: float32 numbers, and what these have lost by
/// rounding.
struct LongVector {
  std::vector<float>& high;
  std::vector<float>& low;
  [[nodiscard]] double at(std::size_t i) const { return static_cast<double>(high[i]) + static_cast<double>(low[i]); }
  void set(std::size_t i, double value) const {
    high[i] = static_cast<float>(value);
    low[i] = static_cast<float>(value - static_cast<double>(high[i]));
  }
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_LONG_VECTOR_H_
