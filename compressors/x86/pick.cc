#include <array>
#include <string_view>

#include "compressors/loops.h"
#include "kernels/table.h"

namespace goss::compressors {

std::span<const Loops> availableLoops() {
  struct Sets {
    std::array<Loops, 3> loops{};
    std::size_t count = 0;
  };
  static const Sets available = [] {
    Sets found;
    // availableTables() lists only instruction sets that the processor has.
    for (const kernels::Table& table : kernels::availableTables()) {
      const std::string_view isa = table.isa;
      found.loops[found.count++] = isa == "avx512" ? makeAvx512Loops()
                                   : isa == "avx2" ? makeAvx2Loops()
                                                   : makeDefaultLoops();
    }
    return found;
  }();
  return std::span(available.loops).first(available.count);
}

} // namespace goss::compressors
