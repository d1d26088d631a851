#include <array>

#include "compressors/loops.h"

namespace goss::compressors {

std::span<const Loops> availableLoops() {
  static const std::array<Loops, 1> loops = {makeDefaultLoops()};
  return loops;
}

} // namespace goss::compressors
