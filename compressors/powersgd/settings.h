/// The parameters of PowerSGD.
#ifndef GOSS_COMPRESSORS_POWERSGD_SETTINGS_H_
#define GOSS_COMPRESSORS_POWERSGD_SETTINGS_H_

#include <cstddef>
#include <cstdint>

namespace goss::compressors {

struct PowerSgdSettings {
  std::size_t rank = 4;
  /// Two reductions: P = M Q is summed and made orthonormal, then Q = M^T P is summed. One reduction: the sides take
  /// turns, one factor in each operation.
  bool one_reduction = false;
  /// The residual is M minus the product of the averaged factors; otherwise minus the product with this rank's own last
  /// factor.
  bool averaged_feedback = true;
  std::uint32_t columns = 0; ///< Columns of the matrix in collectives; 0: nearly square.
};

} // namespace goss::compressors

#endif // GOSS_COMPRESSORS_POWERSGD_SETTINGS_H_
